//! What judges did in a run: which stage decided, how often they disagreed, what they took.

use crate::manifest::PriceEntry;
use crate::record::{Judged, Stage, Usage};
use crate::summary::{JudgeRow, Judging, Stages};

/// Counts judged samples.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct JudgingTally {
    stages: Stages,
    dissent: u64,
    judges: Vec<(u64, Usage)>,
}

impl JudgingTally {
    pub(super) fn new(judges: usize) -> Self {
        Self { judges: vec![Default::default(); judges], ..Self::default() }
    }

    pub(super) fn add(&mut self, judges: &[(String, Option<PriceEntry>)], judged: &Judged) {
        *match judged.stage {
            Stage::Empty => &mut self.stages.empty,
            Stage::Exact => &mut self.stages.exact,
            Stage::Normalised => &mut self.stages.normalised,
            Stage::Judge => &mut self.stages.judge,
        } += 1;
        self.dissent += u64::from(judged.dissent > 0);
        for opinion in &judged.opinions {
            // Records of others may name anybody.
            let Some(at) = judges.iter().position(|(id, _)| *id == opinion.judge) else { continue };
            let (opinions, usage) = &mut self.judges[at];
            *opinions += 1;
            add(usage, opinion.usage);
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.stages.empty += other.stages.empty;
        self.stages.exact += other.stages.exact;
        self.stages.normalised += other.stages.normalised;
        self.stages.judge += other.stages.judge;
        self.dissent += other.dissent;
        for ((opinions, usage), (more, spent)) in self.judges.iter_mut().zip(&other.judges) {
            *opinions += more;
            add(usage, *spent);
        }
    }

    /// `None` for a run without judges.
    pub(super) fn finish(&self, judges: &[(String, Option<PriceEntry>)]) -> Option<Judging> {
        let row = |((id, price), (opinions, usage)): (&(String, Option<PriceEntry>), &(u64, Usage))| JudgeRow {
            cost_usd: price.as_ref().map(|price| price.cost(*usage)),
            id: id.clone(),
            opinions: *opinions,
            usage: *usage,
        };
        (!judges.is_empty()).then(|| Judging {
            dissent: self.dissent,
            judges: judges.iter().zip(&self.judges).map(row).collect(),
            stages: self.stages,
        })
    }
}

fn add(usage: &mut Usage, more: Usage) {
    usage.input_tokens = usage.input_tokens.saturating_add(more.input_tokens);
    usage.output_tokens = usage.output_tokens.saturating_add(more.output_tokens);
}
