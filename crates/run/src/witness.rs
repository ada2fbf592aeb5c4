//! Writes the witness of a run: `report.md`, then `report.replay.json`, last of all.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use proofmark_artefact::manifest::{Manifest, Platform};
use proofmark_artefact::path::RelPath;
use proofmark_artefact::store::{AtomicFile, Claim, Lines, digest_file, names, write_atomic};
use proofmark_artefact::suite::plan::{Plan, ScorerPlan};
use proofmark_artefact::summary::Summary;
use proofmark_artefact::witness::block::{HubFile, Kind, Role, Start};
use proofmark_artefact::witness::place::Surroundings;
use proofmark_artefact::witness::redact::Redactor;
use proofmark_artefact::witness::{
    Facts, GitState, Ground, HubAttachments, Invocation as Given, ModelFacts, TypedPath, build, markdown, pins, start,
};
use proofmark_canon::{Digest, Value, json};
use proofmark_model::Secret;

use crate::dataset::Prepared;
use crate::evidence::failure_noted;
use crate::git::Looking;
use crate::publish::PublishError;
use crate::ready::Ready;
use crate::telemetry::Settled;

/// The command that a run was started with. `cli` alone knows it.
#[derive(Debug, Default)]
pub struct Invocation {
    pub argv: Vec<String>,
    /// The arguments that are paths: the option they belong to, `None` for one that stands alone, and the text.
    pub paths: Vec<(Option<&'static str>, PathBuf)>,
    /// RFC 3339, UTC.
    pub invoked_at: String,
    pub cwd: PathBuf,
    pub home: Option<PathBuf>,
    /// What git is being asked about the suite's repository; `None` when nobody asked.
    pub repository: Option<Looking>,
    /// What must not be in any file.
    pub secrets: Vec<Secret>,
    pub toolchain: String,
}

/// Everything about a run that its witness says and that is known before it starts.
pub(crate) struct Witness {
    ground: Ground,
    redactor: Redactor,
    start: Start,
    kind: Kind,
    platform: String,
    toolchain: String,
    suite: Digest,
    hub_files: Vec<Vec<HubFile>>,
    hub_attachments: Vec<HubAttachments>,
    programs: Vec<(Role, String, Digest)>,
    models: Vec<ModelFacts>,
}

/// Starts that are kept of a run that was resumed again and again: the first one and the last ones.
const MOST_STARTS: usize = 100;
/// Events of a judge cache that are kept; one alone says that it cannot be trusted.
const MOST_EVENTS: usize = 10_000;
/// The longest line of a start.
const MAX_START: usize = 4 << 20;

impl Witness {
    pub(crate) fn new(
        ready: &Ready,
        run_dir: &Path,
        invocation: Invocation,
        version: &str,
        platform: &Platform,
    ) -> Self {
        let real_dir = real_path(run_dir, &invocation.cwd);
        let git = invocation.repository.map_or_else(GitState::default, |looking| looking.finish(&real_dir));
        let (suite_path, suite) = &ready.suite;
        let ground = Ground::new(Surroundings {
            root: real_path(&ready.root, &invocation.cwd),
            suite: real_path(suite_path, &invocation.cwd),
            run_dir: real_dir,
            cwd: real_path(&invocation.cwd, Path::new("/")),
            home: invocation.home.clone(),
            repository: git.top.clone(),
            outputs: ready.outputs_path.as_ref().map(|path| real_path(path, &invocation.cwd)),
        });
        let redactor = Redactor::new(invocation.secrets.iter().map(|secret| secret.reveal().to_owned()));
        let typed = |(option, path): &(Option<&'static str>, PathBuf)| TypedPath {
            option: *option,
            text: path.to_string_lossy().into_owned(),
            real: real_path(path, &invocation.cwd),
        };
        let given = Given {
            argv: invocation.argv,
            paths: invocation.paths.iter().map(typed).collect(),
            invoked_at: invocation.invoked_at,
            git,
            version: version.to_owned(),
        };
        let makes_images = ready.plan.models.iter().any(|model| model.makes_images());
        Self {
            start: start(&given, &ground, &redactor),
            ground,
            redactor,
            kind: match makes_images {
                _ if ready.is_given() => Kind::Critique,
                true => Kind::EvalImage,
                false => Kind::EvalLive,
            },
            platform: format!("{}-{}", platform.os, platform.arch),
            toolchain: invocation.toolchain,
            suite: *suite,
            hub_files: hub_files(ready),
            hub_attachments: hub_attachments(ready),
            programs: programs(ready),
            models: ready
                .models
                .iter()
                .chain(ready.judges.iter().map(|judge| &judge.model))
                .map(|model| model_facts(model.surroundings()))
                .collect(),
        }
    }

