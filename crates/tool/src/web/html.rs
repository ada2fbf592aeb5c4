//! Pages as text that a model can read.
//!
//! The title first, a line for each block, links with their addresses behind them. No layout, no scripts, no styles.

use reqwest::Url;

use super::entity::decode;
use super::markup::{Token, Tokens, attribute};

/// A text, up to where it was cut.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Readable {
    pub(super) text: String,
    /// There would have been more.
    pub(super) is_cut: bool,
}

/// Makes text of HTML, a little over `most` bytes of it. `base` is what its links are relative to.
pub(super) fn to_text(html: &str, base: &Url, most: usize) -> Readable {
    let mut page = Page {
        base: base.clone(),
        has_base: false,
        out: Writer::default(),
        title: None,
        link: None,
        hidden: 0,
        cells: 0,
    };
    let mut tokens = Tokens::new(html);
    let mut is_cut = false;
    while let Some(token) = tokens.next() {
        match token {
            Token::Text(text) if page.hidden == 0 => page.out.text(&decode(text), most),
            Token::Text(_) => {}
            Token::Open(name, behind) => page.open(&name, behind, &mut tokens),
            Token::Close(name) => page.close(&name),
        }
        if page.out.text.len() > most {
            is_cut = true;
            break;
        }
    }
    page.end_link();
    page.out.text.truncate(page.out.text.trim_end().len());
    let text = match page.title {
        Some(title) if page.out.text.is_empty() => title,
        Some(title) => format!("{title}\n\n{}", page.out.text),
        None => page.out.text,
    };
    Readable { text, is_cut }
}

/// Leaves text as it is, but for what only a terminal would make something of.
pub(super) fn plain(text: &str, most: usize) -> Readable {
    let mut kept = String::new();
    for character in text.chars().filter(|character| is_shown(*character)) {
        if kept.len() > most {
            return Readable { text: kept, is_cut: true };
        }
        kept.push(character);
    }
    Readable { text: kept, is_cut: false }
}

/// One line of a text that comes from elsewhere, at most `most` characters of it.
pub(super) fn line(text: &str, most: usize) -> String {
    let mut kept = String::new();
    let (mut count, mut is_gap) = (0, false);
    for character in text.chars() {
        if character.is_whitespace() {
            is_gap = !kept.is_empty();
        } else if is_shown(character) {
            if count >= most {
                kept.push('…');
                break;
            }
            if std::mem::take(&mut is_gap) {
                kept.push(' ');
                count += 1;
            }
            kept.push(character);
            count += 1;
        }
    }
    kept
}

fn is_shown(character: char) -> bool {
    !character.is_control() || matches!(character, '\n' | '\t')
}

/// The longest address that is shown behind a link, and the longest title and name of a picture.
const LONGEST_LINK: usize = 2048;
const LONGEST_TITLE: usize = 500;

struct Page {
    base: Url,
    /// The page itself said what its links are relative to. Its first word counts.
    has_base: bool,
    out: Writer,
    title: Option<String>,
    link: Option<Link>,
    /// How many elements are open whose text nobody sees.
    hidden: u32,
    /// Cells of the row so far.
    cells: u32,
}

/// A link that is open.
struct Link {
    href: String,
    /// Where its text begins.
    from: usize,
}

