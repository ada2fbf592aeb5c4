//! Rows to items, and every way in which a row can be bad.

use proofmark_artefact::suite::config::{Format, OnBadRow};
use proofmark_artefact::suite::plan::DatasetPlan;
use proofmark_canon::{Digest, Value};
use proofmark_run::dataset::prepare;

use super::{Folder, json, jsonl, plan, report};

#[test]
fn a_template_sees_the_row_without_its_gold() {
    let folder = Folder::with(
        "d.jsonl",
        r#"{"id":7,"question":"q?","answer":["a","b"],"options":["x","y"],"year":1999,"extra":{"k":null}}"#,
    );
    let plan = DatasetPlan {
        input: Some("question".into()),
        target: Some("answer".into()),
        choices: Some("options".into()),
        metadata: vec!["year".into()],
        ..jsonl()
    };
    let item = folder.items(&plan).unwrap().remove(0);
    assert_eq!(item.id, "7");
    let fields = r#"{"choices":["x","y"],"extra":{"k":null},"id":7,"input":"q?","options":["x","y"],"question":"q?"}"#;
    assert_eq!(Value::Object(item.fields), json(fields));
    assert_eq!(item.expected, json(r#"["a","b"]"#));
    assert_eq!(item.choices.map(Value::Array), Some(json(r#"["x","y"]"#)));
    assert_eq!(Value::Object(item.metadata), json(r#"{"year":1999}"#));
}

#[test]
fn without_configuration_the_usual_names_count() {
    let rows = "{\"input\":\"i\",\"target\":1,\"choices\":[1]}\n{\"choices\":{\"text\":[]},\"x\":2}\n";
    let items = Folder::with("d.jsonl", rows).items(&plan(Format::Jsonl)).unwrap();
    assert_eq!(Value::Object(items[0].fields.clone()), json(r#"{"choices":[1],"input":"i"}"#));
    assert_eq!((&items[0].expected, items[0].choices.is_some()), (&json("1"), true));
    // A `choices` of another shape is an ordinary field unless the suite names it.
    assert_eq!(Value::Object(items[1].fields.clone()), json(r#"{"choices":{"text":[]},"x":2}"#));
    assert_eq!((&items[1].expected, items[1].choices.is_some()), (&Value::Null, false));
}

#[test]
fn a_row_without_an_id_is_named_by_its_digest() {
    let items = Folder::with("d.jsonl", "{ \"b\": 1.0, \"a\": \"x\" }\r\n").items(&plan(Format::Jsonl)).unwrap();
    assert_eq!(items[0].id, Digest::of(br#"{"a":"x","b":1}"#).hex()[..24]);
}

#[test]
fn every_malformed_row_is_an_error_with_its_line() {
    let one_object = "hint: every line must be one JSON object; `on_bad_row: skip` leaves bad rows out";
    let long_id = format!("{{\"id\":\"{}\"}}", "x".repeat(513));
    for (row, want) in [
        (&br#"{"id":2"#[..], format!("not valid JSON: column 8: the text ends inside a value\n{one_object}")),
        (br#"{"id":2} x"#, format!("not valid JSON: column 10: the text goes on after the value\n{one_object}")),
        (br#"{"id":2,"a":1,"a":2}"#, format!("not valid JSON: column 20: the name `a` stands twice in one object\n{one_object}")),
        (br#"{"id":9007199254740993}"#, "not valid JSON: column 23: the integer 9007199254740993 is beyond 2^53 and would lose digits\nhint: write the number as a string, or set `determinism.strict_serialization: false`".into()),
        (br#"["id"]"#, "expected a JSON object, found a list\nhint: a `jsonl` file has one object on each line, not a list around them".into()),
        (b"2", "expected a JSON object, found a number\nhint: every line must be one JSON object".into()),
        (b"{\"id\":\"\xff\"}", "not valid UTF-8\nhint: save the file as UTF-8".into()),
        (b"  \t", "the line is empty\nhint: remove the line; only the end of the file may have empty lines".into()),
        (br#"{"ib":2,"x":1}"#, "the row has no field `id`, which `id` names; it has `ib`, `x`\nhint: did you mean `ib`?".into()),
        (br#"{}"#, "the row has no field `id`, which `id` names; it has nothing".into()),
        (br#"{"id":""}"#, "the id is an empty string\nhint: name another field in `id`, or leave `id` out to use row digests".into()),
        (br#"{"id":null}"#, "the field `id`, which `id` names, must be a string or an integer, found null".into()),
        (br#"{"id":[1]}"#, "the field `id`, which `id` names, must be a string or an integer, found a list".into()),
        (br#"{"id":true}"#, "the field `id`, which `id` names, must be a string or an integer, found a boolean".into()),
        (br#"{"id":1.5}"#, "the field `id`, which `id` names, must be a string or an integer, found a fraction".into()),
        (long_id.as_bytes(), "the id has 513 bytes; at most 512 are allowed\nhint: name another field in `id`, or leave `id` out to use row digests".into()),
    ] {
        let bytes = [b"{\"id\":1}\n", row, b"\n{\"id\":3}\n"].concat();
        let folder = Folder::with("d.jsonl", bytes);
        assert_eq!(folder.ids(&jsonl()), Err(format!("`d.jsonl` line 2: {want}")));
        let lenient = DatasetPlan { on_bad_row: OnBadRow::Skip, ..jsonl() };
        assert_eq!(folder.ids(&lenient).as_deref(), Ok("1 3"), "{want}");
        let prepared = prepare(&lenient, &folder.context()).unwrap();
        assert_eq!((prepared.rows, prepared.rows_skipped), (2, 1), "{want}");
    }
}

#[test]
fn a_configured_field_must_be_there_and_of_its_kind() {
    let folder = Folder::with("d.jsonl", r#"{"id":1,"question":"q","answer":1,"options":"abc"}"#);
    let base = jsonl();
    for (plan, want) in [
        (
            DatasetPlan { target: Some("anwser".into()), ..base.clone() },
            "line 1: the row has no field `anwser`, which `target` names; it has `answer`, `id`, `options`, `question`\nhint: did you mean `answer`?",
        ),
        (
            DatasetPlan { input: Some("input".into()), ..base.clone() },
            "line 1: the row has no field `input`, which `input` names; it has `answer`, `id`, `options`, `question`",
        ),
        (
            DatasetPlan { metadata: vec!["when".into()], ..base.clone() },
            "line 1: the row has no field `when`, which `metadata` names; it has `answer`, `id`, `options`, `question`",
        ),
        (
            DatasetPlan { choices: Some("options".into()), ..base.clone() },
            "line 1: the field `options`, which `choices` names, must be a list, found a string\nhint: name a field that holds a list of options",
        ),
        (
            DatasetPlan { files: vec!["answer".into()], ..base.clone() },
            "line 1: the field `answer`, which `files` names, must be a path or a list of paths, found a number",
        ),
    ] {
        assert_eq!(folder.ids(&plan), Err(format!("`d.jsonl` {want}")));
    }
    for (plan, want) in [
        (
            DatasetPlan { input: Some("answer".into()), target: Some("answer".into()), ..base.clone() },
            "`input` and `target` both name the field `answer`",
        ),
        (
            DatasetPlan { choices: Some("options".into()), metadata: vec!["options".into()], ..base.clone() },
            "`choices` and `metadata` both name the field `options`",
        ),
        (
            DatasetPlan { metadata: vec!["target".into()], ..base },
            "`target` and `metadata` both name the field `target`",
        ),
    ] {
        let hint = "hint: the target and metadata are hidden from templates; name different fields";
        assert_eq!(folder.ids(&plan), Err(format!("`d.jsonl`: {want}\n{hint}")));
    }
}

#[test]
fn attachments_are_files_under_the_root() {
    let rows = |file: &str| format!("{{\"id\":1,\"file\":{file}}}\n");
    let folder = Folder::with("a.png", "");
    let plan = DatasetPlan { files: vec!["file".into()], ..jsonl() };
    std::os::unix::fs::symlink("/etc/passwd", folder.0.path().join("link.png")).unwrap();
    for (file, want) in [
        (r#""a.png""#, Ok("a.png")),
        (r#"["./a.png","a.png"]"#, Ok("a.png a.png")),
        ("null", Ok("")),
        (r#""""#, Ok("")),
        (
            r#""../a.png""#,
            Err("names an attachment: `../a.png` leaves the folder; expected a path inside the suite's folder"),
        ),
        (
            r#""/etc/passwd""#,
            Err(
                "names an attachment: `/etc/passwd` is not relative with `/` between its parts; expected a path inside the suite's folder",
            ),
        ),
        (r#""b.png""#, Err("names the attachment `b.png`, which is not a file inside the suite's folder")),
        (r#""link.png""#, Err("names the attachment `link.png`, which is not a file inside the suite's folder")),
        (r#"".""#, Err("names an attachment: `.` names no file; expected a path inside the suite's folder")),
    ] {
        folder.put("d.jsonl", rows(file));
        let got = folder.items(&plan).map(|mut items| {
            let files = items.remove(0).files;
            assert!(files.iter().all(|attachment| attachment.field == "file"));
            files.iter().map(|attachment| attachment.path.to_string()).collect::<Vec<_>>().join(" ")
        });
        match (got, want) {
            (Ok(got), Ok(want)) => assert_eq!(got, want),
            (Err(error), Err(want)) => {
                assert_eq!(error.to_string(), format!("`d.jsonl` line 1: the field `file` {want}"))
            }
            (got, want) => panic!("{got:?} instead of {want:?}"),
        }
    }
}

#[test]
fn a_broken_file_is_an_error_even_when_rows_may_be_skipped() {
    let lenient = DatasetPlan { on_bad_row: OnBadRow::Skip, ..jsonl() };
    for (bytes, want) in [
        (
            &b"\xef\xbb\xbf{\"id\":1}\n"[..],
            "`d.jsonl` line 1: the file starts with a byte order mark\nhint: save the file as UTF-8 without a byte order mark",
        ),
        (
            b"\xff\xfe{\0",
            "`d.jsonl` line 1: the file starts with a byte order mark\nhint: save the file as UTF-8 without a byte order mark",
        ),
        (b"", "`d.jsonl`: no rows\nhint: a dataset needs at least one row"),
        (b"\n\n", "`d.jsonl`: no rows\nhint: a dataset needs at least one row"),
        (b"1\n2\n", "`d.jsonl`: no rows\nhint: every row was bad; set `on_bad_row: fail` to see the first problem"),
        (
            b"{\"id\":1}\n{\"id\":2}\n{\"id\":\"1\"}\n",
            "`d.jsonl` line 3: the id `1` was used before, on line 1\nhint: ids must be unique; name another field in `id:`",
        ),
    ] {
        assert_eq!(Folder::with("d.jsonl", bytes).ids(&lenient), Err(want.to_owned()));
    }
    let folder = Folder::new();
    assert_eq!(
        folder.ids(&lenient),
        Err("`d.jsonl`: cannot open the file\nhint: paths are relative to the suite's folder".to_owned())
    );
    std::fs::create_dir(folder.0.path().join("d.jsonl")).unwrap();
    assert_eq!(folder.ids(&lenient), Err("`d.jsonl`: not a regular file".to_owned()));
}

#[test]
fn identical_rows_without_ids_ask_for_an_id() {
    let folder = Folder::with("d.jsonl", "{\"a\":1}\n{\"a\":2}\n{\"a\":1.0}\n");
    let error = folder.items(&plan(Format::Jsonl)).unwrap_err();
    let id = &Digest::of(br#"{"a":1}"#).hex()[..24];
    assert_eq!(
        report(&error),
        format!(
            "`d.jsonl` line 3: the id `{id}` was used before, on line 1\nhint: the two rows are identical; remove one, or set `id:` to a field that tells them apart"
        )
    );
    assert_eq!(error.line(), Some(3));
}

#[test]
fn a_line_of_fifty_megabytes_is_an_error_with_its_number() {
    let mut bytes = b"{\"id\":1}\n{\"id\":\"".to_vec();
    bytes.resize(50 << 20, b'x');
    bytes.extend_from_slice(b"\"}\n{\"id\":3}\n");
    let folder = Folder::with("d.jsonl", &bytes);
    let want = "`d.jsonl` line 2: the line is longer than 16777216 bytes\nhint: is this the right `format`? Long content belongs in `files`";
    assert_eq!(folder.ids(&jsonl()), Err(want.to_owned()));
    let lenient = DatasetPlan { on_bad_row: OnBadRow::Skip, ..jsonl() };
    let prepared = prepare(&lenient, &folder.context()).unwrap();
    assert_eq!((prepared.rows, prepared.rows_skipped, prepared.digest), (2, 1, Digest::of(&bytes)));
}

#[test]
fn without_strictness_a_long_integer_is_its_digits() {
    let folder = Folder::with("d.jsonl", "{\"id\":9007199254740993,\"x\":[12345678901234567890]}\n");
    let mut context = folder.context();
    context.strict = false;
    for shuffle in [None, Some(1)] {
        let plan = DatasetPlan { shuffle, ..jsonl() };
        let item = prepare(&plan, &context).unwrap().items().unwrap().next().unwrap().unwrap();
        assert_eq!(item.id, "9007199254740993");
        assert_eq!(item.fields.get("x"), Some(&json(r#"["12345678901234567890"]"#)));
    }
}