    /// Takes away whatever an earlier run left of a witness.
    pub(crate) fn clear(claim: &Claim) -> io::Result<()> {
        for name in names::PLANE_2 {
            match std::fs::remove_file(claim.dir().join(name)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// Where starts are noted.
    pub(crate) fn starts_of(claim: &Claim) -> PathBuf {
        claim.work_file(names::STARTS)
    }

    /// Notes that the run was started, for the witness of a run that does not end with this process.
    pub(crate) fn note_start(&self, starts: &Path) -> io::Result<()> {
        let mut file = File::options().read(true).append(true).create(true).open(starts)?;
        let mut line = Vec::new();
        if file.seek(SeekFrom::End(0))? > 0 {
            let mut last = [0];
            file.seek(SeekFrom::End(-1))?;
            file.read_exact(&mut last)?;
            if last != *b"\n" {
                // A kill left half a line, which is passed over.
                line.push(b'\n');
            }
        }
        line.extend(json::to_vec(&self.start)?);
        line.push(b'\n');
        file.write_all(&line)
    }

    /// Writes both files. Everything else of the run has its name already.
    pub(crate) fn publish(
        &self,
        claim: &Claim,
        manifest: &Manifest,
        summary: &Summary,
        was_resumed: bool,
        telemetry: Option<&Settled>,
    ) -> Result<Vec<String>, PublishError> {
        let dir = claim.dir();
        let ids = telemetry.map(|settled| &settled.ids);
        let io_error = |name: &str| {
            let path = dir.join(name);
            move |source| PublishError::Io { path, source }
        };
        let starts = starts(&Self::starts_of(claim)).map_err(io_error(names::STARTS))?;
        let starts = if starts.is_empty() { vec![self.start.clone()] } else { starts };
        let note = claim.work_file(names::EVIDENCE);
        let noted = failure_noted(&note).map_err(io_error(names::EVIDENCE))?;
        let mut block = build(Facts {
            kind: self.kind,
            ground: &self.ground,
            redactor: &self.redactor,
            starts: &starts,
            was_resumed,
            platform: self.platform.clone(),
            toolchain: self.toolchain.clone(),
            suite: self.suite,
            manifest,
            summary,
            hub_files: self.hub_files.clone(),
            hub_attachments: self.hub_attachments.clone(),
            programs: self.programs.clone(),
            models: self.models.clone(),
            // There may be millions: they go straight from the telemetry to the file.
            request_ids: BTreeMap::new(),
            artifacts: pins::of_run(dir, manifest, telemetry.map(|settled| settled.digest)).map_err(io_error(""))?,
            cache_events: cache_events(&claim.work_file(names::CACHE_EVENTS)).map_err(io_error(names::CACHE_EVENTS))?,
            not_submittable: noted.into_iter().map(|why| format!("evidence could not be recorded: {why}")).collect(),
        });
        let encode = |name| move |source| PublishError::Encode { name, source };
        let models: Vec<String> =
            manifest.models.iter().chain(&manifest.judges).map(|model| model.id.clone()).collect();
        let counts: Vec<u64> = models.iter().map(|model| ids.map_or(0, |ids| ids.count(model))).collect();
        let text = markdown::render_counted(&block, &counts, summary).map_err(encode(names::REPORT_MD))?;
        let digest = write_atomic(&dir.join(names::REPORT_MD), text.as_bytes()).map_err(io_error(names::REPORT_MD))?;
        block.artifacts.insert(names::REPORT_MD.to_owned(), digest);
        let mut bytes = json::to_vec(&block).map_err(encode(names::REPLAY))?;
        bytes.push(b'\n');
        let path = dir.join(names::REPLAY);
        let written = AtomicFile::create_in(&claim.work_file(""), &path).and_then(|mut file| {
            match ids {
                // A provider that repeats a key in a header is not helped to publish it.
                Some(ids) => ids.splice(&bytes, &models, |id| self.redactor.known(id), &mut file)?,
                None => file.write_all(&bytes)?,
            }
            file.commit()
        });
        written.map_err(io_error(names::REPLAY))?;
        Ok(block.not_submittable)
    }
}

/// Every start that was noted, the first one and the last ones of very many.
fn starts(path: &Path) -> io::Result<Vec<Start>> {
    let mut starts: Vec<Start> = Vec::new();
    let mut lines = match Lines::open(path, MAX_START) {
        Ok(lines) => lines,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(starts),
        Err(error) => return Err(error),
    };
    while let Some(line) = lines.next_line().map_err(io::Error::other)? {
        let start = json::parse(line.bytes).ok().and_then(|value| json::from_value(&value).ok());
        starts.extend(start);
        if starts.len() > MOST_STARTS {
            starts.remove(1);
        }
    }
    Ok(starts)
}

/// What a judge cache could not vouch for, over all starts of the run.
fn cache_events(path: &Path) -> io::Result<Vec<Value>> {
    let mut events = Vec::new();
    let mut lines = match Lines::open(path, MAX_START) {
        Ok(lines) => lines,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(events),
        Err(error) => return Err(error),
    };
    while let Some(line) = lines.next_line().map_err(io::Error::other)? {
        // A kill leaves half a line, whose event happens again.
        if let (true, Ok(event)) = (events.len() < MOST_EVENTS, json::parse(line.bytes)) {
            events.push(event);
        }
    }
    Ok(events)
}

fn model_facts(surroundings: Vec<(&'static str, String)>) -> ModelFacts {
    let mut facts = ModelFacts::default();
    for (name, value) in surroundings {
        match name {
            "base_url" => facts.base_url = Some(value),
            "program" => facts.program = Some(value),
            "version" => facts.version = Some(value),
            _ => {}
        }
    }
    facts
}

/// By task: the files of a dataset of the hub, when they are exactly what its digest is of.
fn hub_files(ready: &Ready) -> Vec<Vec<HubFile>> {
    let of_task = ready.plan.tasks.iter().zip(&ready.datasets).map(|(task, prepared)| match &task.dataset.repo {
        Some(repo) => files_of(repo, prepared),
        None => Vec::new(),
    });
    of_task.collect()
}

/// What came from the hub besides the rows.
fn hub_attachments(ready: &Ready) -> Vec<HubAttachments> {
    let mut all = Vec::new();
    for (task, prepared) in ready.plan.tasks.iter().zip(&ready.datasets) {
        let Some(repo) = task.dataset.repo.as_ref().filter(|_| !prepared.attachments.is_empty()) else { continue };
        let files = prepared.attachments.iter();
        let files = files.map(|(path, digest)| HubFile { path: path.to_string(), sha256: digest.hex() }).collect();
        all.push(HubAttachments { repo: repo.clone(), revision: prepared.revision.clone(), files });
    }
    all
}

/// The files of a dataset of the hub, when they are exactly what its digest is of.
pub(crate) fn files_of(repo: &str, prepared: &Prepared) -> Vec<HubFile> {
    let name = |path: &str| path.strip_prefix(&format!("{repo}/")).unwrap_or(path).to_owned();
    let files = prepared.files.iter().map(|file| HubFile { path: name(&file.path), sha256: file.digest.hex() });
    let files: Vec<HubFile> = files.collect();
    let is_all = json::to_vec(&files).is_ok_and(|bytes| Digest::of(&bytes) == prepared.digest);
    if is_all { files } else { Vec::new() }
}

/// The files under the root that commands of models and scorers name, as they are before the run starts.
fn programs(ready: &Ready) -> Vec<(Role, String, Digest)> {
    let Ok(root) = ready.root.canonicalize() else { return Vec::new() };
    let mut found = Vec::new();
    for (role, path) in command_words(&ready.plan) {
        // A word that only looks like a path, or a link that leads elsewhere, is no file of the suite.
        let real = path.under(&root).canonicalize().ok().filter(|real| real.starts_with(&root) && real.is_file());
        let Some(Ok((digest, _))) = real.map(|real| digest_file(&real)) else { continue };
        found.push((role, path.to_string(), digest));
    }
    found
}

/// The words of commands that could be files under the root, each once, with whose command it is.
pub(crate) fn command_words(plan: &Plan) -> Vec<(Role, RelPath)> {
    let of_models = plan.models.iter().filter_map(|model| model.command.as_ref()?.run.as_ref());
    let of_scorers = plan.tasks.iter().flat_map(|task| &task.scorers).filter_map(|scorer| match scorer {
        ScorerPlan::Command { command, .. } => Some(command),
        _ => None,
    });
    let words = of_models.map(|words| (Role::Model, words)).chain(of_scorers.map(|words| (Role::Scorer, words)));
    let mut found: Vec<(Role, RelPath)> = Vec::new();
    for (role, word) in words.flat_map(|(role, words)| words.iter().map(move |word| (role, word))) {
        let word = word.strip_prefix("{suite}/").unwrap_or(word);
        let Ok(path) = word.parse::<RelPath>() else { continue };
        if !found.iter().any(|(have, name)| *have == role && *name == path) {
            found.push((role, path));
        }
    }
    found
}

/// Where a path really leads. What does not exist yet stands under what does.
pub fn real_path(path: &Path, cwd: &Path) -> PathBuf {
    let path = if path.is_absolute() { path.to_owned() } else { cwd.join(path) };
    let mut rest = Vec::new();
    let mut there = path.as_path();
    loop {
        if let Ok(mut real) = there.canonicalize() {
            real.extend(rest.iter().rev());
            return real;
        }
        match (there.parent(), there.file_name()) {
            (Some(parent), Some(name)) => {
                rest.push(name);
                there = parent;
            }
            // `..` under something that is not there.
            _ => return path,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_leads_where_its_links_lead_also_when_it_does_not_exist_yet() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        std::fs::create_dir(top.join("real")).unwrap();
        std::os::unix::fs::symlink(top.join("real"), top.join("link")).unwrap();
        for (path, want) in [
            ("link", "real"),
            ("link/runs/new", "real/runs/new"),
            ("./link/../real/x", "real/x"),
            ("new/deep", "new/deep"),
        ] {
            assert_eq!(real_path(Path::new(path), &top), top.join(want), "{path}");
        }
        assert_eq!(real_path(&top.join("link/x"), Path::new("/")), top.join("real/x"));
    }

    #[test]
    fn starts_are_kept_over_kills_and_very_many_are_cut_in_the_middle() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("starts.jsonl");
        assert!(starts(&path).unwrap().is_empty());
        let line = |at: u32| {
            format!(
                "{{\"argv\":[\"{at}\"],\"git_dirty\":null,\"invoked_at\":\"x\",\"proofmark_version\":\"1\",\
                 \"repo_commit\":null}}\n"
            )
        };
        let many: String = (0..250).map(line).collect();
        write_atomic(&path, format!("{}half a li\n{many}", line(900)).as_bytes()).unwrap();
        let kept: Vec<String> = starts(&path).unwrap().into_iter().map(|start| start.argv[0].clone()).collect();
        assert_eq!((kept.len(), kept[0].as_str(), kept[1].as_str(), kept[99].as_str()), (100, "900", "151", "249"));
    }
}
