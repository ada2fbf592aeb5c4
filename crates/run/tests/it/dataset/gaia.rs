//! GAIA's layout, in a folder and on the hub. The questions are made up.

use std::time::Duration;

use proofmark_artefact::suite::config::{Format, OnBadRow};
use proofmark_artefact::suite::plan::DatasetPlan;
use proofmark_canon::{Digest, Value};
use proofmark_model::Secret;
use proofmark_run::dataset::{HubContext, Prepared, prepare};
use proofmark_testkit::hub::{FakeHub, FaultKind, HubFile, HubRepo};

use super::{Folder, json, plan, report};

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";
const REPO: &str = "gaia-benchmark/GAIA";

const ROWS: &str = r#"{"task_id":"a","Question":"How many?","Level":1,"Final answer":"7","file_name":"","Annotator Metadata":{"Steps":"look at STEPS"}}
{"task_id":"b","Question":"Which one?","Level":"2","Final answer":"red, blue","file_name":"b.csv","file_path":"2023/validation/b.csv","Annotator Metadata":{"Steps":"STEPS"}}
{"task_id":"c","Question":"Where?","Level":3,"Final answer":"Oslo","file_name":"c.txt","Annotator Metadata":null}
"#;
const HIDDEN: &str = r#"{"task_id":"t1","Question":"How many?","Level":1,"Final answer":"?","file_name":""}
{"task_id":"t2","Question":"Which one?","Level":2,"Final answer":"","file_name":""}
{"task_id":"t3","Question":"Where?","Level":3,"file_name":""}
"#;

/// What the suite's resolver makes of `format: gaia`.
fn gaia() -> DatasetPlan {
    DatasetPlan {
        path: Some("data".parse().unwrap()),
        config: Some("2023_all".into()),
        split: Some("validation".into()),
        id: Some("task_id".into()),
        input: Some("Question".into()),
        target: Some("Final answer".into()),
        files: vec!["file_name".into()],
        metadata: vec!["Level".into()],
        ..plan(Format::Gaia)
    }
}

fn folder_with(rows: &str) -> Folder {
    let folder = Folder::new();
    for split in ["validation", "test"] {
        std::fs::create_dir_all(folder.0.path().join("data/2023").join(split)).unwrap();
    }
    folder.put("data/2023/validation/metadata.jsonl", rows);
    folder.put("data/2023/validation/b.csv", "x,y\n");
    folder.put("data/2023/validation/c.txt", "sea");
    folder.put("data/2023/test/metadata.jsonl", HIDDEN);
    folder
}

