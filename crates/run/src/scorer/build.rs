//! A scorer, compiled once for a task.

use std::ffi::OsString;
use std::path::PathBuf;

use proofmark_artefact::path::RelPath;
use proofmark_artefact::suite::judge::JudgePlan;
use proofmark_artefact::suite::plan::ScorerPlan;
use proofmark_artefact::suite::text::TextSource;
use proofmark_canon::{Digest, Value};

use super::choice::Choice;
use super::command::Command;
use super::exact::Exact;
use super::gaia::Gaia;
use super::image::Image;
use super::image_hash::ImageHash;
use super::includes::Includes;
use super::numeric::Numeric;
use super::pattern::Pattern;
use super::schema::Schema;
use super::set::Set;
use super::verdict::{Answer, ScoreError, Verdict};
use crate::judge::JudgeScorer;

/// One scorer of a task, ready to judge any number of answers from any number of threads.
#[derive(Debug)]
pub struct Scorer {
    name: String,
    kind: Kind,
}

/// What the scorers that start programs need from their surroundings.
#[derive(Debug, Clone)]
pub struct ScorerEnv {
    /// The suite's folder: where command scorers run.
    pub root: PathBuf,
    /// `PATH` of command scorers.
    pub path: Option<OsString>,
    /// How many processes one command scorer may have at a time; at least 1.
    pub workers: usize,
    /// Ids of the suite's judges, in its order.
    pub judges: Vec<String>,
}

/// Gives the bytes of a file that the plan names, or says why it cannot.
pub(super) type Load<'l> = dyn Fn(&RelPath) -> Result<Vec<u8>, String> + 'l;

impl Scorer {
    /// Compiles a scorer; `load` gives the bytes of a file that the plan names.
    pub fn compile(plan: &ScorerPlan, load: &Load<'_>, env: &ScorerEnv) -> Result<Self, ScorerBuildError> {
        let kind = match plan {
            ScorerPlan::Exact { name: _, ignore_case, trim, ignore_punctuation } => {
                Kind::Exact(Exact { ignore_case: *ignore_case, trim: *trim, ignore_punctuation: *ignore_punctuation })
            }
            ScorerPlan::Includes { name: _, ignore_case } => Kind::Includes(Includes { ignore_case: *ignore_case }),
            ScorerPlan::Regex { name, pattern, group, take, ignore_case } => {
                Kind::Pattern(Pattern::compile(name, pattern, group.as_ref(), *take, *ignore_case)?)
            }
            ScorerPlan::Numeric { name, tolerance, relative_tolerance, take } => {
                Kind::Numeric(Numeric::compile(name, *tolerance, *relative_tolerance, *take)?)
            }
            ScorerPlan::Choice { name: _ } => Kind::Choice(Choice),
            ScorerPlan::Set { name, separator, ignore_case, threshold } => {
                Kind::Set(Set::compile(name, separator.as_deref(), *ignore_case, *threshold)?)
            }
            ScorerPlan::JsonSchema { name, schema, file, match_target } => {
                Kind::Schema(Box::new(Schema::compile(name, schema.as_ref(), file.as_ref(), *match_target, load)?))
            }
            ScorerPlan::Gaia { name: _ } => Kind::Gaia(Gaia),
            ScorerPlan::Image { .. } => Kind::Image(Box::new(Image::compile(plan)?)),
            ScorerPlan::ImageHash { name: _, max_distance } => {
                Kind::ImageHash(ImageHash { max_distance: *max_distance, root: env.root.clone() })
            }
            ScorerPlan::Command { name, command, timeout, files: _ } => {
                Kind::Command(Box::new(Command::compile(name, command, *timeout, env)?))
            }
            ScorerPlan::Judge(plan) => Kind::Judge(Box::new(compile_judge(plan, load, env)?)),
        };
        Ok(Self { name: plan.name().to_owned(), kind })
    }

    /// The scorer's name in the suite.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether judging starts a program, which may do anything.
    pub fn is_program(&self) -> bool {
        matches!(self.kind, Kind::Command(_))
    }

    /// The judge scorer it is, if it is one: that needs a desk.
    pub(crate) fn judge(&self) -> Option<&JudgeScorer> {
        if let Kind::Judge(scorer) = &self.kind { Some(scorer) } else { None }
    }

