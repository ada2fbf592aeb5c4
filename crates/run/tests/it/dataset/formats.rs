//! csv, parquet and inline rows.

use std::fs::File;
use std::sync::Arc;

use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{BoolType, ByteArrayType, DoubleType, Int32Type, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use proofmark_artefact::suite::config::{Format, OnBadRow};
use proofmark_artefact::suite::plan::DatasetPlan;
use proofmark_canon::{Digest, Value};
use proofmark_run::dataset::{DatasetError, Problem, prepare, read_table};
use proptest::prelude::*;

use super::{Folder, json, plan};

#[test]
fn csv_values_are_strings_with_their_quotes_undone() {
    let text = "id;q;n\r\n1;\"a;\"\"b\"\"\r\nc\";007\r\n2;;\r\n";
    let folder = Folder::with("d.csv", text);
    let plan = DatasetPlan { id: Some("id".into()), delimiter: Some(";".into()), ..plan(Format::Csv) };
    let items = folder.items(&plan).unwrap();
    let fields: Vec<Value> = items.into_iter().map(|item| item.fields.into()).collect();
    let want = [json(r#"{"id":"1","n":"007","q":"a;\"b\"\r\nc"}"#), json(r#"{"id":"2","n":"","q":""}"#)];
    assert_eq!(fields, want);
    assert_eq!(prepare(&plan, &folder.context()).unwrap().digest, Digest::of(text.as_bytes()));
}

#[test]
fn csv_errors_name_the_line_on_which_the_record_starts() {
    let base = DatasetPlan { id: Some("id".into()), ..plan(Format::Csv) };
    for (text, want) in [
        (
            "id,q\r\n1,\"a\r\nb\"\r\n2\r\n",
            "`d.csv` line 4: the record has 1 fields, the header has 2\nhint: a value that holds the delimiter must be in double quotes",
        ),
        (
            "id,q\n1,\"a\nb\"\n1,c\n",
            "`d.csv` line 4: the id `1` was used before, on line 2\nhint: ids must be unique; name another field in `id:`",
        ),
        (
            "id,id\n",
            "`d.csv` line 1: the header names the column `id` twice\nhint: give every column a name of its own",
        ),
        ("id,q\n", "`d.csv`: no rows\nhint: a dataset needs at least one row"),
        ("ident,q\n1,2\n", "`d.csv` line 2: the row has no field `id`, which `id` names; it has `ident`, `q`"),
        (
            "id\n1\n\"2\n",
            "`d.csv` line 3: a quoted field is never closed\nhint: close the quote; a quote inside a quoted value is written twice",
        ),
    ] {
        assert_eq!(Folder::with("d.csv", text).ids(&base), Err(want.to_owned()));
    }
    let folder = Folder::with("d.csv", "id\n1\n");
    for delimiter in ["", ";;", "\"", "\n", "é"] {
        let plan = DatasetPlan { delimiter: Some(delimiter.into()), ..base.clone() };
        assert!(matches!(folder.items(&plan).unwrap_err().problem(), Problem::Delimiter(_)), "{delimiter:?}");
    }
}

#[test]
fn inline_rows_are_hashed_by_their_canonical_json() {
    let rows = vec![json(r#"{"id":"a","x":1}"#), json(r#"{"id":"b","x":2}"#)];
    let base = DatasetPlan { id: Some("id".into()), rows: Some(rows.clone()), ..plan(Format::Inline) };
    let folder = Folder::new();
    assert_eq!(folder.ids(&base).as_deref(), Ok("a b"));
    let prepared = prepare(&base, &folder.context()).unwrap();
    assert_eq!(prepared.digest, Digest::of(&Value::Array(rows.clone()).to_canonical()));
    for (row, want) in [
        ("7", "`inline rows` row 3: expected a JSON object, found a number\nhint: every line must be one JSON object"),
        (
            r#"{"id":"b"}"#,
            "`inline rows` row 3: the id `b` was used before, on row 2\nhint: ids must be unique; name another field in `id:`",
        ),
    ] {
        let rows = rows.iter().cloned().chain([json(row)]).collect();
        assert_eq!(folder.ids(&DatasetPlan { rows: Some(rows), ..base.clone() }), Err(want.to_owned()));
    }
}

/// Two row groups of three and two rows.
fn write_parquet(folder: &Folder, compression: Compression) {
    let schema = "message rows {
        REQUIRED INT64 id;
        OPTIONAL BYTE_ARRAY text (UTF8);
        REQUIRED DOUBLE score;
        REQUIRED BOOLEAN flag;
        REQUIRED INT32 day (DATE);
        REQUIRED INT64 at (TIMESTAMP_MILLIS);
        REQUIRED INT32 price (DECIMAL(9,2));
        REQUIRED BYTE_ARRAY blob;
        OPTIONAL GROUP choices (LIST) { REPEATED GROUP list { OPTIONAL BYTE_ARRAY element (UTF8); } }
        REQUIRED GROUP nested { REQUIRED INT32 k; }
    }";
    let file = File::create(folder.0.path().join("d.parquet")).unwrap();
    let properties = WriterProperties::builder().set_compression(compression).build();
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let mut writer = SerializedFileWriter::new(file, schema, Arc::new(properties)).unwrap();
    for ids in [&[1i64, 2, 3][..], &[4, 5]] {
        let n = ids.len();
        let mut group = writer.next_row_group().unwrap();
        macro_rules! column {
            ($type:ty, $values:expr, $definitions:expr, $repetitions:expr) => {{
                let mut column = group.next_column().unwrap().unwrap();
                column.typed::<$type>().write_batch($values, $definitions, $repetitions).unwrap();
                column.close().unwrap();
            }};
        }
        column!(Int64Type, ids, None, None);
        let definitions: Vec<i16> = (0..n).map(|at| i16::from(at != 0)).collect();
        column!(ByteArrayType, &vec!["é".into(); n - 1], Some(&definitions), None);
        column!(DoubleType, &vec![0.5; n], None, None);
        column!(BoolType, &vec![true; n], None, None);
        column!(Int32Type, &vec![19_782; n], None, None);
        column!(Int64Type, &vec![-1; n], None, None);
        column!(Int32Type, &vec![-1250; n], None, None);
        column!(ByteArrayType, &vec![vec![0u8, 255].into(); n], None, None);
        // Every row has the list [x, null].
        let repetitions: Vec<i16> = (0..2 * n).map(|at| (at % 2) as i16).collect();
        let definitions: Vec<i16> = (0..2 * n).map(|at| if at % 2 == 0 { 3 } else { 2 }).collect();
        column!(ByteArrayType, &vec!["x".into(); n], Some(&definitions), Some(&repetitions));
        column!(Int32Type, &vec![9; n], None, None);
        group.close().unwrap();
    }
    writer.close().unwrap();
}

#[test]
fn parquet_rows_become_json_in_the_documented_way() {
    let folder = Folder::new();
    let plan = DatasetPlan { id: Some("id".into()), ..plan(Format::Parquet) };
    for compression in [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::GZIP(Default::default()),
        Compression::ZSTD(ZstdLevel::default()),
    ] {
        write_parquet(&folder, compression);
        assert_eq!(folder.ids(&plan).as_deref(), Ok("1 2 3 4 5"));
        let items = folder.items(&plan).unwrap();
        let want = r#"{"at":"1969-12-31T23:59:59.999","blob":"AP8=","choices":["x",null],"day":"2024-02-29","flag":true,"id":5,"nested":{"k":9},"price":"-12.50","score":0.5,"text":"é"}"#;
        assert_eq!(Value::Object(items[4].fields.clone()), json(want));
        assert_eq!(items[3].fields.get("text"), Some(&Value::Null));
        assert_eq!(items[4].choices.as_deref(), json(r#"["x",null]"#).as_array());
        let prepared = prepare(&plan, &folder.context()).unwrap();
        let bytes = std::fs::read(folder.0.path().join("d.parquet")).unwrap();
        assert_eq!((prepared.rows, prepared.digest), (5, Digest::of(&bytes)));
        let mut rows = Vec::new();
        let digest = read_table(&folder.0.path().join("d.parquet"), |at, row| {
            rows.push((at.to_string(), row));
            Ok::<_, DatasetError>(())
        });
        assert_eq!((digest.unwrap(), rows.len()), (Digest::of(&bytes), 5));
        assert_eq!(rows.pop(), Some(("row 5".to_owned(), items[4].fields.clone())));
    }
}

#[test]
fn parquet_values_without_a_json_form_are_errors() {
    let schema = Arc::new(parse_message_type("message r { REQUIRED INT64 id; REQUIRED DOUBLE x; }").unwrap());
    let folder = Folder::new();
    let file = File::create(folder.0.path().join("d.parquet")).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, Arc::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<Int64Type>().write_batch(&[1, 1 << 60, 3], None, None).unwrap();
    column.close().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<DoubleType>().write_batch(&[1.0, 2.0, f64::NAN], None, None).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();

    let base = DatasetPlan { id: Some("id".into()), ..plan(Format::Parquet) };
    let hint = "hint: store it as text, or set `determinism.strict_serialization: false`";
    let want = "`d.parquet` row 2: the column `id` holds the integer 1152921504606846976, which has no exact JSON form";
    assert_eq!(folder.ids(&base), Err(format!("{want}\n{hint}")));
    let skipping = DatasetPlan { on_bad_row: OnBadRow::Skip, ..base.clone() };
    assert_eq!(folder.ids(&skipping).as_deref(), Ok("1"));
    let mut context = folder.context();
    context.strict = false;
    let error = prepare(&base, &context).unwrap_err();
    assert_eq!(error.to_string(), "`d.parquet` row 3: the column `x` holds NaN, which has no exact JSON form");
}

#[test]
fn a_damaged_parquet_file_is_an_error_and_never_a_panic() {
    let folder = Folder::new();
    write_parquet(&folder, Compression::SNAPPY);
    let good = std::fs::read(folder.0.path().join("d.parquet")).unwrap();
    let plan = DatasetPlan { id: Some("id".into()), ..plan(Format::Parquet) };
    for bytes in [&b""[..], b"PAR1", b"not parquet at all", &good[..good.len() - 1], &good[4..]] {
        folder.put("d.parquet", bytes);
        assert!(matches!(folder.items(&plan).unwrap_err().problem(), Problem::Parquet(_)));
    }
    for (schema, want) in [
        ("message r { }", "not a readable Parquet file: it has no columns"),
        ("message r { REPEATED INT32 x; }", "the column `x` is repeated without being a list, which is not supported"),
    ] {
        let schema = Arc::new(parse_message_type(schema).unwrap());
        let file = File::create(folder.0.path().join("d.parquet")).unwrap();
        SerializedFileWriter::new(file, schema, Arc::default()).unwrap().close().unwrap();
        assert_eq!(folder.items(&plan).unwrap_err().to_string(), format!("`d.parquet`: {want}"));
    }
    // Whatever one changed byte does, it ends in rows or an error.
    let mut refused = 0;
    for at in (0..good.len()).step_by(11) {
        let mut bytes = good.clone();
        bytes[at] ^= 0x5a;
        folder.put("d.parquet", &bytes);
        refused += u32::from(folder.items(&plan).is_err());
    }
    assert!(refused > 30, "{refused}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_rows_or_an_error_with_its_file(
        text in prop_oneof![
            any::<Vec<u8>>(),
            "([{}\"a:1,\\[\\]\\\\ ]{0,12}\n?){0,6}".prop_map(String::into_bytes),
            "([ab,\"\r ]{0,9}\n?){0,8}".prop_map(String::into_bytes),
            "(\\{\"id\":\"[a-c]\"(,\"[a-c]\":[0-9e.-]{1,5})?\\}\n){0,5}".prop_map(String::into_bytes),
        ],
        skip in any::<bool>(),
        shuffle in prop::option::of(any::<u64>()),
        limit in prop::option::of(0u64..4),
    ) {
        let on_bad_row = if skip { OnBadRow::Skip } else { OnBadRow::Fail };
        for (format, name) in [(Format::Jsonl, "d.jsonl"), (Format::Csv, "d.csv")] {
            let folder = Folder::with(name, &text);
            match folder.items(&DatasetPlan { on_bad_row, shuffle, limit, ..plan(format) }) {
                Ok(items) => prop_assert!(items.len() as u64 <= limit.unwrap_or(u64::MAX)),
                Err(error) => prop_assert!(error.to_string().contains(name), "{}", error),
            }
        }
    }
}
