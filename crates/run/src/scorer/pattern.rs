//! `regex`: a regular expression finds something in the answer.

use proofmark_artefact::suite::config::{Group, Take};
use regex::{Regex, RegexBuilder};

use super::build::ScorerBuildError;
use super::text::{Targets, excerpt, lower, push_quoted};
use super::verdict::{Answer, ScoreError, Verdict};

/// Searches the answer with a pattern (Rust regex syntax: no look-around, no back-references).
///
/// - Without `group` a match is a pass and no target is needed. A match of no characters finds
///   nothing: `x*` does not pass every answer, and no pattern passes an empty one.
/// - With `group` the text it captured in the first or last match is trimmed and must equal the
///   target: text, a number or a boolean, or any of a list.
/// - `ignore_case` holds for the pattern and for the comparison.
/// - The compiled pattern is bounded, and so are the characters and matches that are looked at.
#[derive(Debug)]
pub(super) struct Pattern {
    regex: Regex,
    group: Option<usize>,
    take: Take,
    ignore_case: bool,
}

impl Pattern {
    pub(super) fn compile(
        name: &str,
        pattern: &str,
        group: Option<&Group>,
        take: Take,
        ignore_case: bool,
    ) -> Result<Self, ScorerBuildError> {
        let refuse = |why: String| ScorerBuildError::Pattern { scorer: excerpt(name), why };
        if pattern.len() > MAX_PATTERN {
            return Err(refuse(format!("is longer than {MAX_PATTERN} bytes")));
        }
        let regex = RegexBuilder::new(pattern)
            .case_insensitive(ignore_case)
            .size_limit(MAX_COMPILED)
            .dfa_size_limit(MAX_COMPILED)
            .build()
            .map_err(|error| refuse(reason(&error)))?;
        let group = match group {
            None => None,
            Some(Group::Number(number)) => {
                let groups = regex.captures_len() - 1;
                let at = usize::try_from(*number).ok().filter(|at| *at <= groups);
                Some(at.ok_or_else(|| refuse(format!("has no group {number}, its last one is {groups}")))?)
            }
            Some(Group::Name(name)) => {
                let at = regex.capture_names().position(|have| have == Some(name));
                Some(at.ok_or_else(|| refuse(format!("has no group `{}`", excerpt(name))))?)
            }
        };
        Ok(Self { regex, group, take, ignore_case })
    }

    pub(super) fn score(&self, answer: &Answer<'_>) -> Result<Verdict, ScoreError> {
        let targets = self.group.map(|_| Targets::of(answer)).transpose()?;
        if answer.text.len() > MAX_ANSWER {
            return Ok(Verdict::fail(format!("the answer is longer than {MAX_ANSWER} bytes")));
        }
        let (Some(group), Some(targets)) = (self.group, targets) else {
            let find = self.regex.find_iter(answer.text).take(MAX_MATCHES).find(|find| !find.is_empty());
            return Ok(match find {
                Some(find) => Verdict::pass(say("the pattern matches ", find.as_str())),
                None => Verdict::fail("the pattern matches nothing in the answer".to_owned()),
            });
        };
        let start = match self.taken(answer.text) {
            Taken::Match(start) => start,
            Taken::Nothing => return Ok(Verdict::fail("the pattern matches nothing in the answer".to_owned())),
            Taken::TooMany => return Ok(Verdict::fail(format!("the pattern matches more than {MAX_MATCHES} times"))),
        };
        // Searching again from the match's own start gives the same match, now with its groups.
        let captures = self.regex.captures_at(answer.text, start);
        let Some(captured) = captures.and_then(|captures| captures.get(group)) else {
            return Ok(Verdict::fail(format!("group {group} took no part in the match")));
        };
        let found = captured.as_str().trim();
        Ok(if targets.find(|target| self.same(found, target.trim())).is_some() {
            Verdict::pass(say("the pattern captured ", found))
        } else {
            let mut why = say("the pattern captured ", found);
            why.push_str(", expected ");
            targets.describe(&mut why);
            Verdict::fail(why)
        })
    }

    fn taken(&self, text: &str) -> Taken {
        let mut taken = Taken::Nothing;
        for (at, find) in self.regex.find_iter(text).enumerate() {
            if at == MAX_MATCHES {
                return Taken::TooMany;
            }
            taken = Taken::Match(find.start());
            if self.take == Take::First {
                break;
            }
        }
        taken
    }

    fn same(&self, found: &str, target: &str) -> bool {
        found == target || (self.ignore_case && lower(found) == lower(target))
    }
}

