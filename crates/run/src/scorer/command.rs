//! `command`: any program as a scorer.

use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use proofmark_artefact::record::Message;
use proofmark_canon::{Digest, Map, Value};
use serde::Serialize;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};

use super::build::{ScorerBuildError, ScorerEnv};
use super::text::{excerpt, push_excerpt};
use super::verdict::{Answer, AnswerImage, Verdict};
use super::worker::{Broken, MAX_LINE, Program, Worker};

/// Asks a program: one JSON request a line on its stdin, one JSON verdict a line on its stdout.
///
/// - The request is canonical JSON: `{"answer","choices","expected","item_id","key","messages","metadata","version":1}`;
///   what the item does not have is null.
/// - The verdict has `value` (0 to 1), `passed`, or both, and may have `explanation` and `key`. A missing `value` is 1
///   or 0 as `passed` says; a missing `passed` is true for a value of 1. A `key` must be the request's, so a program
///   that answers out of turn is found out. Any other member is an error, and so is a pass with a value of 0.
/// - A process whose verdict named the `key` is asked again. Without it a second line could pass for the verdict on the
///   next answer, so the process is let go, read to its end, and each answer gets a process of its own.
/// - The program runs in the suite's folder, without a shell, in a process group of its own. Its environment is
///   `PATH` and `LANG=C.UTF-8`; no key or token of ours reaches it.
/// - Processes start when they are first needed, at most [`ScorerEnv::workers`] at a time. One that ended between two requests is replaced; one that failed is killed
///   with its whole group, and the next request starts another.
/// - A program may answer one request and end. It must not remember answers: which process gets which request
///   is not fixed.
#[derive(Debug)]
pub(super) struct Command {
    program: Program,
    timeout: Duration,
    turns: Semaphore,
    pool: Mutex<Pool>,
}

#[derive(Debug, Default)]
struct Pool {
    idle: Vec<Worker>,
    closed: bool,
}

impl Command {
    pub(super) fn compile(
        name: &str,
        command: &[String],
        timeout: f64,
        env: &ScorerEnv,
    ) -> Result<Self, ScorerBuildError> {
        let refuse =
            |option, found, expected| ScorerBuildError::Option { scorer: excerpt(name), option, found, expected };
        let Some((program, arguments)) = command.split_first().filter(|(program, _)| !program.trim().is_empty()) else {
            return Err(refuse("command", String::new(), "a program and its arguments"));
        };
        let timeout = Some(timeout)
            .filter(|seconds| *seconds > 0.0 && *seconds <= MAX_TIMEOUT)
            .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
            .ok_or_else(|| refuse("timeout", timeout.to_string(), "seconds, above 0 and at most 86400"))?;
        let program = Program {
            scorer: name.to_owned(),
            program: program.clone(),
            arguments: arguments.to_vec(),
            folder: env.root.clone(),
            path: env.path.clone(),
        };
        let turns = Semaphore::new(env.workers.clamp(1, MAX_WORKERS));
        Ok(Self { program, timeout, turns, pool: Mutex::default() })
    }

