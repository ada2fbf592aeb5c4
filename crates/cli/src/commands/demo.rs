//! `proofmark demo`.

use std::path::Path;

use crate::args::{CassetteMode, DemoArgs, RunArgs, TextOrJson};
use crate::exit::{Exit, Failure};
use crate::settings::Settings;

use super::init::{Template, write_files};

const FILES: [Template; 8] = [
    ("suite.yaml", include_str!("../../assets/demo/suite.yaml")),
    ("data/capitals.jsonl", include_str!("../../assets/demo/data/capitals.jsonl")),
    ("data/arithmetic.csv", include_str!("../../assets/demo/data/arithmetic.csv")),
    ("data/science.jsonl", include_str!("../../assets/demo/data/science.jsonl")),
    ("briefs/geography.yml", include_str!("../../assets/demo/briefs/geography.yml")),
    ("tokens/plain-style.yml", include_str!("../../assets/demo/tokens/plain-style.yml")),
    ("prompts/compiled.md", include_str!("../../assets/demo/prompts/compiled.md")),
    ("scorers/short.sh", include_str!("../../assets/demo/scorers/short.sh")),
];

pub(crate) fn run(args: &DemoArgs, settings: &Settings) -> Result<Exit, Failure> {
    let dir = &args.dir;
    refuse_edited(dir)?;
    write_files(dir, &FILES)?;
    let shown = dir.display();
    let style = settings.style.stdout;
    settings.print(&format!(
        "{}\n  suite  {shown}/suite.yaml: 2 models × 2 conditions × 3 tasks, n = 3, nine kinds of scorers\n\n",
        style.bold("A small suite with offline models, run for real:")
    ))?;
    let run_args = RunArgs {
        judging: crate::args::JudgeArgs::default(),
        probe: crate::args::ProbeArgs::default(),
        suite: dir.join("suite.yaml"),
        run_dir: Some(dir.join("runs/demo")),
        overwrite: true,
        resume: false,
        max_items: None,
        concurrency: None,
        max_cost: None,
        max_tokens: None,
        max_time: None,
        only: Vec::new(),
        dry_run: false,
        root: None,
        no_strict_serialization: false,
        no_deterministic_artifacts: false,
        record_evidence: None,
        submit_intent: false,
        evidence_full_bodies: false,
        allow_unsandboxed: false,
        skip_report: false,
        allow_errors: None,
        cassette: None,
        cassette_mode: CassetteMode::Record,
        replay: None,
        format: TextOrJson::Text,
    };
    let exit = super::run::run_typed(&run_args, vec![(None, dir.clone())], settings)?;
    settings.print(&format!(
        "\n{}\n  open {shown}/runs/demo/report.html\n  proofmark validate {shown}/runs/demo\n  \
         proofmark run {shown}/suite.yaml --run-dir {shown}/runs/again && cmp {shown}/runs/demo/records.jsonl \
         {shown}/runs/again/records.jsonl\n  \
         edit {shown}/suite.yaml, run it into {shown}/runs/edited, then: proofmark diff {shown}/runs/demo \
         {shown}/runs/edited\n",
        style.bold("Try next:")
    ))?;
    Ok(exit)
}

/// Refuses a folder in which a file of the demo's names says something else: it is someone's work.
fn refuse_edited(dir: &Path) -> Result<(), Failure> {
    for (name, text) in FILES {
        let path = dir.join(name);
        let is_edited = path.exists() && std::fs::read(&path).map_or(true, |bytes| bytes != text.as_bytes());
        if is_edited {
            return Err(Failure::new(format!("`{}` is there already and is not the demo's", path.display()))
                .hint("choose another folder: `proofmark demo DIR`".to_owned()));
        }
    }
    Ok(())
}
