//! Properties of the canonical form.

use proofmark_canon::json::{check_canonical, parse, to_vec};
use proofmark_canon::{Map, Number, Value};
use proptest::prelude::*;

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<f64>().prop_filter_map("finite", |n| Number::new(n).map(Value::Number)),
        (-1_000_000i64..1_000_000).prop_filter_map("safe", |n| Number::from_i64(n).map(Value::Number)),
        "\\PC{0,12}".prop_map(Value::String),
        "[\u{0}-\u{7f}\u{e000}\u{10000}]{0,6}".prop_map(Value::String),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::Array),
            prop::collection::vec(("[a-c\u{e000}\u{10000}\"\\\\\n]{0,4}", inner), 0..6).prop_map(|members| {
                let mut map = Map::new();
                for (name, value) in members {
                    map.insert(name, value);
                }
                Value::Object(map)
            }),
        ]
    })
}

proptest! {
    #[test]
    fn what_is_printed_is_read_back_the_same(value in any_value()) {
        let text = value.to_canonical();
        prop_assert_eq!(parse(&text).unwrap(), value.clone());
        prop_assert_eq!(check_canonical(&text), Ok(()));
        // The tree writer and the serde writer are one form.
        prop_assert_eq!(to_vec(&value).unwrap(), text);
    }

    #[test]
    fn whatever_is_accepted_as_canonical_is_what_we_would_write(
        value in any_value(), at in any::<usize>(), new in prop::collection::vec(any::<u8>(), 0..3), noise in any::<Vec<u8>>(),
    ) {
        let mut edited = value.to_canonical();
        let at = at % (edited.len() + 1);
        edited.splice(at..(at + 1).min(edited.len()), new);
        for bytes in [edited, noise] {
            let printed = parse(&bytes).map(|value| value.to_canonical());
            prop_assert_eq!(check_canonical(&bytes).is_ok(), printed.as_ref() == Ok(&bytes), "{:?}", bytes);
            if let Ok(printed) = printed {
                prop_assert_eq!(check_canonical(&printed), Ok(()));
            }
        }
    }

    #[test]
    fn another_implementation_of_rfc_8785_writes_the_same(value in any_value()) {
        let text = value.to_canonical();
        let theirs = serde_json_canonicalizer::to_vec(&serde_json::from_slice::<serde_json::Value>(&text).unwrap()).unwrap();
        prop_assert_eq!(String::from_utf8(text).unwrap(), String::from_utf8(theirs).unwrap());
    }

    #[test]
    fn the_order_of_members_never_matters(members in prop::collection::btree_map("\\PC{0,5}", any_value(), 0..8), turn in 0usize..8) {
        let mut turned: Vec<(String, Value)> = members.into_iter().collect();
        let sorted = Map::from_members(turned.clone()).unwrap();
        if !turned.is_empty() {
            let by = turn % turned.len();
            turned.rotate_left(by);
        }
        prop_assert_eq!(&Map::from_members(turned.clone()).unwrap(), &sorted);
        let mut text = b"{ ".to_vec();
        for (at, (name, value)) in turned.iter().enumerate() {
            if at > 0 { text.extend_from_slice(b" ,\n"); }
            proofmark_canon::json::append_string(name, &mut text);
            text.extend_from_slice(b" : ");
            value.append_canonical(&mut text);
        }
        text.push(b'}');
        prop_assert_eq!(parse(&text).unwrap().to_canonical(), Value::Object(sorted).to_canonical());
    }

    #[test]
    fn canonical_means_that_reading_and_printing_changes_nothing(text in "[\\[\\]{},:\"a-c0-9eE.+\\- \\\\unt]{0,16}") {
        let canonical = check_canonical(text.as_bytes()).is_ok();
        let reprinted = parse(text.as_bytes()).is_ok_and(|value| value.to_canonical() == text.as_bytes());
        prop_assert_eq!(canonical, reprinted, "{}", text);
    }

    #[test]
    fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        let _ = parse(&bytes);
        let _ = check_canonical(&bytes);
    }

    #[test]
    fn sums_can_be_merged_in_any_order(terms in prop::collection::vec(-1.0f64..1.0, 1..50), cut in 0usize..50) {
        use proofmark_canon::math::ExactSum;
        let sum = |terms: &[f64]| { let mut sum = ExactSum::default(); terms.iter().for_each(|x| sum.add(*x)); sum };
        let cut = cut % terms.len();
        let (mut left, mut right) = (sum(&terms[..cut]), sum(&terms[cut..]));
        let whole = sum(&terms);
        let (l, r) = (left, right);
        left.merge(r);
        right.merge(l);
        prop_assert_eq!(left, whole);
        prop_assert_eq!(right, whole);
    }
}
