//! Whom runs believe in matters of judging, and where judgments are kept.

use std::sync::Arc;

use proofmark_run::judge::{NoShelf, Shelf};
use proofmark_run::ready::Ready;
use proofmark_trust::policy::Trust;

use crate::exit::Failure;
use crate::settings::Settings;

/// Where the judgments of a run are kept.
pub(crate) fn shelf(_ready: &Ready, _settings: &Settings) -> Result<Arc<dyn Shelf>, Failure> {
    Ok(Arc::new(NoShelf))
}

/// Whose signatures are believed.
pub(crate) fn trust(_settings: &Settings) -> Result<Trust, Failure> {
    Ok(Trust::default())
}
