//! Reads the item's attachments, and nothing else.
//!
//! They are read as they were attached, not as programs of the sample may have left them.
//!
//! - `zip`, `xml` as much of both as a spreadsheet needs, bounded;
//! - `spreadsheet` the cells of an `.xlsx` file as text.

mod spreadsheet;
mod xml;
mod zip;

use std::borrow::Cow;

use proofmark_artefact::suite::plan::ToolPlan;
use proofmark_artefact::text::escaped;

use crate::args::Args;
use crate::build::definition;
use crate::output;
use crate::tool::{Call, Calling, Failure, Tool, ToolError, ToolOutput};
use crate::workspace::{Attached, Workspace};

/// The `file_read` tool.
pub(crate) struct FileRead {
    definition: ToolPlan,
    max_output: u64,
}

impl FileRead {
    /// Everything is in memory already and every step is bounded, so that the timeout has nothing to end.
    pub(crate) fn new(max_output: u64, _timeout: f64) -> Self {
        let about = "Reads a file of the task as text. Spreadsheets (.xlsx) come as CSV, sheet by sheet. Without \
                     `path` it lists the files. A long file comes in parts: go on with the `offset` that is named at \
                     the end of a part.";
        let arguments = [
            ("path", "string", "The file's name, for example `data.csv`.", false),
            ("offset", "integer", "Where to begin, in bytes. Default: 0.", false),
            ("limit", "integer", "How much to read at most, in bytes.", false),
        ];
        Self { definition: definition("file_read", about, &arguments), max_output }
    }

    fn read(&self, call: &Call<'_>) -> Result<ToolOutput, ToolError> {
        let args = Args::of("file_read", call.args, &["path", "offset", "limit"])?;
        let (offset, limit) = (args.optional_count("offset")?, args.optional_count("limit")?);
        if limit == Some(0) {
            return Err(ToolError::bad_arguments("the argument `limit` of `file_read` is at least 1"));
        }
        let Some(path) = args.optional_text("path")?.filter(|path| !path.is_empty()) else {
            let content = output::cut(list(call.workspace).into_bytes(), self.max_output);
            return Ok(ToolOutput { content, ..ToolOutput::default() });
        };
        let file = find(path, call.workspace)?;
        let source = Some(file.name.clone());
        match text_of(file) {
            Ok(text) => {
                let most = limit.unwrap_or(u64::MAX).min(self.max_output.saturating_sub(NOTICE));
                let content = part(&text, offset.unwrap_or(0), most).into_bytes();
                Ok(ToolOutput { content, source, is_error: false })
            }
            Err(note) => {
                let content = output::cut(note.into_bytes(), self.max_output);
                Ok(ToolOutput { content, source, is_error: true })
            }
        }
    }
}

impl Tool for FileRead {
    fn definition(&self) -> &ToolPlan {
        &self.definition
    }

    fn call<'a>(&'a self, call: Call<'a>) -> Calling<'a> {
        Box::pin(async move { self.read(&call) })
    }
}

fn find<'a>(path: &str, workspace: &'a Workspace) -> Result<&'a Attached, ToolError> {
    let name = path.strip_prefix("/work/").or_else(|| path.strip_prefix("./")).unwrap_or(path);
    if let Some(file) = workspace.attached().iter().find(|file| file.name == name) {
        return Ok(file);
    }
    let shown: String = escaped(path).chars().take(NAME).collect();
    if name.contains('/') || name == ".." || name == "." {
        let message = format!("`{shown}` is not a file of the task. {}", list(workspace));
        return Err(ToolError::new(Failure::Refused, message));
    }
    Err(ToolError::new(Failure::NotFound, format!("the task has no file `{shown}`. {}", list(workspace))))
}

fn list(workspace: &Workspace) -> String {
    let files = workspace.attached();
    if files.is_empty() {
        return "The task has no files.".to_owned();
    }
    let mut text = "The task's files:".to_owned();
    for file in files.iter().take(LISTED) {
        text.push_str(&format!("\n{} ({})", escaped(&file.name), describe(file)));
    }
    if files.len() > LISTED {
        text.push_str(&format!("\nand {} more", files.len() - LISTED));
    }
    text
}

