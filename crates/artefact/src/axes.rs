//! Where the names of a run stand: records name tasks, models and conditions, everything else counts them.

use std::collections::HashMap;

use crate::manifest::Manifest;
use crate::stats::Shape;

/// The places of names. Of a name that stands twice the first place counts.
#[derive(Debug)]
pub(crate) struct Axes<'a> {
    tasks: HashMap<&'a str, usize>,
    models: HashMap<&'a str, usize>,
    conditions: HashMap<&'a str, usize>,
}

impl<'a> Axes<'a> {
    pub(crate) fn of_manifest(manifest: &'a Manifest) -> Self {
        Self {
            tasks: index(manifest.tasks.iter().map(|task| &task.id)),
            models: index(manifest.models.iter().map(|model| &model.id)),
            conditions: index(manifest.conditions.requested.iter()),
        }
    }

    pub(crate) fn of_shape(shape: &'a Shape) -> Self {
        Self {
            tasks: index(shape.tasks.iter().map(|task| &task.id)),
            models: index(shape.models.iter()),
            conditions: index(shape.conditions.iter()),
        }
    }

    pub(crate) fn task(&self, name: &str) -> Option<usize> {
        self.tasks.get(name).copied()
    }

    pub(crate) fn model(&self, name: &str) -> Option<usize> {
        self.models.get(name).copied()
    }

    pub(crate) fn condition(&self, name: &str) -> Option<usize> {
        self.conditions.get(name).copied()
    }
}

fn index<'a>(names: impl DoubleEndedIterator<Item = &'a String> + ExactSizeIterator) -> HashMap<&'a str, usize> {
    // From the end, so that the first place is the one that stays.
    names.enumerate().rev().map(|(at, name)| (name.as_str(), at)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_found_at_its_first_place() {
        let names = ["a", "b", "a"].map(String::from);
        let places = index(names.iter());
        assert_eq!(["a", "b", "c"].map(|name| places.get(name).copied()), [Some(0), Some(1), None]);
    }
}
