//! One line of a file of outputs: whose answer it is, and the answer.
//!
//! Files come from anywhere, so that names are taken as they are found; what could mean two things is refused.

use proofmark_artefact::record::{Output, REPORTED_ERROR, SCORER_ERROR, Status, Usage};
use proofmark_artefact::suite::plan::Plan;
use proofmark_artefact::text::excerpt;
use proofmark_canon::json::{self, Integers};
use proofmark_canon::{Map, SampleKey, Value};
use proofmark_model::{Class, Reply};

/// Members that hold an answer.
pub const OUTPUT_FIELDS: [&str; 6] = ["output", "text", "answer", "response", "model_answer", "completion"];
/// Members that name the item, the first one that is there.
const ITEM_FIELDS: [&str; 3] = ["item_id", "id", "task_id"];
/// More tokens than any answer has.
const MOST_TOKENS: u64 = 1 << 40;

/// What is wrong with a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineProblem {
    /// Goes on after the line's place.
    pub why: String,
    pub hint: Option<String>,
}

impl LineProblem {
    pub(super) fn new(why: impl Into<String>) -> Self {
        Self { why: why.into(), hint: None }
    }

    fn hint(why: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { why: why.into(), hint: Some(hint.into()) }
    }
}

/// What a line may leave out, because the suite has only one of it.
#[derive(Debug, Clone)]
pub(super) struct LineRules {
    tasks: Vec<String>,
    /// Id and `provider:model-id`.
    models: Vec<(String, String)>,
    conditions: Vec<String>,
    n: u32,
    output_field: Option<String>,
}

impl LineRules {
    pub(super) fn new(plan: &Plan, output_field: Option<String>) -> Self {
        Self {
            tasks: plan.tasks.iter().map(|task| task.id.clone()).collect(),
            models: plan.models.iter().map(|model| (model.id.clone(), model.model.clone())).collect(),
            conditions: plan.conditions.iter().map(|condition| condition.id.clone()).collect(),
            n: plan.sampling.n,
            output_field,
        }
    }

    /// Reads a line. The answer is `None` where the line says that there is none.
    pub(super) fn read(&self, line: &[u8]) -> Result<(String, Option<Reply>), LineProblem> {
        let value = json::parse_with(line, Integers::AsText)
            .map_err(|error| LineProblem::new(format!("is not JSON: {}", excerpt(&error.to_string(), 200))))?;
        let Value::Object(members) = &value else {
            return Err(LineProblem::new(format!("is {}, expected an object", value.kind())));
        };
        Ok((self.key(members)?, self.reply(members)?))
    }

    fn key(&self, members: &Map) -> Result<String, LineProblem> {
        if let Some(key) = members.get("key").filter(|key| !key.is_null()) {
            let key = key.as_str().ok_or_else(|| wrong_kind("key", key, "a text"))?;
            return Ok(key.to_owned());
        }
        let item =
            ITEM_FIELDS.iter().find_map(|name| Some((name, members.get(name).filter(|value| !value.is_null())?)));
        let item = match item {
            Some((_, Value::String(text))) => text.clone(),
            Some((_, number @ Value::Number(inner))) if inner.get().fract() == 0.0 => number.to_string(),
            Some((name, other)) => return Err(wrong_kind(name, other, "a text or a whole number")),
            None => {
                return Err(LineProblem::hint(
                    "does not say which item it answers",
                    "name it with `item_id`, `id` or `task_id`, or give the whole `key`",
                ));
            }
        };
        let task = one_of(members, "task", &self.tasks)?;
        let condition = one_of(members, "condition", &self.conditions)?;
        let ids: Vec<String> = self.models.iter().map(|(id, _)| id.clone()).collect();
        let model = one_of(members, "model", &ids)?;
        let model = self.model_named(&model).unwrap_or(model);
        let sample = match members.get("sample").filter(|value| !value.is_null()) {
            Some(value) => {
                let index = value.as_u64().and_then(|index| u32::try_from(index).ok());
                index.ok_or_else(|| wrong_kind("sample", value, "a whole number from 0"))?
            }
            None if self.n == 1 => 0,
            None => {
                let why = format!("does not say which of the {} samples it is", self.n);
                return Err(LineProblem::hint(why, format!("add `\"sample\": 0` to `{}`", self.n - 1)));
            }
        };
        Ok(SampleKey::new(&task, &item, &model, &condition, sample).to_string())
    }

