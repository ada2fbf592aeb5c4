//! Finds the members of a canonical line without building anything.
//!
//! Our lines have a fixed set of members in canonical order, so a scan compares each name with the
//! one that must come, or with the one after it where that one may be absent, and skips its value. It
//! proves the line's skeleton, not what is inside of values: `validate` does that, and whoever reads a
//! value parses it.

use std::borrow::Cow;
use std::path::Path;

use memchr::memchr2;

use super::error::{DiffError, explain};
use crate::record::Record;
use crate::trajectory::Trajectory;

/// What a kind of line looks like.
#[derive(Debug)]
pub(super) struct Shape<const N: usize> {
    /// The text before each value, but for the brace or the comma: the name in its quotes, a colon.
    names: [&'static str; N],
    /// One bit for each member that may be absent.
    optional: u32,
    /// Which member is the key.
    key: usize,
    /// Which member tells the lines of one key apart, where there may be several.
    part: Option<usize>,
    /// Says what is wrong with a line that does not have the shape.
    pub(super) explain: fn(&Path, u64, &[u8]) -> DiffError,
}

/// One scanned line.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row<'a, const N: usize> {
    pub(super) shape: &'static Shape<N>,
    pub(super) bytes: &'a [u8],
    /// Where each value ends in the line; that of an absent member is where the one before it ends.
    pub(super) ends: &'a [u32; N],
    /// From 1.
    pub(super) line: u64,
    /// Where the line starts in its file.
    pub(super) offset: u64,
}

impl<'a, const N: usize> Row<'a, N> {
    /// The canonical text of a member's value; nothing when it is absent.
    pub(super) fn value(&self, member: usize) -> &'a [u8] {
        let before = if member == 0 { 0 } else { self.ends[member - 1] as usize };
        let end = self.ends[member] as usize;
        if end == before {
            return &[];
        }
        // The brace or the comma is one byte.
        &self.bytes[before + 1 + self.shape.names[member].len()..end]
    }

    /// The canonical text of the key, in its quotes.
    pub(super) fn key(&self) -> &'a [u8] {
        self.value(self.shape.key)
    }

    /// What no other line of the file has.
    pub(super) fn id(&self) -> Id<'a> {
        Id { key: self.key(), part: self.shape.part.map_or(&[], |part| self.value(part)) }
    }
}

/// The key of a line and, where a key has several lines, which of them it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Id<'a> {
    /// In its quotes.
    pub(super) key: &'a [u8],
    /// A number, or nothing.
    pub(super) part: &'a [u8],
}

impl Id<'_> {
    /// The id as one text. The key ends with its quote, so no two ids have the same.
    pub(super) fn text(&self) -> Cow<'_, [u8]> {
        if self.part.is_empty() { Cow::Borrowed(self.key) } else { Cow::Owned([self.key, self.part].concat()) }
    }
}

impl<const N: usize> Shape<N> {
    /// Returns where each value ends, or `None` when the line does not have this shape.
    pub(super) fn scan(&self, line: &[u8]) -> Option<[u32; N]> {
        let mut ends = [0; N];
        let mut at = 0;
        for (member, (name, end)) in self.names.iter().zip(&mut ends).enumerate() {
            let before = if at == 0 { b'{' } else { b',' };
            if line.get(at) == Some(&before) && line[at + 1..].starts_with(name.as_bytes()) {
                at = skip_value(line, at + 1 + name.len())?;
            } else if self.optional >> member & 1 == 0 {
                return None;
            }
            *end = u32::try_from(at).ok()?;
        }
        let key_is_text = line[..ends[self.key] as usize].ends_with(b"\"");
        (&line[at..] == b"}" && key_is_text).then_some(ends)
    }
}

const RECORD_MEMBERS: usize = 25;
const TRAJECTORY_MEMBERS: usize = 11;

pub(super) type RecordRow<'a> = Row<'a, RECORD_MEMBERS>;
pub(super) type TrajectoryRow<'a> = Row<'a, TRAJECTORY_MEMBERS>;

/// `records.jsonl`.
pub(super) static RECORD: Shape<RECORD_MEMBERS> = Shape {
    names: [
        "\"condition\":",
        "\"error\":",
        "\"expected\":",
        "\"finish_reason\":",
        "\"input\":",
        "\"item_id\":",
        "\"key\":",
        "\"latency_ms\":",
        "\"model\":",
        "\"ordinal\":",
        "\"output\":",
        "\"output_fingerprint\":",
        "\"provider\":",
        "\"run_id\":",
        "\"sample\":",
        "\"schema_version\":",
        "\"scores\":",
        "\"seed\":",
        "\"started_at\":",
        "\"status\":",
        "\"task\":",
        "\"tool_calls\":",
        "\"turns\":",
        "\"usage\":",
        "\"voting\":",
    ],
    optional: 1 << record::VOTING,
    key: 6,
    part: None,
    explain: |path, line, bytes| explain::<Record>(path, line, bytes, "record"),
};

