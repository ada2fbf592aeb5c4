//! Writes the final files of a run. The manifest comes last.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use proofmark_artefact::manifest::{
    Conditions, DatasetEntry, Determinism, Evidence, Harness, MANIFEST_SCHEMA, Manifest, ModelEntry, Platform,
    Sampling, SeedUse, TaskEntry,
};
use proofmark_artefact::record::Status;
use proofmark_artefact::report;
use proofmark_artefact::store::{AtomicFile, Claim, names, sync_dir};
use proofmark_artefact::suite::config::Format;
use proofmark_artefact::suite::plan::ModelPlan;
use proofmark_artefact::summary::Summary;
use proofmark_artefact::witness::requests::RequestsError;
use proofmark_artefact::yaml;
use proofmark_canon::Digest;
use proofmark_canon::json::{self, EncodeError};

use proofmark_model::seed_use;

use crate::collect::Collected;
use crate::evidence::EvidenceNote;
use crate::ready::Ready;

/// The final files could not be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PublishError {
    #[error("cannot write `{path}`")]
    Io { path: PathBuf, source: io::Error },
    #[error("cannot encode `{name}`")]
    Encode { name: &'static str, source: EncodeError },
    #[error("cannot read `telemetry.jsonl`")]
    Telemetry(#[source] RequestsError),
}

impl PublishError {
    pub(crate) fn io(path: &Path, source: io::Error) -> Self {
        Self::Io { path: path.to_owned(), source }
    }
}

/// Gives every file its final name and returns what the last two hold.
pub fn publish(
    ready: &Ready,
    claim: &Claim,
    mut manifest: Manifest,
    collected: Collected,
) -> Result<(Manifest, Summary), PublishError> {
    fill_in(&mut manifest, collected.done, &collected.status_counts, &collected.effective);
    let mut artifacts = BTreeMap::new();
    let finish = |name: &str, file: AtomicFile| {
        file.commit_unsynced().map_err(|source| PublishError::io(&claim.dir().join(name), source))
    };
    let mut commit = |name: &'static str, file: AtomicFile| -> Result<(), PublishError> {
        artifacts.insert(name.to_owned(), finish(name, file)?);
        Ok(())
    };
    let summary = collected.summary;
    // Not canon: it is pinned by the witness alone.
    if let Some(judgments) = collected.judgments {
        judgments.commit_unsynced().map_err(|source| PublishError::io(&claim.dir().join(names::JUDGMENTS), source))?;
    }
    if let Some(trajectories) = collected.trajectories
        && let Err(error) = commit(names::TRAJECTORIES, trajectories)
    {
        let path = claim.work_file(names::EVIDENCE);
        let noted = EvidenceNote::open(&path).and_then(|note| note.fail(&format!("`trajectories.jsonl`: {error}")));
        noted.map_err(|source| PublishError::io(&path, source))?;
    }
    manifest.evidence.recorded = claim.dir().join(names::TRAJECTORIES).exists() && manifest.evidence.recorded;
    let plan = json::to_value(&ready.plan).map_err(|source| PublishError::Encode { name: names::CONFIG, source })?;
    // The report is written while the disk takes the rest, the longest file beside the others.
    let (report, records) = std::thread::scope(|scope| {
        let (selection, records) = (collected.selection.as_ref(), collected.records);
        let writing = selection.map(|selection| scope.spawn(|| write_report(claim, &manifest, &summary, selection)));
        let records = scope.spawn(|| finish(names::RECORDS, records));
        commit(names::CONFIG, write(claim, names::CONFIG, config_text(&plan, ready.is_given()).as_bytes())?)?;
        commit(names::SUMMARY, write(claim, names::SUMMARY, &encode(names::SUMMARY, &summary)?)?)?;
        let report = writing.map(|writing| writing.join().unwrap_or_else(|_| Err(panicked(claim, names::REPORT_HTML))));
        let records = records.join().unwrap_or_else(|_| Err(panicked(claim, names::RECORDS)))?;
        Ok((report.transpose()?, records))
    })?;
    artifacts.insert(names::RECORDS.to_owned(), records);
    match report {
        Some(file) => {
            artifacts.insert(names::REPORT_HTML.to_owned(), finish(names::REPORT_HTML, file)?);
        }
        // A kill while an earlier attempt was publishing may have left one that the manifest would not list.
        None => remove(&claim.dir().join(names::REPORT_HTML))?,
    }
    sync_dir(claim.dir()).map_err(|source| PublishError::io(claim.dir(), source))?;
    manifest.artifacts = artifacts;
    let file = write(claim, names::MANIFEST, &encode(names::MANIFEST, &manifest)?)?;
    file.commit().map_err(|source| PublishError::io(&claim.dir().join(names::MANIFEST), source))?;
    Ok((manifest, summary))
}

fn write_report(
    claim: &Claim,
    manifest: &Manifest,
    summary: &Summary,
    selection: &report::Selection,
) -> Result<AtomicFile, PublishError> {
    let mut file = create(claim, names::REPORT_HTML)?;
    report::render(manifest, summary, selection, claim.dir(), &mut file)
        .map_err(|source| PublishError::io(&claim.dir().join(names::REPORT_HTML), source))?;
    Ok(file)
}

fn panicked(claim: &Claim, name: &str) -> PublishError {
    let source = io::Error::other("writing it panicked; this is a bug in Proofmark");
    PublishError::io(&claim.dir().join(name), source)
}

fn remove(path: &Path) -> Result<(), PublishError> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(PublishError::io(path, error)),
        _ => Ok(()),
    }
}

