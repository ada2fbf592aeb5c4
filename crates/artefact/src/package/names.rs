//! Names inside a package.

/// Lists every other file, apart from what signs it.
pub const CONTENTS: &str = "package.json";
/// The run directory, as the run left it.
pub const RUN: &str = "run";
/// What the run was fed, by its path from the root of the witness.
pub const INPUTS: &str = "inputs";
/// Files of datasets of the hub, laid out as in the cache.
pub const HUB: &str = "hub";
pub const AUDIT: &str = "audit-report.json";
pub const METADATA: &str = "metadata.json";
/// What GAIA's leaderboard takes.
pub const RESULTS: &str = "results.jsonl";
/// The folder of what it takes, where a run has more than one set of answers.
pub const RESULTS_FOLDER: &str = "results";
pub const README: &str = "README.md";

/// The folder of what signs the rest.
pub const ATTESTATIONS: &str = "attestations";
/// What the signer says of every file, in a Sigstore bundle.
pub const BUNDLE: &str = "attestations/run.sigstore.json";
/// An SSH signature over [`CONTENTS`].
pub const SSH_SIGNATURE: &str = "attestations/package.json.sig";
/// The signer's public key, as OpenSSH writes it.
pub const SIGNER: &str = "attestations/signer.pub";

/// What nothing in a package lists: it signs the list.
pub const SIGNING: [&str; 3] = [SSH_SIGNATURE, BUNDLE, SIGNER];
