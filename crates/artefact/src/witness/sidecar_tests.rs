//! What is read as a stream is what a reader of the whole would have read, right or wrong.

use std::io::{self, Read};

use proofmark_canon::json::{self, check_canonical};
use proofmark_canon::{Digest, Value};
use proptest::prelude::*;

use super::sidecar::{NotACanonicalLine, Sidecar};
use super::sieve::{SieveError, sieve};

/// Gives a few bytes at a time.
struct Drops<'a>(&'a [u8], usize);

impl Read for Drops<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = buffer.len().min(self.1);
        self.0.read(&mut buffer[..most])
    }
}

fn read(bytes: &[u8]) -> (Sidecar, Vec<(usize, String)>) {
    let mut taken = Vec::new();
    let mut in_drops = None;
    for drop in [1, 3, 7] {
        taken.clear();
        let sieved = sieve(Drops(bytes, drop), 1 << 20, &mut |model, id| {
            taken.push((model, String::from_utf8(id.to_vec()).unwrap()));
            Ok(())
        });
        let sieved = sieved.unwrap();
        assert_eq!(in_drops.get_or_insert_with(|| sieved.clone()), &sieved);
    }
    let sidecar = Sidecar::of_bytes(bytes).unwrap();
    assert_eq!(in_drops.map(Sidecar::of_sieved), Some(sidecar.clone()));
    (sidecar, taken)
}

/// Holds the stream against the parser of the whole.
fn check(bytes: &[u8]) {
    let shown = String::from_utf8_lossy(bytes).into_owned();
    let (sidecar, taken) = read(bytes);
    let (whole, left) = (json::parse(bytes), sidecar.parse());
    if let Some(bytes) = bytes.strip_prefix(b"\xef\xbb\xbf") {
        assert_eq!(json::parse(bytes).err(), sidecar.parse_marked().err(), "{shown}");
    }
    let form = match bytes.strip_suffix(b"\n") {
        None => Err(NotACanonicalLine::NoLineEnd),
        Some(body) => check_canonical(body).map_err(NotACanonicalLine::Form),
    };
    assert_eq!(sidecar.check_canonical(), form, "{shown}");
    let (mut whole, mut left) = match (whole, left) {
        (Err(whole), left) => return assert_eq!(left.err(), Some(whole), "{shown}"),
        (Ok(whole), left) => (whole, left.unwrap_or_else(|error| panic!("{error} in {shown}"))),
    };
    let mut lists = sidecar.lists().iter();
    let mut expected = Vec::new();
    let (models, left_models) = (models_of(&mut whole), models_of(&mut left));
    assert_eq!(whole, left, "{shown}");
    let (models, left_models) = (models.unwrap_or_default(), left_models.unwrap_or_default());
    assert_eq!(models.len(), left_models.len(), "{shown}");
    for (at, (model, left)) in models.iter().zip(&left_models).enumerate() {
        let Some(ids) = model.get("provider_request_ids").and_then(Value::as_array) else {
            assert_eq!(model, left);
            continue;
        };
        let left = left.get("provider_request_ids").and_then(Value::as_array).unwrap();
        let list = lists.next().unwrap();
        assert_eq!(list.model, at, "{shown}");
        let other = ids.iter().position(|id| id.as_str().is_none());
        expected.extend(ids[..other.unwrap_or(ids.len())].iter().map(|id| (at, id.to_string())));
        if let Some(other) = other {
            // From here on everything stays as it is.
            let found = left.iter().position(|id| id.as_str().is_none()).unwrap();
            assert_eq!(sidecar.ids_before(at) + found, other, "{shown}");
            assert_eq!(&ids[other..], &left[found..], "{shown}");
            assert!(lists.next().is_none(), "{shown}");
            break;
        }
        assert_eq!((list.count, left.len()), (ids.len() as u64, 0), "{shown}");
        let text = Value::Array(ids.to_vec()).to_string();
        assert_eq!(list.digest, Digest::of(&text.as_bytes()[1..text.len() - 1]), "{shown}");
        assert_eq!(sidecar.ids_before(at), 0);
    }
    assert!(lists.next().is_none(), "{shown}");
    assert_eq!(taken, expected, "{shown}");
}

/// Takes the models out of a sidecar.
fn models_of(value: &mut Value) -> Option<Vec<Value>> {
    match value {
        Value::Object(members) if members.get("models")?.as_array().is_some() => match members.remove("models") {
            Some(Value::Array(models)) => Some(models),
            _ => None,
        },
        _ => None,
    }
}