    pub(super) async fn score(&self, answer: &Answer<'_>) -> Result<Verdict, CommandError> {
        let request = Request {
            answer: answer.text,
            choices: answer.choices,
            expected: answer.expected,
            images: answer.images.iter().map(ImageRequest::of).collect(),
            item_id: answer.item_id,
            key: answer.key,
            messages: answer.messages,
            metadata: answer.metadata,
            version: 1,
        };
        let scorer = || self.program.scorer.clone();
        let mut line = proofmark_canon::to_vec(&request)
            .map_err(|error| CommandError::Request { scorer: scorer(), why: error.to_string() })?;
        line.push(b'\n');
        let _turn = self.turns.acquire().await.map_err(|_| CommandError::Closed { scorer: scorer() })?;
        let deadline = Instant::now() + self.timeout;
        let mut idle = self.take_idle()?;
        loop {
            let is_fresh = idle.is_none();
            let mut worker = match idle.take() {
                Some(worker) => worker,
                None => Worker::start(&self.program).map_err(|error| CommandError::Start {
                    scorer: scorer(),
                    program: excerpt(&self.program.program),
                    why: error.to_string(),
                })?,
            };
            let asked = timeout_at(deadline, worker.ask(&line)).await;
            let verdict = match &asked {
                Ok(Ok(reply)) => Some(read_verdict(&reply.line, answer.key)),
                // A process may end between two requests; that is not this answer's fault.
                Ok(Err(Broken::Ended { silent: true })) if !is_fresh => continue,
                _ => None,
            };
            let why = match verdict {
                Some(Ok((verdict, InStep::Proven))) => {
                    if asked.is_ok_and(|asked| asked.is_ok_and(|reply| reply.reusable)) {
                        self.give_back(worker);
                    }
                    return Ok(verdict);
                }
                Some(Ok((verdict, InStep::Unknown))) => {
                    let was_quiet = worker.let_go(deadline).await;
                    return if was_quiet { Ok(verdict) } else { Err(CommandError::Unasked { scorer: scorer() }) };
                }
                Some(Err(why)) => why,
                None => String::new(),
            };
            let end = worker.kill().await;
            let stderr = Stderr::of(&end.stderr);
            return Err(match asked {
                Err(_) => CommandError::Timeout { scorer: scorer(), limit: self.timeout, stderr },
                Ok(Err(Broken::Ended { .. })) => CommandError::Ended { scorer: scorer(), how: end.how, stderr },
                Ok(Err(Broken::TooLong)) => CommandError::TooLong { scorer: scorer() },
                Ok(Err(Broken::Unasked)) => CommandError::Unasked { scorer: scorer() },
                Ok(Ok(reply)) => {
                    let line = excerpt(String::from_utf8_lossy(&reply.line).trim());
                    CommandError::Verdict { scorer: scorer(), line, why }
                }
            });
        }
    }

    pub(super) async fn close(&self) {
        let idle = {
            let mut pool = self.pool.lock().unwrap_or_else(PoisonError::into_inner);
            pool.closed = true;
            std::mem::take(&mut pool.idle)
        };
        Worker::stop(idle).await;
    }

    fn take_idle(&self) -> Result<Option<Worker>, CommandError> {
        let mut pool = self.pool.lock().unwrap_or_else(PoisonError::into_inner);
        if pool.closed {
            return Err(CommandError::Closed { scorer: self.program.scorer.clone() });
        }
        Ok(pool.idle.pop())
    }

    fn give_back(&self, worker: Worker) {
        let mut pool = self.pool.lock().unwrap_or_else(PoisonError::into_inner);
        if !pool.closed {
            pool.idle.push(worker);
        }
    }
}

/// What the program reads, in canonical order.
#[derive(Serialize)]
struct Request<'a> {
    answer: &'a str,
    choices: Option<&'a [Value]>,
    expected: &'a Value,
    /// Absent when there are none, so that a request about a text is what it always was.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    images: Vec<ImageRequest<'a>>,
    item_id: &'a str,
    key: &'a str,
    messages: &'a [Message],
    metadata: Option<&'a Map>,
    version: u32,
}

/// A picture that the model made, and the file that holds it.
#[derive(Serialize)]
struct ImageRequest<'a> {
    bytes: u64,
    digest: Digest,
    height: u32,
    media_type: &'a str,
    path: Option<String>,
    width: u32,
}

impl<'a> ImageRequest<'a> {
    fn of(image: &AnswerImage<'a>) -> Self {
        // The program runs in the suite's folder, so the path must not depend on ours.
        let path = image.path().map(|path| path.canonicalize().unwrap_or(path));
        let facts = image.facts;
        Self {
            bytes: facts.bytes,
            digest: facts.digest,
            height: facts.height,
            media_type: &facts.media_type,
            path: path.and_then(|path| path.into_os_string().into_string().ok()),
            width: facts.width,
        }
    }
}

