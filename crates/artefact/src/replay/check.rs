//! One report to an outcome.

use std::path::{Path, PathBuf};

use proofmark_canon::Digest;

use super::block::{self, Block, Dialect, Input, OfHub};
use super::confine::{self, Candidates, Refusal};
use super::git::{self, Found, GitError};
use super::hash::{self, Content};
use super::hub::{self, Verdict};
use super::locate::Target;
use super::markdown;
use super::outcome::{Answer, Head, Line, Outcome, Status, Trouble, Where};
use super::root::{self, Root, RootError};
use crate::manifest::HashMode;
use crate::store::read_bounded;
use crate::witness::Sidecar;

/// Which state of the inputs is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum At {
    Worktree,
    Commit,
    Both,
}

/// How to verify.
#[derive(Debug, Clone)]
pub struct Options {
    /// `None`: both where the commit can be found, else the work tree.
    pub at: Option<At>,
    /// Where paths start, whatever the block says.
    pub root: Option<PathBuf>,
    /// Where the command was given.
    pub cwd: PathBuf,
    /// Where files of hub datasets are kept, when that may be looked at.
    pub cache: Option<PathBuf>,
}

/// Checks one report. What could not be looked at is part of the outcome too.
pub fn verify(target: &Target, options: &Options) -> Outcome {
    verify_and_keep(target, options).0
}

/// The same, with the sidecar for those who look further into it: it may be long, and is read once.
pub fn verify_and_keep(target: &Target, options: &Options) -> (Outcome, Option<Sidecar>) {
    let mut outcome = Outcome::new(&target.shown);
    let loaded = load(target);
    let filled = match &loaded {
        Ok(sidecar) => fill(&mut outcome, target, sidecar, options),
        Err(trouble) => Err(trouble.clone()),
    };
    if let Err(trouble) = filled {
        outcome.verdict = vec!["nothing could be checked".to_owned()];
        outcome.answer = Answer::CannotCheck;
        outcome.error = Some(trouble);
    }
    (outcome, loaded.ok())
}

