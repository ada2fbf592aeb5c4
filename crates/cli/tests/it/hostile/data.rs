//! Datasets that cannot be used.

use super::{refuse, refuse_suite};
use crate::support::{SMALL, json, small};

#[test]
fn every_malformed_row_of_a_jsonl_file_is_named_by_its_line() {
    let env = small();
    let deep = format!("{{\"id\":\"b\",\"input\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    let rows: Vec<(&str, Vec<u8>, &str)> = vec![
        ("not JSON", b"{\"id\":\"b\",".to_vec(), "not valid JSON"),
        ("not an object", b"[1]".to_vec(), "expected a JSON object, found a list"),
        ("a text", b"\"b\"".to_vec(), "expected a JSON object, found"),
        ("an empty line", b"".to_vec(), "the line is empty"),
        ("bad UTF-8", b"{\"id\":\"b\",\"input\":\"\xff\"}".to_vec(), "not valid UTF-8"),
        ("a raw escape", b"{\"id\":\"\x1b[31mb\",\"input\":\"x\"}".to_vec(), "a control character must be escaped"),
        (
            "no id",
            b"{\"ib\":\"b\",\"input\":\"x\"}".to_vec(),
            "the row has no field `id`, which `id` names; it has `ib`, `input`",
        ),
        ("a hostile name", b"{\"\\u001b[2J\\u202e\":1}".to_vec(), "the row has no field `id`"),
        ("an empty id", b"{\"id\":\"\",\"input\":\"x\"}".to_vec(), "the id is an empty string"),
        (
            "an id that is a list",
            b"{\"id\":[],\"input\":\"x\"}".to_vec(),
            "must be a string or an integer, found a list",
        ),
        ("a long id", format!("{{\"id\":\"{}\"}}", "x".repeat(513)).into_bytes(), "the id has 513 bytes"),
        (
            "an id that stands twice",
            b"{\"id\":\"a\",\"input\":\"x\"}".to_vec(),
            "the id `a` was used before, on line 1",
        ),
        ("a name that stands twice", b"{\"id\":\"b\",\"id\":\"c\"}".to_vec(), "the name `id` stands twice"),
        (
            "an unsafe integer",
            b"{\"id\":\"b\",\"input\":9007199254740993}".to_vec(),
            "the integer 9007199254740993 is beyond 2^53",
        ),
        ("an infinite number", b"{\"id\":\"b\",\"input\":1e999}".to_vec(), "the number 1e999 is too large"),
        ("half a surrogate", b"{\"id\":\"b\",\"input\":\"\\ud800\"}".to_vec(), "a lone surrogate"),
        ("NaN", b"{\"id\":\"b\",\"input\":NaN}".to_vec(), "not valid JSON"),
        ("deep lists", deep.into_bytes(), "nested deeper than"),
    ];
    for (what, row, complaint) in rows {
        let bytes = [b"{\"id\":\"a\",\"input\":\"x\"}\n", &row[..], b"\n{\"id\":\"z\",\"input\":\"x\"}\n"].concat();
        env.put("data.jsonl", bytes);
        refuse_suite(&env, what, &["error: `data.jsonl` line 2: ", complaint]);
    }
    for (what, bytes, complaint) in [
        (
            "a byte order mark",
            &b"\xef\xbb\xbf{\"id\":\"a\",\"input\":\"x\"}\n"[..],
            "`data.jsonl` line 1: the file starts with a byte order mark",
        ),
        ("nothing", b"", "`data.jsonl`: no rows"),
        ("only line ends", b"\n\n", "`data.jsonl`: no rows"),
        ("a list around the rows", b"[{\"id\":\"a\"}]", "`data.jsonl` line 1: expected a JSON object, found a list"),
        ("a field that a template needs", b"{\"id\":\"a\"}\n", "suite.yaml:7:13: cannot make the prompt of item `a`"),
    ] {
        env.put("data.jsonl", bytes);
        refuse_suite(&env, what, &[complaint]);
    }
}

