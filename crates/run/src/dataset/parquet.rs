//! Parquet files, one row group after the other.
//!
//! Values become JSON in one documented way: integers and floats numbers, strings strings, lists lists, structs
//! and maps objects, nulls null. What JSON does not have becomes text: decimals `-12.50` with all digits of their scale, dates
//! `2024-02-29`, times `13:05:09.120` or `.120000` (milli- or microseconds), timestamps `2024-02-29T13:05:09.120`
//! in the same way and without a zone, binary values base64. An integer beyond 2^53 is an error, or its digits as text
//! when strictness is off; so are NaN and the infinities, whatever the strictness.
//!
//! The footer stands at the end of the file, so the file is hashed before its rows are read.

use std::fs::File;
use std::io::{Seek, SeekFrom};

use data_encoding::BASE64;
use parquet::basic::{ConvertedType, LogicalType, Repetition};
use parquet::data_type::Decimal;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::reader::RowIter;
use parquet::record::{Field, Row as ParquetRow};
use parquet::schema::types::Type;
use proofmark_artefact::store::digest_reader;
use proofmark_artefact::text::excerpt;
use proofmark_canon::json::Integers;
use proofmark_canon::{Digest, Map, Number, Value};

use super::error::{At, Problem};
use super::names::show;
use super::quiet::without_panic;
use super::source::{Row, RowResult, read_failed};

pub(super) struct ParquetRows {
    /// `None` after a failure, when the reader's state cannot be trusted.
    rows: Option<RowIter<'static>>,
    digest: Digest,
    read: u64,
    rules: Rules,
}

#[derive(Clone, Copy)]
struct Rules {
    integers: Integers,
    max_bytes: usize,
}

impl ParquetRows {
    pub(super) fn open(mut file: File, integers: Integers, max_bytes: usize) -> Result<Self, Problem> {
        let digest = digest_reader(&mut file).map_err(read_failed)?.0;
        file.seek(SeekFrom::Start(0)).map_err(read_failed)?;
        let reader = without_panic(|| SerializedFileReader::new(file)).ok_or_else(malformed)?.map_err(refused)?;
        let schema = reader.metadata().file_metadata().schema();
        if schema.get_fields().is_empty() {
            // Nothing but the footer's word would limit the number of its empty rows.
            return Err(Problem::Parquet("it has no columns".to_owned()));
        }
        check_lists(schema, false, 0)?;
        let rows = without_panic(|| RowIter::from_file_into(Box::new(reader))).ok_or_else(malformed)?;
        Ok(Self { rows: Some(rows), digest, read: 0, rules: Rules { integers, max_bytes } })
    }

    pub(super) fn next(&mut self) -> Option<RowResult> {
        let rows = self.rows.as_mut()?;
        let row = match without_panic(|| rows.next()) {
            Some(None) => return None,
            Some(Some(Ok(row))) => row,
            Some(Some(Err(error))) => return Some(Err((None, self.stop(refused(error))))),
            None => return Some(Err((None, self.stop(malformed())))),
        };
        self.read += 1;
        let at = At::Row(self.read);
        let row = Converter { rules: self.rules, bytes: 0, column: String::new() }.row(row);
        Some(row.map(|row| Row { at, row }).map_err(|problem| (Some(at), problem)))
    }

    pub(super) fn digest(&self) -> Digest {
        self.digest
    }

    fn stop(&mut self, problem: Problem) -> Problem {
        self.rows = None;
        problem
    }
}

fn refused(error: parquet::errors::ParquetError) -> Problem {
    Problem::Parquet(excerpt(&error.to_string(), 200))
}

fn malformed() -> Problem {
    Problem::Parquet("its parts contradict each other".to_owned())
}

