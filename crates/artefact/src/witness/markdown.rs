//! `report.md`: the block for people, what the run came to, and how to run it again.
//!
//! Derived from the sidecar and the summary and never read back: what is shortened here is whole there.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use proofmark_canon::json::{self, EncodeError};
use proofmark_canon::{Map, Value};

use super::block::{Block, ModelEntry};
use super::place::CUT;
use super::redact::REDACTED;
use super::shell;
use crate::answerer::{Answerer, answerer};
use crate::diff::format::escape::{fence, markdown as plain};
use crate::number::{count, counted, mean, percent, points};
use crate::summary::{Comparison, Counts, Estimate, Summary};
use crate::text::{is_deceptive, one_line};
use crate::yaml;

/// What stands behind the fence of the block.
pub const INFO: &str = "yaml proofmark-replay";
/// Hex digits of a digest that are shown.
const SHORT: usize = 12;
/// Inputs that are shown; the sidecar has all of them.
const MOST_INPUTS: usize = 100;
/// Rows of a table.
const MOST_ROWS: usize = 200;
/// Characters of a name in a table.
const NAME: usize = 120;

/// Renders `report.md`. The same block and summary give the same bytes.
pub fn render(block: &Block, summary: &Summary) -> Result<String, EncodeError> {
    let ids: Vec<u64> = block.models.iter().map(|model| model.provider_request_ids.len() as u64).collect();
    render_counted(block, &ids, summary)
}

/// The same for a block whose request ids are elsewhere: how many there are of each model, in order.
pub fn render_counted(block: &Block, ids: &[u64], summary: &Summary) -> Result<String, EncodeError> {
    let yaml = yaml_text(&shown_of(block, ids)?);
    let fence = fence(&yaml);
    let mut out = format!("{fence}{INFO}\n{yaml}{fence}\n\n");
    // Writing to a String cannot fail: results of `write!` below are dropped.
    let _ = writeln!(out, "# {}\n", plain(&one_line(&summary.name, NAME)));
    let _ = writeln!(
        out,
        "The block above is a short view of `report.replay.json`, which has whole hashes, every input and all request \
         ids. Where the two differ, the sidecar counts.\n"
    );
    headline(&mut out, summary);
    tasks(&mut out, summary);
    comparisons(&mut out, summary);
    cost(&mut out, summary);
    answered_by(&mut out, block, summary);
    errors(&mut out, summary);
    replay(&mut out, block);
    starts(&mut out, block);
    Ok(out)
}

/// What the block in the markdown says, given the sidecar's JSON: what [`view`] has, with hashes cut to 12 digits.
pub fn shown(sidecar: &Value) -> Value {
    let Value::Object(mut out) = view(sidecar, MOST_INPUTS) else { return sidecar.clone() };
    if let Some(Value::Object(suite)) = out.get("suite") {
        let suite = short_hash(suite);
        out.insert("suite", suite);
    }
    if let Some(Value::Array(inputs)) = out.get("inputs") {
        let inputs = inputs.iter().map(|input| match input {
            Value::Object(members) => Value::Object(short_hash(members)),
            input => input.clone(),
        });
        let inputs: Vec<Value> = inputs.collect();
        out.insert("inputs", inputs);
    }
    Value::Object(out)
}

/// The part of a sidecar that a block may show: request ids are counted, inputs beyond a number are too, and what has
/// its place elsewhere (`argv`, `artifacts`, `invocations`, files of hub datasets) is left out.
pub(crate) fn view(sidecar: &Value, most_inputs: usize) -> Value {
    let Value::Object(members) = sidecar else { return sidecar.clone() };
    let mut out = Map::new();
    for (name, value) in members.iter() {
        match (name, value) {
            ("argv" | "artifacts" | "invocations", _) => {}
            ("inputs", Value::Array(inputs)) => {
                let some: Vec<Value> = inputs.iter().take(most_inputs).map(shown_input).collect();
                out.insert("inputs", some);
                if inputs.len() > most_inputs {
                    out.insert(NOT_SHOWN, (inputs.len() - most_inputs) as u32);
                }
            }
            ("models", Value::Array(models)) => {
                out.insert("models", models.iter().map(shown_model).collect::<Vec<_>>());
            }
            (name, value) => drop(out.insert(name, value.clone())),
        }
    }
    Value::Object(out)
}

/// How many inputs a block leaves out.
pub(crate) const NOT_SHOWN: &str = "inputs_not_shown";