fn fill(outcome: &mut Outcome, target: &Target, sidecar: &Sidecar, options: &Options) -> Result<(), Trouble> {
    let shown_path = target.sidecar.display();
    let block = block::parse(sidecar)
        .map_err(|error| trouble(format!("`{shown_path}` is not a replay block: {error}"), error.hint()))?;
    outcome.backfilled = block.backfilled;
    outcome.head = Some(head_of(&block));
    let mut ok = |field: &str, text: String| {
        let line = Line { actual: Some(text), ..Line::new(Where::Block, field, Status::Ok) };
        outcome.lines.push(line);
    };
    ok("schema_version", block::NEWEST.to_string());
    ok("kind", block.kind.clone());
    outcome.lines.extend(check_markdown(&block, &target.markdown));

    let folder = target.sidecar.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = folder.canonicalize().map_err(|error| trouble(format!("the report's folder: {error}"), None))?;
    let root = root::find(&block, &folder, &options.cwd, options.root.as_deref()).map_err(|error| {
        let hint = "say where the paths of the block start with `--root DIR`";
        let hint = Some(hint).filter(|_| !matches!(error, RootError::Given(_)));
        trouble(error.to_string(), hint)
    })?;
    outcome.root = Some(shown(&root.path, &options.cwd));
    outcome.root_path = Some(root.path.clone());
    if let Some(note) = root.note {
        outcome.lines.push(Line::new(Where::Block, "root", Status::Skip).note(note));
    }

    let sought: Vec<Sought<'_>> = block.inputs.iter().map(|input| Sought::of(input, block.dialect)).collect();
    let mut worktree = Vec::new();
    if options.at != Some(At::Commit) {
        worktree = sought.iter().map(|sought| in_worktree(sought, &root, block.dialect, options)).collect();
        outcome.worktree = Some(answer(&worktree));
    }
    let mut commit = Vec::new();
    let mut no_commit = None;
    if options.at != Some(At::Worktree) {
        match at_commit(&block, &sought, &root) {
            Ok(lines) => {
                let is_asked = options.at.is_some();
                outcome.commit =
                    Some(commit_answer(&lines, is_asked)).filter(|a| is_asked || *a != Answer::CannotCheck);
                commit = lines;
            }
            Err(reason) => {
                let status = if options.at.is_some() { Status::Unchecked } else { Status::Skip };
                outcome.commit = options.at.map(|_| Answer::CannotCheck);
                no_commit = Some(Line::new(Where::Commit, "commit", status).note(reason));
            }
        }
    }
    outcome.verdict = verdict(&block, outcome, &worktree, &commit);
    outcome.lines.extend(worktree);
    outcome.lines.extend(commit);
    outcome.lines.extend(no_commit);
    if block.artifacts > 0 {
        let note = format!("{} files of the run; `proofmark verify` checks them", block.artifacts);
        outcome.lines.push(Line::new(Where::Block, "artifacts", Status::Skip).note(note));
    }
    let others = outcome.lines.iter().filter(|line| matches!(line.r#where, Where::Block | Where::Markdown));
    let others: Vec<Answer> = others.map(|line| one_answer(line.status)).collect();
    outcome.answer = Answer::all(others.into_iter().chain(outcome.worktree).chain(outcome.commit));
    Ok(())
}

fn load(target: &Target) -> Result<Sidecar, Trouble> {
    let shown = target.sidecar.display();
    let metadata = std::fs::metadata(&target.sidecar).map_err(|error| {
        let hint = "the sidecar stands beside its report and ends in `.replay.json`";
        trouble(format!("`{shown}` cannot be read: {error}"), Some(hint))
    })?;
    // Opening a pipe would wait for its writer.
    if !metadata.is_file() {
        return Err(trouble(format!("`{shown}` is not a regular file"), None));
    }
    Sidecar::read(&target.sidecar).map_err(|error| trouble(format!("`{shown}` cannot be read: {error}"), None))
}

fn trouble(message: String, hint: Option<&str>) -> Trouble {
    Trouble { message, hint: hint.map(ToOwned::to_owned) }
}

fn head_of(block: &Block) -> Head {
    Head {
        commit: block.commit.clone(),
        git_dirty: block.git_dirty,
        invoked_at: block.invoked_at.clone(),
        kind: block.kind.clone(),
        program: match block.dialect {
            Dialect::Proofmark => "proofmark",
            Dialect::Ahd => "ahd",
        },
        version: block.version.clone(),
    }
}

/// A path as the reader would type it.
fn shown(path: &Path, cwd: &Path) -> String {
    let cwd = cwd.canonicalize().unwrap_or_else(|_| cwd.to_owned());
    match path.strip_prefix(&cwd) {
        Ok(inside) if inside.as_os_str().is_empty() => ".".to_owned(),
        Ok(inside) => inside.display().to_string(),
        Err(_) => path.display().to_string(),
    }
}

fn check_markdown(block: &Block, path: &Path) -> Vec<Line> {
    let line = |status, note: &str| vec![Line::new(Where::Markdown, "markdown", status).note(note)];
    match std::fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => {}
        Ok(_) => return line(Status::Fail, "the report is not a regular file"),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return line(Status::Skip, "there is no markdown");
        }
        Err(_) => return line(Status::Unchecked, "the markdown cannot be read"),
    }
    let Ok(bytes) = read_bounded(path, markdown::MAX_MARKDOWN) else {
        return line(Status::Unchecked, "the markdown cannot be read");
    };
    let Some(fence) = markdown::find(&String::from_utf8_lossy(&bytes)) else {
        // AHD's older reports have none, and neither have reports that are older than their block; all others of ours do.
        return match block.dialect {
            Dialect::Proofmark if block.backfilled => line(Status::Skip, "the markdown is older than its block"),
            Dialect::Ahd => line(Status::Skip, "the markdown has no replay block"),
            Dialect::Proofmark => line(Status::Fail, "the markdown has no replay block"),
        };
    };
    if fence.is_not_alone {
        return line(Status::Fail, "the markdown has more than one replay block");
    }
    if fence.dialect != block.dialect {
        return line(Status::Fail, "the block of the markdown is another program's than the sidecar");
    }
    let said = match markdown::read(&fence) {
        Ok(said) => said,
        Err(error) => {
            let place = error.span.map(|span| format!(" (line {} of the block)", span.line)).unwrap_or_default();
            return line(Status::Fail, &format!("the block of the markdown is not valid YAML{place}"));
        }
    };
    let found = markdown::compare(&said, &block.value, &block.request_ids, block.dialect);
    if found.is_empty() {
        return line(Status::Ok, "says what the sidecar says");
    }
    found
        .into_iter()
        .map(|difference| Line {
            expected: Some(difference.sidecar),
            actual: Some(difference.markdown),
            note: Some("the markdown does not say what the sidecar says".to_owned()),
            ..Line::new(Where::Markdown, difference.field, Status::Fail)
        })
        .collect()
}

