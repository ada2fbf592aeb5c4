//! Colours, where they are wanted. Everything makes sense without them.

use anstyle::{AnsiColor, Effects, Style as Ansi};

/// Whether text is coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    Plain,
    Coloured,
}

impl Style {
    pub(crate) fn error(self, text: &str) -> String {
        self.paint(text, AnsiColor::Red.on_default().effects(Effects::BOLD))
    }

    pub(crate) fn bad(self, text: &str) -> String {
        self.paint(text, AnsiColor::Red.on_default())
    }

    pub(crate) fn good(self, text: &str) -> String {
        self.paint(text, AnsiColor::Green.on_default())
    }

    pub(crate) fn warn(self, text: &str) -> String {
        self.paint(text, AnsiColor::Yellow.on_default())
    }

    pub(crate) fn hint(self, text: &str) -> String {
        self.paint(text, AnsiColor::Cyan.on_default().effects(Effects::BOLD))
    }

    pub(crate) fn bold(self, text: &str) -> String {
        self.paint(text, Ansi::new().effects(Effects::BOLD))
    }

    pub(crate) fn dim(self, text: &str) -> String {
        self.paint(text, Ansi::new().effects(Effects::DIMMED))
    }

    fn paint(self, text: &str, ansi: Ansi) -> String {
        match self {
            Self::Plain => text.to_owned(),
            Self::Coloured => format!("{}{text}{}", ansi.render(), ansi.render_reset()),
        }
    }
}