fn describe(file: &Attached) -> String {
    format!("{}, {} bytes", escaped(&file.media_type), file.bytes.len())
}

/// The file as text, or what to say of one that has none.
fn text_of(file: &Attached) -> Result<Cow<'_, str>, String> {
    let binary = |why: &str| {
        let (name, what) = (escaped(&file.name), describe(file));
        format!("[{name}: {what}; {why}. A program can open it at `/work/{name}`.]")
    };
    if spreadsheet::is_spreadsheet(file) {
        return spreadsheet::render(&file.bytes).map(Cow::Owned).map_err(|problem| binary(&problem.to_string()));
    }
    if let Ok(text) = std::str::from_utf8(&file.bytes) {
        // NUL is a character, but no text that people write has one.
        return if text.contains('\0') { Err(binary("it is not text")) } else { Ok(Cow::Borrowed(text)) };
    }
    let is_binary = BINARY.iter().any(|kind| file.media_type.starts_with(kind)) || file.bytes.contains(&0);
    if is_binary {
        return Err(binary("it is not text"));
    }
    let text = String::from_utf8_lossy(&file.bytes);
    Ok(Cow::Owned(format!("[not UTF-8: bytes that are no characters are shown as \u{fffd}]\n{text}")))
}

/// A part of a text between characters, and where the next one begins.
fn part(text: &str, offset: u64, most: u64) -> String {
    let size = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
    let start = text.floor_char_boundary(size(offset));
    // At least one character, so that going on comes to an end.
    let least = text[start..].chars().next().map_or(0, char::len_utf8);
    let end = text.floor_char_boundary(start.saturating_add(size(most))).max(start + least);
    let mut shown = text[start..end].to_owned();
    if start > 0 && start == text.len() {
        return format!("[the file ends at {} bytes]\n", text.len());
    }
    if end < text.len() {
        shown.push_str(&format!("\n[bytes {start} to {end} of {}; go on with `offset` {end}]\n", text.len()));
    }
    shown
}