/// An input with what its path may mean.
struct Sought<'a> {
    input: &'a Input,
    candidates: Option<Result<Candidates, Refusal>>,
}

impl<'a> Sought<'a> {
    fn of(input: &'a Input, dialect: Dialect) -> Self {
        let path = input.path.as_deref().filter(|_| input.hub.is_none());
        Self { input, candidates: path.map(|path| confine::candidates(path, dialect)) }
    }

    fn line(&self, place: Where, status: Status) -> Line {
        let mut line = Line::new(place, self.input.field.clone(), status);
        line.path.clone_from(&self.input.path);
        line.expected = Some(self.input.hash.to_string());
        line
    }

    /// The line of an input that is not looked at. A hash beside it could be taken for that of what is there.
    fn refused(&self, place: Where, refusal: &Refusal) -> Line {
        let status = if matches!(refusal, Refusal::Io(_)) { Status::Unchecked } else { Status::Fail };
        let mut line = self.line(place, status).note(refusal.to_string());
        if !matches!(refusal, Refusal::Missing | Refusal::NotAFile | Refusal::Io(_)) {
            line.expected = None;
        }
        line
    }

    /// The line of an input that is no file under the root, whatever is looked at.
    fn no_file(&self, place: Where) -> Line {
        if self.input.hub.is_some() {
            return self.line(place, Status::Skip).note("a dataset of the hub is not a file of the repository");
        }
        self.line(place, Status::Unchecked).note("the block does not say where it is")
    }

    /// The line of a dataset of the hub, whose files may be in the cache.
    fn in_cache(&self, hub: &OfHub, cache: Option<&Path>) -> Line {
        let line = |status| Line { mode: Some("structured"), ..self.line(Where::Worktree, status) };
        match hub::check(hub, self.input.hash, cache) {
            Verdict::Same(files) => {
                let note =
                    if files == 1 { "1 file of the cache".to_owned() } else { format!("{files} files of the cache") };
                Line { actual: Some(self.input.hash.to_string()), ..line(Status::Ok) }.note(note)
            }
            Verdict::Unknown(why) => self.line(Where::Worktree, Status::Skip).note(why),
            Verdict::Wrong(why) => Line { expected: None, ..line(Status::Fail) }.note(why),
        }
    }
}

fn in_worktree(sought: &Sought<'_>, root: &Root, dialect: Dialect, options: &Options) -> Line {
    let place = Where::Worktree;
    if let Some(hub) = &sought.input.hub {
        return sought.in_cache(hub, options.cache.as_deref());
    }
    let Some(candidates) = &sought.candidates else { return sought.no_file(place) };
    let candidates = match candidates {
        Ok(candidates) => candidates,
        Err(refusal) => return sought.refused(place, refusal),
    };
    let (file, path) = match confine::open(&root.path, candidates) {
        Ok(opened) => opened,
        Err(refusal) => return sought.refused(place, &refusal),
    };
    let line = match hash::read(file) {
        Err(error) => return sought.refused(place, &Refusal::Io(error)),
        Ok(None) => return sought.line(place, Status::Fail).note(TOO_LARGE),
        Ok(Some(content)) => judge(sought, place, &content, dialect),
    };
    rebased(line, candidates, path)
}

