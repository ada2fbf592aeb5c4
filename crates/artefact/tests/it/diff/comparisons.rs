//! What is found in two runs, and which gates hold.

use super::*;

#[test]
fn a_run_is_identical_to_its_copy() {
    let comparison = compare(&Run::new().with_trajectories(), &Run::new().with_trajectories());
    assert!(comparison.identical && comparison.files.is_empty() && comparison.warnings.is_empty());
    assert_eq!((comparison.matched, comparison.unchanged, comparison.changed), (6, 6, 0));
    assert_eq!(comparison.trajectories, Trajectories::Compared);
    assert_eq!((comparison.a.passed, comparison.b.scored), (6, 6));
    assert_eq!(comparison.significance.mcnemar_p, Some(1.0));
}

#[test]
fn a_changed_suite_alone_changes_bytes_and_no_sample() {
    let mut b = Run::new();
    b.suite = "two";
    let comparison = compare(&Run::new(), &b);
    assert_eq!((comparison.matched, comparison.unchanged), (6, 6));
    assert!(!comparison.identical);
    let names: Vec<&str> = comparison.files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(names, [names::RECORDS, names::CONFIG, names::MANIFEST]);
    assert_eq!(comparison.files[0].a.as_ref().unwrap().bytes, comparison.files[0].b.as_ref().unwrap().bytes);
}

#[test]
fn every_class_is_found_in_either_kind_of_run() {
    type Edit = fn(&mut Record);
    let edits: [(Edit, &str); 8] = [
        (|record| answered(record, "Lyon"), "regression 1, output_changed 1"),
        (|record| record.output = Some(Output::of_text("Paris ".to_owned())), "output_changed 1"),
        (failed, "regression 1, output_changed 1, status_changed 1"),
        (|record| record.scores[0].value = 0.9, "score_changed 1"),
        (|record| record.input.messages[0].content.push('?'), "input_changed 1"),
        (|record| record.turns = 3, "trajectory_changed 1"),
        (|record| record.usage.output_tokens = 3, "usage_changed 1"),
        (|record| record.seed = SampleSeed::derive(8, "x"), ""),
    ];
    for (edit, want) in edits {
        for suite in ["one", "two"] {
            let mut b = Run::new().change("capitals/fr/small/raw/0", edit);
            b.suite = suite;
            let comparison = compare(&Run::new(), &b);
            assert_eq!(found(&comparison), want);
            assert_eq!(comparison.changes.len(), usize::from(!want.is_empty()));
            // The other way round, what was lost is gained.
            assert_eq!(found(&compare(&b, &Run::new())), want.replace("regression", "improvement"));
        }
    }
}

#[test]
fn an_edited_item_that_turned_is_both_and_says_so() {
    let b = Run::new().change("capitals/fr/small/raw/0", |record| {
        record.expected = Value::String("Lyon".to_owned());
        answered(record, "Paris");
    });
    let comparison = compare(&Run::new(), &b);
    assert_eq!(found(&comparison), "regression 1, input_changed 1");
    assert_eq!((comparison.regressions_with_other_input, comparison.significance.edited), (1, 1));
    let failures = diff::gate(&comparison, &gates(&["regressions"]));
    assert_eq!(failures[0].message, "1 sample (1 of them asked something else)");
    let text = format::text(&comparison, &failures, &Default::default());
    assert!(text.contains("note: 1 regression was not asked the same in both runs"), "{text}");
}

#[test]
fn items_that_came_and_went_are_classes_of_their_own() {
    let mut b = Run::new();
    b.suite = "two";
    b.records.retain(|record| record.item_id != "fr");
    b.records.insert(0, record("at", "small", "Vienna"));
    let comparison = compare(&Run::new(), &b);
    assert_eq!(found(&comparison), "only_in_a 2, only_in_b 1");
    assert_eq!((comparison.matched, comparison.unchanged, comparison.significance.items), (4, 4, 2));
    let sides: Vec<(&str, bool)> =
        comparison.changes.iter().map(|change| (change.key.as_str(), change.a.is_some())).collect();
    assert_eq!(
        sides,
        [("capitals/fr/small/raw/0", true), ("capitals/fr/large/raw/0", true), ("capitals/at/small/raw/0", false)]
    );
}

