//! Hub datasets against a hub that misbehaves on demand.

use std::time::Duration;

use proofmark_artefact::suite::config::Format;
use proofmark_artefact::suite::plan::DatasetPlan;
use proofmark_canon::Digest;
use proofmark_model::Secret;
use proofmark_run::dataset::{DataContext, HubContext, Prepared, prepare};
use proofmark_testkit::hub::{FakeHub, FaultKind, HubFile, HubRepo};

use super::{Folder, plan, report};

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";
const ONE: &str = "{\"id\":\"a\"}\n{\"id\":\"b\"}\n";
const TWO: &str = "{\"id\":\"c\"}\n";

fn file(path: &str, text: &str, lfs: bool) -> HubFile {
    let lfs_sha256 = lfs.then(|| Digest::of(text.as_bytes()).hex());
    HubFile { path: path.into(), bytes: text.into(), lfs_sha256 }
}

fn repo() -> HubRepo {
    HubRepo {
        name: "owner/set".into(),
        commit: COMMIT.into(),
        refs: vec!["main".into(), "refs/convert/parquet".into()],
        files: vec![
            file("README.md", "# set", false),
            file("data/test-00000-of-00002.jsonl", ONE, true),
            file("data/test-00001-of-00002.jsonl", TWO, false),
            file("data/train-00000-of-00001.jsonl", "{\"id\":\"x\"}\n", true),
        ],
        page: 2,
    }
}

struct Setup {
    hub: FakeHub,
    context: DataContext,
    _folder: Folder,
}

fn setup_with(repo: HubRepo) -> Setup {
    let (hub, folder) = (FakeHub::start(vec![repo]), Folder::new());
    let mut context = folder.context();
    let mut reach = HubContext::new(hub.endpoint(), folder.0.path().join("cache"));
    reach.pause = Duration::from_millis(1);
    context.hub = Some(reach);
    Setup { hub, context, _folder: folder }
}

fn setup() -> Setup {
    setup_with(repo())
}

impl Setup {
    fn prepare(&self, plan: &DatasetPlan) -> Result<Prepared, String> {
        prepare(plan, &self.context).map_err(|error| report(&error))
    }

    fn ids(&self, plan: &DatasetPlan) -> Result<String, String> {
        let items = self.prepare(plan)?.items().unwrap().map(|item| item.unwrap().id);
        Ok(items.collect::<Vec<_>>().join(" "))
    }

    fn reach(&mut self) -> &mut HubContext {
        self.context.hub.as_mut().unwrap()
    }

    fn cached(&self, path: &str) -> std::path::PathBuf {
        self.context.hub.as_ref().unwrap().cache_dir.join("hub/datasets/owner--set").join(COMMIT).join(path)
    }
}

fn pinned() -> DatasetPlan {
    DatasetPlan {
        repo: Some("owner/set".into()),
        revision: Some(COMMIT.into()),
        id: Some("id".into()),
        ..plan(Format::Hf)
    }
}

