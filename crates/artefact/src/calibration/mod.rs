//! How far a judge agrees with people: labels, what is measured, `calibration.json`, and what people read of it.
//!
//! Asking the judge is the business of `proofmark-run`. Here is everything that follows from what it said, as pure
//! functions: the same labels and the same verdicts give the same bytes on any machine.
//!
//! - [`label`] the lines that people write; [`shape`] `calibration.json`.
//! - [`figure`] shares and figures with their intervals, or the reason why there is none; [`kappa`] agreement beyond chance.
//! - [`measure`] one judge, or a panel, held against the labels; [`bias`] length, position, own family; [`family`] who made
//!   a model.
//! - [`probe`] what attacks inside an answer did to the judge.
//! - [`warn`] what a reader must not overlook; [`fits`] whether a calibration is of the judge that a run used.
//! - [`render`] text and markdown.

pub mod bias;
pub mod family;
pub mod figure;
pub mod fits;
pub mod kappa;
pub mod label;
pub mod measure;
pub mod probe;
pub mod render;
pub mod shape;
pub mod warn;

pub use fits::{Why, fits, line, note};
pub use label::{Label, LabelError, LabelRules, Labels};
pub use measure::{Labelled, Ruling};
pub use probe::Probe;
pub use shape::{CALIBRATION_SCHEMA, Calibration, Subject};