const TOO_LARGE: &str = "it is larger than 1 GiB";

/// Says where a path from another machine led.
fn rebased(mut line: Line, candidates: &Candidates, path: String) -> Line {
    if candidates.is_rebased {
        let what = format!("rebased from `{}`", line.path.take().unwrap_or_default());
        line.note = Some(line.note.map_or(what.clone(), |note| format!("{what}; {note}")));
    }
    line.path = Some(path);
    line
}

/// Compares a file's content with the recorded hash.
fn judge(sought: &Sought<'_>, place: Where, content: &Content, dialect: Dialect) -> Line {
    let wanted = sought.input.hash;
    let line = |status, mode, actual: Option<Digest>| Line {
        mode: Some(mode),
        actual: actual.map(|digest| digest.to_string()),
        ..sought.line(place, status)
    };
    let settle =
        |mode, actual: Digest| line(if actual == wanted { Status::Ok } else { Status::Fail }, mode, Some(actual));
    let mode = sought.input.mode;
    if mode == Some(HashMode::Raw) || (mode.is_none() && content.raw == wanted) {
        return settle("raw", content.raw);
    }
    let path = sought.input.path.as_deref().unwrap_or_default();
    // A file that was hashed as it is and has changed need not be YAML: its own bytes are the better answer.
    let is_structured = mode.is_some() || hash::mode_of(path) == HashMode::Structured;
    if dialect == Dialect::Ahd {
        return match content.js() {
            Ok(form) if form.digest() == wanted && !form.losses.is_empty() => {
                let losses: Vec<String> = form.losses.iter().map(ToString::to_string).collect();
                let note = format!("the hash does not pin the content: {}", losses.join("; "));
                line(Status::Fail, "structured", Some(wanted)).note(note)
            }
            Ok(form) if is_structured || form.digest() == wanted => settle("structured", form.digest()),
            Err(error) if is_structured => line(Status::Fail, "structured", None).note(error.to_string()),
            _ => settle("raw", content.raw),
        };
    }
    match content.structured().map(|canonical| Digest::of(&canonical)) {
        Ok(actual) if is_structured || actual == wanted => settle("structured", actual),
        Err(error) if is_structured => {
            // The message may quote the file; where it is wrong is enough.
            let place = error.span.map(|span| format!(" (line {})", span.line)).unwrap_or_default();
            line(Status::Fail, "structured", None).note(format!("it cannot be read as YAML or JSON{place}"))
        }
        _ => settle("raw", content.raw),
    }
}

