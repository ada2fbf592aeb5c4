//! The cells of an `.xlsx` file as text. ECMA-376 Part 1 §18.

use std::collections::BTreeMap;

use super::xml::{Piece, Reader, attribute};
use super::zip::Archive;
use crate::workspace::Attached;

/// Why a spreadsheet has no text.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Problem {
    #[error("it is not a spreadsheet that can be read")]
    Unreadable,
    #[error("it is too large to be read")]
    TooLarge,
}

pub(super) fn is_spreadsheet(file: &Attached) -> bool {
    let name = file.name.to_ascii_lowercase();
    name.ends_with(".xlsx") || name.ends_with(".xlsm") || file.media_type == MEDIA_TYPE
}

/// Every sheet as CSV below a line with its name.
pub(super) fn render(bytes: &[u8]) -> Result<String, Problem> {
    let archive = Archive::open(bytes).ok_or(Problem::Unreadable)?;
    let mut most = MOST_UNPACKED;
    let mut read = |name: &str| {
        let content = archive.read(name, &mut most)?;
        Some(String::from_utf8_lossy(&content).into_owned())
    };
    let workbook = read("xl/workbook.xml").ok_or(Problem::Unreadable)?;
    let links = links(&read("xl/_rels/workbook.xml.rels").ok_or(Problem::Unreadable)?);
    let strings = shared_strings(&read("xl/sharedStrings.xml").unwrap_or_default());
    let mut out = NOTE.to_owned();
    for (name, link) in sheets(&workbook) {
        out.push_str(&format!("[sheet {name:?}]\n"));
        let target = links.get(&link).ok_or(Problem::Unreadable)?;
        // Charts have sheets of their own, without cells.
        if let Some(sheet) = read(target) {
            append_cells(&sheet, &strings, &mut out)?;
        }
    }
    Ok(out)
}

/// Names of sheets and their links, in the workbook's order.
fn sheets(workbook: &str) -> Vec<(String, String)> {
    let tags = Reader::new(workbook).filter_map(|piece| match piece {
        Piece::Open { name: "sheet", attributes } => {
            Some((attribute(attributes, "name")?, attribute(attributes, "id")?))
        }
        _ => None,
    });
    tags.take(MOST_SHEETS).collect()
}

/// Where links lead, by their ids.
fn links(rels: &str) -> BTreeMap<String, String> {
    let tags = Reader::new(rels).filter_map(|piece| match piece {
        Piece::Open { name: "Relationship", attributes } => {
            let target = attribute(attributes, "Target")?;
            let path = match target.strip_prefix('/') {
                Some(absolute) => absolute.to_owned(),
                None => format!("xl/{target}"),
            };
            Some((attribute(attributes, "Id")?, path))
        }
        _ => None,
    });
    tags.collect()
}

fn shared_strings(text: &str) -> Vec<String> {
    let mut strings = Vec::new();
    let (mut string, mut is_text, mut is_phonetic) = (String::new(), false, false);
    for piece in Reader::new(text) {
        match piece {
            Piece::Open { name: "t", .. } => is_text = true,
            Piece::Close { name: "t" } => is_text = false,
            Piece::Open { name: "rPh", .. } => is_phonetic = true,
            Piece::Close { name: "rPh" } => is_phonetic = false,
            Piece::Text(text) if is_text && !is_phonetic => string.push_str(&text),
            Piece::Close { name: "si" } => strings.push(std::mem::take(&mut string)),
            _ => {}
        }
    }
    strings
}

/// A cell that is being read.
#[derive(Default)]
struct Cell {
    column: usize,
    kind: String,
    text: String,
}