/// Refuses fields that repeat outside a list or map: the row reader mixes their values up.
fn check_lists(schema: &Type, inside_list: bool, depth: usize) -> Result<(), Problem> {
    const DEEPEST: usize = 64;
    if depth > DEEPEST {
        return Err(Problem::Parquet("its columns are nested too deep".to_owned()));
    }
    if depth > 0 && schema.get_basic_info().has_repetition() {
        let repeated = schema.get_basic_info().repetition() == Repetition::REPEATED;
        if repeated && !inside_list {
            return Err(Problem::RepeatedWithoutList(show(schema.name())));
        }
    }
    if schema.is_group() {
        let info = schema.get_basic_info();
        let is_list =
            matches!(info.converted_type(), ConvertedType::LIST | ConvertedType::MAP | ConvertedType::MAP_KEY_VALUE)
                || matches!(info.logical_type_ref(), Some(LogicalType::List | LogicalType::Map));
        for field in schema.get_fields() {
            check_lists(field, is_list, depth + 1)?;
        }
    }
    Ok(())
}

/// Turns one row to JSON values.
struct Converter {
    rules: Rules,
    /// Bytes of text so far, against the limit of a row.
    bytes: usize,
    /// The top-level column at hand, for messages.
    column: String,
}

impl Converter {
    fn row(&mut self, row: ParquetRow) -> Result<Map, Problem> {
        let mut members = Vec::with_capacity(row.len());
        for (name, field) in row.into_columns() {
            self.column.clone_from(&name);
            let value = self.value(field)?;
            members.push((name, value));
        }
        Map::from_members(members).map_err(|name| Problem::DuplicateName(show(&name)))
    }

    fn value(&mut self, field: Field) -> Result<Value, Problem> {
        self.grow(1)?;
        Ok(match field {
            Field::Null => Value::Null,
            Field::Bool(bool) => Value::Bool(bool),
            Field::Byte(integer) => self.integer(integer.into())?,
            Field::Short(integer) => self.integer(integer.into())?,
            Field::Int(integer) => self.integer(integer.into())?,
            Field::Long(integer) => self.integer(integer.into())?,
            Field::UByte(integer) => self.integer(integer.into())?,
            Field::UShort(integer) => self.integer(integer.into())?,
            Field::UInt(integer) => self.integer(integer.into())?,
            Field::ULong(integer) => self.integer(integer.into())?,
            Field::Float16(float) => self.float(float.to_f64())?,
            Field::Float(float) => self.float(float.into())?,
            Field::Double(float) => self.float(float)?,
            Field::Decimal(decimal) => self.decimal(&decimal)?.into(),
            Field::Str(text) => {
                self.grow(text.len())?;
                text.into()
            }
            Field::Bytes(bytes) => {
                self.grow(bytes.len())?;
                BASE64.encode(bytes.data()).into()
            }
            Field::Date(days) => date(days.into()).into(),
            Field::TimeMillis(millis) => time(millis.into(), 1000).into(),
            Field::TimeMicros(micros) => time(micros, 1_000_000).into(),
            Field::TimestampMillis(millis) => timestamp(millis, 1000).into(),
            Field::TimestampMicros(micros) => timestamp(micros, 1_000_000).into(),
            Field::Group(row) => self.group(row)?,
            Field::ListInternal(list) => {
                let items = list.elements().iter().map(|item| self.value(item.clone()));
                Value::Array(items.collect::<Result<_, _>>()?)
            }
            Field::MapInternal(map) => {
                let mut members = Vec::with_capacity(map.len());
                for (key, value) in map.entries() {
                    let key = self.value(key.clone())?.to_plain_text();
                    members.push((key, self.value(value.clone())?));
                }
                object(members)?
            }
        })
    }

    fn group(&mut self, row: ParquetRow) -> Result<Value, Problem> {
        let mut members = Vec::with_capacity(row.len());
        for (name, field) in row.into_columns() {
            members.push((name, self.value(field)?));
        }
        object(members)
    }

    fn integer(&self, integer: i128) -> Result<Value, Problem> {
        let safe = i64::try_from(integer).ok().and_then(Number::from_i64);
        match (safe, self.rules.integers) {
            (Some(number), _) => Ok(Value::Number(number)),
            (None, Integers::AsText) => Ok(Value::String(integer.to_string())),
            (None, Integers::Refuse) => Err(self.no_json_form(format!("the integer {integer}"))),
        }
    }

    fn float(&self, float: f64) -> Result<Value, Problem> {
        Number::new(float).map(Value::Number).ok_or_else(|| self.no_json_form(float.to_string()))
    }