/// Places of the members of a record.
pub(super) mod record {
    pub(crate) const CONDITION: usize = 0;
    pub(crate) const ERROR: usize = 1;
    pub(crate) const EXPECTED: usize = 2;
    pub(crate) const FINISH_REASON: usize = 3;
    pub(crate) const INPUT: usize = 4;
    pub(crate) const ITEM_ID: usize = 5;
    pub(crate) const MODEL: usize = 8;
    pub(crate) const OUTPUT: usize = 10;
    pub(crate) const PROVIDER: usize = 12;
    pub(crate) const SCORES: usize = 16;
    pub(crate) const STATUS: usize = 19;
    pub(crate) const TASK: usize = 20;
    pub(crate) const TOOL_CALLS: usize = 21;
    pub(crate) const TURNS: usize = 22;
    pub(crate) const USAGE: usize = 23;
    pub(crate) const VOTING: usize = 24;
}

/// `trajectories.jsonl`.
pub(super) static TRAJECTORY: Shape<TRAJECTORY_MEMBERS> = Shape {
    names: [
        "\"attempt\":",
        "\"final_answer\":",
        "\"key\":",
        "\"model\":",
        "\"no_answer\":",
        "\"run_id\":",
        "\"steps\":",
        "\"stop\":",
        "\"task_id\":",
        "\"turns\":",
        "\"usage\":",
    ],
    optional: 1 << trajectory::ATTEMPT | 1 << trajectory::NO_ANSWER | 1 << trajectory::STOP,
    key: trajectory::KEY,
    part: Some(trajectory::ATTEMPT),
    explain: |path, line, bytes| explain::<Trajectory>(path, line, bytes, "trajectory"),
};

/// Places of the members of a trajectory.
pub(super) mod trajectory {
    pub(crate) const ATTEMPT: usize = 0;
    pub(crate) const FINAL_ANSWER: usize = 1;
    pub(crate) const KEY: usize = 2;
    pub(crate) const MODEL: usize = 3;
    pub(crate) const NO_ANSWER: usize = 4;
    pub(crate) const STEPS: usize = 6;
    pub(crate) const STOP: usize = 7;
    pub(crate) const TASK_ID: usize = 8;
    pub(crate) const TURNS: usize = 9;
}

/// The verdict of a record's first scorer, as far as statistics need it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Primary<'a> {
    pub(super) passed: bool,
    /// The scorer's name in its quotes.
    pub(super) scorer: &'a [u8],
    pub(super) value: f64,
}

/// Reads the first entry of a record's `scores`: `Some(None)` when there are none, `None` when the
/// text is not a list of scores.
pub(super) fn primary(scores: &[u8]) -> Option<Option<Primary<'_>>> {
    if scores == b"[]" {
        return Some(None);
    }
    let at = after(scores, 0, b"[{\"explanation\":")?;
    let at = skip_value(scores, at)?;
    let at = match after(scores, at, b",\"judge\":") {
        Some(at) => skip_value(scores, at)?,
        None => at,
    };
    let at = after(scores, at, b",\"passed\":")?;
    let end = skip_value(scores, at)?;
    let passed = match &scores[at..end] {
        b"true" => true,
        b"false" => false,
        _ => return None,
    };
    let at = after(scores, end, b",\"scorer\":")?;
    let end = skip_value(scores, at)?;
    let scorer = &scores[at..end];
    let at = after(scores, end, b",\"value\":")?;
    let end = skip_value(scores, at)?;
    let value = match &scores[at..end] {
        b"0" => 0.0,
        b"1" => 1.0,
        text => std::str::from_utf8(text).ok()?.parse().ok().filter(|value: &f64| value.is_finite())?,
    };
    (scores.get(end) == Some(&b'}')).then_some(Some(Primary { passed, scorer, value }))
}

fn after(bytes: &[u8], at: usize, text: &[u8]) -> Option<usize> {
    bytes[at..].starts_with(text).then_some(at + text.len())
}

/// Returns where the value that starts here ends.
pub(super) fn skip_value(bytes: &[u8], at: usize) -> Option<usize> {
    match *bytes.get(at)? {
        b'"' => skip_string(bytes, at + 1),
        b'{' | b'[' => skip_nested(bytes, at),
        b'n' => after(bytes, at, b"null"),
        b't' => after(bytes, at, b"true"),
        b'f' => after(bytes, at, b"false"),
        b'0'..=b'9' | b'-' => {
            let is_number = |byte: &u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e');
            let length = bytes[at..].iter().position(|byte| !is_number(byte))?;
            Some(at + length)
        }
        _ => None,
    }
}

