//! The reply that a record was made from.

use proofmark_artefact::record::{Record, SCORER_ERROR};
use proofmark_model::{Class, Reply};

/// A record that no reply can have given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it has neither an output nor an error of its own")]
pub(crate) struct NoReply;

/// Takes back the step from a reply to its record.
///
/// What came back is in the record; what follows from it, such as the status of a class of errors, is made again.
pub(crate) fn reply_of(record: Record) -> Result<Reply, NoReply> {
    let Record { output, finish_reason, error, usage, status, .. } = record;
    match (output, error) {
        (Some(output), _) => Ok(Reply::Answered { finish_reason: finish_reason.unwrap_or_default(), output, usage }),
        // There is nothing that a scorer could have failed at.
        (None, Some(error)) if error.class != SCORER_ERROR => {
            let status = Class::of(&error.class).map_or(status, Class::status);
            Ok(Reply::Failed { class: error.class, message: error.message, status, usage })
        }
        _ => Err(NoReply),
    }
}