/// Whether a verdict shows which request it is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum InStep {
    Proven,
    Unknown,
}

/// Reads a verdict, or says what is wrong with it.
fn read_verdict(line: &[u8], key: &str) -> Result<(Verdict, InStep), String> {
    let parsed = proofmark_canon::json::parse(line).map_err(|error| format!("is not acceptable JSON: {error}"))?;
    let Value::Object(members) = &parsed else {
        return Err(format!("is {}, expected a JSON object", parsed.kind()));
    };
    let (mut value, mut passed, mut said) = (None, None, None);
    let mut in_step = InStep::Unknown;
    for (name, member) in members.iter() {
        match (name, member) {
            ("value", Value::Null) | ("passed", Value::Null) | ("explanation", Value::Null) => {}
            ("value", Value::Number(number)) if (0.0..=1.0).contains(&number.get()) => value = Some(number.get()),
            ("value", Value::Number(_)) => return Err("has a `value` outside 0 to 1".to_owned()),
            ("passed", Value::Bool(bool)) => passed = Some(*bool),
            ("explanation", Value::String(text)) => said = Some(text.trim()),
            ("key", Value::String(found)) if found == key => in_step = InStep::Proven,
            ("key", Value::String(_)) => return Err("is for another `key`".to_owned()),
            ("value", other) => return Err(format!("has {} as `value`, expected a number", other.kind())),
            ("passed", other) => return Err(format!("has {} as `passed`, expected a boolean", other.kind())),
            ("explanation" | "key", other) => {
                return Err(format!("has {} as `{name}`, expected a string", other.kind()));
            }
            _ => return Err(format!("has the unknown member `{}`", excerpt(name))),
        }
    }
    let (value, passed) = match (value, passed) {
        (Some(value), Some(passed)) => (value, passed),
        (Some(value), None) => (value, value >= 1.0),
        (None, Some(passed)) => (if passed { 1.0 } else { 0.0 }, passed),
        (None, None) => return Err("has neither `value` nor `passed`".to_owned()),
    };
    if passed && value <= 0.0 {
        return Err("passes with a `value` of 0".to_owned());
    }
    let mut explanation = String::new();
    // One character of the limit is for the mark of a cut.
    push_excerpt(&mut explanation, said.unwrap_or_default(), Verdict::MAX_EXPLANATION - 1);
    if explanation.is_empty() {
        explanation.push_str(if passed { "the program passed it" } else { "the program failed it" });
    }
    Ok((Verdict { value, passed, explanation }, in_step))
}

/// The program of a command scorer failed. Its environment is never part of the text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CommandError {
    #[error("cannot start `{program}` of scorer `{scorer}`: {why}")]
    Start { scorer: String, program: String, why: String },
    #[error("the program of scorer `{scorer}` gave no verdict within {} s{stderr}", limit.as_secs_f64())]
    Timeout { scorer: String, limit: Duration, stderr: Stderr },
    #[error("the program of scorer `{scorer}` {how} before it gave a verdict{stderr}")]
    Ended { scorer: String, how: String, stderr: Stderr },
    #[error("the program of scorer `{scorer}` wrote a line of more than {MAX_LINE} bytes")]
    TooLong { scorer: String },
    #[error("the program of scorer `{scorer}` wrote more than one line for one request")]
    Unasked { scorer: String },
    // Without its stderr: how much of it had come when the process was killed is chance, and this ends up in a record.
    #[error("the verdict `{line}` of scorer `{scorer}` {why}")]
    Verdict { scorer: String, line: String, why: String },
    #[error("the request to scorer `{scorer}` has no canonical form: {why}")]
    Request { scorer: String, why: String },
    #[error("scorer `{scorer}` is closed")]
    Closed { scorer: String },
}

