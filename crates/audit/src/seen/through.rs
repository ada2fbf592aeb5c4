//! One trajectory, looked through.

use std::collections::HashSet;

use proofmark_artefact::audit::{Evidence, Severity};
use proofmark_artefact::spill::Spot;
use proofmark_artefact::text::excerpt;
use proofmark_canon::Value;

use super::texts::{evidence_of, pleas_of, watch_of};
use super::{ISOLATION, LEAK, Lens, Looked, MOST_OF_ONE, ORACLE, Seen, Sight};
use crate::kept::finding;
use crate::look::{Grade, Sighting, Watch, touches_of};
use crate::sample::{Origin, Sample};
use crate::trace::{Args, Call, Extent, Heard, Return, Step, Trace};

/// Looks through one trajectory of a sample.
pub fn look_through(lens: &Lens<'_>, at: Spot, sample: &Sample, line: u64, trace: &Trace<'_>) -> Looked {
    let golds = sample.golds();
    let watch = (!golds.is_empty()).then(|| watch_of(lens, sample, &golds));
    let mut look = Look {
        lens,
        sample,
        line,
        watch,
        carried: false,
        requested: None,
        asked_for: Vec::new(),
        known: trace.has_history().then(Known::default),
        looked: Looked { sample: at, ..Looked::default() },
    };
    look.looked.seen = Seen {
        trajectories: 1,
        steps: trace.steps.len() as u64,
        leak: Sight::All,
        oracle: Sight::All,
        isolation: Sight::All,
        output_tokens: trace.output_tokens,
        step_tokens: Some(0),
        not_count: trace.not_count.clone(),
        attempts: trace.attempts.unwrap_or_default(),
        not_attempts: trace.not_attempts.clone(),
        times: trace.times.clone(),
        ..Seen::default()
    };
    if look.watch.is_none() {
        look.lack(GOLD_GAPS);
    }
    look.tools();
    // Calls that have steps of their own are counted there.
    let counts_said = !trace.steps.iter().any(|step| matches!(step, Step::Called { .. }));
    for (number, step) in trace.steps.iter().enumerate() {
        look.step(number, step, counts_said);
    }
    look.looked
}

/// A look that is under way.
struct Look<'a, 'v> {
    lens: &'a Lens<'a>,
    sample: &'a Sample,
    line: u64,
    /// `None` without a gold answer.
    watch: Option<Watch>,
    /// Whether the answer came up in a result or in the model's own words: from then on inputs may repeat it.
    carried: bool,
    /// What the last call asked for: where its result is from when that does not say.
    requested: Option<String>,
    /// Long texts of calls, to know them again where a result repeats them.
    asked_for: Vec<String>,
    /// What steps have shown so far; kept only where questions repeat it.
    known: Option<Known<'v>>,
    looked: Looked,
}

/// What steps have shown.
#[derive(Default)]
struct Known<'v> {
    texts: HashSet<&'v str>,
    calls: HashSet<String>,
}

const GOLD_GAPS: &[(&str, &str)] = &[(LEAK, NO_GOLD), (ORACLE, NO_GOLD)];
const NO_GOLD: &str = "gold answers are not known, so that nothing can be compared with them";
const CUT_RESULT: &str = "tool results are recorded in part, without a scan of the whole";
const CUT_PROMPT: &str = "prompts are recorded in part";
const CUT_ARGS: &str = "arguments of tool calls are recorded in part";
const NO_ARGS: &str = "arguments of tool calls are not recorded";
const NO_RESULT: &str = "tool results are recorded without their content";
const NO_TURN: &str = "the model is shown the answer as words of its own that no step has it say";
const UNKNOWN_STEP: &str = "steps of an unknown type are not looked at";