#[test]
fn what_stands_anywhere_is_read_as_a_reader_of_the_whole_would() {
    let ids = "provider_request_ids";
    for text in [
        "",
        " ",
        "null",
        "{}",
        "[]",
        "{}\n",
        "\u{feff}{}\n",
        "\u{feff}{\"models\":[x",
        "{\"models\":[]}\n",
        "{\"models\":7}",
        "{\"models\":[7,[],{}]}\n",
        "{\"models\":[,",
        "{\"models\":[}",
        "{\"models\" [",
        "{\"models\":[{]",
        "{\"models\":[{\"a\":1,}",
        "{\"models\":{\"IDS\":[\"a\"]}}\n",
        "{\"IDS\":[\"a\"],\"models\":[{\"IDS\":[]}]}\n",
        "{\"models\":[{\"x\":{\"IDS\":[\"a\"]}}]}\n",
        "{\"models\":[[{\"IDS\":[\"a\"]}]]}\n",
        "{\"models\":[{\"IDS\":[\"a\",\"b\"]}]}\n",
        "{\"models\":[{\"IDS\":[\"a\",\"b\"],\"a\":1}]}\n",
        "{\"models\":[{\"IDS\":[\"a\",\"b\"],\"IDS\":[\"a\"]}]}\n",
        "{\"models\":[{\"IDS\":[\"a\",\"b\"]}],\"models\":[{\"IDS\":[\"c\"]}]}\n",
        "{\"\\u006dodels\":[{\"provider\\u005frequest_ids\":[\"a\"]}]}\n",
        "{\"models\":[{\"IDS\":[\"a\"]},{\"IDS\":[]},{},{\"IDS\":[\"b\",\"\"]}],\"z\":[1,2,{\"y\":\"]}\"}]}\n",
        "{\"models\":[{\"IDS\":[\"a\"]},{\"IDS\":[\"b\"]}],\"z\":01}\n",
        "{\"models\":[{\"IDS\":[\"é\",\"\\n\\u0001\\\"\\\\\"]}],\"z\":\"é\", \"y\":1}\n",
        "{\"models\":[{\"IDS\":[\"\\u0041\",\"\\/\",\"\\u000a\"]}]}\n",
        "{\"models\":[{\"IDS\":[ \"a\"\n,\r\n\t\"b\" ] ,\n\"x\" : tru }]}\n",
        "{\"models\":[{\"IDS\":[\"a\" ,\"b\"]}],\"a\":1}\n",
        "{\"models\":[{\"IDS\":[ ]}]}\n",
        "{\"models\":[{\"IDS\":[,\"a\"]}]}\n",
        "{\"models\":[{\"IDS\":[\"a\",]}]}\n",
        "{\"models\":[{\"IDS\":[\"a\",,\"b\"]}]}\n",
        "{\"models\":[{\"IDS\":[\"a\" \"b\"]}]}\n",
        "{\"models\":[{\"IDS\":[\"a\",\"b\"}]}\n",
        "{\"models\":[{\"IDS\":[\"a\",\"b\":1]}]}\n",
        "{\"models\":[{\"IDS\":[1,\"a\"]}]}\n",
        "{\"models\":[{\"IDS\":[\"a\",\"b\",null,\"c\"]},{\"IDS\":[\"d\"]}]}\n",
        "{\"models\":[{\"IDS\":[\"a\",[\"b\"]]}]}\n",
        "{\"models\":[{\"IDS\":[\"a\",tru]}]}\n",
        "{\"models\":[{\"IDS\":[\"a\",\"\\ud800\"]}]}\n",
        "{\"models\":[{\"IDS\":[\"a\",\"\\x\"]}]}\n",
        "{\"models\":[{\"IDS\":[\"a\",\"b\nc\"]}]}\n",
        "{\"models\":[{\"IDS\":[\"a\",\"b\\",
        "{\"models\":[{\"IDS\":[\"a\",\"b",
        "{\"models\":[{\"IDS\":[\"a\",",
        "{\"models\":[{\"IDS\":[\"a\"",
        "{\"models\":[{\"IDS\":[",
        "{\"models\":[{\"IDS\":[\"a\"]}]} x",
        "{\"models\":[{\"IDS\":[\"a\"]}]}\n\n",
    ] {
        check(text.replace("IDS", ids).as_bytes());
    }
    for bytes in
        [&b"{\"models\":[{\"provider_request_ids\":[\"a\",\"\xff\"]}]}\n"[..], b"\xff", b"\xef\xbb{", b"{\"\xc3\":"]
    {
        check(bytes);
    }
}

#[test]
fn depth_is_bounded_beside_the_ids_and_among_them() {
    for depth in [120, 200] {
        let deep = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        check(format!("{{\"models\":[{{\"provider_request_ids\":[\"a\",{deep}]}}]}}").as_bytes());
        check(format!("{{\"a\":{deep},\"models\":[{{\"provider_request_ids\":[\"a\"]}}]}}").as_bytes());
    }
}

