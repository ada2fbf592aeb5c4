//! What differs in the trajectories of the samples that are shown.
//!
//! Which samples those are is known only after the records were compared, so the trajectories are read once more. Runs
//! without agents and votes are spared that: what their trajectories hold is in the records too.

use std::collections::{BTreeMap, HashMap};

use proofmark_canon::{Digest, json};

use super::change::{Change, TrajectoryDifference};
use super::error::{DiffError, parse_line};
use super::kind::TrajectoryKind as Kind;
use super::scan::{Row, TRAJECTORY};
use crate::manifest::Manifest;
use crate::number::counted;
use crate::store::{LineError, Lines, MAX_LINE, RunDir, names};
use crate::text::one_line;
use crate::trajectory::{Step, Trajectory, head};

/// Fills in the differences of changes that have trajectories.
pub(super) fn tell(a: &RunDir, b: &RunDir, changes: &mut [Change]) -> Result<(), DiffError> {
    let has_more = |manifest: &Manifest| {
        manifest.tasks.iter().any(|task| task.agent.is_some()) || manifest.sampling.voting_attempts.is_some()
    };
    if !has_more(a.manifest()) && !has_more(b.manifest()) {
        return Ok(());
    }
    let mut wanted = HashMap::new();
    for (at, change) in changes.iter().enumerate().filter(|(_, change)| change.trajectory.is_some()) {
        // A key is a text: it always has a canonical form.
        wanted.insert(json::to_vec(&change.key).unwrap_or_default(), at);
    }
    if wanted.is_empty() {
        return Ok(());
    }
    let (a, b) = (read(a, &wanted, changes.len())?, read(b, &wanted, changes.len())?);
    for ((change, a), b) in changes.iter_mut().zip(&a).zip(&b) {
        if let Some(trajectory) = &mut change.trajectory {
            let mut found = differences(a, b);
            found.append(&mut trajectory.differences);
            found.truncate(MOST_DIFFERENCES);
            trajectory.differences = found;
        }
    }
    Ok(())
}

/// Of one sample.
const MOST_DIFFERENCES: usize = 40;
const MOST_ATTEMPTS: usize = 100;
/// Steps of an attempt that are looked at.
const MOST_STEPS: usize = 2000;
/// Bytes of a text that are kept.
const TEXT: usize = 400;

/// What is kept of one attempt.
#[derive(Debug, Default, PartialEq)]
struct Course {
    attempt: Option<u32>,
    /// Names, and what they were called with.
    calls: Vec<(String, Piece)>,
    results: Vec<(String, Piece)>,
    outputs: Vec<Piece>,
    prompts: Vec<Piece>,
    turns: u32,
    stop: Option<&'static str>,
    answer: Piece,
}

/// A text by its digest, with as much of it as is shown.
#[derive(Debug, Default, Clone, PartialEq)]
struct Piece {
    digest: Option<Digest>,
    text: Option<String>,
}

impl Piece {
    fn of(text: Option<String>) -> Self {
        Self { digest: text.as_ref().map(|text| Digest::of(text.as_bytes())), text: text.map(|text| short(&text)) }
    }
}

fn short(text: &str) -> String {
    one_line(head(text, TEXT), TEXT)
}

/// Reads the attempts at each wanted sample.
fn read(run: &RunDir, wanted: &HashMap<Vec<u8>, usize>, count: usize) -> Result<Vec<Vec<Course>>, DiffError> {
    let path = run.file(names::TRAJECTORIES);
    let io_error = |source| DiffError::Io { path: path.clone(), source };
    let mut courses: Vec<Vec<Course>> = (0..count).map(|_| Vec::new()).collect();
    let mut lines = Lines::open(&path, MAX_LINE).map_err(io_error)?;
    loop {
        let line = match lines.next_line() {
            Ok(Some(line)) => line,
            Ok(None) => return Ok(courses),
            Err(LineError::Io { source, .. }) => return Err(io_error(source)),
            Err(LineError::TooLong { number, limit }) => {
                return Err(DiffError::TooLong { path, line: number, limit });
            }
        };
        let Some(ends) = TRAJECTORY.scan(line.bytes) else {
            return Err(DiffError::Moved { path });
        };
        let row = Row { shape: &TRAJECTORY, bytes: line.bytes, ends: &ends, line: line.number, offset: line.offset };
        let Some(at) = wanted.get(row.key()) else { continue };
        if courses[*at].len() < MOST_ATTEMPTS {
            let trajectory: Trajectory = parse_line(&path, line.number, line.bytes, "trajectory")?;
            courses[*at].push(Course::of(trajectory));
        }
    }
}

impl Course {
    fn of(trajectory: Trajectory) -> Self {
        let answer = trajectory.final_answer.or(trajectory.no_answer.map(|why| format!("none: {why}")));
        let mut course = Self {
            attempt: trajectory.attempt,
            turns: trajectory.turns,
            stop: trajectory.stop.map(|stop| stop.as_str()),
            answer: Piece::of(answer),
            ..Self::default()
        };
        for step in trajectory.steps.into_iter().take(MOST_STEPS) {
            match step {
                Step::Prompt { content_sha256, head, role, .. } => {
                    let text = Some(format!("{}: {}", role.as_str(), short(&head)));
                    course.prompts.push(Piece { digest: Some(content_sha256), text });
                }
                Step::ModelOutput { content_sha256, head, .. } => {
                    course.outputs.push(Piece { digest: Some(content_sha256), text: Some(short(&head)) });
                }
                Step::ToolCall { args, args_sha256, name, .. } => {
                    // Arguments that were cut are a text: the beginning of their JSON.
                    let text = match (args_sha256, args.as_str()) {
                        (Some(_), Some(text)) => text.to_owned(),
                        _ => String::from_utf8_lossy(&json::to_vec(&args).unwrap_or_default()).into_owned(),
                    };
                    let digest = args_sha256.unwrap_or_else(|| Digest::of(text.as_bytes()));
                    course.calls.push((short(&name), Piece { digest: Some(digest), text: Some(short(&text)) }));
                }
                Step::ToolResult { bytes, error, head, is_error, name, output_sha256, .. } => {
                    let class = if is_error { error.as_deref().unwrap_or("error") } else { "" };
                    let size = counted(bytes, "byte", "bytes");
                    let text = format!("{}{}{size}: {}", short(class), if is_error { ", " } else { "" }, short(&head));
                    course.results.push((short(&name), Piece { digest: Some(output_sha256), text: Some(text) }));
                }
            }
        }
        course
    }