/// Room for the line that says where to go on.
const NOTICE: u64 = 128;
/// Characters of a name that are repeated to the model.
const NAME: usize = 128;
/// Files that are listed.
const LISTED: usize = 100;
const BINARY: [&str; 4] = ["image/", "audio/", "video/", "application/pdf"];

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn files(files: &[(&str, &str, &[u8])]) -> Workspace {
        let files = files.iter().map(|(name, media_type, bytes)| Attached {
            name: (*name).to_owned(),
            media_type: (*media_type).to_owned(),
            bytes: (*bytes).into(),
        });
        Workspace::new(files.collect::<Arc<[_]>>(), None)
    }

    fn call(workspace: &Workspace, max_output: u64, args: &str) -> Result<ToolOutput, ToolError> {
        let args = proofmark_canon::json::parse(args.as_bytes()).unwrap();
        FileRead::new(max_output, 1.0).read(&Call { args: &args, workspace })
    }

    fn shown(workspace: &Workspace, args: &str) -> String {
        match call(workspace, 4096, args) {
            Ok(output) => String::from_utf8(output.content).unwrap(),
            Err(error) => format!("{} {}", error.failure.as_str(), error.message),
        }
    }

    #[test]
    fn a_file_is_read_by_its_name_and_nothing_else_is() {
        let workspace = files(&[("a.csv", "text/csv", b"x,y\n"), ("b.txt", "text/plain", b"b")]);
        let list = "The task's files:\na.csv (text/csv, 4 bytes)\nb.txt (text/plain, 1 bytes)";
        for path in ["a.csv", "/work/a.csv", "./a.csv"] {
            let output = call(&workspace, 4096, &format!(r#"{{"path":"{path}"}}"#)).unwrap();
            assert_eq!(
                output,
                ToolOutput { content: b"x,y\n".to_vec(), source: Some("a.csv".into()), is_error: false }
            );
        }
        for (args, expected) in [
            (r#"{}"#, list.to_owned()),
            (r#"{"path":""}"#, list.to_owned()),
            (r#"{"path":"c"}"#, format!("not_found the task has no file `c`. {list}")),
            (r#"{"path":"A.CSV"}"#, format!("not_found the task has no file `A.CSV`. {list}")),
            (r#"{"path":"/etc/passwd"}"#, format!("refused `/etc/passwd` is not a file of the task. {list}")),
            (r#"{"path":"../a.csv"}"#, format!("refused `../a.csv` is not a file of the task. {list}")),
            (r#"{"path":"/work/../a.csv"}"#, format!("refused `/work/../a.csv` is not a file of the task. {list}")),
            (r#"{"path":".."}"#, format!("refused `..` is not a file of the task. {list}")),
        ] {
            assert_eq!(shown(&workspace, args), expected, "{args}");
        }
        assert_eq!(shown(&Workspace::empty(), "{}"), "The task has no files.");
    }

    #[test]
    fn a_long_file_comes_in_parts_that_make_up_the_whole() {
        let whole = "aé€😀\n".repeat(100);
        let workspace = files(&[("a", "text/plain", whole.as_bytes())]);
        for limit in [1, 2, 3, 7, 100, 5000] {
            let (mut offset, mut read) = (0, String::new());
            loop {
                let text = shown(&workspace, &format!(r#"{{"path":"a","offset":{offset},"limit":{limit}}}"#));
                let Some((part, rest)) = text.split_once("\n[bytes ") else {
                    read.push_str(&text);
                    break;
                };
                read.push_str(part);
                offset = rest.rsplit_once(' ').unwrap().1.trim_end_matches("]\n").parse().unwrap();
            }
            assert_eq!(read, whole, "{limit}");
        }
        let first = call(&workspace, 300, r#"{"path":"a"}"#).unwrap().content;
        assert!(first.len() <= 300, "{}", first.len());
        assert!(first.ends_with(b"\n[bytes 0 to 171 of 1100; go on with `offset` 171]\n"), "{}", first.escape_ascii());
        assert_eq!(shown(&workspace, r#"{"path":"a","offset":9999}"#), "[the file ends at 1100 bytes]\n");
        assert!(shown(&workspace, r#"{"path":"a","limit":0}"#).starts_with("bad_arguments"));
    }

    #[test]
    fn what_is_no_text_is_described() {
        let workspace = files(&[
            ("p.png", "image/png", b"\x89PNG\r\n\x1a\n"),
            ("z", "application/octet-stream", b"a\0b"),
            ("latin.txt", "text/plain", b"caf\xe9"),
            ("empty", "text/plain", b""),
            ("x.xlsx", "application/octet-stream", b"PK nothing"),
        ]);
        for (name, expected) in [
            ("p.png", "[p.png: image/png, 8 bytes; it is not text. A program can open it at `/work/p.png`.]"),
            ("z", "[z: application/octet-stream, 3 bytes; it is not text. A program can open it at `/work/z`.]"),
            ("latin.txt", "[not UTF-8: bytes that are no characters are shown as \u{fffd}]\ncaf\u{fffd}"),
            ("empty", ""),
        ] {
            assert_eq!(shown(&workspace, &format!(r#"{{"path":"{name}"}}"#)), expected);
        }
        assert!(shown(&workspace, r#"{"path":"x.xlsx"}"#).contains("it is not a spreadsheet that can be read"));
        assert!(call(&workspace, 4096, r#"{"path":"p.png"}"#).unwrap().is_error);
    }
    proptest::proptest! {
        #[test]
        fn a_part_is_never_longer_than_it_may_be(text in "\\PC{0,40}", offset in 0u64..60, most in 4u64..60) {
            let shown = part(&text, offset, most);
            let body = shown.split("\n[bytes ").next().unwrap();
            proptest::prop_assert!(body.len() as u64 <= most || shown.starts_with("[the file ends"));
        }
    }
}
