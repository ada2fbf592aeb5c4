//! Exit codes, and errors as people read them.

use std::fmt;
use std::process::ExitCode;

use proofmark_artefact::text::visible;

use crate::settings::Settings;

/// How a command ended. The numbers are part of what scripts rely on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// 0: what was asked holds.
    Holds,
    /// 1: it was checked and does not hold.
    DoesNotHold,
    /// 2: it could not be checked.
    CannotCheck,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Holds => 0,
            Exit::DoesNotHold => 1,
            Exit::CannotCheck => 2,
        })
    }
}

/// Something could not be done: what, why, and what to do about it.
#[derive(Debug)]
pub(crate) struct Failure {
    message: String,
    causes: Vec<String>,
    hint: Option<String>,
    /// Whether something outside failed, so that nothing can be said about what was to be checked.
    pub(crate) is_of_surroundings: bool,
}

impl Failure {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), causes: Vec::new(), hint: None, is_of_surroundings: false }
    }

    /// Takes an error with everything that caused it.
    pub(crate) fn from_error(error: &(dyn std::error::Error + 'static)) -> Self {
        let mut causes = Vec::new();
        let mut source = error.source();
        while let Some(cause) = source {
            causes.push(cause.to_string());
            source = cause.source();
        }
        Self { message: error.to_string(), causes, hint: None, is_of_surroundings: false }
    }

    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<Option<String>>) -> Self {
        self.hint = hint.into().or(self.hint);
        self
    }

    /// Says first where it happened.
    #[must_use]
    pub(crate) fn within(mut self, place: &str) -> Self {
        self.message.insert_str(0, place);
        self
    }

    /// The failure with its causes, for those who report it as a part of something else.
    pub(crate) fn on_one_line(&self) -> String {
        [std::slice::from_ref(&self.message), &self.causes].concat().join(": ")
    }

    /// Prints the failure to stderr.
    pub(crate) fn print(&self, settings: &Settings) {
        settings.print_err(&self.render(settings.style.stderr));
    }

    fn render(&self, style: crate::ui::style::Style) -> String {
        let mut text = format!("{}{}\n", style.error("error: "), visible(&self.message));
        for cause in &self.causes {
            text.push_str(&format!("  {} {}\n", style.dim("because:"), visible(cause)));
        }
        if let Some(hint) = &self.hint {
            text.push_str(&format!("{}{}\n", style.hint("hint: "), visible(hint)));
        }
        text
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// A command that could not write its result.
impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::new(format!("cannot write: {error}"))
    }
}