    fn decimal(&self, decimal: &Decimal) -> Result<String, Problem> {
        let refuse = || self.no_json_form("a decimal of more than 38 digits".to_owned());
        let bytes = decimal.data();
        let scale = usize::try_from(decimal.scale()).ok().filter(|scale| *scale <= 38).ok_or_else(refuse)?;
        if bytes.is_empty() || bytes.len() > 16 {
            return Err(refuse());
        }
        // Two's complement, most significant byte first: the sign fills the bytes in front.
        let mut wide = [if bytes[0] >= 0x80 { 0xff } else { 0 }; 16];
        wide[16 - bytes.len()..].copy_from_slice(bytes);
        let unscaled = i128::from_be_bytes(wide);
        let digits = format!("{:0>width$}", unscaled.unsigned_abs(), width = scale + 1);
        let (whole, part) = digits.split_at(digits.len() - scale);
        let sign = if unscaled < 0 { "-" } else { "" };
        Ok(if part.is_empty() { format!("{sign}{whole}") } else { format!("{sign}{whole}.{part}") })
    }

    fn grow(&mut self, bytes: usize) -> Result<(), Problem> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > self.rules.max_bytes {
            return Err(Problem::LineTooLong { limit: self.rules.max_bytes });
        }
        Ok(())
    }

    fn no_json_form(&self, what: String) -> Problem {
        Problem::NoJsonForm { column: show(&self.column), what }
    }
}

fn object(members: Vec<(String, Value)>) -> Result<Value, Problem> {
    Map::from_members(members).map(Value::Object).map_err(|name| Problem::DuplicateName(show(&name)))
}

fn timestamp(count: i64, per_second: i64) -> String {
    let per_day = 86_400 * per_second;
    format!("{}T{}", date(count.div_euclid(per_day)), time(count.rem_euclid(per_day), per_second))
}

/// The time of day, with as many digits as the unit has.
fn time(count: i64, per_second: i64) -> String {
    let (seconds, part) = (count.div_euclid(per_second), count.rem_euclid(per_second));
    let (hours, minutes) = (seconds.div_euclid(3600), seconds.rem_euclid(3600) / 60);
    let digits = if per_second == 1000 { 3 } else { 6 };
    format!("{hours:02}:{minutes:02}:{:02}.{part:0digits$}", seconds.rem_euclid(60))
}

/// The Gregorian date so many days after 1970-01-01.
fn date(days: i64) -> String {
    // Years are counted from March, so that the leap day is the last of its year; an era is 400 years.
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    let sign = if year < 0 { "-" } else { "" };
    format!("{sign}{:04}-{month:02}-{day:02}", year.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_times_have_one_text() {
        for (days, want) in [
            (0, "1970-01-01"),
            (-1, "1969-12-31"),
            (19_782, "2024-02-29"),
            (11_016, "2000-02-29"),
            (-25_509, "1900-02-28"),
            (-25_508, "1900-03-01"),
        ] {
            assert_eq!(date(days), want);
        }
        assert_eq!(timestamp(-1, 1000), "1969-12-31T23:59:59.999");
        assert_eq!(timestamp(1_709_211_909_120_001, 1_000_000), "2024-02-29T13:05:09.120001");
        // The ends of what a file can hold must not overflow.
        date(i32::MIN.into());
        timestamp(i64::MIN, 1000);
        timestamp(i64::MAX, 1_000_000);
    }

    #[test]
    fn decimals_keep_all_their_digits() {
        let converter =
            Converter { rules: Rules { integers: Integers::Refuse, max_bytes: 100 }, bytes: 0, column: "c".into() };
        for (decimal, want) in [
            (Decimal::from_i32(-1250, 9, 2), "-12.50"),
            (Decimal::from_i32(5, 9, 3), "0.005"),
            (Decimal::from_i64(7, 9, 0), "7"),
            (Decimal::from_bytes(vec![0xff, 0x85].into(), 5, 1), "-12.3"),
        ] {
            assert_eq!(converter.decimal(&decimal).unwrap(), want);
        }
        assert!(converter.decimal(&Decimal::from_i32(1, 9, -3)).is_err());
        assert!(converter.decimal(&Decimal::from_bytes(vec![1; 17].into(), 40, 0)).is_err());
    }
}