impl<'v> Look<'_, 'v> {
    fn step(&mut self, number: usize, step: &Step<'v>, counts_said: bool) {
        match step {
            Step::Shown { texts, whole, digest } => {
                let is_looked_at = digest.is_some_and(|digest| self.sample.looked.contains(&digest));
                if !is_looked_at {
                    self.given(number, texts);
                }
                if !whole && !is_looked_at {
                    self.lack(&[(ORACLE, CUT_PROMPT)]);
                }
            }
            Step::Asked { shown, said, calls, output_tokens, bytes, .. } => {
                shown.iter().for_each(|heard| self.heard(number, heard, said));
                self.asked(number, said, *bytes, *output_tokens);
                if counts_said {
                    self.looked.tool_calls += calls.len() as u64;
                }
                calls.iter().for_each(|call| self.called(number, call));
            }
            Step::Called { call, returned } => {
                self.looked.tool_calls += 1;
                self.called(number, call);
                if let Some(returned) = returned {
                    self.looked.tool_results += 1;
                    self.returned(number, returned);
                }
            }
            Step::Returned(returned) => {
                self.looked.tool_results += 1;
                self.returned(number, returned);
            }
            Step::Unknown { .. } => {
                self.lack(&[(LEAK, UNKNOWN_STEP), (ORACLE, UNKNOWN_STEP), (ISOLATION, UNKNOWN_STEP)]);
            }
        }
    }

    /// Looks at what a question shows the model. Turns and results that steps have shown were looked at there.
    fn heard(&mut self, number: usize, heard: &Heard<'v>, said: &[&'v str]) {
        let is_known = |known: &Option<Known<'v>>, text: &'v str| {
            said.contains(&text) || known.as_ref().is_some_and(|known| known.texts.contains(text))
        };
        match heard {
            Heard::Given(text) => self.given(number, &[text]),
            Heard::Tool(returned) => {
                if !returned.texts.iter().all(|text| is_known(&self.known, text)) {
                    self.returned(number, returned);
                }
            }
            Heard::Own { texts, calls, is_last } => {
                let new: Vec<&'v str> = texts.iter().copied().filter(|text| !is_known(&self.known, text)).collect();
                if *is_last {
                    self.given(number, &new);
                } else if let Some(watch) = &self.watch
                    && !self.carried
                    && new.iter().any(|text| !watch.oracle(text).is_empty())
                {
                    // The model may have said so: nobody has recorded that it did.
                    self.lack(&[(ORACLE, NO_TURN)]);
                }
                calls.iter().for_each(|call| self.called(number, call));
                if let Some(known) = &mut self.known {
                    known.texts.extend(new);
                }
            }
        }
    }

    /// What the agent was told of its tools is something that it could see.
    fn tools(&mut self) {
        let Some(watch) = &self.watch else { return };
        let sightings = self.lens.tools.iter().flat_map(|(name, text)| {
            let leaks = watch.oracle(text).into_iter().filter(|sighting| sighting.grade == Grade::Critical);
            leaks.map(move |sighting| (name, sighting))
        });
        let found: Vec<Evidence> = sightings
            .map(|(name, sighting)| {
                let place = format!("the description of tool `{}`", excerpt(name, 60));
                self.evidence("oracle_in_tool", &sighting, &place)
            })
            .collect();
        self.looked.oracles.extend(found);
    }

    fn given(&mut self, number: usize, texts: &[&str]) {
        let Some(watch) = &self.watch else { return };
        // What a result or the model itself brought up may be repeated from there on.
        if self.carried {
            return;
        }
        let sightings: Vec<Sighting> = texts.iter().flat_map(|text| watch.oracle(text)).collect();
        for sighting in sightings {
            let evidence = self.evidence(sighting.why.as_str(), &sighting, &self.place(number));
            push(&mut self.looked.oracles, evidence);
        }
    }

    fn asked(&mut self, number: usize, said: &[&'v str], bytes: u64, tokens: Option<u64>) {
        if let Some(known) = &mut self.known {
            known.texts.extend(said);
        }
        let seen = &mut self.looked.seen;
        seen.model_calls += 1;
        seen.said_bytes += bytes;
        seen.step_tokens = seen.step_tokens.zip(tokens).map(|(sum, tokens)| sum.saturating_add(tokens));
        seen.most_tokens = seen.most_tokens.max(tokens.unwrap_or_default());
        if seen.token_mismatch.is_none()
            && let Some(tokens) = tokens
            && !is_token_count_of(tokens, bytes)
        {
            seen.token_mismatch = Some(format!("step {number} says {bytes} bytes in {tokens} tokens"));
        }
        for text in said {
            self.pleas_in(number, text);
        }
        if let Some(watch) = &self.watch
            && !self.carried
        {
            self.carried = said.iter().any(|text| !watch.leaks(text, None).is_empty());
        }
    }

    fn pleas_in(&mut self, number: usize, text: &str) {
        let place = self.place(number);
        let found = pleas_of(self.lens.reveal, self.sample, text, &place);
        for evidence in found {
            push(&mut self.looked.pleas, evidence);
        }
    }

    fn called(&mut self, number: usize, call: &Call<'v>) {
        let args: Vec<(&str, &Value)> = call.args.iter().map(|(name, value)| (*name, value.as_ref())).collect();
        if let Some(known) = &mut self.known
            && !known.calls.insert(format!("{} {args:?}", call.name))
        {
            return;
        }
        match call.extent {
            Args::Whole => {}
            Args::Part => self.lack(&[(ISOLATION, CUT_ARGS)]),
            Args::Absent => self.lack(&[(ISOLATION, NO_ARGS)]),
        }
        if let Some(touch) = touches_of(call.name, &args, self.lens.forbidden) {
            let words = self.lens.reveal.text(self.sample, &touch.what, 120);
            let how = if touch.is_hidden { "touches, in disguise," } else { "touches" };
            let message = format!("the call of `{}` {how} {}: {words}", excerpt(call.name, 60), touch.place.sentence());
            let mut evidence = finding(Severity::Critical, touch.place.as_str(), self.sample, message);
            evidence.place = Some(self.place(number));
            push(&mut self.looked.touches, evidence);
        }
        let (mut asked_for, mut texts) = (Vec::new(), Vec::new());
        for (_, value) in &args {
            addresses(value, &mut asked_for);
            long_texts(value, &mut texts);
        }
        self.requested = asked_for.first().map(|address| (*address).to_owned());
        self.asked_for.extend(texts.into_iter().map(str::to_owned));
        if let Some(source) = asked_for.into_iter().find(|address| self.lens.marks.is_source(address)) {
            let message = format!("the call asks for the benchmark's own data: `{}`", excerpt(source, 160));
            let mut evidence = finding(Severity::Critical, "dataset_requested", self.sample, message);
            evidence.place = Some(self.place(number));
            push(&mut self.looked.leaks, evidence);
        }
    }

    fn returned(&mut self, number: usize, returned: &Return<'v>) {
        if let Some(known) = &mut self.known {
            known.texts.extend(&returned.texts);
        }
        let requested = self.requested.take();
        let source = returned.source.or(requested.as_deref());
        // Our own harness looks through every body while it is in memory; no scan means that nothing was there. A scan
        // of somebody else is a claim.
        let is_scanned = self.lens.origin == Origin::Own && (returned.scan.is_some() || self.watch.is_some());
        match returned.extent {
            Extent::Whole => {}
            Extent::Part if is_scanned => {}
            Extent::Part => self.lack(&[(LEAK, CUT_RESULT)]),
            Extent::Absent => self.lack(&[(LEAK, NO_RESULT)]),
        }
        let Some(watch) = &self.watch else {
            if source.is_some_and(|source| self.lens.marks.is_source(source)) {
                let message = "the text came from the benchmark's own data";
                let mut evidence = finding(Severity::Critical, "dataset_source", self.sample, message);
                evidence.place = Some(self.place(number));
                push(&mut self.looked.leaks, evidence);
            }
            return;
        };
        let mut sightings = Vec::new();
        let head = returned.head.unwrap_or_default();
        if let Some(scan) = &returned.scan {
            sightings.extend(watch.leaks_of_scan(scan, head, source));
            self.carried |= !scan.gold.is_empty();
        } else if returned.texts.is_empty() {
            sightings.extend(watch.leaks("", source));
        }
        let is_left = |text: &&&str| returned.scan.is_none() || **text != head;
        returned.texts.iter().filter(is_left).for_each(|text| sightings.extend(watch.leaks(text, source)));
        self.carried |= sightings.iter().any(|sighting| sighting.form.is_some());
        if !sightings.iter().any(|sighting| sighting.grade == Grade::Critical)
            && let Some(text) = returned.as_one(&|name, text| is_echo(name, text, &self.asked_for))
        {
            let as_one = watch.leaks(&text, None);
            self.carried |= as_one.iter().any(|sighting| sighting.form.is_some());
            // What stands in one of its texts was listed there; the place within all of them is nobody's.
            let more = as_one.into_iter().filter(|sighting| sighting.grade == Grade::Critical);
            sightings.extend(more.map(|sighting| Sighting { form: None, ..sighting }).take(1));
        }
        for sighting in sightings {
            let evidence = self.evidence(sighting.why.as_str(), &sighting, &self.place(number));
            push(&mut self.looked.leaks, evidence);
        }
    }

    fn evidence(&self, name: &str, sighting: &Sighting, place: &str) -> Evidence {
        evidence_of(self.lens, self.sample, name, sighting, place)
    }

    fn place(&self, step: usize) -> String {
        format!("{} line {}, step {step}", self.lens.file, self.line)
    }

    fn lack(&mut self, gaps: &[(&'static str, &'static str)]) {
        for (check, what) in gaps {
            if !self.looked.gaps.contains(&(*check, *what)) {
                self.looked.gaps.push((*check, *what));
            }
            match *check {
                LEAK => self.looked.seen.leak = Sight::Part,
                ORACLE => self.looked.seen.oracle = Sight::Part,
                _ => self.looked.seen.isolation = Sight::Part,
            }
        }
    }
}

