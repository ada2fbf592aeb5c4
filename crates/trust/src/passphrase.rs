//! What opens a key file.

use std::fmt;

use zeroize::Zeroizing;

/// A text that is never shown and is wiped from memory when it is dropped.
#[derive(Clone)]
pub struct Passphrase(Zeroizing<String>);

/// The longest passphrase.
pub const MAX_PASSPHRASE: usize = 1024;
/// The fewest characters of a new one.
pub const FEWEST_CHARACTERS: usize = 8;

/// The text cannot be a passphrase. It is not in here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PassphraseError {
    #[error("the passphrase is empty")]
    Empty,
    #[error("the passphrase has more than {MAX_PASSPHRASE} bytes")]
    TooLong,
    #[error("the passphrase has fewer than {FEWEST_CHARACTERS} characters")]
    TooShort,
}

impl Passphrase {
    /// Takes the first line of a text as it is, spaces included.
    pub fn new(text: &str) -> Result<Self, PassphraseError> {
        let line = text.split(['\n', '\r']).next().unwrap_or_default();
        match line.len() {
            0 => Err(PassphraseError::Empty),
            1..=MAX_PASSPHRASE => Ok(Self(Zeroizing::new(line.to_owned()))),
            _ => Err(PassphraseError::TooLong),
        }
    }

    /// Whether it may protect a key that is written now.
    pub fn check_new(&self) -> Result<(), PassphraseError> {
        if self.0.chars().count() < FEWEST_CHARACTERS { Err(PassphraseError::TooShort) } else { Ok(()) }
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }

    /// Whether both are the same, for one that is typed twice.
    pub fn is_same(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl fmt::Debug for Passphrase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Passphrase(***)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_passphrase_is_one_line_and_is_never_shown() {
        let passphrase = Passphrase::new(" pass word \r\nmore").unwrap();
        assert_eq!(passphrase.as_bytes(), b" pass word ");
        assert_eq!(format!("{passphrase:?}"), "Passphrase(***)");
        assert!(passphrase.check_new().is_ok());
        assert_eq!(Passphrase::new("\nx").unwrap_err(), PassphraseError::Empty);
        assert_eq!(Passphrase::new(&"x".repeat(1025)).unwrap_err(), PassphraseError::TooLong);
        assert_eq!(Passphrase::new("ünicöde").unwrap().check_new(), Err(PassphraseError::TooShort));
    }
}