    /// Judges an answer at once, or returns `None` when that needs another process or takes long.
    pub fn score_now(&self, answer: &Answer<'_>) -> Option<Result<Verdict, ScoreError>> {
        let reads_text = !matches!(self.kind, Kind::Image(_) | Kind::ImageHash(_) | Kind::Command(_) | Kind::Judge(_));
        if reads_text && answer.text.is_empty() && !answer.images.is_empty() {
            // Not an empty text: there is none, and no target can mean that.
            return Some(Ok(Verdict::fail("the answer is a picture without text".to_owned())));
        }
        Some(match &self.kind {
            Kind::Exact(scorer) => scorer.score(answer),
            Kind::Includes(scorer) => scorer.score(answer),
            Kind::Pattern(scorer) => scorer.score(answer),
            Kind::Numeric(scorer) => scorer.score(answer),
            Kind::Choice(scorer) => scorer.score(answer),
            Kind::Set(scorer) => scorer.score(answer),
            Kind::Schema(scorer) => scorer.score(answer),
            Kind::Gaia(scorer) => scorer.score(answer),
            Kind::Image(scorer) => Ok(scorer.score(answer)),
            Kind::ImageHash(_) | Kind::Command(_) | Kind::Judge(_) => return None,
        })
    }

    /// Judges an answer. An error means that the scorer itself failed: never a pass.
    pub async fn score(&self, answer: &Answer<'_>) -> Result<Verdict, ScoreError> {
        match &self.kind {
            Kind::Command(scorer) => Ok(scorer.score(answer).await?),
            Kind::ImageHash(scorer) => scorer.score(answer).await,
            // Whoever scores takes `judge`, which needs a desk.
            Kind::Judge(_) => Err(ScoreError::NoJudge),
            _ => self.score_now(answer).expect("all others have an answer at once"),
        }
    }

    /// Says before anything is asked when an item can never be scored. Only files are looked for.
    pub fn try_item(&self, item_id: &str, expected: &Value) -> Result<(), ScoreError> {
        let Kind::ImageHash(scorer) = &self.kind else { return Ok(()) };
        let (text, key, messages) = ("", "", &[]);
        let nothing = Answer { text, images: &[], expected, choices: None, item_id, key, messages, metadata: None };
        scorer.try_item(&nothing)
    }

    /// Stops the processes of a command scorer; whoever asks it afterwards gets an error.
    pub async fn close(&self) {
        if let Kind::Command(scorer) = &self.kind {
            scorer.close().await;
        }
    }
}

#[derive(Debug)]
enum Kind {
    Exact(Exact),
    Includes(Includes),
    Pattern(Pattern),
    Numeric(Numeric),
    Choice(Choice),
    Set(Set),
    Schema(Box<Schema>),
    Gaia(Gaia),
    Image(Box<Image>),
    ImageHash(ImageHash),
    Command(Box<Command>),
    Judge(Box<JudgeScorer>),
}

fn compile_judge(plan: &JudgePlan, load: &Load<'_>, env: &ScorerEnv) -> Result<JudgeScorer, ScorerBuildError> {
    let scorer = || plan.name.clone();
    let rubric = match &plan.rubric {
        TextSource::Inline(text) => text.clone(),
        TextSource::File(file) => {
            let wrong = |why| ScorerBuildError::File { scorer: scorer(), file: file.clone(), why };
            let bytes = load(file).map_err(wrong)?;
            String::from_utf8(bytes).map_err(|_| wrong("it is not UTF-8 text".to_owned()))?
        }
    };
    let at = |id: &String| {
        env.judges.iter().position(|known| known == id).ok_or_else(|| ScorerBuildError::Option {
            scorer: scorer(),
            option: "judges",
            found: id.clone(),
            expected: "the id of one of the suite's judges",
        })
    };
    let judges = plan.judges.iter().map(at).collect::<Result<_, _>>()?;
    Ok(JudgeScorer { rubric_digest: Digest::of(rubric.as_bytes()), plan: plan.clone(), rubric, judges })
}

/// The plan names a scorer that cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ScorerBuildError {
    #[error("the pattern of scorer `{scorer}` {why}")]
    Pattern { scorer: String, why: String },
    #[error("the schema of scorer `{scorer}` {why}")]
    Schema { scorer: String, why: String },
    #[error("cannot read `{file}` for scorer `{scorer}`: {why}")]
    File { scorer: String, file: RelPath, why: String },
    #[error("`{option}` of scorer `{scorer}` is `{found}`, expected {expected}")]
    Option { scorer: String, option: &'static str, found: String, expected: &'static str },
}