fn push(list: &mut Vec<Evidence>, evidence: Evidence) {
    if list.len() < MOST_OF_ONE && list.last() != Some(&evidence) {
        list.push(evidence);
    }
}

/// Whether a member of a result repeats what a call searched for. A question that a tool brings by itself is none.
fn is_echo(name: &str, text: &str, asked_for: &[String]) -> bool {
    const NAMES: &[&str] = &["query", "search", "term", "keyword"];
    let name = name.to_ascii_lowercase();
    let is_named = name == "q" || NAMES.iter().any(|part| name.contains(part));
    is_named && asked_for.iter().any(|asked| asked == text)
}

/// Texts among the arguments that are long enough to be known again.
fn long_texts<'t>(value: &'t Value, all: &mut Vec<&'t str>) {
    match value {
        Value::String(text) if (16..=4096).contains(&text.len()) => all.push(text),
        Value::Array(items) => items.iter().for_each(|item| long_texts(item, all)),
        Value::Object(map) => map.iter().for_each(|(_, value)| long_texts(value, all)),
        _ => {}
    }
}

/// Texts among the arguments that can be an address or a path as a whole.
fn addresses<'v>(value: &'v Value, all: &mut Vec<&'v str>) {
    match value {
        Value::String(text) => {
            let text = text.trim();
            if text.len() <= 4096 && text.contains(['/', '.']) && !text.contains(char::is_whitespace) {
                all.push(text);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| addresses(item, all)),
        Value::Object(map) => map.iter().for_each(|(_, value)| addresses(value, all)),
        _ => {}
    }
}

