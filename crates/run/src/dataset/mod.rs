//! Datasets: rows of any format to items, streamed.
//!
//! A dataset is read twice. [`prepare`] reads everything once, before anything is asked: it checks
//! every row, finds duplicate ids and computes the digest. [`Prepared::items`] then gives the items
//! in their final order. Memory does not grow with the dataset in either pass: what must be
//! remembered (ids, the order of a shuffle) goes through an external sort.
//!
//! Rules that hold for every format:
//! - A field that the suite names (`id`, `input`, `target`, `choices`, `files`, `metadata`) must be in every row.
//!   Without configuration `input`, `target` and `choices` are used when a row has them; a `choices` that is not
//!   a list is then an ordinary field.
//! - Templates see the row without its target and metadata, plus `input` and `choices`. The target is removed
//!   so that gold cannot reach a prompt.
//! - `on_bad_row: skip` leaves a bad row out and counts it. A broken file (I/O, byte order mark, a quote that
//!   is never closed) and a duplicate id stay errors: nobody can say which of two rows is the bad one.
//! - `limit` without `shuffle` stops reading rows: rows behind the limit are not checked, though the digest is
//!   always that of the whole file. With `shuffle` every row is read and checked.
//! - `shuffle` orders items by a keyed hash of seed and id, so an item's place does not depend on the order of the file.
//!
//! Parts: [`error`] what can be wrong, [`context`] what the caller hands in, [`item`] rows to items, [`source`] where rows
//! come from ([`jsonl`], [`csv`], [`parquet`] and inline), [`lines`] bounded lines, [`names`] names in messages,
//! [`shuffle`] the seeded order, [`prepared`] the two passes, [`hub`] the Hugging Face hub, [`gaia`] the layout of GAIA,
//! [`table`] one file by itself.

mod context;
mod csv;
mod error;
mod gaia;
mod hub;
mod item;
mod jsonl;
mod lines;
mod names;
mod parquet;
mod prepared;
mod quiet;
mod shuffle;
mod source;
mod table;

pub use context::{DataContext, HasFile, HubContext, Tuning};
pub use error::{At, DatasetError, Problem, Role};
pub use hub::error::HubProblem;
pub use item::{Attachment, Item, MAX_ID_BYTES};
pub use prepared::{Items, Prepared, UsedFile, prepare};
pub use table::{is_table, read_table};