    /// The id of the model that goes by a name: its own, or what the suite says that is asked.
    fn model_named(&self, name: &str) -> Option<String> {
        if self.models.iter().any(|(id, _)| id == name) {
            return None;
        }
        let is_named = |model: &str| model == name || model.split_once(':').is_some_and(|(_, bare)| bare == name);
        let mut fitting = self.models.iter().filter(|(_, model)| is_named(model));
        match (fitting.next(), fitting.next()) {
            (Some((id, _)), None) => Some(id.clone()),
            _ => None,
        }
    }

    fn reply(&self, members: &Map) -> Result<Option<Reply>, LineProblem> {
        let usage = usage(members.get("usage"))?;
        let output = self.output(members)?;
        let error = members.get("error").filter(|error| !error.is_null());
        if let Some(error) = error {
            let text = |name: &str| error.get(name).and_then(Value::as_str);
            let class = text("class").unwrap_or(REPORTED_ERROR);
            // A record whose answer could not be scored has both; the answer counts.
            if output.is_none() || class != SCORER_ERROR {
                let message =
                    error.as_str().or_else(|| text("message")).map_or_else(|| error.to_string(), ToOwned::to_owned);
                let status = Class::of(class).map_or(Status::Error, Class::status);
                return Ok(Some(Reply::Failed { class: class.to_owned(), message, status, usage }));
            }
        }
        let reason = members.get("finish_reason").and_then(Value::as_str).unwrap_or("stop");
        Ok(output.map(|output| Reply::Answered { finish_reason: reason.to_owned(), output, usage }))
    }

    /// The answer; `None` when it is null, or when there is an error in its place.
    fn output(&self, members: &Map) -> Result<Option<Output>, LineProblem> {
        let names: Vec<&str> = match &self.output_field {
            Some(name) => vec![name],
            None => OUTPUT_FIELDS.to_vec(),
        };
        let mut found = names.iter().filter_map(|name| Some((*name, members.get(name)?)));
        let (name, value) = match (found.next(), found.next()) {
            (Some(one), None) => one,
            (Some((first, _)), Some((second, _))) => {
                return Err(LineProblem::hint(
                    format!("has `{first}` and `{second}`, which could both be the answer"),
                    format!("say which one it is: `--output-field {first}`"),
                ));
            }
            (None, _) if members.get("error").is_some_and(|error| !error.is_null()) => return Ok(None),
            (None, _) => {
                let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
                return Err(LineProblem::hint(
                    format!("has no answer; expected {}", names.join(", ")),
                    "say which member holds it: `--output-field NAME`; null where there is none",
                ));
            }
        };
        match value {
            Value::Null => Ok(None),
            Value::String(text) => Ok(Some(Output::of_text(text.clone()))),
            // As records have it.
            Value::Object(_) => match json::from_value::<Output>(value) {
                Ok(output) if output.images.is_empty() => Ok(Some(output)),
                Ok(_) => Err(LineProblem::hint(
                    "answers with a picture, whose bytes are not in the line",
                    "give the run directory itself",
                )),
                Err(_) => Err(wrong_kind(name, value, "a text")),
            },
            other => Err(wrong_kind(name, other, "a text")),
        }
    }
}

fn wrong_kind(name: &str, value: &Value, expected: &str) -> LineProblem {
    LineProblem::new(format!("has {} as `{}`, expected {expected}", value.kind(), excerpt(name, 80)))
}

/// What a member says, or the only thing that it could say.
fn one_of(members: &Map, name: &str, all: &[String]) -> Result<String, LineProblem> {
    match members.get(name) {
        Some(Value::String(text)) => Ok(text.clone()),
        None | Some(Value::Null) => match all {
            [only] => Ok(only.clone()),
            _ => {
                let first = all.first().map(String::as_str).unwrap_or_default();
                let shown: Vec<String> = all.iter().take(10).map(|id| format!("`{}`", excerpt(id, 80))).collect();
                Err(LineProblem::hint(
                    format!("does not say which {name} it belongs to, and the suite has {}", shown.join(", ")),
                    format!("add `\"{name}\": \"{}\"` to the line", excerpt(first, 80)),
                ))
            }
        },
        Some(other) => Err(wrong_kind(name, other, "a text")),
    }
}