/// The lines of all inputs at the recorded commit, or why there are none.
fn at_commit(block: &Block, sought: &[Sought<'_>], root: &Root) -> Result<Vec<Line>, String> {
    let commit = block.commit.as_deref().ok_or("the block names no commit")?;
    let top = root.work_tree.as_deref().ok_or("the root is in no git work tree")?;
    let inside = root.path.strip_prefix(top).ok().and_then(Path::to_str).ok_or("the root is not in its work tree")?;
    if inside.chars().any(char::is_control) {
        return Err("the root's name holds control characters".to_owned());
    }
    let place = Where::Commit;
    let in_repository = |path: &String| if inside.is_empty() { path.clone() } else { format!("{inside}/{path}") };
    let asked: Vec<Vec<String>> = sought
        .iter()
        .filter_map(|sought| sought.candidates.as_ref()?.as_ref().ok())
        .map(|candidates| candidates.paths.iter().map(in_repository).collect())
        .collect();
    let found = git::read(top, commit, &asked).map_err(|error| match error {
        GitError::Ownership => format!("{error}; allow it with `git config --global --add safe.directory`"),
        error => error.to_string(),
    })?;
    let mut found = found.into_iter();
    let mut lines = Vec::with_capacity(sought.len());
    for sought in sought {
        let candidates = match &sought.candidates {
            None => {
                lines.push(sought.no_file(place));
                continue;
            }
            Some(Err(refusal)) => {
                lines.push(sought.refused(place, refusal));
                continue;
            }
            Some(Ok(candidates)) => candidates,
        };
        let Some((found, at)) = found.next() else { break };
        let line = match found {
            Found::File(content) => {
                let path = candidates.paths.get(at).cloned().unwrap_or_default();
                rebased(judge(sought, place, &content, block.dialect), candidates, path)
            }
            Found::Missing => sought.line(place, Status::Unchecked).note("the commit has no such file"),
            Found::NotAFile => sought.refused(place, &Refusal::NotAFile),
            Found::LinkOut => sought.refused(place, &Refusal::LinkOut),
            Found::TooLarge => sought.line(place, Status::Fail).note(TOO_LARGE),
        };
        lines.push(line);
    }
    Ok(lines)
}

/// Whether the inputs are those of the block: one must have been looked at, and none left open.
fn answer(lines: &[Line]) -> Answer {
    let all = Answer::all(lines.iter().map(|line| one_answer(line.status)));
    if all == Answer::Holds && !lines.iter().any(|line| line.status == Status::Ok) { Answer::CannotCheck } else { all }
}

/// The same at a commit. Files that were never committed leave it open only when somebody asked for the commit.
fn commit_answer(lines: &[Line], is_asked: bool) -> Answer {
    let kept: Vec<Line> = lines.iter().filter(|line| is_asked || line.status != Status::Unchecked).cloned().collect();
    answer(&kept)
}

fn one_answer(status: Status) -> Answer {
    match status {
        Status::Ok | Status::Skip => Answer::Holds,
        Status::Fail => Answer::DoesNotHold,
        Status::Unchecked => Answer::CannotCheck,
    }
}

/// The answers in words, one sentence for each question.
fn verdict(block: &Block, outcome: &Outcome, worktree: &[Line], commit: &[Line]) -> Vec<String> {
    let count = |lines: &[Line], status| lines.iter().filter(|line| line.status == status).count();
    let inputs = |n: usize| if n == 1 { "1 input".to_owned() } else { format!("{n} inputs") };
    let mut words = Vec::new();
    if let Some(answer) = outcome.commit {
        let at: String = block.commit.as_deref().unwrap_or_default().chars().take(12).collect();
        let open = count(commit, Status::Unchecked);
        let beside =
            if open > 0 && !commit.is_empty() { format!(", {} not in it", inputs(open)) } else { String::new() };
        let dirty = if block.git_dirty == Some(true) { "; the work tree had changes when it ran" } else { "" };
        words.push(match answer {
            Answer::Holds => {
                format!("the run ate what it says: {} of commit {at}{beside}", inputs(count(commit, Status::Ok)))
            }
            Answer::DoesNotHold => format!(
                "the run did not eat what it says: {} of {} at commit {at} differ{dirty}",
                count(commit, Status::Fail),
                inputs(commit.len())
            ),
            Answer::CannotCheck => "whether the run ate what it says could not be checked at its commit".to_owned(),
        });
    }
    if let Some(answer) = outcome.worktree {
        let failed = count(worktree, Status::Fail);
        words.push(match answer {
            Answer::Holds => {
                format!("the inputs here are the ones the run ate: {}", inputs(count(worktree, Status::Ok)))
            }
            Answer::DoesNotHold if outcome.commit == Some(Answer::Holds) => {
                format!("the inputs have moved on since: {failed} of {} here differ", inputs(worktree.len()))
            }
            Answer::DoesNotHold => {
                format!("the inputs here are not the ones the run ate: {failed} of {} differ", inputs(worktree.len()))
            }
            Answer::CannotCheck => "whether the inputs here are the ones the run ate could not be checked".to_owned(),
        });
    }
    let is_wrong = |line: &Line| line.r#where == Where::Markdown && line.status == Status::Fail;
    if outcome.lines.iter().any(is_wrong) {
        words.push("the markdown does not say what the sidecar says".to_owned());
    }
    if block.backfilled {
        words.push("the block was backfilled: reconstructed after the run, from the inputs at a commit".to_owned());
    }
    words
}
