//! What is answered, whatever the wire.

use proofmark_canon::Digest;
use proofmark_canon::seed::derive;

use super::ask::{Asked, Call, calls, tokens};
use super::config::Answers;
use super::fault::Fault;
use super::png;

/// When everything that is dated was made: 2026-01-01T00:00:00Z. A clock would make every reply another one.
pub(super) const CREATED: u64 = 1_767_225_600;
pub(super) const CREATED_TEXT: &str = "2026-01-01T00:00:00Z";
pub(super) const REFUSAL: &str = "I cannot help with that.";

/// An answer in our words.
#[derive(Debug, PartialEq)]
pub(super) struct Answer {
    /// The number of the request, for ids that are never twice the same.
    pub(super) number: u64,
    pub(super) model: String,
    pub(super) said: Said,
    pub(super) input_tokens: u64,
    pub(super) output_tokens: u64,
    pub(super) wants_usage: bool,
    pub(super) wants_logprobs: bool,
}

#[derive(Debug, PartialEq)]
pub(super) enum Said {
    Text(String),
    /// Text that reached the limit of tokens.
    Cut(String),
    Calls(Vec<Call>),
    Pictures(Vec<Vec<u8>>),
    Refused,
    Filtered,
}

impl Answer {
    /// Answers: the same for the same prompt on every wire. `fault` may take the words out of its mouth.
    pub(super) fn to(asked: &Asked, number: u64, model: String, answers: &Answers, fault: Option<Fault>) -> Self {
        let said = match fault {
            Some(Fault::Filter) => Said::Filtered,
            Some(Fault::Refusal) => Said::Refused,
            Some(Fault::Empty) if asked.pictures.is_some() => Said::Pictures(Vec::new()),
            Some(Fault::Empty) => Said::Text(String::new()),
            _ => say(asked, answers),
        };
        let output_tokens = match &said {
            Said::Text(text) | Said::Cut(text) => tokens(text),
            Said::Calls(calls) => calls.iter().map(|call| tokens(&call.name) + tokens(&call.text())).sum(),
            Said::Pictures(pictures) => pictures.iter().map(|bytes| bytes.len().div_ceil(4) as u64).sum(),
            Said::Refused => tokens(REFUSAL),
            Said::Filtered => 0,
        };
        Self {
            number,
            model,
            said,
            input_tokens: asked.input_tokens,
            output_tokens,
            wants_usage: asked.wants_usage,
            wants_logprobs: asked.wants_logprobs,
        }
    }

    /// An id with a provider's prefix.
    pub(super) fn id(&self, prefix: &str) -> String {
        format!("{prefix}{:024x}", self.number)
    }

    pub(super) fn total_tokens(&self) -> u64 {
        self.input_tokens + self.output_tokens
    }

    /// The text, where there is some.
    pub(super) fn text(&self) -> &str {
        match &self.said {
            Said::Text(text) | Said::Cut(text) => text,
            _ => "",
        }
    }

    pub(super) fn calls(&self) -> &[Call] {
        if let Said::Calls(calls) = &self.said { calls } else { &[] }
    }
}

impl Call {
    /// The arguments as JSON text.
    pub(super) fn text(&self) -> String {
        self.arguments.to_string()
    }

    /// An id that depends on the call alone: it comes back in the next request, whose digest decides about faults.
    pub(super) fn id(&self, prefix: &str, index: usize) -> String {
        let digest =
            derive("proofmark.mock-call/1", &[self.name.as_bytes(), self.text().as_bytes(), &index.to_be_bytes()]);
        format!("{prefix}{}", &digest.hex()[..24])
    }
}