#[test]
fn a_tolerance_forgives_small_moves() {
    let b = Run::new().change("capitals/fr/small/raw/0", |record| record.scores[0].value = 0.9);
    let options = Options { tolerance: 0.1, ..Options::default() };
    let comparison = compare_with(&Run::new(), &b, &options).unwrap();
    assert_eq!((comparison.changed, comparison.unchanged, comparison.identical), (0, 6, false));
}

#[test]
fn trajectories_are_compared_by_key_whatever_their_run_and_order() {
    let a = Run::new().with_trajectories();
    let mut b = a.clone();
    b.suite = "two";
    let steps = b.trajectories.as_mut().unwrap();
    steps.reverse();
    steps[0].steps.push(Step::model_output("and on", None));
    assert_eq!(found(&compare(&a, &b)), "trajectory_changed 1");
    assert_eq!(compare(&a, &b).changes[0].key.as_str(), "capitals/it/large/raw/0");
    steps_of(&mut b).pop();
    assert_eq!(found(&compare(&a, &b)), "trajectory_changed 2");
    b.trajectories = None;
    let comparison = compare(&a, &b);
    assert_eq!((found(&comparison).as_str(), comparison.trajectories), ("", Trajectories::OnlyInA));
}

fn steps_of(run: &mut Run) -> &mut Vec<Trajectory> {
    run.trajectories.as_mut().unwrap()
}

#[test]
fn only_the_first_examples_of_a_class_are_kept() {
    let mut b = Run::new();
    b.records.iter_mut().for_each(|record| answered(record, "?"));
    let kept = |keep| {
        let options = Options { keep, ..Options::default() };
        compare_with(&Run::new(), &b, &options).unwrap().changes.len()
    };
    assert_eq!((kept(Keep::First(0)), kept(Keep::First(4)), kept(Keep::All)), (0, 4, 6));
    let options = Options { excerpt_bytes: 3, ..Options::default() };
    let comparison = compare_with(&Run::new(), &b, &options).unwrap();
    let output = comparison.changes[0].a.as_ref().unwrap().output.as_ref().unwrap();
    assert_eq!((output.text.as_str(), output.bytes), ("Ber", 6));
}

#[test]
fn cells_come_in_the_order_of_the_suite() {
    let mut b = Run::new().change("capitals/fr/large/raw/0", |record| answered(record, "Lyon"));
    b.records.reverse();
    let comparison = compare(&Run::new(), &b);
    let cells: Vec<String> = comparison
        .cells
        .iter()
        .map(|cell| format!("{} {}/{} {}/{}", cell.title(), cell.a.passed, cell.a.scored, cell.b.passed, cell.b.scored))
        .collect();
    assert_eq!(cells, ["capitals / small / raw 3/3 3/3", "capitals / large / raw 3/3 2/3"]);
}