/// Tokens, by our names or by those of most servers. Other members are ignored.
fn usage(value: Option<&Value>) -> Result<Usage, LineProblem> {
    let Some(value) = value else { return Ok(Usage::default()) };
    let tokens = |names: [&str; 2]| {
        let found = names.iter().find_map(|name| Some((*name, value.get(name).filter(|value| !value.is_null())?)));
        let Some((name, count)) = found else { return Ok(0) };
        count.as_u64().filter(|count| *count <= MOST_TOKENS).ok_or_else(|| {
            LineProblem::new(format!(
                "has {} as `usage.{name}`, expected a number of tokens",
                excerpt(&count.to_string(), 80)
            ))
        })
    };
    Ok(Usage {
        input_tokens: tokens(["input_tokens", "prompt_tokens"])?,
        output_tokens: tokens(["output_tokens", "completion_tokens"])?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(tasks: &[&str], models: &[(&str, &str)], conditions: &[&str], n: u32) -> LineRules {
        let own = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        LineRules {
            tasks: own(tasks),
            models: models.iter().map(|(id, model)| ((*id).to_owned(), (*model).to_owned())).collect(),
            conditions: own(conditions),
            n,
            output_field: None,
        }
    }

    fn single() -> LineRules {
        rules(&["t"], &[("m", "openai:gpt-x")], &["raw"], 1)
    }

    #[test]
    fn a_line_says_whose_answer_it_is_in_many_ways() {
        let several = rules(&["t", "u"], &[("m", "openai:gpt-x"), ("k", "openai:gpt-y")], &["raw", "c/d"], 3);
        for (rules, line, want) in [
            (&single(), r#"{"id":"a","output":"x"}"#, "t/a/m/raw/0"),
            (&single(), r#"{"item_id":"a","id":"b","text":"x"}"#, "t/a/m/raw/0"),
            (&single(), r#"{"task_id":7,"model_answer":"x"}"#, "t/7/m/raw/0"),
            (&single(), r#"{"key":"any thing","id":"a","answer":"x"}"#, "any thing"),
            (&single(), r#"{"id":"a","model":"gpt-x","response":"x"}"#, "t/a/m/raw/0"),
            (&single(), r#"{"id":"a","model":"openai:gpt-x","response":"x"}"#, "t/a/m/raw/0"),
            (&single(), r#"{"id":"a","model":"other","completion":"x"}"#, "t/a/other/raw/0"),
            (
                &single(),
                r#"{"id":"a","model":null,"sample":null,"output":"x","when":17000000000000000000}"#,
                "t/a/m/raw/0",
            ),
            (
                &several,
                r#"{"task":"u","id":"a","model":"k","condition":"c/d","sample":2,"output":"x"}"#,
                "u/a/k/c%2Fd/2",
            ),
            (
                &several,
                r#"{"task":"u","id":"a","model":"gpt-y","condition":"raw","sample":0,"output":"x"}"#,
                "u/a/k/raw/0",
            ),
        ] {
            let (key, reply) = rules.read(line.as_bytes()).unwrap();
            assert_eq!(key, want, "{line}");
            assert_eq!(reply, Some(Reply::of_text("x", Usage::default())), "{line}");
        }
    }

    #[test]
    fn what_could_mean_two_things_is_refused_with_a_way_out() {
        let several = rules(&["t", "u"], &[("m", "a:b"), ("k", "a:b")], &["raw", "c"], 3);
        for (line, why, hint) in [
            (r#"{"output":"x"}"#, "which item", "`item_id`"),
            (r#"{"id":"a","output":"x"}"#, "does not say which task", r#"add `"task": "t"`"#),
            (
                r#"{"id":"a","task":"t","condition":"raw","output":"x"}"#,
                "which model it belongs to, and the suite has `m`, `k`",
                "",
            ),
            (r#"{"id":"a","task":"t","model":"m","output":"x"}"#, "which condition", ""),
            (r#"{"id":"a","task":"t","model":"m","condition":"c","output":"x"}"#, "which of the 3 samples", "`2`"),
        ] {
            let problem = several.read(line.as_bytes()).unwrap_err();
            assert!(
                problem.why.contains(why) && problem.hint.unwrap_or_default().contains(hint),
                "{line}: {}",
                problem.why
            );
        }
        for (line, why) in [
            ("[]", "is a list, expected an object"),
            ("{", "is not JSON"),
            (r#"{"id":"a","id":"b"}"#, "is not JSON"),
            (r#"{"id":["a"],"output":"x"}"#, "has a list as `id`"),
            (r#"{"id":1.5,"output":"x"}"#, "has a number as `id`"),
            (r#"{"id":"a","output":3}"#, "has a number as `output`, expected a text"),
            (r#"{"id":"a","output":{"x":1}}"#, "has a mapping as `output`"),
            (r#"{"id":"a"}"#, "has no answer; expected `output`, `text`"),
            (r#"{"id":"a","text":"p","completion":"x"}"#, "has `text` and `completion`"),
            (r#"{"id":"a","output":"x","sample":-1}"#, "as `sample`"),
            (r#"{"id":"a","output":"x","sample":4294967296}"#, "as `sample`"),
            (r#"{"id":"a","output":"x","key":4}"#, "as `key`"),
            (r#"{"id":"a","output":"x","task":4}"#, "as `task`"),
            (r#"{"id":"a","output":"x","usage":{"input_tokens":1e15}}"#, "`usage.input_tokens`"),
            (
                r#"{"id":"a","output":{"text":"","images":[{"bytes":1,"digest":"sha256:0000000000000000000000000000000000000000000000000000000000000000","height":1,"media_type":"image/png","width":1}]}}"#,
                "picture",
            ),
        ] {
            let problem = single().read(line.as_bytes()).unwrap_err();
            assert!(problem.why.contains(why), "{line}: {}", problem.why);
        }
        let named = LineRules { output_field: Some("completion".to_owned()), ..single() };
        assert_eq!(
            named.read(br#"{"id":"a","text":"p","completion":"x"}"#).unwrap().1,
            Some(Reply::of_text("x", Usage::default()))
        );
        assert!(named.read(br#"{"id":"a","text":"p"}"#).is_err());
    }

    #[test]
    fn errors_and_empty_places_are_no_answers() {
        let failed = |class: &str, message: &str, status| {
            Some(Reply::Failed { class: class.into(), message: message.into(), status, usage: Usage::default() })
        };
        let usage = Usage { input_tokens: 3, output_tokens: 4 };
        for (line, want) in [
            (r#"{"id":"a","output":null}"#, None),
            (r#"{"id":"a","output":null,"error":null}"#, None),
            (r#"{"id":"a","error":"boom"}"#, failed("reported", "boom", Status::Error)),
            (r#"{"id":"a","output":"x","error":"boom"}"#, failed("reported", "boom", Status::Error)),
            (r#"{"id":"a","error":{"code":5}}"#, failed("reported", "{\"code\":5}", Status::Error)),
            (r#"{"id":"a","error":{"class":"timeout","message":"late"}}"#, failed("timeout", "late", Status::Timeout)),
            (
                r#"{"id":"a","output":{"text":"x"},"error":{"class":"scorer","message":"y"}}"#,
                Some(Reply::of_text("x", Usage::default())),
            ),
            (
                r#"{"id":"a","output":"x","usage":{"prompt_tokens":3,"output_tokens":4,"total":7}}"#,
                Some(Reply::of_text("x", usage)),
            ),
            (
                r#"{"id":"a","output":"x","finish_reason":"length"}"#,
                Some(Reply::Answered {
                    finish_reason: "length".into(),
                    output: Output::of_text("x"),
                    usage: Usage::default(),
                }),
            ),
        ] {
            assert_eq!(single().read(line.as_bytes()).unwrap().1, want, "{line}");
        }
    }
}