#[test]
fn a_split_is_fetched_once_and_then_needs_no_network() {
    let mut setup = setup();
    let branch = DatasetPlan { revision: Some("refs/convert/parquet".into()), ..pinned() };
    let prepared = setup.prepare(&branch).unwrap();
    assert_eq!(setup.ids(&branch).as_deref(), Ok("a b c"));
    assert_eq!((prepared.rows, prepared.revision.as_deref()), (3, Some(COMMIT)));
    let names = format!(
        r#"[{{"path":"data/test-00000-of-00002.jsonl","sha256":"{}"}},{{"path":"data/test-00001-of-00002.jsonl","sha256":"{}"}}]"#,
        Digest::of(ONE.as_bytes()).hex(),
        Digest::of(TWO.as_bytes()).hex()
    );
    assert_eq!(prepared.digest, Digest::of(names.as_bytes()));
    assert_eq!(prepared.files[1].path, "owner/set/data/test-00001-of-00002.jsonl");
    assert_eq!(std::fs::read(setup.cached("data/test-00001-of-00002.jsonl")).unwrap(), TWO.as_bytes());

    let targets: Vec<String> = setup.hub.seen().into_iter().map(|seen| seen.target).collect();
    let api = "/api/datasets/owner/set";
    assert_eq!(
        targets,
        [
            format!("{api}/revision/refs%2Fconvert%2Fparquet"),
            format!("{api}/tree/{COMMIT}?recursive=true"),
            format!("{api}/tree/{COMMIT}?recursive=true&cursor=2"),
            format!("/datasets/owner/set/resolve/{COMMIT}/data/test-00000-of-00002.jsonl"),
            format!("/datasets/owner/set/resolve/{COMMIT}/data/test-00001-of-00002.jsonl"),
            format!("{api}/revision/refs%2Fconvert%2Fparquet"),
        ]
    );

    // A full commit whose files are all there is not asked for again, on line or off.
    assert_eq!(setup.ids(&pinned()).as_deref(), Ok("a b c"));
    assert_eq!(setup.hub.seen().len(), 6);
    setup.reach().offline = true;
    assert_eq!(setup.ids(&pinned()).as_deref(), Ok("a b c"));
    let train = DatasetPlan { split: Some("train".into()), ..pinned() };
    let want = "`owner/set`: offline, and `data/train-00000-of-00001.jsonl` is not in the cache or was changed there\nhint: allow the network once to fill the cache";
    assert_eq!(setup.ids(&train).unwrap_err(), want);
    let want = "`owner/set`: offline, and the revision `refs/convert/parquet` is not a full commit\nhint: pin `revision:` to a full commit, or allow the network once";
    assert_eq!(setup.ids(&branch).unwrap_err(), want);
}

#[test]
fn a_cached_file_that_was_changed_is_fetched_again() {
    let mut setup = setup();
    assert!(setup.ids(&pinned()).is_ok());
    let path = setup.cached("data/test-00001-of-00002.jsonl");
    std::fs::copy(setup.cached("data/test-00000-of-00002.jsonl"), &path).unwrap();
    setup.reach().offline = true;
    assert!(setup.ids(&pinned()).unwrap_err().contains("offline, and `data/test-00001-of-00002.jsonl`"));
    setup.reach().offline = false;
    assert_eq!(setup.ids(&pinned()).as_deref(), Ok("a b c"));
    assert_eq!(std::fs::read(path).unwrap(), TWO.as_bytes());
}

#[test]
fn data_that_can_move_must_be_pinned() {
    let mut setup = setup();
    let open = DatasetPlan { revision: None, ..pinned() };
    let message =
        "`owner/set`: the hub dataset has neither `revision` nor `dataset_hash`, so a later run could read other data";
    let want = format!("{message}\nhint: pin what the hub has now with `revision: {COMMIT}`");
    assert_eq!(setup.ids(&open).unwrap_err(), want);
    setup.reach().offline = true;
    assert!(setup.ids(&open).unwrap_err().contains("hint: add `revision:` with a full commit"));
    setup.reach().offline = false;

    let digest = setup.prepare(&pinned()).unwrap().digest;
    assert_eq!(setup.ids(&DatasetPlan { dataset_hash: Some(digest), ..open.clone() }).as_deref(), Ok("a b c"));
    let other = Digest::of(b"");
    let want = format!("`owner/set`: digest is {digest}, but the suite's `dataset_hash` says {other}");
    assert!(setup.ids(&DatasetPlan { dataset_hash: Some(other), ..open.clone() }).unwrap_err().starts_with(&want));
    setup.context.strict = false;
    assert_eq!(setup.ids(&open).as_deref(), Ok("a b c"));
}

