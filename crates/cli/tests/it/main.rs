//! Integration tests of the `proofmark` command: what a user sees of it.

// The attribute tells clippy that helpers here are tests too.
#[cfg(test)]
mod agent_edges;
#[cfg(test)]
mod agents;
#[cfg(test)]
mod audit;
#[cfg(test)]
mod backfill;
#[cfg(test)]
mod cache;
#[cfg(test)]
mod calibrate;
#[cfg(test)]
mod cassette;
#[cfg(test)]
mod commands;
#[cfg(test)]
mod compare;
#[cfg(test)]
mod determinism;
#[cfg(test)]
mod doctor;
#[cfg(test)]
mod gaia;
#[cfg(test)]
mod golden;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod images;
#[cfg(test)]
mod judge;
#[cfg(test)]
mod judge_example;
#[cfg(test)]
mod keys;
#[cfg(test)]
mod kill;
#[cfg(test)]
mod live;
#[cfg(test)]
mod mock_provider;
#[cfg(test)]
mod outcome;
#[cfg(test)]
mod rebuild;
#[cfg(test)]
mod region;
#[cfg(test)]
mod replay;
#[cfg(test)]
mod resume;
#[cfg(test)]
mod score;
#[cfg(test)]
mod seal;
#[cfg(test)]
mod show;
#[cfg(test)]
mod strictness;
#[cfg(test)]
mod support;
#[cfg(test)]
mod verify;
#[cfg(test)]
mod witness;