#[test]
fn every_malformed_record_of_a_csv_file_is_named_by_its_line() {
    let env = small();
    env.put("suite.yaml", SMALL.replace("jsonl, path: data.jsonl", "csv, path: data.csv"));
    for (what, bytes, complaint) in [
        (
            "a byte order mark",
            &b"\xef\xbb\xbfid,input,target\na,b,c\n"[..],
            "`data.csv` line 1: the file starts with a byte order mark",
        ),
        ("nothing", b"", "`data.csv`: the file has no header line"),
        ("only a header", b"id,input,target\n", "`data.csv`: no rows"),
        (
            "a short record",
            b"id,input,target\na,b,c\nb,c\n",
            "`data.csv` line 3: the record has 2 fields, the header has 3",
        ),
        (
            "a long record",
            b"id,input,target\na,b,c,d\n",
            "`data.csv` line 2: the record has 4 fields, the header has 3",
        ),
        ("a stray quote", b"id,input,target\na,5\" disk,c\n", "`data.csv` line 2: field 2 has a double quote inside"),
        ("an open quote", b"id,input,target\na,\"b,c\n", "`data.csv` line 2: a quoted field is never closed"),
        (
            "text after a quote",
            b"id,input,target\na,\"b\"x,c\n",
            "`data.csv` line 2: field 2 goes on after its closing quote",
        ),
        ("bad UTF-8", b"id,input,target\na,\xff,c\n", "`data.csv` line 2: not valid UTF-8"),
        ("an empty line", b"id,input,target\n\na,b,c\n", "`data.csv` line 2: the line is empty"),
        (
            "a column that stands twice",
            b"id,id,target\na,b,c\n",
            "`data.csv` line 1: the header names the column `id` twice",
        ),
        ("a column without a name", b"id,,target\na,b,c\n", "`data.csv` line 1: column 2 of the header has no name"),
        (
            "an id that stands twice",
            b"id,input,target\na,b,c\na,d,e\n",
            "`data.csv` line 3: the id `a` was used before, on line 2",
        ),
        ("no id", b"ib,input,target\na,b,c\n", "`data.csv` line 2: the row has no field `id`"),
        ("another delimiter", b"id;input;target\na;b;c\n", "`data.csv` line 2: the row has no field `id`"),
    ] {
        env.put("data.csv", bytes);
        refuse_suite(&env, what, &[complaint]);
    }
}

#[test]
fn a_line_without_an_end_is_cut_short() {
    let env = small();
    let run = ["run", "suite.yaml", "--run-dir", "out"];
    env.put(
        "data.jsonl",
        [b"{\"id\":\"a\"}\n{\"id\":\"b\",\"input\":\"", &vec![b'x'; 50 << 20][..], b"\"}\n"].concat(),
    );
    refuse(&env, "a line of 50 MB", &run, 2, &["error: `data.jsonl` line 2: the line is longer than 16777216 bytes"]);
    env.put("data.jsonl", "");
    env.put("suite.yaml", SMALL.replace("jsonl, path: data.jsonl", "csv, path: data.csv"));
    env.put("data.csv", [b"id,input,target\na,\"", &vec![b'\n'; 17 << 20][..]].concat());
    refuse(
        &env,
        "a quote that swallows the file",
        &run,
        2,
        &["error: `data.csv` line 2: the record is longer than 16777216 bytes"],
    );
}

#[test]
fn a_dataset_that_is_not_the_one_the_suite_was_written_for_is_refused() {
    let env = small();
    let zeros = format!("sha256:{}", "0".repeat(64));
    let pinned = |digest: &str| SMALL.replace("id: id}", &format!("id: id, dataset_hash: \"{digest}\"}}"));
    env.put("suite.yaml", pinned(&zeros));
    refuse_suite(
        &env,
        "another hash",
        &["`data.jsonl`: digest is sha256:", &format!("the suite's `dataset_hash` says {zeros}")],
    );
    env.put("suite.yaml", SMALL);
    env.run(&["run", "suite.yaml", "--run-dir", "out"]).expect(0);
    let digest = json(&env, "out/manifest.json")["datasets"][0]["digest"].as_str().unwrap().to_owned();
    env.put("suite.yaml", pinned(&digest));
    env.run(&["run", "suite.yaml", "--run-dir", "pinned"]).expect(0);
    env.put("data.jsonl", format!("{}\n", env.text("data.jsonl")));
    refuse_suite(&env, "one more byte", &["digest is sha256:"]);
}

#[test]
fn bad_rows_can_be_left_out_and_are_counted() {
    let env = small();
    env.put("suite.yaml", SMALL.replace("id: id}", "id: id, on_bad_row: skip}"));
    let good = env.bytes("data.jsonl");
    env.put("data.jsonl", [&good[..], b"not json\n{\"id\":\"\"}\n\xff\n"].concat());
    let plan = env.run(&["run", "suite.yaml", "--dry-run", "--format", "json"]).expect(0).json();
    assert_eq!((&plan["tasks"][0]["items"], &plan["tasks"][0]["rows_skipped"]), (&4.into(), &3.into()));
    env.run(&["run", "suite.yaml", "--run-dir", "out"]).expect(0);
    let dataset = &json(&env, "out/manifest.json")["datasets"][0];
    assert_eq!((&dataset["rows"], &dataset["rows_skipped"]), (&4.into(), &3.into()));
    // Nothing but bad rows is an empty dataset.
    env.put("data.jsonl", "x\ny\n");
    refuse_suite(&env, "only bad rows", &["`data.jsonl`: no rows", "hint: every row was bad"]);
}
