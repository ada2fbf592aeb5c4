//! What is wrong with a suite, and where.

use std::fmt;

/// A place in a suite: `tasks[0].scorers[1].pattern`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Place(pub Vec<Step>);

/// One step of a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    Key(String),
    Index(usize),
}

impl Place {
    pub fn top() -> Self {
        Self::default()
    }

    pub fn key(&self, key: &str) -> Self {
        self.step(Step::Key(key.to_owned()))
    }

    pub fn index(&self, at: usize) -> Self {
        self.step(Step::Index(at))
    }

    fn step(&self, step: Step) -> Self {
        let mut steps = self.0.clone();
        steps.push(step);
        Self(steps)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, step) in self.0.iter().enumerate() {
            match step {
                Step::Key(key) if at == 0 => write!(f, "{key}")?,
                Step::Key(key) => write!(f, ".{key}")?,
                Step::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

/// One thing that is wrong with a suite.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub place: Place,
    pub message: String,
    pub hint: Option<String>,
}

impl Problem {
    pub fn at(place: Place, message: impl Into<String>) -> Self {
        Self { place, message: message.into(), hint: None }
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Takes the hint of another error, when that has one.
    #[must_use]
    pub fn hint_of(mut self, hint: Option<String>) -> Self {
        self.hint = hint;
        self
    }
}