/// The resolved suite as YAML, with a line that says what it is.
fn config_text(plan: &json::Value, is_given: bool) -> String {
    let how = if is_given { "Scoring the same outputs with" } else { "Running" };
    format!(
        "# The suite with every default made explicit. {how} this file gives the same run_id.\n{}",
        yaml::to_text(plan)
    )
}

pub(crate) fn encode<T: serde::Serialize>(name: &'static str, value: &T) -> Result<Vec<u8>, PublishError> {
    let mut bytes = json::to_vec(value).map_err(|source| PublishError::Encode { name, source })?;
    bytes.push(b'\n');
    Ok(bytes)
}

fn create(claim: &Claim, name: &str) -> Result<AtomicFile, PublishError> {
    let path = claim.dir().join(name);
    AtomicFile::create_in(&claim.dir().join(names::WORK), &path).map_err(|source| PublishError::io(&path, source))
}

fn write(claim: &Claim, name: &str, bytes: &[u8]) -> Result<AtomicFile, PublishError> {
    let mut file = create(claim, name)?;
    file.write_all(bytes).map_err(|source| PublishError::io(&claim.dir().join(name), source))?;
    Ok(file)
}

/// Fills in what is known only when every record is there.
pub(crate) fn fill_in(
    manifest: &mut Manifest,
    done: u64,
    status_counts: &BTreeMap<Status, u64>,
    conditions_scored: &[bool],
) {
    let Conditions { effective, requested } = &mut manifest.conditions;
    let scored = requested.iter().zip(conditions_scored).filter(|(_, scored)| **scored);
    *effective = scored.map(|(id, _)| id.clone()).collect();
    manifest.record_count = done;
    // Every status is there, also with 0: readers need no special case.
    let count = |status: &Status| status_counts.get(status).copied().unwrap_or(0);
    manifest.status_counts = Status::ALL.iter().map(|status| (status.as_str().to_owned(), count(status))).collect();
}

/// The manifest as far as the plan gives it.
pub fn draft_manifest(ready: &Ready, version: &str, platform: &Platform) -> Manifest {
    let plan = &ready.plan;
    let requested: Vec<String> = plan.conditions.iter().map(|condition| condition.id.clone()).collect();
    let datasets = plan.tasks.iter().zip(&ready.datasets).map(|(task, prepared)| DatasetEntry {
        digest: prepared.digest,
        format: task.dataset.format.as_str().to_owned(),
        path: task.dataset.path.as_ref().map(|path| match task.dataset.format {
            // The suite names a folder; what was read is a file in it.
            Format::Gaia => prepared.files.first().map_or_else(|| path.to_string(), |file| file.path.clone()),
            _ => path.to_string(),
        }),
        repo: task.dataset.repo.clone(),
        revision: task.dataset.revision.clone(),
        rows: prepared.rows,
        rows_skipped: prepared.rows_skipped,
        split: task.dataset.split.clone(),
        task: task.id.clone(),
    });
    let entry =
        |(model, price): (&ModelPlan, &Option<proofmark_artefact::manifest::PriceEntry>), is_asked: bool| ModelEntry {
            asked: model.command.as_ref().and_then(|command| command.model.clone()),
            id: model.id.clone(),
            model: model.model.clone(),
            params: model.params.clone(),
            price: price.clone(),
            provider: model.provider().to_owned(),
            // Given answers were drawn elsewhere; nobody can say with which seeds.
            seed: seed_use(model, &model.params).filter(|_| is_asked).map(|seed| match seed {
                proofmark_model::SeedUse::Sent => SeedUse::Sent,
                proofmark_model::SeedUse::Ignored => SeedUse::Ignored,
                proofmark_model::SeedUse::Withheld => SeedUse::Withheld,
            }),
        };
    let models = plan.models.iter().zip(&ready.prices).map(|model| entry(model, !ready.is_given()));
    let judges = plan.judges.iter().zip(&ready.judge_prices).map(|judge| entry(judge, true));
    let tasks = plan.tasks.iter().zip(&ready.datasets).map(|(task, prepared)| TaskEntry {
        agent: ready.agent_entry(&task.id),
        id: task.id.clone(),
        items: prepared.rows,
        judged: ready.judged_entries(task),
        scorers: task.scorers.iter().map(|scorer| scorer.name().to_owned()).collect(),
    });
    let (major, minor, micro) = char::UNICODE_VERSION;
    Manifest {
        artifacts: BTreeMap::<String, Digest>::new(),
        assets: ready.asset_entries(),
        command: None,
        conditions: Conditions { effective: Vec::new(), requested },
        created_at: ready.run_id.spine(0),
        datasets: datasets.collect(),
        determinism: Determinism {
            deterministic_artifacts: plan.determinism.deterministic_artifacts,
            strict_serialization: plan.determinism.strict_serialization,
        },
        evidence: Evidence { full_bodies: plan.evidence.full_bodies, recorded: plan.evidence.record },
        harness: Harness { name: "proofmark".to_owned(), version: version.to_owned() },
        judges: judges.collect(),
        models: models.collect(),
        name: plan.name.clone(),
        platform: (!plan.determinism.deterministic_artifacts).then(|| platform.clone()),
        record_count: 0,
        records_file: names::RECORDS.to_owned(),
        run_id: ready.run_id,
        sampling: Sampling {
            n: plan.sampling.n,
            seed: plan.seed,
            temperature: plan.sampling.temperature,
            voting_attempts: plan.discloses().then_some(plan.sampling.voting_attempts),
        },
        schema_version: MANIFEST_SCHEMA,
        status_counts: BTreeMap::new(),
        tasks: tasks.collect(),
        unicode_version: format!("{major}.{minor}.{micro}"),
    }
}
