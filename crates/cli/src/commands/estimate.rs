//! What a run would cost, as far as one can tell before it.

use proofmark_artefact::number::count;
use proofmark_artefact::text::visible;
use proofmark_run::ready::Ready;
use serde::Serialize;

use crate::exit::Failure;
use crate::ui::table::{Align, render};

/// What one model would be sent and could send back.
#[derive(Debug, Serialize)]
pub(crate) struct Estimate {
    /// Four bytes a token; null when prompts could not be made.
    pub(crate) input_tokens: u64,
    pub(crate) input_usd: Option<f64>,
    pub(crate) model: String,
    /// What `max_tokens` permits; null when nothing limits it.
    pub(crate) most_output_tokens: Option<u64>,
    pub(crate) most_output_usd: Option<f64>,
    pub(crate) samples: u64,
}

/// How many items of each task are looked at; the rest is taken to be like them.
const LOOKED_AT: usize = 10_000;
/// Bytes of a token, roughly: English text has four.
const BYTES_PER_TOKEN: f64 = 4.0;

pub(crate) fn estimates(ready: &Ready) -> Result<Vec<Estimate>, Failure> {
    let plan = &ready.plan;
    // By condition: bytes of all prompts, over all tasks.
    let mut bytes = vec![0.0; plan.conditions.len()];
    for (task, prepared) in ready.datasets.iter().enumerate() {
        let mut seen = 0u64;
        let mut found = vec![0u64; plan.conditions.len()];
        for item in prepared.items().map_err(|error| Failure::from_error(&error))?.take(LOOKED_AT) {
            let item = std::sync::Arc::new(item.map_err(|error| Failure::from_error(&error))?);
            seen += 1;
            for (condition, sum) in found.iter_mut().enumerate() {
                let messages = ready.prompts.render(task, condition, &item);
                *sum += messages.map_or(0, |all| all.iter().map(|message| message.content.len() as u64 + 16).sum());
            }
        }
        let whole = prepared.rows as f64 / seen.max(1) as f64;
        bytes.iter_mut().zip(found).for_each(|(sum, found)| *sum += found as f64 * whole);
    }
    let n = u64::from(plan.sampling.n);
    let items: u64 = ready.datasets.iter().map(|prepared| prepared.rows).sum();
    let mut all = Vec::new();
    for ((model, params), price) in plan.models.iter().zip(&ready.params).zip(&ready.prices) {
        let input_tokens = (bytes.iter().sum::<f64>() / BYTES_PER_TOKEN * n as f64).ceil() as u64;
        let most = params.iter().map(|params| params.merged.get("max_tokens")?.as_u64().map(|most| most * items * n));
        let most_output_tokens = most.sum::<Option<u64>>();
        all.push(Estimate {
            input_tokens,
            input_usd: price.as_ref().map(|price| input_tokens as f64 * price.input / 1e6),
            model: model.id.clone(),
            most_output_tokens,
            most_output_usd: price.as_ref().zip(most_output_tokens).map(|(p, tokens)| tokens as f64 * p.output / 1e6),
            samples: items * n * plan.conditions.len() as u64,
        });
    }
    Ok(all)
}

/// The estimates as text; nothing when no model has a price.
pub(crate) fn describe(all: &[Estimate], width: usize) -> String {
    let head = [
        ("model", Align::Left),
        ("calls", Align::Right),
        ("tokens in, about", Align::Right),
        ("tokens out", Align::Right),
        ("cost", Align::Right),
    ];
    let row = |one: &Estimate| {
        let most = one.most_output_tokens.map_or_else(|| "no limit".to_owned(), |n| format!("at most {}", count(n)));
        let cost = match (one.input_usd, one.most_output_usd) {
            (Some(input), Some(output)) => format!("at most ${:.2}", input + output),
            (Some(input), None) => format!("${input:.2} and the answers"),
            (None, _) => "not known".to_owned(),
        };
        vec![visible(&one.model), count(one.samples), count(one.input_tokens), most, cost]
    };
    let mut out = render(&head, &all.iter().map(row).collect::<Vec<_>>(), width);
    let known: Option<f64> = all.iter().map(|one| Some(one.input_usd? + one.most_output_usd?)).sum();
    if let Some(most) = known {
        out.push_str(&format!("all of it: at most ${most:.2}\n"));
    }
    out
}