#[test]
fn gates_fail_on_what_they_name() {
    let b = Run::new().change("capitals/fr/small/raw/0", |record| answered(record, "Lyon"));
    let comparison = compare(&Run::new(), &b);
    let failing = |names: &[&str]| {
        let failures = diff::gate(&comparison, &gates(names));
        failures.iter().map(|failure| failure.gate.clone()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(failing(&[]), "");
    assert_eq!(failing(&["improvements", "trajectory", "usage_changed", "only_in_a"]), "");
    assert_eq!(failing(&["regressions"]), "regressions");
    assert_eq!(
        failing(&["output_changed", "regression", "changes", "bytes"]),
        "changes bytes regressions output_changed"
    );
    let back = compare(&b, &Run::new());
    assert_eq!(diff::gate(&back, &gates(&["regressions"])), []);
    assert_eq!(diff::gate(&back, &gates(&["improvements"])).len(), 1);
}

#[test]
fn only_a_significant_loss_fails() {
    let many = |wrong: usize| {
        let records = (0..40).map(|i| record(&format!("i{i}"), "small", "yes"));
        let mut run = Run { suite: "one", records: records.collect(), trajectories: None };
        run.records.iter_mut().take(wrong).for_each(|record| answered(record, "no"));
        run
    };
    let (good, bad) = (many(0), many(12));
    let significant = Gates { fail_on: Default::default(), fail_on_significant: Some(0.05) };
    let failures = diff::gate(&compare(&good, &bad), &significant);
    assert_eq!(failures.len(), 1);
    assert!(failures[0].message.contains("p = 4.9e-4 (McNemar)"), "{}", failures[0].message);
    assert_eq!(diff::gate(&compare(&bad, &good), &significant), []);
    assert_eq!(diff::gate(&compare(&good, &many(2)), &significant), []);
}

#[test]
fn a_broken_run_is_an_error_with_its_line() {
    let dir = TempDir::new().unwrap();
    let good = Run::new().write(&dir.path().join("good"));
    let whole = std::fs::read(good.file(names::RECORDS)).unwrap();
    let first_end = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    let first = &whole[..first_end];
    let text = String::from_utf8(whole.clone()).unwrap();
    let cases: Vec<(&str, Vec<u8>, &str)> = vec![
        ("cut", whole[..whole.len() - 9].to_vec(), "line 6 is cut off"),
        ("empty line", [b"\n", whole.as_slice()].concat(), "line 1 is not JSON"),
        ("not JSON", [first, b"{]\n"].concat(), "line 2 is not JSON"),
        ("binary", [first, b"\xff\xfe\0\n"].concat(), "line 2 is not JSON"),
        ("other shape", [first, b"{\"a\":1}\n"].concat(), "line 2 is not a record"),
        (
            "spaces",
            text.replacen("{\"condition\"", "{ \"condition\"", 1).into_bytes(),
            "line 1 is a record, but not in canonical form",
        ),
        ("twice", [whole.as_slice(), first].concat(), "line 7 has the key `capitals/de/small/raw/0` of line 1 again"),
        ("too few", first.to_vec(), "holds 1 records, but the manifest says 6"),
        ("score", text.replacen("\"passed\":true", "\"passed\":1", 1).into_bytes(), "line 1 is not a list of scores"),
        ("deep", [first, "[".repeat(1 << 20).as_bytes(), b"\n"].concat(), "line 2 is not JSON"),
    ];
    for (name, bytes, want) in cases {
        let bad = Run::new().write(&dir.path().join("bad"));
        put(&bad.file(names::RECORDS), &bytes);
        for (a, b) in [(&good, &bad), (&bad, &good), (&bad, &bad)] {
            let error = diff::diff(a, b, &Options::default()).unwrap_err();
            assert!(error.to_string().ends_with(want) || error.to_string().contains(want), "{name}: {error}");
            assert!(error.to_string().contains("bad/records.jsonl") && error.hint().is_some(), "{name}: {error}");
        }
    }
    let bad = Run::new().write(&dir.path().join("bad"));
    std::fs::remove_file(bad.file(names::RECORDS)).unwrap();
    assert!(matches!(diff::diff(&good, &bad, &Options::default()), Err(DiffError::Io { .. })));
}

#[test]
fn a_file_changed_after_its_run_is_called_so() {
    let dir = TempDir::new().unwrap();
    let (a, b) = (Run::new().write(&dir.path().join("a")), Run::new().write(&dir.path().join("b")));
    put(&b.file(names::CONFIG), b"name: other\n");
    let comparison = diff::diff(&a, &b, &Options::default()).unwrap();
    assert_eq!(comparison.files.len(), 1);
    assert!(comparison.warnings[0].contains("one was changed after its run"), "{:?}", comparison.warnings);
}

/// The partner of a line that waited comes between the two samples of another item.
#[test]
fn an_item_cut_in_two_by_a_late_partner_is_one_item() {
    let of = |keys: &[(&str, &str)], suite| {
        let records = keys.iter().map(|(item, model)| record(item, model, "0")).collect();
        Run { suite, records, trajectories: None }
    };
    let a = of(&[("i0", "small"), ("i1", "small"), ("i1", "large")], "one");
    let b = of(&[("new", "small"), ("i1", "small"), ("i0", "small"), ("i1", "large")], "two");
    for comparison in [compare(&a, &b), compare(&b, &a)] {
        assert_eq!((comparison.significance.pairs, comparison.significance.items), (3, 2));
    }
}