/// Whether so many tokens can be so many bytes: no tokeniser puts 64 bytes of ordinary text into one token.
pub(crate) fn is_token_count_of(tokens: u64, bytes: u64) -> bool {
    bytes <= tokens.saturating_mul(64).saturating_add(256)
}

#[cfg(test)]
mod tests {
    use super::super::{Found, Sights};
    use super::*;
    use crate::kept::Reveal;
    use crate::look::{Forbidden, Marks};
    use proofmark_canon::json;

    fn sample() -> Sample {
        Sample {
            id: "task-0001".into(),
            item: "task-0001".into(),
            question: "Which town on the river did the second expedition reach first?".into(),
            gold: "Antananarivo".into(),
            ..Sample::default()
        }
    }

    /// Looks through a trajectory with these steps.
    fn look(origin: Origin, steps: &str) -> Looked {
        let value = json::parse(format!("{{\"steps\":[{steps}]}}").as_bytes()).unwrap();
        let (marks, mut forbidden) = (Marks::gaia(), Forbidden::usual());
        forbidden.add_marks(&marks);
        let lens = Lens {
            origin,
            marks: &marks,
            forbidden: &forbidden,
            tools: &[],
            reveal: Reveal::Digests,
            file: "trajectories",
        };
        look_through(&lens, Spot(0), &sample(), 1, &Trace::of(&value).unwrap())
    }

    fn names(list: &[Evidence]) -> Vec<(&str, Severity)> {
        list.iter().map(|evidence| (evidence.finding.as_str(), evidence.severity)).collect()
    }