#[test]
fn ids_are_free_and_everything_else_is_bounded() {
    let ids = "\"req\",".repeat(10_000);
    let text = format!("{{\"models\":[{{\"provider_request_ids\":[{ids}\"last\"]}}]}}");
    let read = |text: &str, limit: usize| sieve(text.as_bytes(), limit, &mut |_, _| Ok(()));
    let sieved = read(&text, 100).unwrap();
    assert_eq!((sieved.lists[0].count, sieved.text.len()), (10_001, 40));
    assert!(matches!(read(&text, 39), Err(SieveError::TooLarge)));
    let long = format!("{{\"models\":[{{\"provider_request_ids\":[\"{}\"]}}]}}", "x".repeat(2 << 20));
    assert!(matches!(read(&long, 1 << 20), Err(SieveError::TooLarge)));
    assert_eq!(read(&long, 4 << 20).unwrap().lists[0].count, 1);
    // What follows something strange is kept, and counts.
    assert!(matches!(read(&text.replace("[\"req", "[1,\"req"), 100), Err(SieveError::TooLarge)));
}

#[test]
fn a_reader_of_ids_can_end_the_reading() {
    let text = b"{\"models\":[{\"provider_request_ids\":[\"a\",\"b\"]}]}";
    let error = sieve(&text[..], 100, &mut |_, _| Err(io::Error::other("enough"))).unwrap_err();
    assert_eq!(error.to_string(), "enough");
}

/// A string as it may be written.
fn string() -> impl Strategy<Value = String> {
    prop_oneof![
        5 => "[a-z0-9_-]{0,12}".prop_map(|text| format!("\"{text}\"")),
        1 => "[é€😀\u{7f}]{1,3}".prop_map(|text| format!("\"{text}\"")),
        1 => prop::sample::select(vec![r#""\u0041""#, r#""\n""#, r#""\"""#, r#""\\""#, r#""\u0000""#, r#""\/""#])
            .prop_map(ToOwned::to_owned),
    ]
}

fn space() -> impl Strategy<Value = &'static str> {
    prop_oneof![12 => Just(""), 1 => prop::sample::select(vec![" ", "\n", "\r\n\t", "  \n "])]
}

fn list() -> impl Strategy<Value = String> {
    let item = prop_oneof![20 => string(), 1 => prop::sample::select(vec!["1", "null", "[\"a\"]", "{}"]).prop_map(ToOwned::to_owned)];
    prop::collection::vec((space(), item, space()), 0..6).prop_map(|items| {
        let items: Vec<String> =
            items.into_iter().map(|(before, item, after)| format!("{before}{item}{after}")).collect();
        format!("[{}]", items.join(","))
    })
}

fn member() -> impl Strategy<Value = String> {
    let name = prop::sample::select(vec!["a", "id", "provider_request_ids", "provider_request_ids", "models", "z"]);
    let value = prop_oneof![3 => list(), 1 => string(), 1 => Just("{\"provider_request_ids\":[\"x\"]}".to_owned())];
    (name, space(), value, space())
        .prop_map(|(name, before, value, after)| format!("\"{name}\":{before}{value}{after}"))
}

fn sidecar() -> impl Strategy<Value = String> {
    let model = prop::collection::vec(member(), 0..3).prop_map(|members| format!("{{{}}}", members.join(",")));
    let models = prop::collection::vec(model, 0..4).prop_map(|models| format!("\"models\":[{}]", models.join(",")));
    let top = prop::collection::vec(member(), 0..2);
    (top, models, prop::option::of(member())).prop_map(|(before, models, after)| {
        let members: Vec<String> = before.into_iter().chain([models]).chain(after).collect();
        format!("{{{}}}\n", members.join(","))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn the_stream_and_the_whole_agree_on_what_a_sidecar_says(text in sidecar()) {
        check(text.as_bytes());
    }

    #[test]
    fn they_agree_on_what_is_wrong_with_a_broken_one(
        text in sidecar(),
        breaks in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0u8..4), 1..4),
    ) {
        let pieces: [&[u8]; 12] =
            [b"\"", b"\\", b",", b"[", b"]", b"{", b"}", b":", b"\xff", b"\n", b"1", b"\"models\":[{\"provider_request_ids\":[\"q\","];
        let mut bytes = text.into_bytes();
        for (place, piece, how) in breaks {
            if bytes.is_empty() {
                break;
            }
            let at = place.index(bytes.len());
            match how {
                0 => drop(bytes.remove(at)),
                1 => bytes.truncate(at),
                2 => drop(bytes.splice(at..at, piece.get(&pieces).iter().copied())),
                _ => drop(bytes.splice(at..=at, piece.get(&pieces).iter().copied())),
            }
        }
        check(&bytes);
    }
}