impl ScorerBuildError {
    /// Returns the way out.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Pattern { .. } => {
                "patterns are Rust regex syntax (no look-around, no back-references); quote them in YAML"
            }
            Self::Schema { .. } => {
                "schemas are draft 2020-12 and stand alone: put what `$ref` names under `$defs`; patterns have no look-around"
            }
            Self::File { .. } => "give a path relative to the suite's folder",
            Self::Option { .. } => "correct the option, or leave it out for its default",
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use proofmark_artefact::suite::config::{Group, Take};
    use proptest::prelude::*;

    pub(in crate::scorer) fn value(json: &str) -> Value {
        proofmark_canon::json::parse(json.as_bytes()).unwrap()
    }

    pub(in crate::scorer) fn answer<'a>(text: &'a str, expected: &'a Value) -> Answer<'a> {
        Answer {
            text,
            images: &[],
            expected,
            choices: None,
            item_id: "i1",
            key: "t/i1/m/c/0",
            messages: &[],
            metadata: None,
        }
    }

    fn compile(plan: &ScorerPlan) -> Scorer {
        let env = ScorerEnv { root: PathBuf::from("/"), path: None, workers: 1, judges: Vec::new() };
        Scorer::compile(plan, &|_| Err("no files here".to_owned()), &env).unwrap()
    }

    /// Every pure scorer, in every setting that changes what it accepts.
    fn pure() -> Vec<Scorer> {
        let name = || "s".to_owned();
        let mut plans = Vec::new();
        for flag in [false, true] {
            plans.extend([
                ScorerPlan::Exact { name: name(), ignore_case: flag, trim: true, ignore_punctuation: flag },
                ScorerPlan::Exact { name: name(), ignore_case: flag, trim: false, ignore_punctuation: !flag },
                ScorerPlan::Includes { name: name(), ignore_case: flag },
                ScorerPlan::Set {
                    name: name(),
                    separator: None,
                    ignore_case: flag,
                    threshold: if flag { 1.0 } else { 0.0 },
                },
                ScorerPlan::Set { name: name(), separator: Some("|".into()), ignore_case: flag, threshold: 0.5 },
                ScorerPlan::Regex {
                    name: name(),
                    pattern: r"(?:answer is )?(\w+)".into(),
                    group: Some(Group::Number(1)),
                    take: if flag { Take::First } else { Take::Last },
                    ignore_case: flag,
                },
                ScorerPlan::Numeric {
                    name: name(),
                    tolerance: if flag { 1e6 } else { 0.0 },
                    relative_tolerance: if flag { 10.0 } else { 0.0 },
                    take: if flag { Take::First } else { Take::Last },
                },
                ScorerPlan::JsonSchema { name: name(), schema: Some(value("{}")), file: None, match_target: true },
            ]);
        }
        plans.push(ScorerPlan::Choice { name: name() });
        plans.push(ScorerPlan::Gaia { name: name() });
        plans.iter().map(compile).collect()
    }

    fn check(verdict: &Verdict) {
        assert!(verdict.value.is_finite() && (0.0..=1.0).contains(&verdict.value), "{verdict:?}");
        assert!(!verdict.passed || verdict.value > 0.0, "{verdict:?}");
        assert!(verdict.explanation.chars().count() <= Verdict::MAX_EXPLANATION, "{verdict:?}");
        assert!(!verdict.explanation.is_empty() && !verdict.explanation.chars().any(char::is_control), "{verdict:?}");
    }

    #[test]
    fn a_wrong_or_empty_answer_gets_0_from_every_scorer() {
        let targets = [
            r#""3""#,
            "3",
            "-1.5",
            r#""yes""#,
            r#""No""#,
            "true",
            r#""Paris""#,
            r#""B""#,
            r#""a""#,
            "0",
            "1",
            r#"["red","blue"]"#,
            "[1,2,3]",
            r#""red, blue""#,
            r#""1,234""#,
            r#""!""#,
            r#""bananas""#,
            r#""New York""#,
            r#"["yes","y"]"#,
            r#"{"a":1}"#,
            "[]",
            r#""""#,
            "null",
        ];
        let options = [value(r#""red""#), value(r#""blue""#), value(r#""green""#)];
        let mut judged = 0;
        for scorer in pure() {
            for target in targets {
                let target = value(target);
                for choices in [None, Some(&options[..])] {
                    for text in ["banana", "", " \n"] {
                        let answer = Answer { choices, ..answer(text, &target) };
                        // `a` and `B` are parts of `banana`, an empty answer is an empty target's, and GAIA's own rule
                        // drops punctuation from both sides.
                        let official =
                            matches!(scorer.kind, Kind::Gaia(_)) && matches!(target.as_str(), Some("!" | ""));
                        let inside =
                            matches!(scorer.kind, Kind::Includes(_)) && matches!(target.as_str(), Some("a" | "B"));
                        let empty = target.as_str() == Some("") && text.trim().is_empty();
                        if let (false, Ok(verdict)) = (official || inside || empty, scorer.score_now(&answer).unwrap())
                        {
                            check(&verdict);
                            assert!(
                                !verdict.passed && verdict.value == 0.0,
                                "{scorer:?} {target} {text:?}: {verdict:?}"
                            );
                            judged += 1;
                        }
                    }
                }
            }
        }
        assert!(judged > 1000, "{judged}");
    }

    #[test]
    fn a_missing_target_is_an_error_that_names_the_item() {
        for scorer in pure() {
            let error = scorer.score_now(&answer("x", &Value::Null)).unwrap().unwrap_err();
            assert_eq!(error, ScoreError::NoTarget { item: "i1".into() });
            assert!(error.hint().is_some());
        }
    }

    #[test]
    fn a_picture_without_text_fails_every_scorer_of_texts() {
        let facts = proofmark_artefact::record::Image {
            bytes: 1,
            digest: proofmark_canon::Digest::of(b"x"),
            height: 1,
            media_type: "image/png".into(),
            width: 1,
        };
        let images = [crate::scorer::AnswerImage { facts: &facts, run_dir: std::path::Path::new("/") }];
        for target in [r#""""#, "null", r#""a""#].map(value) {
            for scorer in pure() {
                let verdict = scorer.score_now(&Answer { images: &images, ..answer("", &target) }).unwrap().unwrap();
                assert_eq!(verdict, Verdict::fail("the answer is a picture without text".into()), "{scorer:?}");
                // With a text beside the picture, the text is judged as ever.
                let both = Answer { images: &images, ..answer("a", &target) };
                assert_eq!(scorer.score_now(&both), scorer.score_now(&answer("a", &target)), "{scorer:?}");
            }
        }
    }

    #[test]
    fn a_scorer_can_be_shared_between_threads() {
        fn shared<T: Send + Sync>(_: &T) {}
        pure().iter().for_each(shared);
    }

    #[test]
    fn huge_answers_are_judged_without_a_panic() {
        let texts = [
            "a".repeat(300_000),
            "\u{1F600}".repeat(50_000),
            "\0\u{1b}[31m\u{202e}".repeat(10_000),
            "(A) ".repeat(20_000),
            "1,".repeat(50_000),
            "answer is ".repeat(10_000),
            "[".repeat(100_000),
            "```json\n".repeat(5_000),
            "9".repeat(100_000),
            "\n".repeat(100_000),
            "*".repeat(100_000),
            "- ".repeat(30_000),
            "x".repeat(1_100_000),
        ];
        let target = value(r#""B""#);
        for scorer in pure() {
            for text in &texts {
                check(&scorer.score_now(&answer(text, &target)).unwrap().unwrap_or(Verdict::fail("no".into())));
            }
        }
    }

    fn texts() -> impl Strategy<Value = String> {
        prop_oneof![
            any::<String>(),
            "[ -~\n]{0,40}",
            "(The )?(final )?[aA]nswer( is|:)? ?[*(]{0,2}[A-Ea-e0-9,.$%-]{0,6}[*).]{0,2}( because| or B)?",
            "[+-]?[0-9,._eE×^٠-٩ ]{0,20}",
            "[a-c]([,;|\n] ?[a-c]){0,6}",
            "[\\{\\[\"a1:,\\]\\} ]{0,20}",
            "[\u{0}-\u{20}\u{85}\u{a0}\u{2028}\u{202e}İßΣ\u{1F600}`*.]{0,12}",
        ]
    }

    fn values() -> impl Strategy<Value = Value> {
        let scalar = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<f64>().prop_filter_map("finite", |n| proofmark_canon::Number::new(n).map(Value::Number)),
            (0u32..6).prop_map(Value::from),
            texts().prop_map(Value::from),
        ];
        scalar.prop_recursive(2, 12, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                inner.prop_map(|value| {
                    let mut map = proofmark_canon::Map::new();
                    map.insert("k", value);
                    Value::from(map)
                }),
            ]
        })
    }

    thread_local! { static SCORERS: Vec<Scorer> = pure(); }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 800, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn every_verdict_is_sound_for_any_answer_and_target(
            text in texts(), expected in values(), choices in prop::option::of(prop::collection::vec(values(), 0..5)),
        ) {
            SCORERS.with(|scorers| for scorer in scorers {
                let answer = Answer { choices: choices.as_deref(), ..answer(&text, &expected) };
                let first = scorer.score_now(&answer).unwrap();
                if let Ok(verdict) = &first {
                    check(verdict);
                }
                assert_eq!(first, scorer.score_now(&answer).unwrap());
            });
        }

        #[test]
        fn the_target_itself_passes(text in "[a-z]{2,8}( [a-z]{2,8})?", number in -1e9f64..1e9) {
            let (target, number) = (Value::from(text.as_str()), Value::Number(proofmark_canon::Number::new(number).unwrap()));
            let number_text = number.to_string();
            SCORERS.with(|scorers| for scorer in scorers {
                let (text, target) = match &scorer.kind {
                    Kind::Numeric(_) => (&number_text, &number),
                    Kind::Choice(_) | Kind::Pattern(_) | Kind::Schema(_) => continue,
                    _ => (&text, &target),
                };
                let verdict = scorer.score_now(&answer(text, target)).unwrap().unwrap();
                assert_eq!((verdict.value, verdict.passed), (1.0, true), "{scorer:?} {verdict:?}");
            });
        }
    }
}
