//! `cache stats`, `cache ls` and `cache show`.

use std::collections::BTreeMap;

use proofmark_artefact::judgment::{Entry, Judgment};
use proofmark_artefact::number::{count, counted};
use proofmark_artefact::text::visible;
use proofmark_canon::Digest;
use proofmark_trust::cache::{Cache, Flaw, Held, which_counts};
use proofmark_trust::policy::Trust;
use serde::Serialize;

use super::super::run::to_json;
use super::walk::{Walk, each_shard};
use super::{is_signer, signer_name, signer_of, word};
use crate::args::{CacheLsArgs, CacheShowArgs, CacheStatsArgs, TextOrJson};
use crate::exit::{Exit, Failure};
use crate::judge_cache::failure;
use crate::settings::Settings;
use crate::ui::table::{Align, render};

/// What a cache holds.
#[derive(Default, Serialize)]
struct Stats {
    bytes: u64,
    /// Questions with several verdicts.
    conflicts: u64,
    entries: u64,
    format: &'static str,
    /// Entries that are not believed.
    flawed: u64,
    judges: BTreeMap<String, u64>,
    newest: Option<String>,
    oldest: Option<String>,
    questions: u64,
    set_aside_bytes: u64,
    set_aside_files: u64,
    shards: u64,
    signers: BTreeMap<String, u64>,
    store: String,
    version: u32,
}

pub(super) fn stats(args: &CacheStatsArgs, cache: &Cache, trust: &Trust, settings: &Settings) -> Result<Exit, Failure> {
    let mut stats =
        Stats { format: "proofmark.judge-cache-stats", version: 1, store: cache.id().to_owned(), ..Stats::default() };
    (stats.set_aside_files, stats.set_aside_bytes) = cache.set_aside().map_err(|error| failure(&error))?;
    each_shard(cache, |view| {
        stats.shards += 1;
        stats.bytes += view.bytes;
        stats.flawed += (view.strays.len() + view.held.iter().filter(|held| held.entry.is_err()).count()) as u64;
        for of_one in questions(&view.held) {
            let entries: Vec<&Entry> = of_one.iter().filter_map(|held| held.entry.as_ref().ok()).collect();
            stats.questions += u64::from(!entries.is_empty());
            stats.conflicts += u64::from(entries.len() > 1);
            for entry in entries {
                stats.add(entry);
            }
        }
        Ok(Walk::On)
    })?;
    if args.format == TextOrJson::Json {
        settings.print(&to_json(&stats)?)?;
        return Ok(Exit::Holds);
    }
    settings.print(&stats.render(cache, trust, settings))?;
    Ok(Exit::Holds)
}

impl Stats {
    fn add(&mut self, entry: &Entry) {
        let at = &entry.judgment.judged_at;
        self.entries += 1;
        *self.judges.entry(entry.judgment.question.judge.clone()).or_default() += 1;
        *self.signers.entry(signer_of(entry).to_owned()).or_default() += 1;
        if self.oldest.as_ref().is_none_or(|oldest| at < oldest) {
            self.oldest = Some(at.clone());
        }
        if self.newest.as_ref().is_none_or(|newest| at > newest) {
            self.newest = Some(at.clone());
        }
    }

    fn render(&self, cache: &Cache, trust: &Trust, settings: &Settings) -> String {
        let style = settings.style.stdout;
        let mut out = format!("{}\n", style.bold(&visible(&cache.dir().display().to_string())));
        let mut line = |name: &str, text: String| out.push_str(&format!("{} {}\n", style.dim(name), visible(&text)));
        line("entries:", format!("{} on {}", count(self.entries), counted(self.questions, "question", "questions")));
        line("conflicts:", count(self.conflicts));
        if self.flawed > 0 {
            line("not believed:", format!("{}; `proofmark cache verify` says why", count(self.flawed)));
        }
        line("bytes:", format!("{} in {}", count(self.bytes), counted(self.shards, "shard", "shards")));
        if self.set_aside_files > 0 {
            line(
                "set aside:",
                format!("{}, {} bytes", counted(self.set_aside_files, "file", "files"), count(self.set_aside_bytes)),
            );
        }
        if let (Some(oldest), Some(newest)) = (&self.oldest, &self.newest) {
            line("oldest:", oldest.clone());
            line("newest:", newest.clone());
        }
        for (signer, number) in &self.signers {
            let name = signer_name(trust, signer);
            line("signer:", format!("{name} ({signer}), {}", counted(*number, "entry", "entries")));
        }
        for (judge, number) in &self.judges {
            line("judge:", format!("{judge}, {}", counted(*number, "entry", "entries")));
        }
        out
    }
}

