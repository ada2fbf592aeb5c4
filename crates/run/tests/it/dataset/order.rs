//! Order, limits, digests, and what happens when a file changes.

use proofmark_artefact::suite::config::OnBadRow;
use proofmark_artefact::suite::plan::DatasetPlan;
use proofmark_canon::Digest;
use proofmark_run::dataset::{Problem, Tuning, prepare};

use super::{Folder, jsonl};

fn rows(ids: impl Iterator<Item = u32>) -> String {
    ids.map(|id| format!("{{\"id\":\"r{id}\",\"n\":{id}}}\n")).collect()
}

#[test]
fn a_duplicate_is_found_across_spilled_runs() {
    let folder = Folder::with("d.jsonl", rows((1..=100).chain([37, 5])));
    for sort_entries in [1, 3, 64, 1000] {
        let mut context = folder.context();
        context.tuning = Tuning { sort_entries, ..Tuning::default() };
        let error = prepare(&jsonl(), &context).unwrap_err();
        assert_eq!(error.to_string(), "`d.jsonl` line 101: the id `r37` was used before, on line 37");
    }
}

#[test]
fn a_shuffle_does_not_depend_on_the_order_of_the_file() {
    let (one, two) = (Folder::with("d.jsonl", rows(1..=40)), Folder::with("d.jsonl", rows((1..=40).rev())));
    let plan = DatasetPlan { shuffle: Some(7), ..jsonl() };
    let want = one.ids(&plan).unwrap();
    assert_eq!(two.ids(&plan).unwrap(), want);
    assert_ne!(want, one.ids(&jsonl()).unwrap());
    assert_ne!(want, one.ids(&DatasetPlan { shuffle: Some(8), ..jsonl() }).unwrap());
    // Removing a row moves no other.
    let fewer = Folder::with("d.jsonl", rows((1..=40).filter(|id| *id != 9)));
    let without: Vec<&str> = want.split(' ').filter(|id| *id != "r9").collect();
    assert_eq!(fewer.ids(&plan).unwrap(), without.join(" "));
}

#[test]
fn a_limit_takes_the_first_items_of_the_final_order() {
    let folder = Folder::with("d.jsonl", rows(1..=40));
    let all = DatasetPlan { shuffle: Some(7), ..jsonl() };
    let order = folder.ids(&all).unwrap();
    for limit in [1, 5, 40, 100] {
        let first: Vec<&str> = order.split(' ').take(limit).collect();
        for sort_entries in [2, 1000] {
            let mut context = folder.context();
            context.tuning = Tuning { sort_entries, spool_bytes: 50, ..Tuning::default() };
            let prepared = prepare(&DatasetPlan { limit: Some(limit as u64), ..all.clone() }, &context).unwrap();
            let ids: Vec<String> = prepared.items().unwrap().map(|item| item.unwrap().id).collect();
            assert_eq!((ids.len() as u64, ids), (prepared.rows, first.iter().map(|&id| id.to_owned()).collect()));
        }
    }
}

#[test]
fn rows_behind_a_limit_are_hashed_but_not_checked() {
    let text = format!("{}oops\n{}", rows(1..=3), rows(1..=1));
    let folder = Folder::with("d.jsonl", &text);
    let plan = DatasetPlan { limit: Some(3), ..jsonl() };
    let prepared = prepare(&plan, &folder.context()).unwrap();
    assert_eq!((prepared.rows, prepared.rows_skipped, prepared.digest), (3, 0, Digest::of(text.as_bytes())));
    assert_eq!(folder.ids(&plan).as_deref(), Ok("r1 r2 r3"));
    // A shuffle reads them all.
    let shuffled = DatasetPlan { shuffle: Some(1), ..plan.clone() };
    assert!(folder.ids(&shuffled).unwrap_err().starts_with("`d.jsonl` line 4: not valid JSON"));
    // Skipped rows do not count towards the limit.
    let skipping = DatasetPlan { limit: Some(4), on_bad_row: OnBadRow::Skip, ..plan };
    let text = format!("oops\n{}", rows(1..=5));
    assert_eq!(Folder::with("d.jsonl", text).ids(&skipping).as_deref(), Ok("r1 r2 r3 r4"));
}

#[test]
fn a_supplied_digest_is_checked() {
    let text = rows(1..=2);
    let folder = Folder::with("d.jsonl", &text);
    let digest = Digest::of(text.as_bytes());
    assert!(folder.ids(&DatasetPlan { dataset_hash: Some(digest), ..jsonl() }).is_ok());
    let other = Digest::of(b"other");
    let error = folder.items(&DatasetPlan { dataset_hash: Some(other), ..jsonl() }).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("`d.jsonl`: digest is {digest}, but the suite's `dataset_hash` says {other}")
    );
}

#[test]
fn a_file_that_changed_between_the_passes_is_refused() {
    let text = rows(1..=5);
    for (limit, shuffle, refused) in [(None, None, true), (Some(2), None, true), (None, Some(3), false)] {
        let folder = Folder::with("d.jsonl", &text);
        let plan = DatasetPlan { limit, shuffle, ..jsonl() };
        let prepared = prepare(&plan, &folder.context()).unwrap();
        // Another file of the same length, behind the limit too.
        folder.put("d.jsonl", text.replace("\"n\":5", "\"n\":6"));
        let items: Result<Vec<_>, _> = prepared.items().unwrap().collect();
        match items {
            Err(error) => assert!(refused && matches!(error.problem(), Problem::Changed), "{error}"),
            // Shuffled rows were copied when they were checked.
            Ok(items) => assert!(!refused && items.iter().all(|item| item.fields.get("n") != Some(&6u32.into()))),
        }
    }
}

#[test]
fn a_change_in_the_middle_of_the_second_pass_shows_at_its_end() {
    let text = rows(1..=50_000);
    let folder = Folder::with("d.jsonl", &text);
    let prepared = prepare(&jsonl(), &folder.context()).unwrap();
    let mut items = prepared.items().unwrap();
    assert!(items.next().unwrap().is_ok());
    folder.put("d.jsonl", text.replace("\"n\":50000", "\"n\":60000"));
    let last = items.last().unwrap();
    assert!(matches!(last.unwrap_err().problem(), Problem::Changed));
}

#[test]
fn items_can_be_walked_twice_at_once() {
    let folder = Folder::with("d.jsonl", rows(1..=20));
    for shuffle in [None, Some(1)] {
        let mut context = folder.context();
        context.tuning = Tuning { sort_entries: 3, spool_bytes: 10, ..Tuning::default() };
        let prepared = prepare(&DatasetPlan { shuffle, ..jsonl() }, &context).unwrap();
        let (one, two) = (prepared.items().unwrap(), prepared.items().unwrap());
        let pairs: Vec<_> = one.zip(two).map(|(a, b)| (a.unwrap(), b.unwrap())).collect();
        assert!(pairs.len() == 20 && pairs.iter().all(|(a, b)| a == b));
    }
}

#[test]
fn items_can_move_to_another_thread() {
    fn assert_send<T: Send>(_: &T) {}
    let folder = Folder::with("d.jsonl", rows(1..=2));
    assert_send(&prepare(&jsonl(), &folder.context()).unwrap().items().unwrap());
}