#[test]
fn fields_are_mapped_and_the_annotators_steps_are_gone() {
    let folder = folder_with(ROWS);
    let items = folder.items(&gaia()).unwrap();
    assert_eq!(
        Value::Object(items[1].fields.clone()),
        json(r#"{"Question":"Which one?","file_name":"b.csv","input":"Which one?","task_id":"b"}"#)
    );
    assert_eq!((items[1].id.as_str(), &items[1].expected), ("b", &json("\"red, blue\"")));
    assert_eq!(Value::Object(items[1].metadata.clone()), json(r#"{"Level":2}"#));
    assert_eq!(items[1].files[0].path.as_str(), "data/2023/validation/b.csv");
    assert!(items[0].files.is_empty());
    assert!(!format!("{items:?}").contains("STEPS"));
    let prepared = prepare(&gaia(), &folder.context()).unwrap();
    assert_eq!(prepared.digest, Digest::of(ROWS.as_bytes()));
    assert_eq!(prepared.files[0].path, "data/2023/validation/metadata.jsonl");
}

#[test]
fn levels_are_chosen_by_key_or_by_configuration() {
    let folder = folder_with(ROWS);
    for (level, config, want) in [
        (vec![], "2023_all", "a b c"),
        (vec![1, 3], "2023_all", "a c"),
        (vec![], "2023_level2", "b"),
        (vec![2, 3], "2023_level3", "c"),
    ] {
        let plan = DatasetPlan { level: level.clone(), config: Some(config.into()), ..gaia() };
        assert_eq!(folder.ids(&plan).as_deref(), Ok(want), "{level:?} {config}");
        let shuffled = DatasetPlan { shuffle: Some(3), ..plan };
        let mut ids: Vec<String> = folder.ids(&shuffled).unwrap().split(' ').map(str::to_owned).collect();
        ids.sort();
        assert_eq!(ids.join(" "), want, "{level:?} {config} shuffled");
    }
    // Rows that are left out are no bad rows, and a limit counts those that are left.
    let skipping = DatasetPlan { level: vec![2, 3], on_bad_row: OnBadRow::Skip, limit: Some(1), ..gaia() };
    let prepared = prepare(&skipping, &folder.context()).unwrap();
    assert_eq!((prepared.rows, prepared.rows_skipped), (1, 0));
    // A file of the level goes before the one with all.
    folder.put(
        "data/2023/validation/metadata.level1.jsonl",
        r#"{"task_id":"own","Question":"q","Level":1,"Final answer":"1","file_name":""}"#,
    );
    assert_eq!(folder.ids(&DatasetPlan { config: Some("2023_level1".into()), ..gaia() }).as_deref(), Ok("own"));
    assert_eq!(folder.ids(&gaia()).as_deref(), Ok("a b c"));
}

#[test]
fn the_test_split_has_no_gold_and_the_other_one_must_have_it() {
    let folder = folder_with(ROWS);
    let hidden = DatasetPlan { split: Some("test".into()), ..gaia() };
    let items = folder.items(&hidden).unwrap();
    assert_eq!(items.iter().filter(|item| item.expected.is_null()).count(), 3);
    folder.put("data/2023/validation/metadata.jsonl", HIDDEN);
    assert_eq!(
        folder.ids(&gaia()).unwrap_err(),
        "`data/2023/validation/metadata.jsonl` line 1: the row has no gold answer\nhint: only the split `test` comes without gold answers"
    );
}

#[test]
fn no_row_can_attach_the_answers_or_leave_the_folder() {
    let row = |name: &str| {
        format!("{{\"task_id\":\"a\",\"Question\":\"q\",\"Level\":1,\"Final answer\":\"1\",\"file_name\":{name:?}}}\n")
    };
    let folder = folder_with(ROWS);
    folder.put("data/2023/validation/Metadata.level2.JSONL", "x");
    folder.put("data/secret.txt", "x");
    let split = folder.0.path().join("data/2023/validation");
    std::os::unix::fs::symlink("metadata.jsonl", split.join("innocent.txt")).unwrap();
    std::os::unix::fs::symlink("../../secret.txt", split.join("outside.txt")).unwrap();
    for (name, want) in [
        ("metadata.jsonl", "which holds gold answers"),
        ("Metadata.level2.JSONL", "which holds gold answers"),
        ("./metadata.jsonl", "which holds gold answers"),
        ("innocent.txt", "which holds gold answers"),
        ("outside.txt", "is not a file inside"),
        ("missing.txt", "is not a file inside"),
        ("../test/metadata.jsonl", "leaves the folder"),
        ("/etc/passwd", "is not relative"),
    ] {
        folder.put("data/2023/validation/metadata.jsonl", row(name));
        let error = folder.ids(&gaia()).unwrap_err();
        assert!(error.contains(want), "{name}: {error}");
    }
}

#[test]
fn a_folder_of_another_layout_is_refused_with_advice() {
    let folder = folder_with(ROWS);
    let plan = DatasetPlan { path: Some("data/2023".parse().unwrap()), ..gaia() };
    assert_eq!(
        folder.ids(&plan).unwrap_err(),
        "`data/2023`: no GAIA metadata in `2023/validation`\nhint: it should hold `metadata.parquet` or `metadata.jsonl`; `path` names the folder above `2023/`"
    );
    for (row, want) in [
        (
            r#"{"task_id":"a","Question":"q","Level":9,"Final answer":"1","file_name":""}"#,
            "must be a level from 1 to 3",
        ),
        (r#"{"task_id":"a","Question":"q","Final answer":"1","file_name":""}"#, "has no field `Level`"),
        (r#"{"task_id":"a","Question":"q","Level":1,"file_name":""}"#, "has no field `Final answer`"),
        (r#"{"task_id":"a","Level":1,"Final answer":"1","file_name":""}"#, "has no field `Question`"),
    ] {
        folder.put("data/2023/validation/metadata.jsonl", row);
        let error = folder.ids(&gaia()).unwrap_err();
        assert!(error.contains(want), "{row}: {error}");
    }
}

struct Setup {
    hub: FakeHub,
    folder: Folder,
}

impl Setup {
    fn new(rows: &str) -> Self {
        let file = |path: &str, bytes: &str| HubFile {
            path: path.into(),
            bytes: bytes.into(),
            lfs_sha256: path.ends_with(".csv").then(|| Digest::of(bytes.as_bytes()).hex()),
        };
        let repo = HubRepo {
            name: REPO.into(),
            commit: COMMIT.into(),
            refs: vec!["main".into()],
            files: vec![
                file("README.md", "# set"),
                file("2023/validation/metadata.jsonl", rows),
                file("2023/validation/b.csv", "x,y\n"),
                file("2023/validation/c.txt", "sea"),
                file("2023/validation/unused.pdf", "pdf"),
                file("2023/test/metadata.jsonl", HIDDEN),
            ],
            page: 3,
        };
        Self { hub: FakeHub::start(vec![repo]), folder: Folder::new() }
    }

    fn prepare(&self, plan: &DatasetPlan, offline: bool) -> Result<Prepared, String> {
        let mut context = self.folder.context();
        let mut reach = HubContext::new(self.hub.endpoint(), self.folder.0.path().join("cache"));
        reach.pause = Duration::from_millis(1);
        reach.offline = offline;
        reach.token = Some(Secret::new("hf_known"));
        context.hub = Some(reach);
        prepare(plan, &context).map_err(|error| report(&error))
    }

    fn cached(&self, path: &str) -> std::path::PathBuf {
        self.folder.0.path().join("cache/hub/datasets/gaia-benchmark--GAIA").join(COMMIT).join(path)
    }
}

fn on_hub() -> DatasetPlan {
    DatasetPlan { path: None, repo: Some(REPO.into()), revision: Some(COMMIT.into()), ..gaia() }
}

#[test]
fn the_hubs_attachments_are_fetched_when_an_item_names_them_and_only_then() {
    let setup = Setup::new(ROWS);
    let prepared = setup.prepare(&DatasetPlan { level: vec![1, 2], ..on_hub() }, false).unwrap();
    let items: Vec<_> = prepared.items().unwrap().map(Result::unwrap).collect();
    assert_eq!(items.iter().map(|item| item.id.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    let file = &items[1].files[0];
    assert_eq!(file.path.as_str(), "2023/validation/b.csv");
    assert_eq!(std::fs::read(file.path.under(&file.root)).unwrap(), b"x,y\n");
    assert_eq!(prepared.revision.as_deref(), Some(COMMIT));
    let fetched = |name: &str| setup.hub.seen().iter().filter(|seen| seen.target.ends_with(name)).count();
    assert_eq!((fetched("b.csv"), fetched("c.txt"), fetched("unused.pdf"), fetched("README.md")), (1, 0, 0, 0));

    let all = setup.prepare(&on_hub(), false).unwrap();
    assert_eq!((fetched("b.csv"), fetched("c.txt"), fetched("metadata.jsonl")), (1, 1, 1));
    assert_eq!(all.digest, prepared.digest, "the rows are the same file");
    // Everything is there now. A file that was changed in the cache is not used.
    assert!(setup.prepare(&on_hub(), true).is_ok());
    std::fs::File::create(setup.cached("2023/validation/c.txt")).unwrap();
    let error = setup.prepare(&on_hub(), true).unwrap_err();
    assert!(error.contains("`2023/validation/c.txt` is not in the cache or was changed there"), "{error}");
    assert!(setup.prepare(&on_hub(), false).is_ok());
    assert_eq!(fetched("c.txt"), 2);
}

#[test]
fn a_row_cannot_name_what_the_repository_does_not_have() {
    let row = |name: &str| {
        format!("{{\"task_id\":\"a\",\"Question\":\"q\",\"Level\":1,\"Final answer\":\"1\",\"file_name\":{name:?}}}\n")
    };
    for (name, want) in [
        ("x.csv", "names the attachment `2023/validation/x.csv`, which the repository does not have"),
        ("metadata.jsonl", "which holds gold answers"),
        ("../test/metadata.jsonl", "leaves the folder"),
    ] {
        let error = Setup::new(&row(name)).prepare(&on_hub(), false).unwrap_err();
        assert!(error.contains(want), "{name}: {error}");
    }
}

#[test]
fn a_gated_repository_says_what_to_do() {
    for on in ["/tree/", "metadata.jsonl", "b.csv"] {
        let setup = Setup::new(ROWS);
        setup.hub.fault(on, None, FaultKind::Status(403, vec![]));
        let error = setup.prepare(&on_hub(), false).unwrap_err();
        assert!(error.contains("the hub refused access to"), "{on}: {error}");
        assert!(error.contains("accept its terms on the hub's page") && error.contains("HF_TOKEN"), "{on}: {error}");
    }
    let setup = Setup::new(ROWS);
    setup.hub.fault("", None, FaultKind::RequireToken("hf_known".into()));
    assert!(setup.prepare(&on_hub(), false).is_ok());
}