/// Entries of one question at a time.
fn questions(held: &[Held]) -> impl Iterator<Item = &[Held]> {
    held.chunk_by(|a, b| a.key == b.key)
}

#[derive(Serialize)]
struct LsDocument {
    entries: Vec<Row>,
    format: &'static str,
    /// Whether there are more than were asked for.
    more: bool,
    version: u32,
}

#[derive(Serialize)]
struct Row {
    /// How many verdicts there are on the question.
    among: u64,
    judge: String,
    judged_at: String,
    key: Digest,
    score: Option<f64>,
    signer: String,
    /// Whether it is the one that counts.
    stands: bool,
    task_id: String,
    verdict: String,
}

pub(super) fn ls(args: &CacheLsArgs, cache: &Cache, trust: &Trust, settings: &Settings) -> Result<Exit, Failure> {
    let (mut rows, mut more) = (Vec::new(), false);
    let limit = if args.limit == 0 { usize::MAX } else { usize::try_from(args.limit).unwrap_or(usize::MAX) };
    each_shard(cache, |view| {
        for of_one in questions(&view.held) {
            let entries: Vec<Entry> = of_one.iter().filter_map(|held| held.entry.as_ref().ok()).cloned().collect();
            let stands = which_counts(&entries);
            for (at, entry) in entries.iter().enumerate().filter(|(_, entry)| is_wanted(args, trust, entry)) {
                if args.conflicts && entries.len() < 2 {
                    continue;
                }
                if rows.len() == limit {
                    more = true;
                    return Ok(Walk::Enough);
                }
                rows.push(Row::new(of_one[0].key, entry, entries.len(), stands == Some(at)));
            }
        }
        Ok(Walk::On)
    })?;
    if args.format == TextOrJson::Json {
        let format = "proofmark.judge-cache-ls";
        settings.print(&to_json(&LsDocument { entries: rows, format, more, version: 1 })?)?;
        return Ok(Exit::Holds);
    }
    let head =
        ["key", "verdict", "score", "judge", "task", "signer", "judged at", ""].map(|title| (title, Align::Left));
    let cells: Vec<Vec<String>> = rows.iter().map(|row| row.cells(trust)).collect();
    let mut out = if cells.is_empty() { String::new() } else { render(&head, &cells, settings.width) };
    match more {
        true => out.push_str(&format!("the first {}; `--limit 0` lists all\n", count(rows.len() as u64))),
        false => out.push_str(&format!("{}\n", counted(rows.len() as u64, "entry", "entries"))),
    }
    settings.print(&out)?;
    Ok(Exit::Holds)
}

