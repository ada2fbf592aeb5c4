//! All samples of an audit, in the order of their file.

use std::io;

use proofmark_artefact::spill::Spot;

use crate::input::gold::Gold;
use crate::sample::Sample;
use crate::shelf::{Filling, Shelf, Twice};

/// Samples, each with what the dataset and the file as a whole add to it.
pub struct Samples {
    shelf: Shelf<Sample>,
    /// What fills in the questions and gold answers that results leave out.
    gold: Option<Gold>,
    /// Which tasks are of that dataset.
    of_gold: Vec<bool>,
    /// The model of results that do not name theirs.
    model: String,
}

impl Samples {
    pub fn new(filling: Filling<Sample>, model: Option<String>) -> io::Result<Self> {
        Ok(Self { shelf: filling.finish()?, gold: None, of_gold: Vec::new(), model: model.unwrap_or_default() })
    }

    /// Fills in what results of some tasks leave out. What they do say is held against the dataset by a check.
    pub fn take_gold(&mut self, gold: Gold, of_gold: Vec<bool>) {
        self.gold = Some(gold);
        self.of_gold = of_gold;
    }

    /// The dataset's answers, where they are those of a task.
    pub fn gold_of(&self, task: usize) -> Option<&Gold> {
        self.gold.as_ref().filter(|_| self.of_gold.get(task).is_some_and(|is_of| *is_of))
    }

    pub fn gold(&self) -> Option<&Gold> {
        self.gold.as_ref()
    }

    pub fn count(&self) -> u64 {
        self.shelf.count()
    }

    /// The sample of a trajectory: the first one where several have its id.
    pub fn find(&self, id: &str) -> io::Result<Option<(Spot, Sample)>> {
        let Some(spot) = self.shelf.find(id)? else { return Ok(None) };
        Ok(Some((spot, self.get(spot)?)))
    }

    pub fn get(&self, spot: Spot) -> io::Result<Sample> {
        self.complete(self.shelf.get(spot)?)
    }

    pub fn walk(&self) -> impl Iterator<Item = io::Result<(Spot, Sample)>> {
        self.shelf.walk().map(|sample| {
            let (spot, sample) = sample?;
            Ok((spot, self.complete(sample)?))
        })
    }

    /// Ids that stand more than once.
    pub fn twice(&self, keep: usize) -> io::Result<Twice> {
        self.shelf.twice(keep)
    }

    fn complete(&self, mut sample: Sample) -> io::Result<Sample> {
        if sample.model.is_empty() {
            sample.model.clone_from(&self.model);
        }
        let Some(gold) = self.gold_of(sample.task) else { return Ok(sample) };
        let has_gold = sample.has_gold();
        if has_gold && !sample.question.is_empty() {
            return Ok(sample);
        }
        let Some(row) = gold.find(&sample.item)? else { return Ok(sample) };
        if !has_gold {
            sample.gold = row.answer;
        }
        if let (true, Some(question)) = (sample.question.is_empty(), row.question) {
            sample.question = question;
        }
        Ok(sample)
    }
}
