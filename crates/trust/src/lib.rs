//! Who vouches for what.
//!
//! - [`key`] Ed25519 keys, their fingerprints, signatures over canonical bytes;
//! - [`public`] public keys as others write them; [`keyfile`] private ones in PEM, and OpenSSH's own form;
//!   [`passphrase`] what opens them;
//! - [`keyring`] the folder that keys live in;
//! - [`policy`] `trust.json`: which key may act in which role, from when to when ([`moment`]);
//! - [`sshsig`], [`dsse`], [`statement`], [`bundle`] signatures in forms that tools of others check;
//! - [`cache`] the judge cache: signed judgments that anyone may read and nobody can fake.
//!
//! Nothing here reads the environment, a clock or a source of randomness: `cli` hands in what it needs.

pub mod bundle;
pub mod cache;
pub mod dsse;
#[cfg(test)]
mod hostile;
pub mod key;
pub mod keyfile;
pub mod keyring;
pub mod moment;
mod multiples;
mod openssh;
pub mod passphrase;
pub mod policy;
pub mod public;
pub mod sshsig;
pub mod statement;
mod wire;
