//! `cache verify`.

use proofmark_artefact::number::{count, counted};
use proofmark_artefact::text::visible;
use proofmark_canon::Digest;
use proofmark_trust::cache::{Cache, Flaw};
use serde::Serialize;

use super::super::run::to_json;
use super::walk::{Walk, each_shard};
use super::word;
use crate::args::{CacheStatsArgs, TextOrJson};
use crate::exit::{Exit, Failure};
use crate::judge_cache::failure;
use crate::settings::Settings;

#[derive(Default, Serialize)]
struct Document {
    /// Questions with several verdicts.
    conflicts: u64,
    /// Entries that are believed.
    entries: u64,
    findings: Vec<Finding>,
    format: &'static str,
    shards: u64,
    version: u32,
}

/// Something that is not believed.
#[derive(Serialize)]
struct Finding {
    detail: String,
    /// The question, where it is known.
    key: Option<Digest>,
    reason: String,
    signer: Option<String>,
}

impl Finding {
    fn new(key: Option<Digest>, flaw: &Flaw) -> Self {
        Self { detail: flaw.detail.clone(), key, reason: word(flaw.reason), signer: flaw.signer.clone() }
    }

    fn of_store(reason: &str, detail: String) -> Self {
        Self { detail, key: None, reason: reason.to_owned(), signer: None }
    }
}

pub(super) fn verify(args: &CacheStatsArgs, cache: &Cache, settings: &Settings) -> Result<Exit, Failure> {
    let mut document = Document { format: "proofmark.judge-cache-verify", version: 1, ..Document::default() };
    let (_, others) = cache.shards().map_err(|error| failure(&error))?;
    for name in others {
        document.findings.push(Finding::of_store("malformed", format!("`shards/{name}` is none of the cache's files")));
    }
    for shard in cache.gone().map_err(|error| failure(&error))? {
        let detail = format!("the file of shard {shard} was written once and is gone");
        document.findings.push(Finding::of_store("missing", detail));
    }
    each_shard(cache, |view| {
        document.shards += 1;
        let findings = &mut document.findings;
        findings.extend(view.list.iter().map(|flaw| Finding::new(None, flaw)));
        for of_one in view.held.chunk_by(|a, b| a.key == b.key) {
            let believed = of_one.iter().filter(|held| held.entry.is_ok()).count() as u64;
            document.entries += believed;
            document.conflicts += u64::from(believed > 1);
            let flawed = of_one.iter().filter_map(|held| Some((held.key, held.entry.as_ref().err()?)));
            findings.extend(flawed.map(|(key, flaw)| Finding::new(Some(key), flaw)));
        }
        findings.extend(view.strays.iter().map(|(_, key, flaw)| Finding::new(*key, flaw)));
        Ok(Walk::On)
    })?;
    for (key, flaw) in cache.rolled_back().map_err(|error| failure(&error))? {
        document.findings.push(Finding::new(Some(key), &flaw));
    }
    let exit = if document.findings.is_empty() { Exit::Holds } else { Exit::DoesNotHold };
    if args.format == TextOrJson::Json {
        settings.print(&to_json(&document)?)?;
        return Ok(exit);
    }
    let style = settings.style.stdout;
    let mut out = String::new();
    for finding in &document.findings {
        let key = finding.key.map_or_else(String::new, |key| format!(" {}", key.short()));
        let signer = finding.signer.as_ref().map_or_else(String::new, |signer| format!(" (signer {signer})"));
        let text = visible(&format!("{}{signer}", finding.detail));
        out.push_str(&format!("{}{key}: {text}\n", style.bad(&finding.reason)));
    }
    let conflicts = match document.conflicts {
        0 => String::new(),
        number => format!(", {}", counted(number, "conflict", "conflicts")),
    };
    let shards = counted(document.shards, "shard", "shards");
    let verdict = match document.findings.len() as u64 {
        0 => style.good("all believed"),
        number => style.bad(&format!("{} not believed", count(number))),
    };
    let entries = counted(document.entries, "entry", "entries");
    out.push_str(&format!("{entries} in {shards}{conflicts}: {verdict}\n"));
    settings.print(&out)?;
    Ok(exit)
}