fn is_wanted(args: &CacheLsArgs, trust: &Trust, entry: &Entry) -> bool {
    let question = &entry.judgment.question;
    let is_task = |task: &String| {
        question.task_id.strip_prefix(task.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    args.judge.as_ref().is_none_or(|judge| question.judge.starts_with(judge.as_str()))
        && args.task.as_ref().is_none_or(is_task)
        && args.signer.as_ref().is_none_or(|signer| is_signer(trust, signer_of(entry), signer))
}

impl Row {
    fn new(key: Digest, entry: &Entry, among: usize, stands: bool) -> Self {
        let Judgment { judged_at, question, said, .. } = &entry.judgment;
        Self {
            among: among as u64,
            judge: question.judge.clone(),
            judged_at: judged_at.clone(),
            key,
            score: said.score,
            signer: signer_of(entry).to_owned(),
            stands,
            task_id: question.task_id.clone(),
            verdict: said.verdict.clone(),
        }
    }

    fn cells(&self, trust: &Trust) -> Vec<String> {
        let note = match (self.among > 1, self.stands) {
            (false, _) => "",
            (true, true) => "counts",
            (true, false) => "conflict",
        };
        let score = self.score.map_or_else(String::new, |score| score.to_string());
        let signer = signer_name(trust, &self.signer);
        let cells = [&self.verdict, &score, &self.judge, &self.task_id, &signer, &self.judged_at];
        let mut row = vec![self.key.short()];
        row.extend(cells.iter().map(|cell| visible(cell)));
        row.push(note.to_owned());
        row
    }
}

/// As few digits as a key may be cut to.
const FEWEST_DIGITS: usize = 4;

#[derive(Serialize)]
struct ShowDocument {
    /// Which of the entries counts, from 0.
    counts: Option<usize>,
    entries: Vec<Entry>,
    flaws: Vec<FlawDocument>,
    format: &'static str,
    key: Digest,
    version: u32,
}

#[derive(Serialize)]
struct FlawDocument {
    detail: String,
    reason: String,
    signer: Option<String>,
}

pub(super) fn show(args: &CacheShowArgs, cache: &Cache, trust: &Trust, settings: &Settings) -> Result<Exit, Failure> {
    let digits = args.key.strip_prefix("sha256:").unwrap_or(&args.key).to_lowercase();
    if digits.len() < FEWEST_DIGITS {
        return Err(Failure::new(format!("`{digits}` is too short; give {FEWEST_DIGITS} digits or more")));
    }
    let (shards, _) = cache.shards().map_err(|error| failure(&error))?;
    let shard = shards.into_iter().find(|shard| digits.starts_with(&shard.to_string()));
    let view = shard.map(|shard| cache.view(shard)).transpose().map_err(|error| failure(&error))?;
    // By key: what is believed, and what is wrong with the rest.
    let mut found = BTreeMap::<Digest, (Vec<Entry>, Vec<Flaw>)>::new();
    if let Some(view) = view {
        let strays = view.strays.into_iter().filter_map(|(_, key, flaw)| Some((key?, Err(flaw))));
        for (key, entry) in view.held.into_iter().map(|held| (held.key, held.entry)).chain(strays) {
            if key.hex().starts_with(&digits) {
                let of_one = found.entry(key).or_default();
                match entry {
                    Ok(entry) => of_one.0.push(entry),
                    Err(flaw) => of_one.1.push(flaw),
                }
            }
        }
    }
    if found.len() > 1 {
        let message = format!("`{}` is the beginning of {} keys", args.key, found.len());
        return Err(Failure::new(message).hint("give more digits".to_owned()));
    }
    let Some((key, (entries, flaws))) = found.into_iter().next() else {
        return Err(Failure::new(format!("the cache has nothing under `{}`", args.key)));
    };
    let counts = which_counts(&entries);
    if args.format == TextOrJson::Json {
        let flaw = |flaw: Flaw| FlawDocument { detail: flaw.detail, reason: word(flaw.reason), signer: flaw.signer };
        let flaws = flaws.into_iter().map(flaw).collect();
        let format = "proofmark.judge-cache-show";
        settings.print(&to_json(&ShowDocument { counts, entries, flaws, format, key, version: 1 })?)?;
        return Ok(Exit::Holds);
    }
    settings.print(&describe(key, &entries, counts, &flaws, trust, settings))?;
    Ok(Exit::Holds)
}

fn describe(
    key: Digest,
    entries: &[Entry],
    counts: Option<usize>,
    flaws: &[Flaw],
    trust: &Trust,
    settings: &Settings,
) -> String {
    let style = settings.style.stdout;
    let mut out = format!("{}\n", style.bold(&key.to_string()));
    let mut line = |name: &str, text: &str| out.push_str(&format!("{} {}\n", style.dim(name), visible(text)));
    if let Some(entry) = entries.first() {
        let question = &entry.judgment.question;
        line("task:", &question.task_id);
        line("judge:", &question.judge);
        line("parameters:", &to_json(&question.params).unwrap_or_default());
        if !question.serving.is_empty() {
            line("reached by:", &question.serving);
        }
        line("answer:", &question.answer.to_string());
        line("expected:", &question.expected.map_or_else(|| "none".to_owned(), |digest| digest.to_string()));
        line("rubric:", &question.rubric.to_string());
        line("prompt:", &question.prompt.to_string());
        line("vote:", &question.vote.to_string());
    }
    for (at, entry) in entries.iter().enumerate() {
        let said = &entry.judgment.said;
        let note = match (entries.len() > 1, counts == Some(at)) {
            (false, _) => "",
            (true, true) => " (counts)",
            (true, false) => " (conflict)",
        };
        let score = said.score.map_or_else(String::new, |score| format!(", score {score}"));
        line("\nverdict:", &format!("{}{score}{note}", said.verdict));
        line("reason:", &said.reason);
        line("answered by:", said.answered_by.as_deref().unwrap_or("not said"));
        line("judged at:", &entry.judgment.judged_at);
        line("signer:", &format!("{} ({})", signer_name(trust, signer_of(entry)), signer_of(entry)));
        if let Some(earlier) = &entry.judgment.supersedes {
            line("replaces:", &earlier.to_string());
        }
    }
    for flaw in flaws {
        line("\nnot believed:", &format!("{}: {}", word(flaw.reason), flaw.detail));
    }
    out
}