impl Page {
    fn open(&mut self, name: &str, behind: &str, tokens: &mut Tokens<'_>) {
        match name {
            "script" | "style" | "iframe" | "noembed" | "noframes" => {
                tokens.take_raw(name);
            }
            "title" if self.hidden == 0 => {
                let title = line(&decode(tokens.take_raw(name)), LONGEST_TITLE);
                if self.title.is_none() && !title.is_empty() {
                    self.title = Some(title);
                }
            }
            "svg" | "template" | "object" | "audio" | "video" | "canvas" => {
                // One that closes itself has nothing inside.
                if !behind.ends_with('/') {
                    self.hidden = self.hidden.saturating_add(1);
                }
            }
            _ if self.hidden > 0 => {}
            "base" if !self.has_base => {
                if let Some(base) = attribute(behind, "href").and_then(|href| join(&self.base, &href)) {
                    (self.base, self.has_base) = (base, true);
                }
            }
            "a" => {
                self.end_link();
                let href = attribute(behind, "href");
                self.link = href.map(|href| Link { href: href.into_owned(), from: self.out.text.len() });
            }
            "img" => {
                let about = attribute(behind, "alt").map(|alt| line(&alt, LONGEST_TITLE)).unwrap_or_default();
                if !about.is_empty() {
                    self.out.text(&format!("[image: {about}]"), usize::MAX);
                }
            }
            "br" => self.out.break_line(),
            "pre" => {
                self.out.gap(Gap::Blank);
                self.out.verbatim = self.out.verbatim.saturating_add(1);
            }
            "li" => {
                self.out.gap(Gap::Line);
                self.out.mark = Some("- ");
            }
            "tr" => {
                self.out.gap(Gap::Line);
                self.cells = 0;
            }
            "td" | "th" => {
                // Whatever the cell before it ended with, a row is a line.
                if self.cells > 0 {
                    self.out.gap = Gap::Space;
                }
                self.out.mark = Some(if self.cells > 0 { "| " } else { "" });
                self.cells = self.cells.saturating_add(1);
            }
            _ => {
                if let Some(level) = heading(name) {
                    self.out.gap(Gap::Blank);
                    self.out.mark = Some(&"###### "[6 - level..]);
                } else {
                    self.out.gap(gap_around(name));
                }
            }
        }
    }

    fn close(&mut self, name: &str) {
        match name {
            "svg" | "template" | "object" | "audio" | "video" | "canvas" => self.hidden = self.hidden.saturating_sub(1),
            _ if self.hidden > 0 => {}
            "a" => self.end_link(),
            "pre" => {
                self.out.verbatim = self.out.verbatim.saturating_sub(1);
                self.out.gap(Gap::Blank);
            }
            "li" | "tr" => {
                self.out.mark = None;
                self.out.gap(Gap::Line);
            }
            "td" | "th" => self.out.gap(Gap::Space),
            _ => {
                if heading(name).is_some() {
                    self.out.mark = None;
                    self.out.gap(Gap::Blank);
                } else {
                    self.out.gap(gap_around(name));
                }
            }
        }
    }

    /// Writes the address behind a link's text.
    fn end_link(&mut self) {
        let Some(Link { href, from }) = self.link.take() else { return };
        let text = self.out.text.get(from..).unwrap_or_default().trim();
        if text.is_empty() || href.trim().is_empty() || href.trim_start().starts_with('#') {
            return;
        }
        let Some(url) = join(&self.base, &href) else { return };
        if matches!(url.scheme(), "http" | "https") && url.as_str() != text && url.as_str().len() <= LONGEST_LINK {
            self.out.text.push_str(&format!(" ({url})"));
        }
    }
}

/// An address as a page writes it. Names and passwords in it are not shown.
fn join(base: &Url, href: &str) -> Option<Url> {
    let url = (href.len() <= LONGEST_LINK).then(|| base.join(href).ok())??;
    (url.username().is_empty() && url.password().is_none()).then_some(url)
}

fn heading(name: &str) -> Option<usize> {
    match name.as_bytes() {
        [b'h', level @ b'1'..=b'6'] => Some(usize::from(level - b'0')),
        _ => None,
    }
}

fn gap_around(name: &str) -> Gap {
    match name {
        "p" | "ul" | "ol" | "dl" | "table" | "blockquote" | "hr" | "figure" | "form" | "fieldset" => Gap::Blank,
        "div" | "section" | "article" | "aside" | "header" | "footer" | "nav" | "main" | "address" | "details"
        | "summary" | "dialog" | "dt" | "dd" | "caption" | "figcaption" | "thead" | "tbody" | "tfoot" | "option"
        | "optgroup" | "select" | "legend" | "menu" | "center" | "body" | "html" | "head" | "hgroup" | "search" => {
            Gap::Line
        }
        _ => Gap::None,
    }
}

/// What stands between one piece of text and the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
enum Gap {
    #[default]
    None,
    Space,
    Line,
    Blank,
}