#[test]
fn passing_faults_are_tried_again() {
    let setup = setup();
    let after = |seconds: &str| vec![("Retry-After", seconds.to_owned())];
    setup.hub.fault("/tree/", Some(1), FaultKind::Status(429, after("0")));
    setup.hub.fault("cursor=2", Some(2), FaultKind::Status(503, vec![]));
    setup.hub.fault("00000-of-00002", Some(1), FaultKind::Truncate);
    setup.hub.fault("00001-of-00002", Some(1), FaultKind::Short);
    assert_eq!(setup.ids(&pinned()).as_deref(), Ok("a b c"));
    assert_eq!(setup.hub.seen().len(), 4 + 5);
}

#[test]
fn lasting_faults_are_errors_that_say_what_to_do() {
    let busy = "hint: wait a while, or set HF_TOKEN: known users have higher limits";
    let again = "hint: try again later; HF_ENDPOINT names another hub";
    let damaged = "hint: the download was damaged; try again";
    for (on, kind, want) in [
        ("/tree/", FaultKind::Status(429, vec![("Retry-After", "0".into())]), format!("the hub is busy: the list of files was refused 5 times with status 429\n{busy}")),
        ("/tree/", FaultKind::Status(500, vec![]), format!("the hub answered the list of files with status 500\n{again}")),
        ("/tree/", FaultKind::Status(404, vec![]), "the hub does not have the list of files\nhint: check `repo`, `revision` and `data_files`; private datasets need HF_TOKEN".into()),
        ("/tree/", FaultKind::Status(200, vec![]), "the hub's answer to the list of files is not usable: it is not a list".into()),
        ("/tree/", FaultKind::Short, "the hub's answer to the list of files is not usable: column 203: the text ends inside a value".into()),
        ("/resolve/", FaultKind::Status(403, vec![]), "the hub refused access to `data/test-00000-of-00002.jsonl` (status 403)\nhint: set HF_TOKEN to a token that may read the dataset; for a gated one, accept its terms on the hub's page first".into()),
        ("/resolve/", FaultKind::Truncate, format!("no answer from the hub to `data/test-00000-of-00002.jsonl`\n{again}")),
        ("/resolve/", FaultKind::Short, format!("`data/test-00000-of-00002.jsonl` came with 11 bytes, the hub's list says 22\n{damaged}")),
        ("/resolve/", FaultKind::Status(302, vec![("Location", "ftp://h/x".into())]), "the hub redirected `data/test-00000-of-00002.jsonl` to a place that is not followed: it is not encrypted".into()),
        ("/resolve/", FaultKind::Status(302, vec![("Location", "/resolve/loop".into())]), "the hub redirected `data/test-00000-of-00002.jsonl` to a place that is not followed: too many redirects".into()),
    ] {
        let setup = setup();
        setup.hub.fault(on, None, kind);
        assert_eq!(setup.ids(&pinned()).unwrap_err(), format!("`owner/set`: {want}"));
    }
}

#[test]
fn a_hub_that_never_answers_is_given_up() {
    let mut setup = setup();
    setup.reach().timeout = Duration::from_millis(50);
    setup.hub.fault("/tree/", None, FaultKind::Silence);
    let error = setup.ids(&pinned()).unwrap_err();
    assert!(error.starts_with("`owner/set`: no answer from the hub to the list of files"), "{error}");
}

#[test]
fn bytes_that_are_not_what_the_list_says_are_refused() {
    let mut lying = repo();
    lying.files[1].lfs_sha256 = Some("0".repeat(64));
    let setup = setup_with(lying);
    let want = format!(
        "`owner/set`: `data/test-00000-of-00002.jsonl` came with digest {}, the hub's list says sha256:{}\nhint: the download was damaged; try again",
        Digest::of(ONE.as_bytes()),
        "0".repeat(64)
    );
    assert_eq!(setup.ids(&pinned()).unwrap_err(), want);
    assert!(!setup.cached("data/test-00000-of-00002.jsonl").exists());
}