/// Returns where the string ends whose opening quote is just before.
fn skip_string(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        at += memchr2(b'"', b'\\', bytes.get(at..)?)?;
        if bytes[at] == b'"' {
            return Some(at + 1);
        }
        at += 2;
    }
}

/// Returns where the list or object ends that starts here.
fn skip_nested(bytes: &[u8], mut at: usize) -> Option<usize> {
    // One bit for each open bracket, 1 for an object: as deep as our JSON may be.
    let (mut open, mut depth) = (0u128, 0);
    loop {
        match *bytes.get(at)? {
            b'"' => {
                at = skip_string(bytes, at + 1)?;
                continue;
            }
            bracket @ (b'{' | b'[') => {
                if depth == proofmark_canon::json::MAX_DEPTH {
                    return None;
                }
                open = open << 1 | u128::from(bracket == b'{');
                depth += 1;
            }
            bracket @ (b'}' | b']') => {
                if (open & 1 == 1) != (bracket == b'}') {
                    return None;
                }
                open >>= 1;
                depth -= 1;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::sample;
    use crate::record::Voting;
    use proptest::prelude::*;

    #[test]
    fn every_member_of_a_record_is_found() {
        let mut record = sample::record("t\"[{", "i\\", "m}", "é", 3);
        record.voting =
            Some(Voting { answers: vec![None], chosen: None, rule: crate::record::VotingRule::NoAnswers, votes: 0 });
        record.expected = proofmark_canon::json::parse(br#"{"a":[1,{"b":"]}\\\""}],"c":null}"#).unwrap();
        let bytes = proofmark_canon::to_vec(&record).unwrap();
        let ends = RECORD.scan(&bytes).unwrap();
        let row = Row { shape: &RECORD, bytes: &bytes, ends: &ends, line: 1, offset: 0 };
        let value = proofmark_canon::json::parse(&bytes).unwrap();
        for (member, name) in RECORD.names.iter().enumerate() {
            let name = name.trim_matches(|c: char| !c.is_ascii_lowercase() && c != '_');
            let text = value.get(name).map(|value| value.to_canonical()).unwrap_or_default();
            assert_eq!(row.value(member), text, "{name}");
        }
        for (member, name) in [
            (record::CONDITION, "condition"),
            (record::EXPECTED, "expected"),
            (record::INPUT, "input"),
            (record::ITEM_ID, "item_id"),
            (record::MODEL, "model"),
            (record::OUTPUT, "output"),
            (record::PROVIDER, "provider"),
            (record::SCORES, "scores"),
            (record::STATUS, "status"),
            (record::TASK, "task"),
            (record::TOOL_CALLS, "tool_calls"),
            (record::USAGE, "usage"),
            (record::VOTING, "voting"),
        ] {
            assert_eq!(RECORD.names[member], format!("\"{name}\":"));
        }
        assert_eq!(row.key(), value.get("key").unwrap().to_canonical());
    }

    #[test]
    fn every_member_of_a_trajectory_is_found_whichever_are_there() {
        use crate::trajectory::StopReason::Answered;
        for (attempt, no_answer, stop) in (0..8).map(|bits| (bits & 1 > 0, bits & 2 > 0, bits & 4 > 0)) {
            let mut line = sample::trajectory("t/i/m/c/0", "yes");
            line.attempt = attempt.then_some(12);
            line.no_answer = no_answer.then(|| "it was silent".to_owned());
            line.stop = stop.then_some(Answered);
            let bytes = proofmark_canon::to_vec(&line).unwrap();
            let value = proofmark_canon::json::parse(&bytes).unwrap();
            let ends = TRAJECTORY.scan(&bytes).unwrap();
            let row = Row { shape: &TRAJECTORY, bytes: &bytes, ends: &ends, line: 1, offset: 0 };
            for (member, name) in TRAJECTORY.names.iter().enumerate() {
                let name = name.trim_matches(['"', ':']);
                let text = value.get(name).map(|value| value.to_canonical()).unwrap_or_default();
                assert_eq!(row.value(member), text, "{name}");
            }
            let part = if attempt { b"12".as_slice() } else { b"" };
            assert_eq!(row.id(), Id { key: b"\"t/i/m/c/0\"", part });
            assert_eq!(*row.id().text(), [b"\"t/i/m/c/0\"".as_slice(), part].concat());
        }
        for (member, name) in [
            (trajectory::ATTEMPT, "attempt"),
            (trajectory::FINAL_ANSWER, "final_answer"),
            (trajectory::KEY, "key"),
            (trajectory::MODEL, "model"),
            (trajectory::NO_ANSWER, "no_answer"),
            (trajectory::STEPS, "steps"),
            (trajectory::STOP, "stop"),
            (trajectory::TASK_ID, "task_id"),
            (trajectory::TURNS, "turns"),
        ] {
            assert_eq!(TRAJECTORY.names[member], format!("\"{name}\":"));
        }
    }

    #[test]
    fn a_member_that_stands_elsewhere_or_twice_is_refused() {
        let good = proofmark_canon::to_vec(&sample::trajectory("t/i/m/c/0", "yes")).unwrap();
        let good = String::from_utf8(good).unwrap();
        for bad in [
            good.replace("{\"final", "{\"attempt\":0,\"attempt\":0,\"final"),
            good.replace("{\"final", ",\"final"),
            good.replace(",\"key\"", ",\"attempt\":0,\"key\""),
            good.replace("}\n", ",\"stop\":\"answered\"}\n").replace("1}}", "1},\"stop\":\"answered\"}"),
            good.replace("\"turns\"", "\"turn\""),
            format!("{good},"),
        ] {
            assert!(bad == good || TRAJECTORY.scan(bad.as_bytes()).is_none(), "{bad}");
        }
    }

    #[test]
    fn a_line_cut_anywhere_is_refused() {
        let bytes = proofmark_canon::to_vec(&sample::record("t", "i", "m", "c", 0)).unwrap();
        for end in 0..bytes.len() {
            assert!(RECORD.scan(&bytes[..end]).is_none(), "{end}");
        }
    }

    #[test]
    fn values_end_where_they_should() {
        for (text, end) in [
            ("\"a\\\"b\",", Some(6)),
            ("\"a\\\\\",", Some(5)),
            ("\"abc", None),
            ("\"abc\\", None),
            ("[],", Some(2)),
            ("[{\"]\":[]}],", Some(10)),
            ("[}", None),
            ("{]", None),
            ("[[", None),
            ("-1.5e+3,", Some(7)),
            ("12", None),
            ("nul", None),
            ("null,", Some(4)),
            ("true}", Some(4)),
            ("x", None),
            ("", None),
            ("]", None),
        ] {
            assert_eq!(skip_value(text.as_bytes(), 0), end, "{text}");
        }
        let deep = "[".repeat(129) + &"]".repeat(129) + ",";
        assert_eq!(skip_value(deep.as_bytes(), 0), None);
        assert_eq!(skip_value(&deep.as_bytes()[1..], 0), Some(256));
    }

    #[test]
    fn the_first_verdict_is_read_and_nonsense_refused() {
        let text = br#"[{"explanation":"\"}]","passed":true,"scorer":"exact","value":0.25},{"explanation":1}]"#;
        let first = primary(text).unwrap().unwrap();
        assert_eq!(first, Primary { passed: true, scorer: b"\"exact\"", value: 0.25 });
        assert_eq!(primary(b"[]"), Some(None));
        for text in [
            "",
            "{}",
            "[{}]",
            r#"[{"explanation":"","passed":1,"scorer":"e","value":1}]"#,
            r#"[{"explanation":"","passed":true,"scorer":"e","value":1e999}]"#,
            r#"[{"explanation":"","passed":true,"scorer":"e","value":--}]"#,
            r#"[{"explanation":"","passed":true,"scorer":"e","value":1"#,
        ] {
            assert_eq!(primary(text.as_bytes()), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn an_edited_line_is_refused_or_has_members_that_cover_it(
            at in any::<usize>(), removed in 0usize..4, new in prop::collection::vec(any::<u8>(), 0..4),
        ) {
            let mut line = proofmark_canon::to_vec(&sample::record("t", "i\"\\", "m", "c", 0)).unwrap();
            let at = at % line.len();
            line.splice(at..(at + removed).min(line.len()), new);
            if let Some(ends) = RECORD.scan(&line) {
                let row = Row { shape: &RECORD, bytes: &line, ends: &ends, line: 1, offset: 0 };
                let there = (0..RECORD_MEMBERS).filter(|member| !row.value(*member).is_empty());
                let covered: usize = there.map(|member| 1 + RECORD.names[member].len() + row.value(member).len()).sum();
                prop_assert_eq!(covered + 1, line.len());
                prop_assert!(row.key().starts_with(b"\"") && row.key().ends_with(b"\""));
            }
        }
    }
}