impl CommandError {
    /// Returns the way out, where there is one.
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::Start { .. } => {
                "programs are looked up in PATH or relative to the suite's folder; scripts need `chmod +x`"
            }
            Self::Timeout { .. } => "flush stdout after every verdict, or raise the scorer's `timeout`",
            Self::Ended { .. } => "run the program by hand and give it one request on stdin",
            Self::TooLong { .. } | Self::Unasked { .. } => "write one short line for each request; send logs to stderr",
            Self::Verdict { .. } => r#"a verdict is one line such as {"value":1,"passed":true,"explanation":"why"}"#,
            Self::Request { .. } | Self::Closed { .. } => return None,
        })
    }
}

/// The end of what a program wrote to its stderr, on one line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stderr(String);

impl Stderr {
    fn of(text: &str) -> Self {
        let mut line = String::new();
        push_excerpt(&mut line, text.trim(), MAX_STDERR);
        Self(line)
    }
}

impl fmt::Display for Stderr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { Ok(()) } else { write!(f, "; its stderr ends with `{}`", self.0) }
    }
}

const MAX_TIMEOUT: f64 = 86_400.0;
const MAX_STDERR: usize = 2 << 10;
const MAX_WORKERS: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scorer::build::tests::{answer, value};
    use crate::scorer::{ScoreError, Scorer};
    use proofmark_artefact::suite::plan::ScorerPlan;
    use std::ffi::OsString;
    use std::io::Write;
    use std::path::Path;
    use std::sync::Arc;

    /// A folder with a script, and the scorer that runs it.
    struct Bench {
        folder: tempfile::TempDir,
        scorer: Arc<Scorer>,
    }

    impl Bench {
        fn new(program: &str, script: &str, timeout: f64, workers: usize) -> Self {
            let folder = tempfile::tempdir().unwrap();
            std::fs::File::create(folder.path().join("script")).unwrap().write_all(script.as_bytes()).unwrap();
            let command = vec![program.to_owned(), "script".to_owned()];
            let scorer = scorer(command, timeout, folder.path(), workers).unwrap();
            Self { folder, scorer: Arc::new(scorer) }
        }

        fn sh(script: &str) -> Self {
            Self::new("sh", script, 20.0, 1)
        }

        fn python(script: &str) -> Self {
            Self::new("python3", script, 20.0, 1)
        }

        async fn score(&self, text: &str) -> Result<Verdict, String> {
            let expected = value(r#""yes""#);
            self.scorer.score(&answer(text, &expected)).await.map_err(|error| {
                assert!(matches!(error, ScoreError::Command(_)));
                error.to_string()
            })
        }

        fn file(&self, name: &str) -> String {
            std::fs::read_to_string(self.folder.path().join(name)).unwrap_or_default()
        }
    }

    fn scorer(command: Vec<String>, timeout: f64, root: &Path, workers: usize) -> Result<Scorer, ScorerBuildError> {
        let plan = ScorerPlan::Command { name: "c".into(), command, timeout, files: vec![] };
        let path = Some(OsString::from("/usr/local/bin:/usr/bin:/bin"));
        Scorer::compile(
            &plan,
            &|_| Err("no files".into()),
            &ScorerEnv { root: root.to_owned(), path, workers, judges: Vec::new() },
        )
    }

    /// Answers `passed` when the answer is the target, and counts its starts.
    const COMPARE: &str = r#"
import json, sys
open("starts", "a").write("x")
for line in sys.stdin:
    request = json.loads(line)
    if request["answer"] == "crash":
        print("boom", file=sys.stderr)
        sys.exit(3)
    right = request["answer"] == request["expected"]
    print(json.dumps({"passed": right, "key": request["key"], "explanation": "line\nby " + request["item_id"]}), flush=True)
"#;

    #[tokio::test]
    async fn one_process_judges_one_answer_after_another() {
        let bench = Bench::python(COMPARE);
        assert!(bench.scorer.score_now(&answer("yes", &value("1"))).is_none());
        assert_eq!(bench.file("starts"), "", "nothing starts before it is needed");
        for _ in 0..5 {
            let verdict = bench.score("yes").await.unwrap();
            assert_eq!(verdict, Verdict { value: 1.0, passed: true, explanation: "line by i1".into() });
            let verdict = bench.score("banana").await.unwrap();
            assert!(!verdict.passed && verdict.value == 0.0);
            assert!(!bench.score("").await.unwrap().passed);
        }
        assert_eq!(bench.file("starts"), "x");
        bench.scorer.close().await;
        assert_eq!(bench.score("yes").await.unwrap_err(), "scorer `c` is closed");
    }

    #[tokio::test]
    async fn a_crash_is_an_error_and_the_next_answer_gets_a_new_process() {
        let bench = Bench::python(COMPARE);
        assert!(bench.score("yes").await.unwrap().passed);
        let error = bench.score("crash").await.unwrap_err();
        assert_eq!(
            error,
            "the program of scorer `c` ended with exit status 3 before it gave a verdict; its stderr ends with `boom`"
        );
        assert!(bench.score("yes").await.unwrap().passed);
        assert_eq!(bench.file("starts"), "xxx", "the crash was tried on a fresh process too");
    }

    #[tokio::test]
    async fn a_program_may_answer_one_request_and_end() {
        let bench = Bench::sh(r#"read line; echo '{"value":0.25}'"#);
        for _ in 0..4 {
            let verdict = bench.score("x").await.unwrap();
            assert_eq!((verdict.value, verdict.passed), (0.25, false));
        }
    }

    #[tokio::test]
    async fn the_request_is_canonical_json_and_the_environment_is_bare() {
        let bench = Bench::sh(
            r#"read -r line; printf '%s' "$line" > request; env | sort > env; pwd -P > cwd; echo '{"passed":false}'"#,
        );
        let expected = value(r#"["a",1]"#);
        let choices = [value("1"), value("\"é\"")];
        let messages = [Message::new(proofmark_artefact::record::Role::User, "hi\n")];
        let Value::Object(metadata) = value(r#"{"z":1,"a":null}"#) else { unreachable!() };
        let full = Answer {
            text: "line one\nline \"two\"",
            choices: Some(&choices),
            messages: &messages,
            metadata: Some(&metadata),
            ..answer("", &expected)
        };
        bench.scorer.score(&full).await.unwrap();
        assert_eq!(
            bench.file("request"),
            r#"{"answer":"line one\nline \"two\"","choices":[1,"é"],"expected":["a",1],"item_id":"i1","key":"t/i1/m/c/0","#
                .to_owned()
                + r#""messages":[{"content":"hi\n","role":"user"}],"metadata":{"a":null,"z":1},"version":1}"#
        );
        // The shell itself adds PWD and the like.
        let env = bench.file("env");
        let names: Vec<&str> = env.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name).collect();
        assert!(names.iter().all(|name| ["PATH", "LANG", "PWD", "OLDPWD", "SHLVL", "_"].contains(name)), "{names:?}");
        assert!(env.contains("LANG=C.UTF-8\n"));
        assert_eq!(Path::new(bench.file("cwd").trim()), bench.folder.path().canonicalize().unwrap());
    }

    #[tokio::test]
    async fn a_picture_is_named_with_its_file() {
        let bench = Bench::sh(r#"read -r line; printf '%s' "$line" > request; echo '{"passed":false}'"#);
        let (bytes, digest, media_type) = (5, Digest::of(b"x"), "image/gif".to_owned());
        let facts = proofmark_artefact::record::Image { bytes, digest, height: 3, media_type, width: 2 };
        let images = [AnswerImage { facts: &facts, run_dir: Path::new("/nowhere") }];
        let expected = value("null");
        bench.scorer.score(&Answer { images: &images, ..answer("", &expected) }).await.unwrap();
        let want = format!(
            "\"images\":[{{\"bytes\":5,\"digest\":\"{digest}\",\"height\":3,\"media_type\":\"image/gif\",\
             \"path\":\"/nowhere/outputs/{}.gif\",\"width\":2}}],\"item_id\"",
            digest.hex()
        );
        assert!(bench.file("request").contains(&want), "{}", bench.file("request"));
    }

    #[tokio::test]
    async fn a_verdict_that_is_not_one_is_an_error() {
        for (line, why) in [
            ("hello", "is not acceptable JSON"),
            ("", "is not acceptable JSON"),
            ("[]", "expected a JSON object"),
            ("{}", "has neither `value` nor `passed`"),
            (r#"{"value":1.5}"#, "has a `value` outside 0 to 1"),
            (r#"{"value":-0.1}"#, "has a `value` outside 0 to 1"),
            (r#"{"value":NaN}"#, "is not acceptable JSON"),
            (r#"{"value":1e999}"#, "is not acceptable JSON"),
            (r#"{"value":"1"}"#, "has a string as `value`"),
            (r#"{"passed":1}"#, "has a number as `passed`"),
            (r#"{"passed":true,"explanation":3}"#, "has a number as `explanation`"),
            (r#"{"passed":true,"value":0}"#, "passes with a `value` of 0"),
            (r#"{"passed":true,"passed":false}"#, "stands twice"),
            (r#"{"pass":true}"#, "has the unknown member `pass`"),
            (r#"{"passed":true,"key":"other"}"#, "is for another `key`"),
        ] {
            let error = read_verdict(line.as_bytes(), "k").unwrap_err();
            assert!(error.contains(why), "{line}: {error}");
        }
        let bench = Bench::sh("while read -r line; do echo hello; echo oops >&2; done");
        let error = bench.score("x").await.unwrap_err();
        assert!(error.starts_with("the verdict `hello` of scorer `c` is not acceptable JSON"), "{error}");
    }

    #[test]
    fn value_and_passed_follow_from_each_other() {
        for (line, value, passed) in [
            (r#"{"value":1}"#, 1.0, true),
            (r#"{"value":0.99}"#, 0.99, false),
            (r#"{"value":0}"#, 0.0, false),
            (r#"{"passed":true}"#, 1.0, true),
            (r#"{"passed":false}"#, 0.0, false),
            (r#"{"passed":true,"value":0.3,"key":"k","explanation":null}"#, 0.3, true),
            (r#"{"passed":false,"value":1}"#, 1.0, false),
        ] {
            let (verdict, in_step) = read_verdict(line.as_bytes(), "k").unwrap();
            assert_eq!(in_step == InStep::Proven, line.contains("key"));
            assert!((verdict.value - value).abs() < f64::EPSILON && verdict.passed == passed, "{line}");
            assert!(!verdict.explanation.is_empty());
        }
        let long = format!(r#"{{"passed":true,"explanation":"{}"}}"#, "é".repeat(9000));
        assert_eq!(read_verdict(long.as_bytes(), "k").unwrap().0.explanation.chars().count(), Verdict::MAX_EXPLANATION);
    }

    #[tokio::test]
    async fn a_program_that_writes_out_of_turn_is_an_error() {
        let bench = Bench::python(
            "import sys\nfor l in sys.stdin: sys.stdout.write('{\"passed\":true}\\n{\"passed\":true}\\n'); sys.stdout.flush()",
        );
        assert_eq!(
            bench.score("x").await.unwrap_err(),
            "the program of scorer `c` wrote more than one line for one request"
        );
        // A second line that comes late is still found, and never taken for the next verdict.
        let bench =
            Bench::sh("while read -r line; do echo '{\"passed\":true}'; sleep 0.05; echo '{\"passed\":false}'; done");
        for _ in 0..3 {
            assert!(bench.score("x").await.unwrap_err().contains("wrote more than one line for one request"));
        }
        let bench = Bench::python("import sys\nwhile True: sys.stdout.write('x' * 65536)");
        assert!(bench.score("x").await.unwrap_err().contains("a line of more than 1048576 bytes"));
    }

    #[tokio::test]
    async fn a_timeout_kills_the_whole_group() {
        // The grandchild would write the file if it outlived its group.
        let script = "(sleep 2; echo alive > grandchild) & echo started > started; echo why >&2; wait";
        let bench = Bench::new("sh", script, 1.0, 1);
        let error = bench.score("x").await.unwrap_err();
        assert_eq!(error, "the program of scorer `c` gave no verdict within 1 s; its stderr ends with `why`");
        tokio::time::sleep(Duration::from_millis(1500)).await;
        assert_eq!((bench.file("started").as_str(), bench.file("grandchild").as_str()), ("started\n", ""));
    }

    #[tokio::test]
    async fn closing_and_dropping_kill_the_whole_group() {
        let script = "(sleep 2; echo alive > grandchild) & while read -r line; do echo '{\"passed\":true}'; done; echo done > polite";
        let (closed, dropped) = (Bench::sh(script), Bench::sh(script));
        assert!(closed.score("x").await.unwrap().passed && dropped.score("x").await.unwrap().passed);
        closed.scorer.close().await;
        let Bench { folder, scorer } = dropped;
        drop(scorer);
        tokio::time::sleep(Duration::from_millis(2300)).await;
        assert_eq!(closed.file("polite"), "done\n", "a program may finish its work when its stdin ends");
        assert!(!closed.folder.path().join("grandchild").exists() && !folder.path().join("grandchild").exists());
    }

    #[tokio::test]
    async fn a_dropped_question_kills_its_process() {
        let bench = Bench::sh("(sleep 1; echo alive > grandchild) & wait");
        let cut = tokio::time::timeout(Duration::from_millis(300), bench.score("x")).await;
        assert!(cut.is_err());
        tokio::time::sleep(Duration::from_millis(1300)).await;
        assert_eq!(bench.file("grandchild"), "");
    }

    #[tokio::test]
    async fn no_more_processes_run_than_are_allowed() {
        let script = r#"
import json, sys, os, time
name = "run-%d" % os.getpid()
for line in sys.stdin:
    open(name, "w").close()
    running = len([f for f in os.listdir(".") if f.startswith("run-")])
    time.sleep(0.02)
    os.unlink(name)
    print(json.dumps({"passed": running <= 3, "value": 1, "explanation": json.loads(line)["answer"]}), flush=True)
"#;
        let bench = Arc::new(Bench::new("python3", script, 20.0, 3));
        let mut tasks = tokio::task::JoinSet::new();
        for at in 0..24 {
            let bench = Arc::clone(&bench);
            tasks.spawn(async move { (at, bench.score(&at.to_string()).await.unwrap()) });
        }
        while let Some(done) = tasks.join_next().await {
            let (at, verdict) = done.unwrap();
            assert!(verdict.passed);
            assert_eq!(verdict.explanation, at.to_string(), "every answer gets its own verdict");
        }
    }

    #[tokio::test]
    async fn large_requests_and_chatty_programs_do_not_block() {
        let script = r#"
import json, sys
for line in sys.stdin:
    sys.stderr.write("e" * 300000); sys.stderr.flush()
    print(json.dumps({"value": 1.0, "explanation": str(len(json.loads(line)["answer"]))}), flush=True)
"#;
        let bench = Bench::python(script);
        for _ in 0..3 {
            assert_eq!(bench.score(&"a".repeat(3 << 20)).await.unwrap().explanation, (3 << 20).to_string());
        }
    }

    #[tokio::test]
    async fn a_program_that_cannot_start_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let scorer = scorer(vec!["./no-such-program".into()], 1.0, folder.path(), 1).unwrap();
        let error = scorer.score(&answer("x", &value("1"))).await.unwrap_err();
        assert!(error.to_string().starts_with("cannot start `./no-such-program` of scorer `c`: "), "{error}");
        assert!(error.hint().is_some());
    }

    #[test]
    fn a_command_needs_a_program_and_a_timeout() {
        for (command, timeout) in
            [(vec![], 1.0), (vec![" ".to_owned()], 1.0), (vec!["x".to_owned()], 0.0), (vec!["x".to_owned()], f64::NAN)]
        {
            assert!(scorer(command, timeout, Path::new("/"), 1).is_err());
        }
    }
}