    /// `search ×2, submit`, in the order in which tools were first called.
    fn tools(&self) -> String {
        let mut counts: BTreeMap<&str, (usize, u64)> = BTreeMap::new();
        for (at, (name, _)) in self.calls.iter().enumerate() {
            counts.entry(name).or_insert((at, 0)).1 += 1;
        }
        let mut tools: Vec<_> = counts.into_iter().collect();
        tools.sort_by_key(|(_, (first, _))| *first);
        let named = |(name, (_, calls)): (&str, (usize, u64))| match calls {
            1 => name.to_owned(),
            calls => format!("{name} \u{d7}{calls}"),
        };
        let text = tools.into_iter().map(named).collect::<Vec<_>>().join(", ");
        if text.is_empty() { "none".to_owned() } else { short(&text) }
    }
}

fn differences(a: &[Course], b: &[Course]) -> Vec<TrajectoryDifference> {
    let mut found = Vec::new();
    let attempts = |courses: &[Course]| Some(counted(courses.len() as u64, "attempt", "attempts"));
    if a.len() != b.len() {
        found.push(TrajectoryDifference { a: attempts(a), attempt: None, b: attempts(b), kind: Kind::Attempts });
    }
    for of_a in a {
        if let Some(of_b) = b.iter().find(|of_b| of_b.attempt == of_a.attempt) {
            compare(of_a, of_b, &mut found);
        }
    }
    found
}

/// The first difference of each kind.
fn compare(a: &Course, b: &Course, found: &mut Vec<TrajectoryDifference>) {
    let attempt = a.attempt;
    let mut put = |kind, a: Option<String>, b: Option<String>| {
        found.push(TrajectoryDifference { a, attempt, b, kind });
    };
    let names = |course: &Course| course.calls.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    let (names_a, names_b) = (names(a), names(b));
    if a.tools() != b.tools() && sorted(&names_a) != sorted(&names_b) {
        put(Kind::Tools, Some(a.tools()), Some(b.tools()));
    } else if names_a != names_b {
        let at = names_a.iter().zip(&names_b).take_while(|(a, b)| a == b).count();
        let nth = |names: &[String]| names.get(at).map(|name| format!("call {}: {name}", at + 1));
        put(Kind::Order, nth(&names_a), nth(&names_b));
    }
    for (kind, what, a, b) in
        [(Kind::Arguments, "call", &a.calls, &b.calls), (Kind::Results, "result", &a.results, &b.results)]
    {
        if let Some((at_a, at_b)) = first_by_name(a, b) {
            let say = |list: &[(String, Piece)], at: usize| {
                let (name, piece) = &list[at];
                Some(format!("{what} {}: {name} {}", at + 1, piece.text.as_deref().unwrap_or_default()))
            };
            put(kind, say(a, at_a), say(b, at_b));
        }
    }
    for (kind, what, a, b) in
        [(Kind::Outputs, "turn", &a.outputs, &b.outputs), (Kind::Prompts, "prompt", &a.prompts, &b.prompts)]
    {
        let at = a.iter().zip(b).take_while(|(a, b)| a == b).count();
        // A turn more is said by the turns.
        let is_more = at == a.len().min(b.len());
        if a != b && !(is_more && kind == Kind::Outputs) {
            let say = |list: &[Piece]| {
                list.get(at).map(|piece| format!("{what} {}: {}", at + 1, piece.text.as_deref().unwrap_or_default()))
            };
            put(kind, say(a), say(b));
        }
    }
    if a.turns != b.turns {
        put(Kind::Turns, Some(a.turns.to_string()), Some(b.turns.to_string()));
    }
    if a.stop != b.stop {
        put(Kind::Stop, a.stop.map(str::to_owned), b.stop.map(str::to_owned));
    }
    if a.answer != b.answer {
        put(Kind::Answer, a.answer.text.clone(), b.answer.text.clone());
    }
}

fn sorted(names: &[String]) -> Vec<&String> {
    let mut sorted: Vec<&String> = names.iter().collect();
    sorted.sort_unstable();
    sorted
}

/// The first entry that differs from its counterpart, of names that both sides have equally often.
fn first_by_name(a: &[(String, Piece)], b: &[(String, Piece)]) -> Option<(usize, usize)> {
    fn by_name(list: &[(String, Piece)]) -> BTreeMap<&str, Vec<usize>> {
        let mut named: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for (at, (name, _)) in list.iter().enumerate() {
            named.entry(name.as_str()).or_default().push(at);
        }
        named
    }
    let (named_a, named_b) = (by_name(a), by_name(b));
    let pairs = named_a.iter().filter_map(|(name, of_a)| {
        let of_b = named_b.get(name).filter(|of_b| of_b.len() == of_a.len())?;
        of_a.iter().copied().zip(of_b.iter().copied()).find(|(at_a, at_b)| a[*at_a].1 != b[*at_b].1)
    });
    pairs.min()
}
