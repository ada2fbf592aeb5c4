//! What holds for any two runs.

use super::*;

/// Up to twelve samples, each with one of a few answers.
fn answers() -> impl Strategy<Value = Vec<(bool, u8)>> {
    proptest::collection::vec((any::<bool>(), 0..5u8), 12)
}

fn run_of(answers: &[(bool, u8)], suite: &'static str) -> Run {
    let mut records = Vec::new();
    for (at, (_, answer)) in answers.iter().enumerate().filter(|(_, (there, _))| *there) {
        let mut record = record(&format!("i{}", at / 2), ["small", "large"][at % 2], "0");
        match answer {
            4 => failed(&mut record),
            answer => answered(&mut record, &answer.to_string()),
        }
        records.push(record);
    }
    Run { suite, records, trajectories: None }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_run_against_itself_has_no_changes(answers in answers()) {
        let run = run_of(&answers, "one").with_trajectories();
        let comparison = compare(&run, &run);
        prop_assert!(comparison.identical && comparison.changes.is_empty());
        prop_assert_eq!(comparison.unchanged, run.records.len() as u64);
    }

    #[test]
    fn the_mirror_image_swaps_the_classes(one in answers(), two in answers()) {
        let (a, b) = (run_of(&one, "one"), run_of(&two, "two"));
        let (there, back) = (compare(&a, &b), compare(&b, &a));
        prop_assert_eq!((there.matched, there.unchanged, there.changed), (back.matched, back.unchanged, back.changed));
        for class in Class::ALL {
            let mirrored = match class {
                Class::Regression => Class::Improvement,
                Class::Improvement => Class::Regression,
                Class::OnlyInA => Class::OnlyInB,
                Class::OnlyInB => Class::OnlyInA,
                other => other,
            };
            prop_assert_eq!(there.counts.of(class), back.counts.of(mirrored), "{}", class);
        }
        prop_assert_eq!(there.significance.mcnemar_p, back.significance.mcnemar_p);
        prop_assert_eq!(there.significance.mean_a, back.significance.mean_b);
        prop_assert_eq!(there.significance.difference, back.significance.difference.map(|d| 0.0 - d));
    }

    #[test]
    fn the_order_of_records_does_not_matter(
        one in answers(),
        two in answers(),
        order in Just((0..12).collect::<Vec<usize>>()).prop_shuffle(),
    ) {
        let (a, b) = (run_of(&one, "one"), run_of(&two, "two"));
        let mut shuffled = b.clone();
        shuffled.records.sort_by_key(|record| order[record.item_id[1..].parse::<usize>().unwrap() * 2 + usize::from(record.model == "large")]);
        let (straight, crooked) = (compare(&a, &b), compare(&a, &shuffled));
        prop_assert_eq!(&straight.counts, &crooked.counts);
        prop_assert_eq!(&straight.cells, &crooked.cells);
        prop_assert_eq!(&straight.significance, &crooked.significance);
        let keys = |comparison: &Comparison| {
            comparison.changes.iter().filter(|change| change.a.is_some()).map(|change| change.key.clone()).collect::<Vec<_>>()
        };
        prop_assert_eq!(keys(&straight), keys(&crooked));
    }
}