#[test]
fn the_token_goes_to_the_hub_and_nowhere_else() {
    let mut setup = setup();
    let storage = FakeHub::start(vec![repo()]);
    setup.hub.fault("", None, FaultKind::RequireToken("hf_canary".into()));
    setup.hub.fault("/resolve/", None, FaultKind::RedirectTo(storage.endpoint()));
    let refused = setup.ids(&pinned()).unwrap_err();
    assert!(refused.contains("refused access to the list of files (status 401)\nhint: set HF_TOKEN"), "{refused}");

    setup.reach().token = Some(Secret::new("hf_canary"));
    assert!(!format!("{:?}", setup.context).contains("hf_canary"));
    assert_eq!(setup.ids(&pinned()).as_deref(), Ok("a b c"));
    assert_eq!(setup.hub.seen().last().unwrap().authorization.as_deref(), Some("Bearer hf_canary"));
    assert_eq!(storage.seen().len(), 2);
    assert!(storage.seen().iter().all(|seen| seen.authorization.is_none()));
}

#[test]
fn names_from_the_hub_cannot_leave_the_cache() {
    let mut hostile = repo();
    hostile.files.push(file("data/../../../../test.jsonl", TWO, false));
    let setup = setup_with(hostile);
    let want = "`owner/set`: the hub lists `data/../../../../test.jsonl`, which is not a path inside the repository";
    assert_eq!(setup.ids(&pinned()).unwrap_err(), want);
}

#[test]
fn a_repository_with_only_a_script_is_refused() {
    let mut scripted = repo();
    scripted.files = vec![file("set.py", "import os", false)];
    let want = "`owner/set`: the repository has no data files, only the loading script `set.py`, which is never run\nhint: the hub often keeps a converted copy: try `revision: refs/convert/parquet`, then pin its commit";
    assert_eq!(setup_with(scripted).ids(&pinned()).unwrap_err(), want);
}

#[test]
fn files_of_several_kinds_stream_one_after_the_other() {
    let mut mixed = repo();
    mixed.files =
        vec![file("a b.csv", "id,x\n1,2\n", false), file("c.tsv", "id\tx\n2\t3\n", true), file("d.json", TWO, true)];
    let setup = setup_with(mixed);
    let files = |names: &[&str]| Some(names.iter().map(|&name| name.to_owned()).collect());
    let plan = DatasetPlan { data_files: files(&["d.json", "a*.csv", "c.tsv"]), ..pinned() };
    assert_eq!(setup.ids(&plan).as_deref(), Ok("c 1 2"));
    assert_eq!(setup.ids(&DatasetPlan { limit: Some(2), ..plan.clone() }).as_deref(), Ok("c 1"));
    let shuffled = setup.ids(&DatasetPlan { shuffle: Some(3), ..plan.clone() }).unwrap();
    assert_eq!(shuffled.len(), "c 1 2".len());
    let twice = DatasetPlan { data_files: files(&["d.json", "a b.csv"]), id: Some("x".into()), ..plan };
    assert!(setup.ids(&twice).unwrap_err().starts_with("`owner/set/d.json` line 1: the row has no field `x`"));
}

#[test]
fn a_duplicate_across_files_names_both() {
    let mut twice = repo();
    twice.files[2] = file("data/test-00001-of-00002.jsonl", "{\"id\":\"b\"}\n", false);
    let want = "`owner/set/data/test-00001-of-00002.jsonl` line 1: the id `b` was used before, on line 2 of `owner/set/data/test-00000-of-00002.jsonl`\nhint: ids must be unique; name another field in `id:`";
    assert_eq!(setup_with(twice).ids(&pinned()).unwrap_err(), want);
}

#[test]
fn a_hub_dataset_can_be_prepared_from_inside_a_runtime() {
    let setup = setup();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    assert_eq!(runtime.block_on(async { setup.ids(&pinned()) }).as_deref(), Ok("a b c"));
}