/// Puts text together with as much space as a reader needs.
#[derive(Default)]
struct Writer {
    text: String,
    gap: Gap,
    /// What stands before the next text: the sign of a list, a heading or a cell.
    mark: Option<&'static str>,
    /// How many elements are open that keep their spaces.
    verbatim: u32,
}

impl Writer {
    /// Makes sure of a gap. Between a mark and its text there is none: a paragraph in a list is still in the list.
    fn gap(&mut self, gap: Gap) {
        if self.mark.is_none() {
            self.gap = self.gap.max(gap);
        }
    }

    /// A line's end that stands even where there is one already.
    fn break_line(&mut self) {
        self.gap = if self.gap >= Gap::Line { Gap::Blank } else { Gap::Line };
    }

    fn text(&mut self, text: &str, most: usize) {
        for character in text.chars() {
            let is_space = character.is_whitespace();
            if is_space && self.verbatim == 0 {
                self.gap(Gap::Space);
            } else if is_space && self.text.is_empty() {
                // Nothing stands before it.
            } else if is_shown(character) {
                self.settle();
                self.text.push(character);
                if self.text.len() > most {
                    return;
                }
            }
        }
    }

    fn settle(&mut self) {
        let gap = std::mem::take(&mut self.gap);
        let ends = |end: &str| self.text.is_empty() || self.text.ends_with(end);
        match gap {
            Gap::None => {}
            Gap::Space if ends("\n") || ends(" ") => {}
            Gap::Space => self.text.push(' '),
            Gap::Line if ends("\n") => {}
            Gap::Line => self.text.push('\n'),
            Gap::Blank if ends("\n\n") => {}
            Gap::Blank if ends("\n") => self.text.push('\n'),
            Gap::Blank => self.text.push_str("\n\n"),
        }
        self.text.push_str(self.mark.take().unwrap_or_default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(html: &str) -> String {
        let base = Url::parse("https://a.example/dir/page").unwrap();
        to_text(html, &base, 100_000).text
    }

    #[test]
    fn a_page_reads_like_a_page() {
        let html = "<!doctype html><html><head><title> Tom &amp;\n Jerry </title><style>p { x }</style>\
            <script>var a = '<p>no</p>';</script></head><body><nav><a href='/'>Home</a></nav>\
            <h2>Cats</h2><p>A  <b>cat</b>\n is <a href=\"cat?x=1&amp;y=2\">an <i>animal</i></a>.</p>\
            <ul><li>one<li>two</li></ul><table><tr><th>a<th>b</tr><tr><td>1</td><td>2</td></tr></table>\
            <pre>x\n  y</pre>after<br>line<br><br>gap <img src=x alt='A cat'><!-- no --></body></html>";
        let expected = "Tom & Jerry\n\nHome (https://a.example/)\n\n## Cats\n\n\
            A cat is an animal (https://a.example/dir/cat?x=1&y=2).\n\n- one\n- two\n\na | b\n1 | 2\n\nx\n  y\n\n\
            after\nline\n\ngap [image: A cat]";
        assert_eq!(read(html), expected);
    }

    #[test]
    fn lists_and_tables_stay_together() {
        for (html, expected) in [
            ("<ul><li><p>one</p></li><li><div>two</div><ul><li>three</ul></ul>x", "- one\n\n- two\n\n- three\n\nx"),
            ("<ul><li></li><li>two</ul>", "- two"),
            ("<table><tr><td><p>1</p></td><td><div>2</div><td></td><td>4</table>", "1 | 2 | 4"),
            ("<table><tr><td></td><td>2</tr><tr><td>3<tr><td>4</table>x", "| 2\n3\n4\n\nx"),
            ("<h3></h3>x<h1>y</h1>z", "x\n\n# y\n\nz"),
            ("<td>a</td><td>b", "a | b"),
        ] {
            assert_eq!(read(html), expected, "{html}");
        }
    }

    #[test]
    fn links_are_shown_where_they_lead_somewhere() {
        for (html, expected) in [
            ("<a href=/x>y</a>", "y (https://a.example/x)"),
            ("<a href='#x'>y</a>", "y"),
            ("<a href='javascript:x()'>y</a>", "y"),
            ("<a href='mailto:a@b'>y</a>", "y"),
            ("<a href=/x></a>z", "z"),
            ("<a>y</a>", "y"),
            ("<a href=/x>y<a href=/z>w</a>", "y (https://a.example/x)w (https://a.example/z)"),
            ("<a href=https://b.example/>https://b.example/</a>", "https://b.example/"),
            ("<a href=https://me:canary@b.example/>y</a>", "y"),
            ("<a href=/x>y", "y (https://a.example/x)"),
            ("<base href=https://b.example/c/><a href=x>y</a>", "y (https://b.example/c/x)"),
            ("<p><a href=/x>y</a> z", "y (https://a.example/x) z"),
        ] {
            assert_eq!(read(html), expected, "{html}");
        }
        assert_eq!(read(&format!("<a href='/{}'>y</a>", "x".repeat(3000))), "y");
    }

    #[test]
    fn what_nobody_sees_is_left_out() {
        for (html, expected) in [
            ("a<svg><title>no</title><g>no</g></svg>b", "ab"),
            ("a<svg/>b", "ab"),
            ("a<template><p>no</p></template>b", "ab"),
            ("a<iframe><p>no</iframe>b", "ab"),
            ("a<script>no", "a"),
            ("a</svg></template>b", "ab"),
            ("<noscript>yes</noscript>", "yes"),
            ("a\u{1b}[31mb\u{7}\u{0}c\u{9b}d", "a[31mbcd"),
            ("a&#27;&#8;b", "ab"),
            ("a&nbsp;&nbsp; b", "a b"),
        ] {
            assert_eq!(read(html), expected, "{html}");
        }
    }

    #[test]
    fn plain_text_stays_but_for_control_characters() {
        let kept = plain("a\tb\r\n<p>\u{1b}]0;x\u{7}\u{85}é", 100);
        assert_eq!(kept, Readable { text: "a\tb\n<p>]0;xé".into(), is_cut: false });
        let cut = plain(&"é".repeat(100), 10);
        assert!(cut.is_cut && cut.text.len() <= 12);
        assert_eq!(line("  a\n\tb \u{1b}c ", 10), "a b c");
        assert_eq!(line("abcdef", 3), "abc…");
        assert_eq!(line("abc  ", 3), "abc");
    }

    #[test]
    fn bombs_cost_what_their_length_says() {
        let base = Url::parse(&format!("https://a.example/{}/", "x".repeat(2000))).unwrap();
        let many = |unit: &str, times: usize| unit.repeat(times);
        for html in [
            many("<", 2_000_000),
            many("<div>", 100_000),
            many("<a href=x>", 100_000),
            many("<a href=x>y", 100_000),
            many("<svg>", 100_000),
            many("<script>", 100_000),
            many("</", 500_000),
            many("<!", 500_000),
            many("<!--", 500_000),
            many("<a b='", 100_000),
            many("<a b=", 200_000),
            many("&", 1_000_000),
            many("&#", 500_000),
            many("<title>", 100_000),
            many("<script></scrip", 100_000),
            many("<pre> ", 100_000),
            many("<base href=x/>", 50_000),
            many("<td>x", 100_000),
            many("\u{0}", 1_000_000),
        ] {
            let started = std::time::Instant::now();
            let text = to_text(&html, &base, 50_000).text;
            assert!(text.len() < 60_000, "{}", &html[..10]);
            assert!(started.elapsed().as_secs() < 20, "{}", &html[..10]);
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_a_page(html in "[<>/!a-c&;#x='\" \n-]{0,200}|.{0,100}") {
            let base = Url::parse("https://a.example/").unwrap();
            let whole = to_text(&html, &base, 10_000);
            proptest::prop_assert!(!whole.is_cut);
            proptest::prop_assert!(whole.text.chars().all(is_shown));
            let most = whole.text.len() / 2;
            proptest::prop_assert!(to_text(&html, &base, most).text.len() <= whole.text.len());
        }
    }
}