fn append_cells(sheet: &str, strings: &[String], out: &mut String) -> Result<(), Problem> {
    let (mut row, mut column) = (0, 0);
    let (mut cell, mut is_value) = (Cell::default(), false);
    for piece in Reader::new(sheet) {
        match piece {
            Piece::Open { name: "row", attributes } => {
                let given = attribute(attributes, "r").and_then(|number| number.parse().ok());
                let next = given.filter(|given| (row + 1..=MOST_ROWS).contains(given)).unwrap_or(row + 1);
                match next - row - 1 {
                    0 => {}
                    gap @ 1..=SHOWN_GAP => out.extend(std::iter::repeat_n('\n', gap)),
                    _ => out.push_str(&format!("[rows {} to {} are empty]\n", row + 1, next - 1)),
                }
                (row, column) = (next, 0);
            }
            Piece::Close { name: "row" } => out.push('\n'),
            Piece::Open { name: "c", attributes } => {
                let given = attribute(attributes, "r").and_then(|place| column_of(&place));
                let at = given.filter(|given| *given >= column).unwrap_or(column);
                cell = Cell { column: at, kind: attribute(attributes, "t").unwrap_or_default(), text: String::new() };
            }
            Piece::Open { name: "v" | "t", .. } => is_value = true,
            Piece::Close { name: "v" | "t" } => is_value = false,
            Piece::Text(text) if is_value => cell.text.push_str(&text),
            Piece::Close { name: "c" } => {
                // As many as cells before it, without those that stand there.
                let commas = cell.column - column.saturating_sub(1);
                out.extend(std::iter::repeat_n(',', commas));
                append_field(value_of(&cell, strings), out);
                column = cell.column + 1;
            }
            _ => {}
        }
        if out.len() > MOST_TEXT {
            return Err(Problem::TooLarge);
        }
    }
    Ok(())
}

fn value_of<'a>(cell: &'a Cell, strings: &'a [String]) -> &'a str {
    match (cell.kind.as_str(), cell.text.as_str()) {
        ("s", index) => index.trim().parse().ok().and_then(|at: usize| strings.get(at)).map_or("", String::as_str),
        ("b", "1") => "TRUE",
        ("b", "0") => "FALSE",
        (_, text) => text,
    }
}

/// The column of a place such as `AB12`, from 0.
fn column_of(place: &str) -> Option<usize> {
    let letters = place.bytes().take_while(u8::is_ascii_uppercase);
    let number = letters.take(4).fold(0, |number, letter| number * 26 + usize::from(letter - b'A') + 1);
    (1..=MOST_COLUMNS).contains(&number).then(|| number - 1)
}

/// RFC 4180 §2: fields with separators, quotes or line ends are quoted.
fn append_field(text: &str, out: &mut String) {
    if text.contains([',', '"', '\n', '\r']) {
        out.push('"');
        out.push_str(&text.replace('"', "\"\""));
        out.push('"');
    } else {
        out.push_str(text);
    }
}

const MEDIA_TYPE: &str = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";
const NOTE: &str = "[values of cells as CSV; dates are days since 1899-12-30; colours and formulas are left out]\n";
const MOST_UNPACKED: u64 = 64 << 20;
const MOST_TEXT: usize = 16 << 20;
const MOST_SHEETS: usize = 256;
/// What Excel has.
const MOST_ROWS: usize = 1 << 20;
const MOST_COLUMNS: usize = 1 << 14;
/// Empty rows that are shown as empty lines.
const SHOWN_GAP: usize = 20;

#[cfg(test)]
mod tests {
    use super::super::zip::tests::pack;
    use super::*;

    const RELS: &str = r#"<Relationships><Relationship Id="rId1" Target="worksheets/sheet1.xml"/><Relationship Id="rId2" Target="/xl/worksheets/sheet2.xml"/></Relationships>"#;
    const WORKBOOK: &str = r#"<workbook><sheets><sheet name="First &amp; only" sheetId="1" r:id="rId1"/><sheet name="B" sheetId="2" r:id="rId2"/></sheets></workbook>"#;
    const STRINGS: &str =
        "<sst><si><t>name</t></si><si><r><t>two </t></r><r><t>runs, \"q\"</t></r><rPh><t>no</t></rPh></si></sst>";