fn say(asked: &Asked, answers: &Answers) -> Said {
    if let Some(wanted) = asked.pictures {
        let draw = |index: u32| {
            let digest = derive("proofmark.mock-picture/1", &[asked.prompt.as_bytes(), &index.to_be_bytes()]);
            png::draw(&digest, wanted.width, wanted.height)
        };
        return Said::Pictures((0..wanted.count).map(draw).collect());
    }
    if asked.has_tools && !asked.is_result {
        let calls = calls(&asked.prompt);
        if !calls.is_empty() {
            return Said::Calls(calls);
        }
    }
    let mut text = match answers {
        Answers::Script(script) => script.answer(&asked.prompt).unwrap_or_else(|| asked.prompt.clone()),
        Answers::Echo => asked.prompt.clone(),
    };
    match asked.max_tokens {
        Some(most) if tokens(&text) > most => {
            let mut end = usize::try_from(most).unwrap_or(usize::MAX).saturating_mul(4).min(text.len());
            while !text.is_char_boundary(end) {
                end -= 1;
            }
            text.truncate(end);
            Said::Cut(text)
        }
        _ => Said::Text(text),
    }
}

/// Cuts a text to the pieces of a stream: about sixteen bytes each.
pub(super) fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let mut end = rest.len().min(16);
        while !rest.is_char_boundary(end) {
            end += 1;
        }
        let (piece, after) = rest.split_at(end);
        rest = after;
        (!piece.is_empty()).then_some(piece)
    })
}

/// The digest by which a request is told from others.
pub(super) fn fingerprint(path: &str, body: &Digest) -> [u8; 16] {
    let digest = derive("proofmark.mock-request/1", &[path.as_bytes(), body.as_bytes()]);
    let mut short = [0; 16];
    short.copy_from_slice(&digest.as_bytes()[..16]);
    short
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mock::ask::Pictures;

    fn asked(prompt: &str) -> Asked {
        Asked { prompt: prompt.to_owned(), ..Asked::new("m") }
    }

    fn answer(asked: &Asked, fault: Option<Fault>) -> Answer {
        Answer::to(asked, 1, "m".to_owned(), &Answers::Echo, fault)
    }

    #[test]
    fn without_a_script_the_prompt_comes_back() {
        let answer = answer(&asked("twelve bytes and more"), None);
        assert_eq!((answer.text(), answer.output_tokens), ("twelve bytes and more", 6));
    }

    #[test]
    fn a_limit_of_tokens_cuts_between_characters() {
        let asked = Asked { max_tokens: Some(1), ..asked("abcé") };
        assert_eq!(answer(&asked, None).said, Said::Cut("abc".to_owned()));
        let asked = Asked { max_tokens: Some(2), ..asked };
        assert_eq!(answer(&asked, None).said, Said::Text("abcé".to_owned()));
    }

    #[test]
    fn tools_are_called_when_there_are_some_and_never_for_what_a_tool_gave() {
        let mut asked = asked(r#"call:add {"b":2,"a":1}"#);
        assert_eq!(answer(&asked, None).calls(), []);
        asked.has_tools = true;
        assert_eq!(answer(&asked, None).calls()[0].text(), r#"{"a":1,"b":2}"#);
        asked.is_result = true;
        assert_eq!(answer(&asked, None).calls(), []);
    }

    #[test]
    fn faults_take_the_words_away() {
        assert_eq!(answer(&asked("x"), Some(Fault::Empty)).said, Said::Text(String::new()));
        assert_eq!(answer(&asked("x"), Some(Fault::Refusal)).said, Said::Refused);
        assert_eq!(answer(&asked("x"), Some(Fault::Filter)).said, Said::Filtered);
        assert_eq!(answer(&asked("x"), Some(Fault::Slow)).said, Said::Text("x".to_owned()));
        let picture = Asked { pictures: Some(Pictures::default()), ..asked("x") };
        assert_eq!(answer(&picture, Some(Fault::Empty)).said, Said::Pictures(Vec::new()));
    }

    #[test]
    fn pieces_make_up_the_text() {
        for text in ["", "short", "sixteen bytes!!!", "ééééééééééééééééééé", "a much longer text than one piece holds"]
        {
            assert_eq!(pieces(text).collect::<String>(), text);
        }
        assert_eq!(pieces("sixteen bytes!!! and more").count(), 2);
        assert_eq!(pieces("").count(), 0);
    }
}