/// [`shown`] of a block, without a copy of everything that it leaves out: there may be a request id for every sample.
fn shown_of(block: &Block, ids: &[u64]) -> Result<Value, EncodeError> {
    let Block { inputs, models, .. } = block;
    let without_ids = |model: &ModelEntry| ModelEntry {
        answered_by: model.answered_by.clone(),
        asked: model.asked.clone(),
        base_url: model.base_url.clone(),
        id: model.id.clone(),
        model: model.model.clone(),
        program: model.program.clone(),
        provider: model.provider.clone(),
        provider_request_ids: Vec::new(),
        version: model.version.clone(),
    };
    let light = Block {
        argv: Vec::new(),
        artifacts: BTreeMap::new(),
        backfilled: block.backfilled,
        conditions: block.conditions.clone(),
        git_dirty: block.git_dirty,
        inputs: inputs.clone(),
        invocations: Vec::new(),
        invoked_at: block.invoked_at.clone(),
        judge_cache_integrity_events: block.judge_cache_integrity_events.clone(),
        kind: block.kind,
        models: models.iter().map(without_ids).collect(),
        not_submittable: block.not_submittable.clone(),
        platform: block.platform.clone(),
        proofmark_version: block.proofmark_version.clone(),
        repo_commit: block.repo_commit.clone(),
        resumed: block.resumed,
        root: block.root.clone(),
        root_in_repo: block.root_in_repo.clone(),
        run_id: block.run_id,
        sampling: block.sampling,
        schema_version: block.schema_version,
        submittable: block.submittable,
        suite: block.suite.clone(),
        toolchain: block.toolchain.clone(),
    };
    let mut value = shown(&json::to_value(&light)?);
    count_ids(&mut value, ids);
    Ok(value)
}

/// Puts the number of request ids in the place of each model's list.
pub(crate) fn count_ids(sidecar: &mut Value, ids: &[u64]) {
    let Value::Object(members) = sidecar else { return };
    let Some(Value::Array(models)) = members.get("models") else { return };
    let counted = models.iter().zip(ids).map(|(model, ids)| match model {
        Value::Object(model) => {
            let mut model = model.clone();
            model.insert(REQUEST_IDS, captured(*ids));
            Value::Object(model)
        }
        model => model.clone(),
    });
    let counted: Vec<Value> = counted.chain(models.iter().skip(ids.len()).cloned()).collect();
    members.insert("models", counted);
}

pub(crate) const REQUEST_IDS: &str = "provider_request_ids";

pub(crate) fn captured(ids: u64) -> String {
    format!("{ids} captured")
}

fn shown_input(input: &Value) -> Value {
    let Value::Object(members) = input else { return input.clone() };
    let mut out = members.clone();
    out.remove("files");
    Value::Object(out)
}

fn shown_model(model: &Value) -> Value {
    let Value::Object(members) = model else { return model.clone() };
    let mut out = Map::new();
    // There may be a request id for every sample: they are not copied.
    members
        .iter()
        .filter(|(name, _)| *name != REQUEST_IDS)
        .for_each(|(name, value)| drop(out.insert(name, value.clone())));
    let ids = members.get(REQUEST_IDS).and_then(Value::as_array).map_or(0, <[Value]>::len);
    out.insert(REQUEST_IDS, captured(ids as u64));
    Value::Object(out)
}

/// The same entry with its hash cut.
fn short_hash(members: &Map) -> Map {
    let mut out = members.clone();
    if let Some(hash) = members.get("hash").and_then(Value::as_str) {
        let length = hash.find(':').map_or(0, |at| at + 1) + SHORT;
        out.insert("hash", hash.chars().take(length).collect::<String>());
    }
    out
}

/// YAML in which nothing is invisible or turns its neighbours around.
fn yaml_text(value: &Value) -> String {
    let text = yaml::to_text(value);
    let mut out = String::with_capacity(text.len());
    for line in text.lines() {
        match counted_ids(line) {
            // Our writer quotes what begins with a digit; this reads better and is the same text to every reader.
            Some((before, ids)) => out.extend([before, ids]),
            None => push_visible(line, &mut out),
        }
        out.push('\n');
    }
    out
}

/// Splits `provider_request_ids: "3 captured"` from its quotes.
fn counted_ids(line: &str) -> Option<(&str, &str)> {
    let (before, quoted) = line.split_once(": ")?;
    let ids = quoted.strip_prefix('"')?.strip_suffix('"')?;
    let number = ids.strip_suffix(" captured")?;
    let is_ours = before.trim_start().trim_start_matches("- ") == REQUEST_IDS
        && !number.is_empty()
        && number.bytes().all(|byte| byte.is_ascii_digit());
    is_ours.then_some((&line[..before.len() + 2], ids))
}