/// Which match counts.
enum Taken {
    /// The one that starts here.
    Match(usize),
    Nothing,
    TooMany,
}

fn say(lead: &str, text: &str) -> String {
    let mut why = String::with_capacity(64);
    why.push_str(lead);
    push_quoted(&mut why, text);
    why
}

/// What the regex library says, without the drawing of the pattern that it puts above.
fn reason(error: &regex::Error) -> String {
    match error {
        regex::Error::CompiledTooBig(limit) => format!("compiles to more than {limit} bytes"),
        error => {
            let text = error.to_string();
            let last = text.lines().last().unwrap_or_default();
            format!("is not a regular expression: {}", excerpt(last.trim_start_matches("error: ")))
        }
    }
}

const MAX_PATTERN: usize = 64 << 10;
const MAX_COMPILED: usize = 4 << 20;
/// Some patterns cost a pass over the rest of the text for every match.
const MAX_MATCHES: usize = 10_000;
const MAX_ANSWER: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scorer::build::tests::{answer, value};

    fn compile(pattern: &str, group: Option<Group>, take: Take) -> Result<Pattern, ScorerBuildError> {
        Pattern::compile("r", pattern, group.as_ref(), take, false)
    }

    fn passes(scorer: &Pattern, text: &str, expected: &str) -> bool {
        scorer.score(&answer(text, &value(expected))).unwrap().passed
    }

    #[test]
    fn a_match_passes_where_no_group_is_asked_for() {
        let scorer = compile(r"\bparis\b", None, Take::Last).unwrap();
        assert!(passes(&scorer, "in paris", "null"));
        assert!(!passes(&scorer, "in Paris", "null"));
        assert!(!passes(&scorer, "banana", "null"));
    }

    #[test]
    fn a_match_of_nothing_is_no_find() {
        for pattern in [".*", "x*", "^", "$", "", r"\b"] {
            assert!(!passes(&compile(pattern, None, Take::Last).unwrap(), "", "null"), "{pattern}");
        }
        assert!(!passes(&compile("x*", None, Take::Last).unwrap(), "banana", "null"));
        assert!(passes(&compile("x*", None, Take::Last).unwrap(), "a xx", "null"));
    }

    #[test]
    fn the_captured_group_must_be_the_target() {
        let number = || Some(Group::Number(1));
        let text = "Answer: 3\nAnswer: 4 \n";
        for (group, take, expected, right) in [
            (number(), Take::Last, r#""4""#, true),
            (number(), Take::First, "3", true),
            (number(), Take::Last, "3", false),
            (number(), Take::Last, r#"["7"," 4"]"#, true),
            (Some(Group::Name("n".into())), Take::Last, "4", true),
            (Some(Group::Number(0)), Take::First, r#""Answer: 3""#, true),
        ] {
            let scorer = compile(r"Answer: (?P<n>.+)", group.clone(), take).unwrap();
            assert_eq!(passes(&scorer, text, expected), right, "{group:?} {take:?} {expected}");
        }
        let optional = compile("a(b)?", number(), Take::Last).unwrap();
        assert!(!passes(&optional, "a", r#""""#));
        assert!(optional.score(&answer("a", &value("null"))).is_err());
    }

    #[test]
    fn a_flood_of_matches_is_no_match() {
        let scorer = compile("(.)", Some(Group::Number(1)), Take::Last).unwrap();
        assert!(passes(&scorer, &"a".repeat(MAX_MATCHES), r#""a""#));
        assert!(!passes(&scorer, &"a".repeat(MAX_MATCHES + 1), r#""a""#));
        assert!(!passes(&scorer, &"a".repeat(MAX_ANSWER + 1), r#""a""#));
    }

    #[test]
    fn a_bad_pattern_is_refused_with_its_reason() {
        let text = |pattern: &str, group| compile(pattern, group, Take::Last).unwrap_err().to_string();
        assert_eq!(text("(", None), "the pattern of scorer `r` is not a regular expression: unclosed group");
        assert!(text(r"(?=x)", None).contains("look-around"));
        assert_eq!(text("(a)", Some(Group::Number(2))), "the pattern of scorer `r` has no group 2, its last one is 1");
        assert!(text("(a)", Some(Group::Name("x".into()))).contains("no group `x`"));
        assert!(text("((a{100}){100}){100}", None).contains("compiles to more than"));
        assert!(text(&"a".repeat(MAX_PATTERN + 1), None).contains("longer than"));
    }
}
