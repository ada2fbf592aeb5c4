//! Names of the files of a run.

pub const RECORDS: &str = "records.jsonl";
pub const TRAJECTORIES: &str = "trajectories.jsonl";
pub const MANIFEST: &str = "manifest.json";
pub const CONFIG: &str = "config.resolved.yaml";
pub const SUMMARY: &str = "summary.json";
pub const REPORT_HTML: &str = "report.html";

/// All files of plane 1, in the order in which they are published. The manifest comes last: a
/// directory that has one is complete.
pub const PLANE_1: [&str; 6] = [RECORDS, TRAJECTORIES, CONFIG, SUMMARY, REPORT_HTML, MANIFEST];

/// What judges were asked and what they said, signed where there is a key. Beside plane 1: signatures differ.
pub const JUDGMENTS: &str = "judgments.jsonl";

/// Every attempt to get an answer; plane 2.
pub const TELEMETRY: &str = "telemetry.jsonl";

/// The witness for people; derived from [`REPLAY`], never read back.
pub const REPORT_MD: &str = "report.md";
/// The witness: what the run ate and what it left.
pub const REPLAY: &str = "report.replay.json";

/// All files of plane 2 that a run may leave, in the order in which they are published. The witness comes last: it
/// pins the others.
pub const PLANE_2: [&str; 4] = [JUDGMENTS, TELEMETRY, REPORT_MD, REPLAY];

/// What attacks on the judges did, when that was tried. In no plane.
pub const JUDGE_PROBE: &str = "judge-probe.json";

/// The folder of pictures that models made, each named by its digest. Records name every one of them.
pub const OUTPUTS: &str = "outputs";

/// Whole bodies, when the suite wants them kept. In no plane: trajectories name them by their digests.
pub const BODIES: &str = "bodies";

/// Work in progress. It is there while a run is unfinished and marks the directory as ours.
pub const WORK: &str = ".proofmark";
/// What the unfinished run is (inside [`WORK`]).
pub const WORK_HEADER: &str = "run.json";
/// Finished samples, in the order in which they finished (inside [`WORK`]).
pub const JOURNAL: &str = "journal.jsonl";
/// Judgments of the unfinished run, in the order in which they came (inside [`WORK`]).
pub const JUDGED: &str = "judged.jsonl";
/// What a judge cache could not vouch for in the unfinished run (inside [`WORK`]).
pub const CACHE_EVENTS: &str = "cache-events.jsonl";
/// Every start of the unfinished run, for its witness (inside [`WORK`]).
pub const STARTS: &str = "starts.jsonl";
/// Whether the evidence of a run under way could be written, in its work folder.
pub const EVIDENCE: &str = "evidence";
/// Held by the process that writes (inside [`WORK`]).
pub const LOCK: &str = "lock";