fn push_visible(line: &str, out: &mut String) {
    for c in line.chars() {
        match c {
            // Everything that is not plain ASCII stands in double quotes, so an escape means the character.
            c if is_deceptive(c) && u32::from(c) > 0xffff => {
                let _ = write!(out, "\\U{:08x}", u32::from(c));
            }
            c if is_deceptive(c) => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
}

fn name(text: &str) -> String {
    plain(&one_line(text, NAME))
}

fn headline(out: &mut String, summary: &Summary) {
    out.push_str("## Results\n\n");
    table(
        out,
        &["model", "condition", "mean", "95 % interval", "passed", "scored", "errors"],
        2,
        summary.models.len(),
        summary.models.iter().map(|row| {
            let mut cells = vec![name(&row.model), name(&row.condition)];
            cells.extend(numbers(row.estimate.as_ref(), row.counts));
            cells
        }),
    );
}

fn tasks(out: &mut String, summary: &Summary) {
    let cells: Vec<_> = summary.cells.iter().filter(|cell| cell.primary).collect();
    if summary.tasks.len() < 2 || cells.is_empty() {
        return;
    }
    out.push_str("## By task\n\n");
    table(
        out,
        &["task", "scorer", "model", "condition", "mean", "95 % interval", "passed", "scored", "errors"],
        4,
        cells.len(),
        cells.iter().map(|cell| {
            let mut row = vec![name(&cell.task), name(&cell.scorer), name(&cell.model), name(&cell.condition)];
            row.extend(numbers(cell.estimate.as_ref(), cell.counts));
            row
        }),
    );
}

fn comparisons(out: &mut String, summary: &Summary) {
    if summary.comparisons.is_empty() {
        return;
    }
    out.push_str("## Between conditions\n\n");
    out.push_str("Each condition against the first one, item by item, in percentage points.\n\n");
    let row = |row: &Comparison| {
        vec![
            name(&row.model),
            row.task.as_deref().map_or_else(|| "all".to_owned(), name),
            name(&row.condition),
            name(&row.baseline),
            points(row.difference),
            format!("{} to {}", points(row.interval.low), points(row.interval.high)),
            count(row.items),
            format!("{} / {} / {}", count(row.wins), count(row.ties), count(row.losses)),
        ]
    };
    let head =
        ["model", "task", "condition", "against", "difference", "95 % interval", "items", "better / same / worse"];
    table(out, &head, 4, summary.comparisons.len(), summary.comparisons.iter().map(row));
}

fn cost(out: &mut String, summary: &Summary) {
    out.push_str("## Tokens and cost\n\n");
    let dollars = |cost: Option<f64>| cost.map_or_else(|| "not known".to_owned(), |cost| format!("{cost:.4} USD"));
    let rows = summary.models.iter().map(|row| {
        let usage = row.usage;
        let tokens = [count(usage.input_tokens), count(usage.output_tokens)];
        [vec![name(&row.model), name(&row.condition)], tokens.into(), vec![dollars(row.cost_usd)]].concat()
    });
    table(out, &["model", "condition", "tokens in", "tokens out", "cost"], 2, summary.models.len(), rows);
    let usage = summary.totals.usage;
    let (tokens_in, tokens_out) = (count(usage.input_tokens), count(usage.output_tokens));
    let price = match summary.totals.cost_usd {
        Some(_) => format!("{} at list prices", dollars(summary.totals.cost_usd)),
        None => "the cost is not known".to_owned(),
    };
    let _ = writeln!(out, "All together: {tokens_in} tokens in, {tokens_out} out; {price}.\n");
}

fn answered_by(out: &mut String, block: &Block, summary: &Summary) {
    if summary.answered_by.is_empty() {
        return;
    }
    out.push_str("## Who answered\n\n");
    let rows = summary.answered_by.iter().map(|row| {
        let model = block.models.iter().find(|model| model.id == row.model);
        let (model, asked) = model.map_or(("", None), |model| (model.model.as_str(), model.asked.as_deref()));
        let verdict = match answerer(model, asked, &row.name) {
            Answerer::AsAsked => "as asked",
            Answerer::Another => "**another model**",
            Answerer::FreeChoice => "the program chose",
        };
        vec![name(&row.model), name(asked.unwrap_or(model)), name(&row.name), verdict.to_owned(), count(row.samples)]
    });
    let head = ["model", "asked for", "answered as", "", "samples"];
    table(out, &head, 4, summary.answered_by.len(), rows);
}

fn errors(out: &mut String, summary: &Summary) {
    let totals = summary.totals.counts;
    out.push_str("## Errors\n\n");
    if totals.errored == 0 {
        out.push_str("None.\n\n");
        return;
    }
    let _ = writeln!(
        out,
        "{} of {} came to nothing and count in no mean.\n",
        counted(totals.errored, "sample", "samples"),
        count(totals.attempted)
    );
    let cells: Vec<_> = summary.cells.iter().filter(|cell| cell.primary && cell.counts.errored > 0).collect();
    let rows = cells.iter().map(|cell| {
        let Counts { errored, attempted, .. } = cell.counts;
        vec![name(&cell.task), name(&cell.model), name(&cell.condition), count(errored), count(attempted)]
    });
    table(out, &["task", "model", "condition", "errors", "samples"], 3, cells.len(), rows);
}

fn replay(out: &mut String, block: &Block) {
    out.push_str("## Replay this run\n\n");
    if block.argv.is_empty() {
        out.push_str("The command was not stored.\n");
        return;
    }
    let mut script = String::new();
    if let Some(commit) = &block.repo_commit {
        let state = if block.git_dirty == Some(true) { ", with changes that were not committed" } else { "" };
        let _ = writeln!(script, "# at commit {commit}{state}");
    }
    match &block.root {
        Some(root) => {
            let _ = writeln!(script, "cd -- {}    # from the folder of this report", shell::quote(root));
        }
        None => {
            let suite = block.suite.path.as_deref().unwrap_or("the suite");
            let (suite, _) = shell::command(&[suite.to_owned()]);
            let _ = writeln!(script, "# in the folder that holds {suite}");
        }
    }
    let (command, is_exact) = shell::command(&block.argv);
    let _ = writeln!(script, "{command}");
    let fence = fence(&script);
    let _ = writeln!(out, "{fence}sh\n{script}{fence}\n");
    let has = |mark: &str| block.argv.iter().any(|word| word.contains(mark));
    if has(REDACTED) {
        let _ = writeln!(out, "- `{REDACTED}` stands where a secret was.");
    }
    if has(CUT) {
        let _ = writeln!(out, "- `{CUT}` stands where a path outside the root was cut off.");
    }
    if !is_exact {
        out.push_str("- Characters that cannot be seen are written as escapes; `argv` in the sidecar has them.\n");
    }
    if block.resumed {
        out.push_str("- The run was interrupted and resumed; this is the command that started it.\n");
    }
    out.push_str("- A run that is there is never replaced: give another `--run-dir`, or `--overwrite`.\n");
    out.push_str(
        "- The same inputs do not promise the same answers: providers change their models. What can be checked is that \
         the inputs are the ones named above.\n",
    );
}

/// Every start of a run that was interrupted. The block leaves them out, so they stand here, whole: an edit shows.
fn starts(out: &mut String, block: &Block) {
    if block.invocations.is_empty() {
        return;
    }
    out.push_str("\n## Starts\n\n");
    let mut script = String::new();
    for start in &block.invocations {
        let commit = start.repo_commit.as_deref().unwrap_or("none");
        let state = match start.git_dirty {
            Some(true) => ", with changes",
            Some(false) => ", without changes",
            None => "",
        };
        let (command, _) = shell::command(&start.argv);
        let (at, version) = (one_line(&start.invoked_at, NAME), one_line(&start.proofmark_version, NAME));
        let _ = writeln!(script, "# {at}, version {version}, commit {}{state}\n{command}", one_line(commit, NAME));
    }
    let fence = fence(&script);
    let _ = writeln!(out, "{fence}sh\n{script}{fence}");
}

fn numbers(estimate: Option<&Estimate>, counts: Counts) -> Vec<String> {
    let interval = |e: &Estimate| format!("{} to {}", percent(e.interval.low), percent(e.interval.high));
    vec![
        match estimate {
            Some(estimate) => mean(estimate.mean),
            None if counts.unscored() > 0 => "unscored".to_owned(),
            None => "–".to_owned(),
        },
        estimate.map(interval).unwrap_or_default(),
        count(counts.passed),
        count(counts.scored),
        count(counts.errored),
    ]
}

/// Writes a table whose first `texts` columns are text and the others numbers. Cells are escaped already.
fn table(out: &mut String, head: &[&str], texts: usize, rows: usize, cells: impl Iterator<Item = Vec<String>>) {
    let marks = (0..head.len()).map(|at| if at < texts { "---" } else { "--:" });
    let _ = writeln!(out, "| {} |\n|{}|", head.join(" | "), marks.collect::<Vec<_>>().join("|"));
    for row in cells.take(MOST_ROWS) {
        let _ = writeln!(out, "| {} |", row.join(" | "));
    }
    if rows > MOST_ROWS {
        let _ =
            writeln!(out, "\n… and {} in `summary.json`", counted((rows - MOST_ROWS) as u64, "more row", "more rows"));
    }
    out.push('\n');
}

#[cfg(test)]
#[path = "markdown_tests.rs"]
mod tests;