    #[test]
    fn what_a_result_or_the_model_brought_up_may_be_repeated_and_what_nobody_did_is_an_oracle() {
        let asked =
            |input: &str, output: &str| format!(r#"{{"type":"llm_call","input":"{input}","output":"{output}"}}"#);
        let page = r#"{"type":"tool_result","output":"The capital is Antananarivo, says the page."}"#;
        let hint = "hint: Antananarivo";
        for (steps, is_found) in [
            (asked(hint, "y"), true),
            (format!("{page},{}", asked(hint, "y")), false),
            (format!("{},{}", asked("q", "Antananarivo?"), asked(hint, "y")), false),
            (format!("{},{page}", asked(hint, "y")), true),
            (asked("q", "Antananarivo"), false),
        ] {
            let looked = look(Origin::Foreign, &steps);
            assert_eq!(!looked.oracles.is_empty(), is_found, "{steps}: {:?}", looked.oracles);
        }
    }

    #[test]
    fn a_result_of_which_only_the_head_is_there_is_not_seen_unless_we_scanned_it() {
        let result = |more: &str| format!(r#"{{"type":"tool_result","head":"abc","bytes":9000{more}}}"#);
        let scan = r#","scan":{"gold":[{"form":"verbatim","length":12,"offset":5000}]}"#;
        for (origin, step, sight) in [
            (Origin::Foreign, result(""), Sight::Part),
            (Origin::Foreign, result(scan), Sight::Part),
            (Origin::Foreign, result(r#","scan":{"gold":[],"question":[]}"#), Sight::Part),
            (Origin::Own, result(""), Sight::All),
            (Origin::Own, result(scan), Sight::All),
        ] {
            let looked = look(origin, &step);
            assert_eq!(looked.seen.leak, sight, "{step}");
            assert_eq!(looked.gaps.is_empty(), sight == Sight::All);
        }
        let looked = look(Origin::Own, &result(scan));
        assert_eq!(names(&looked.leaks), [("ordinary", Severity::Info)]);
    }

    #[test]
    fn a_step_of_an_unknown_type_leaves_all_three_checks_blind() {
        let seen = look(Origin::Foreign, r#"{"type":"dream","text":"x"}"#).seen;
        assert_eq!((seen.leak, seen.oracle, seen.isolation), (Sight::Part, Sight::Part, Sight::Part));
        let seen = look(Origin::Foreign, r#"{"type":"tool_call","name":"sh","args":"ls","args_truncated":true}"#).seen;
        assert_eq!((seen.leak, seen.oracle, seen.isolation), (Sight::All, Sight::All, Sight::Part));
        let seen = look(Origin::Foreign, r#"{"type":"prompt","head":"ab","bytes":7}"#).seen;
        assert_eq!((seen.leak, seen.oracle, seen.isolation), (Sight::All, Sight::Part, Sight::All));
    }

    #[test]
    fn asking_for_the_dataset_and_getting_it_are_critical_whatever_came() {
        let url = "https://huggingface.co/datasets/gaia-benchmark/GAIA/resolve/main/2023/validation/metadata.jsonl";
        let call = format!(r#"{{"type":"tool_call","name":"fetch","args":{{"url":"{url}"}}}}"#);
        let looked = look(Origin::Foreign, &format!(r#"{call},{{"type":"tool_result","output":"[binary]"}}"#));
        let found = names(&looked.leaks);
        assert_eq!(found, [("dataset_requested", Severity::Critical), ("dataset_source", Severity::Critical)]);
    }

    #[test]
    fn many_findings_of_one_trajectory_are_bounded() {
        let step = r#"{"type":"tool_call","name":"bash","args":"cat gaia-judge.ts"}"#;
        let looked = look(Origin::Foreign, &vec![step; 50].join(","));
        assert_eq!((looked.touches.len(), looked.tool_calls), (MOST_OF_ONE, 50));
    }

    #[test]
    fn no_sample_is_seen_whole_when_one_of_its_trajectories_is_not() {
        let (mut found, mut sights) = (Found::default(), Sights::default());
        for steps in [r#"{"type":"prompt","content":"q"}"#, r#"{"type":"dream"}"#, r#"{"type":"prompt","content":"q"}"#]
        {
            found.take(look(Origin::Foreign, steps), &mut sights).unwrap();
        }
        let seen = sights.finish().unwrap().joined().unwrap().of(Spot(0)).unwrap();
        assert_eq!((seen.leak, seen.trajectories, found.trajectories), (Sight::Part, 3, 3));
    }

    #[test]
    fn without_a_gold_answer_leaks_are_not_seen_but_sources_are() {
        let value = json::parse(
            br#"{"steps":[{"type":"tool_result","output":"x","url":"https://hf.co/datasets/gaia-benchmark/GAIA"}]}"#,
        )
        .unwrap();
        let (marks, forbidden) = (Marks::gaia(), Forbidden::usual());
        let lens = Lens {
            origin: Origin::Own,
            marks: &marks,
            forbidden: &forbidden,
            tools: &[],
            reveal: Reveal::Gold,
            file: "t",
        };
        let unknown = Sample { gold: Value::Null, ..sample() };
        let looked = look_through(&lens, Spot(0), &unknown, 1, &Trace::of(&value).unwrap());
        assert_eq!((looked.seen.leak, looked.seen.oracle), (Sight::Part, Sight::Part));
        assert_eq!(names(&looked.leaks), [("dataset_source", Severity::Critical)]);
    }
}