    fn shown(sheet: &str) -> Result<String, Problem> {
        let files: [(&str, &[u8]); 5] = [
            ("xl/workbook.xml", WORKBOOK.as_bytes()),
            ("xl/_rels/workbook.xml.rels", RELS.as_bytes()),
            ("xl/sharedStrings.xml", STRINGS.as_bytes()),
            ("xl/worksheets/sheet1.xml", sheet.as_bytes()),
            ("xl/worksheets/sheet2.xml", b"<worksheet><sheetData/></worksheet>"),
        ];
        let text = render(&pack(&files))?;
        let text = text.strip_prefix(NOTE).unwrap().strip_prefix("[sheet \"First & only\"]\n").unwrap();
        Ok(text.strip_suffix("[sheet \"B\"]\n").unwrap().to_owned())
    }

    #[test]
    fn cells_of_every_type_are_values() {
        let sheet = r#"<worksheet><sheetData>
            <row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="s"><v>1</v></c><c r="D1"><v>0.1</v></c></row>
            <row r="3"><c r="B3" t="b"><v>1</v></c><c r="C3" t="e"><v>#DIV/0!</v></c></row>
            <row r="4"><c r="A4" t="inlineStr"><is><t>in line</t></is></c><c r="B4" t="str"><f>A1&amp;"x"</f><v>namex</v></c>
              <c r="C4" s="3"/><c t="s"><v>99</v></c><c><v>7</v></c></row>
            <row r="500"><c r="A500"><v>1e3</v></c></row>
            </sheetData></worksheet>"#;
        assert_eq!(
            shown(sheet).unwrap(),
            "name,\"two runs, \"\"q\"\"\",,0.1\n\n,TRUE,#DIV/0!\nin line,namex,,,7\n[rows 5 to 499 are empty]\n1e3\n"
        );
    }

    #[test]
    fn a_sheet_that_lies_about_its_places_is_read_in_order_and_bounded() {
        assert_eq!(
            shown(r#"<row r="9999999999"><c r="ZZZZ1"><v>1</v></c><c r="A1"><v>2</v></c></row>"#).unwrap(),
            "1,2\n"
        );
        let wide = r#"<row><c r="XFD1"><v>1</v></c></row>"#.repeat(2000);
        assert_eq!(shown(&wide), Err(Problem::TooLarge));
    }

    #[test]
    fn what_is_no_workbook_is_refused() {
        assert_eq!(render(b""), Err(Problem::Unreadable));
        assert_eq!(render(&pack(&[("word/document.xml", b"<x/>")])), Err(Problem::Unreadable));
        let bomb = vec![b' '; 65 << 20];
        assert_eq!(render(&pack(&[("xl/workbook.xml", &bomb)])), Err(Problem::Unreadable));
    }

    proptest::proptest! {
        #[test]
        fn any_sheet_is_text_or_refused(
            parts in proptest::collection::vec(
                proptest::sample::select(vec![
                    "<row>", "<row r=\"7\">", "</row>", "<c r=\"C1\" t=\"s\">", "<c>", "</c>", "<v>", "</v>", "1", "é&#x;",
                    "<c/>", "<v/>", "<!--", "-->", "<![CDATA[", "]]>", "<", ">", "\"", "<t>", "</is>", "=", "<c r='ZZ'>",
                ]),
                0..40,
            )
        ) {
            let mut out = String::new();
            let _ = append_cells(&parts.concat(), &["shared".to_owned()], &mut out);
            let _ = (sheets(&parts.concat()), links(&parts.concat()), shared_strings(&parts.concat()));
            proptest::prop_assert!(out.len() < 100_000);
        }
    }

    #[test]
    fn columns_have_numbers() {
        let columns = ["A1", "Z9", "AA1", "XFD1", "XFE1", "1", "", "AAAAAAAAAAAAA"].map(column_of);
        assert_eq!(columns, [Some(0), Some(25), Some(26), Some(16383), None, None, None, None]);
    }
}
