//! One file for each command.

pub(crate) mod audit;
pub(crate) mod backfill;
pub(crate) mod cache;
pub(crate) mod calibrate;
pub(crate) mod cassette;
pub(crate) mod completions;
pub(crate) mod demo;
pub(crate) mod diff;
pub(crate) mod doctor;
pub(crate) mod estimate;
pub(crate) mod export;
pub(crate) mod hash;
pub(crate) mod init;
pub(crate) mod judging;
pub(crate) mod keys;
pub(crate) mod man;
pub(crate) mod mock_provider;
pub(crate) mod models;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod schema;
pub(crate) mod score;
pub(crate) mod show;
pub(crate) mod validate;
pub(crate) mod verify;
pub(crate) mod verify_replay;
