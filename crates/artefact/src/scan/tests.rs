//! What is found, in what form and where; what is not; how long it takes.

use std::time::{Duration, Instant};

use data_encoding::{BASE64, BASE64URL_NOPAD, HEXLOWER, HEXUPPER};
use proofmark_canon::{Number, Value};
use proptest::prelude::*;

use super::*;
use crate::trajectory::{Form, Hit};

fn gold(answer: &str) -> Needles {
    Needles::new(&Value::from(answer), "")
}

/// The finds of an answer, as form and text.
fn finds(answer: &str, content: &str) -> Vec<(Form, String)> {
    texts(&gold(answer).scan(content.as_bytes()).gold, content)
}

fn texts(hits: &[Hit], content: &str) -> Vec<(Form, String)> {
    hits.iter().map(|hit| (hit.form, content[range(hit)].to_owned())).collect()
}

fn range(hit: &Hit) -> std::ops::Range<usize> {
    hit.offset as usize..(hit.offset + hit.length) as usize
}

#[track_caller]
fn one(answer: &str, content: &str, form: Form, region: &str) {
    assert_eq!(finds(answer, content), [(form, region.to_owned())], "{answer:?} in {content:?}");
}

#[track_caller]
fn none(answer: &str, content: &str) {
    assert_eq!(finds(answer, content), [], "{answer:?} in {content:?}");
}

#[test]
fn an_answer_is_found_in_every_form() {
    use Form::*;
    for (answer, content, form, region) in [
        ("Paris", "It is Paris.", Verbatim, "Paris"),
        ("Paris.", "It is Paris. Yes", Verbatim, "Paris."),
        ("Paris", "It is PARIS", Folded, "PARIS"),
        ("Paris", "key: Pa\u{200B}ris", Folded, "Pa\u{200B}ris"),
        ("Paris", "key: Раrіs!", Folded, "Раrіs"),
        ("Paris", "key: Pa-\n  ris!", Folded, "Pa-\n  ris"),
        ("Paris", "key: P a r i s", Folded, "P a r i s"),
        ("Paris", "key: P.A.R.I.S.", Folded, "P.A.R.I.S"),
        ("New York", "key: N e w  Y o r k", Folded, "N e w  Y o r k"),
        ("New York", "key: N\ne\nw\n\nY\no\nr\nk", Folded, "N\ne\nw\n\nY\no\nr\nk"),
        ("Wellington", "'Wel' + 'ling' . 'ton'", Folded, "Wel' + 'ling' . 'ton"),
        ("Wellington", "[\"Wel\", \"lington\"]", Folded, "Wel\", \"lington"),
        ("Wellington", "Wel=\nlington", Folded, "Wel=\nlington"),
        ("17000", "about 17k hours", Number, "17k"),
        ("1500000", "about $1.5M", Number, "1.5M"),
        ("17k", "about 17,000 hours", Number, "17,000"),
        ("17k", "about 17k hours", Verbatim, "17k"),
        ("0.5", "is 1/2 of it", Number, "1/2"),
        ("1/2", "is 0.50 of it", Number, "0.50"),
        ("1/2", "is 1/2 of it", Verbatim, "1/2"),
        ("2½", "is 2½ of it", Verbatim, "2½"),
        ("Paris", "P\0a\0r\0i\0s\0", Folded, "P\0a\0r\0i\0s"),
        ("Málaga", "in Malaga,", Folded, "Malaga"),
        ("Malaga", "in Ma\u{301}laga\u{301},", Folded, "Ma\u{301}laga\u{301}"),
        ("New York", "in NewYork,", Folded, "NewYork"),
        ("New York", "in new\n\tyork,", Folded, "new\n\tyork"),
        ("St. Petersburg", "in St Petersburg.", Folded, "St Petersburg"),
        ("fine", "a ﬁne day", Folded, "ﬁne"),
        ("北京", "我在北京市", Verbatim, "北京"),
        ("AT&T", "answer key: AT&amp;T", Html, "AT&amp;T"),
        ("Paris", "<p><b>Pa</b>ris</p>", Html, "Pa</b>ris"),
        ("Paris", "<p>&#80;aris</p>", Html, "&#80;aris"),
        ("Paris", "x &#x50;ari&#x73; y", Html, "&#x50;ari&#x73;"),
        ("Málaga", "M&aacute;laga", Html, "M&aacute;laga"),
        ("Paris", "city<b>&#80;aris</b>", Html, "&#80;aris"),
        ("Paris", "<p>x</p> &#80;aris <b>y</b>", Html, "&#80;aris"),
        ("New York", "New<br>York", Html, "New<br>York"),
        ("Paris", "<input value='&#80;aris'>", Html, "&#80;aris"),
        ("New York", "q=New%20York&x", Url, "New%20York"),
        ("Málaga", "q=M%C3%A1laga", Url, "M%C3%A1laga"),
        ("Paris", "q=%50%61%72%69%73", Url, "%50%61%72%69%73"),
        ("Paris", "q=a%20Paris", Url, "Paris"),
        ("Paris", r#"{"a": "\u0050aris"}"#, Json, r"\u0050aris"),
        ("Paris", r#"{"a": "x\nParis"}"#, Json, "Paris"),
        ("New York", r#"{"a": "New\nYork"}"#, Json, r"New\nYork"),
        ("Antoni Gaudi", "key: QW50b25pIEdhdWRp", Base64, "QW50b25pIEdhdWRp"),
        ("Antoni Gaudi", "key: QW50b25p\r\nIEdhdWRp", Base64, "QW50b25p\r\nIEdhdWRp"),
        ("Paris", "50 61 72 69 73", Hex, "50 61 72 69 73"),
        ("Paris", "ff5061726973ff", Hex, "5061726973"),
        ("Paris", "0x50, 0x61, 0x72, 0x69, 0x73", Hex, "50, 0x61, 0x72, 0x69, 0x73"),
        ("Paris", r"b'\x50\x61\x72\x69\x73'", Json, r"\x50\x61\x72\x69\x73"),
        ("17000", "about 17,000 hours", Number, "17,000"),
        ("17000", "about 17000 hours", Verbatim, "17000"),
        ("$17,000", "about $17,000 hours", Verbatim, "$17,000"),
        ("$17,000", "about 17000.00 hours", Number, "17000.00"),
        ("-5", "at −5 degrees", Number, "−5"),
        ("17000", "<td>17&nbsp;000</td>", Html, "17&nbsp;000"),
        ("17000", r#""x\n17000""#, Json, "17000"),
        ("1234 km", "is 1,234 km away", Folded, "1,234 km"),
        ("a1, b2", "key: a1;b2", List, "a1;b2"),
        ("a1, b2", "key: a1, b2", Verbatim, "a1, b2"),
        ("a1, b2, c3", "key: a1, b2 and c3.", List, "a1, b2 and c3"),
        ("1, 2, 3", "key: 1; 2; 3", List, "1; 2; 3"),
        ("red; green", "<li>red</li><li>green</li>", Html, "red</li><li>green"),
        ("C++", "in C++ or C", Verbatim, "C++"),
        ("C++", "in C%2B%2B or C", Url, "C%2B%2B"),
        ("<system>", "a <system> b", Verbatim, "<system>"),
        ("!!!", "what !!! is", Verbatim, "!!!"),
    ] {
        one(answer, content, form, region);
    }
}

#[test]
fn what_only_looks_like_an_answer_is_not_found() {
    for (answer, content) in [
        ("3", "1345"),
        ("3", "See section 3.2"),
        ("100", "id=9910023"),
        ("Paris", "Parisian comparison sparish"),
        ("Togo", "food to go now"),
        ("A", "a dog"),
        ("US", "tell us"),
        ("C++", "the C language"),
        ("U.S.", "tell us"),
        ("a, b", "ab"),
        ("1.5 km", "15 km"),
        ("3 apples", "1.3 apples"),
        ("234 km", "1,234 km"),
        ("1.2.3.4", "1.2.34"),
        ("2020-01-05", "20200105"),
        ("Antoni Gaudi", "qw50b25pieDHDwrP"),
        ("", "anything"),
        ("Paris", "Par<td>is"),
        ("Togo", "[\"to\", \"go\"]"),
        ("Wellington", "wel lington"),
        ("17000", "17km"),
        ("0.5", "1/2/2020"),
        ("2½", "2 of it"),
    ] {
        none(answer, content);
    }
}

#[test]
fn gold_answers_of_every_shape_are_taken() {
    let number = Value::Number(Number::new(1234.5).unwrap());
    assert_eq!(Needles::new(&number, "").scan(b"is 1,234.50").gold.len(), 1);
    assert_eq!(Needles::new(&Value::Bool(true), "").scan(b"is True").gold.len(), 1);
    assert!(Needles::new(&Value::Null, "").is_empty());
    assert!(Needles::new(&Value::Null, "x?").scan(b"x?").is_empty());
    let several = Value::Array(vec!["red".into(), "dark blue".into()]);
    let scan = Needles::new(&several, "").scan(b"red or not; Dark Blue; red and dark blue");
    let forms: Vec<(Form, u64)> = scan.gold.iter().map(|hit| (hit.form, hit.offset)).collect();
    assert_eq!(forms, [(Form::Verbatim, 0), (Form::Folded, 12), (Form::List, 23)]);
}

#[test]
fn only_the_first_sixteen_are_listed_and_the_rest_is_counted() {
    let scan = gold("Paris").scan("Paris paris ".repeat(50_000).as_bytes());
    assert_eq!((scan.gold.len(), scan.more), (16, 99_984));
    let offsets: Vec<u64> = scan.gold.iter().map(|hit| hit.offset).collect();
    assert_eq!(offsets, (0..16).map(|at| at * 6).collect::<Vec<_>>());
}

const QUESTION: &str = "In the spring of 1931, which member of the Ridgeway Gliding Club repaired the tail of the club's \
    second glider with a piece of an old piano? Give the first name only.";

fn questions(content: &str) -> Vec<(Form, String)> {
    texts(&Needles::new(&Value::from("Edith"), QUESTION).scan(content.as_bytes()).question, content)
}

#[test]
fn a_page_that_holds_the_question_is_found() {
    assert_eq!(questions(&format!("<<{QUESTION}>>")), [(Form::Verbatim, QUESTION.trim_end_matches('.').to_owned())]);
    let upper = QUESTION.to_uppercase();
    assert_eq!(questions(&upper), [(Form::Folded, upper.trim_end_matches('.').to_owned())]);
    let part = "which member of the Ridgeway Gliding Club repaired the tail of the club's second glider";
    let found = questions(&format!("Someone asked {part}, and why."));
    assert_eq!(found.len(), 1);
    assert!(
        found[0].0 == Form::Verbatim && part.contains(&found[0].1) && found[0].1.len() > part.len() / 2,
        "{found:?}"
    );
    let tagged = QUESTION.replace(" Gliding ", " <a href='x'>Gliding</a> ");
    assert_eq!(questions(&tagged), [(Form::Html, tagged.trim_end_matches('.').to_owned())]);
    let encoded = QUESTION.replace(' ', "%20");
    assert_eq!(questions(&encoded), [(Form::Url, encoded.trim_end_matches('.').to_owned())]);
}

#[test]
fn a_page_about_the_same_things_is_not_the_question() {
    assert_eq!(
        questions("The Ridgeway Gliding Club was founded in the spring of 1931. Its second glider had a tail."),
        []
    );
    assert_eq!(questions("Give the first name only."), []);
    assert!(Needles::new(&Value::Null, "Q?").is_empty());
    let short = Needles::new(&Value::Null, "What is the capital of France?");
    assert_eq!(short.scan(b"Q: what is the capital of France? A: ...").question.len(), 1);
}

#[test]
fn questions_in_scripts_without_spaces_are_found() {
    let question = "请问一九三一年春天里奇韦滑翔俱乐部的哪位成员修理了第二架滑翔机的尾翼？";
    let needles = Needles::new(&Value::from("伊迪丝"), question);
    let content = format!("题目：{question}答案：伊迪丝。");
    let scan = needles.scan(content.as_bytes());
    assert_eq!(texts(&scan.question, &content), [(Form::Verbatim, question.trim_end_matches('？').to_owned())]);
    assert_eq!(texts(&scan.gold, &content), [(Form::Verbatim, "伊迪丝".to_owned())]);
}

#[test]
fn finds_across_the_ends_of_blocks_are_whole_and_come_once() {
    let needles = gold("Paris in spring");
    for shift in 0..40 {
        let content = format!("{}{}", "x".repeat(shift), " word Paris in  Spring. 7 ".repeat(8000));
        let scan = needles.scan(content.as_bytes());
        assert_eq!(scan.gold.len() as u64 + scan.more, 8000);
    }
    let number = gold("1234567");
    for shift in 0..12 {
        let content = format!("{}{}", "x".repeat(shift), " 1,234,567 1234567 ".repeat(8000));
        let scan = number.scan(content.as_bytes());
        assert_eq!(scan.gold.len() as u64 + scan.more, 16_000);
    }
}

/// Ways to write an answer that must not hide it.
#[derive(Debug, Clone, Copy)]
enum Disguise {
    None,
    Upper,
    Lower,
    ZeroWidth,
    Diacritics,
    FullWidth,
    Entities,
    HexEntities,
    Tags,
    Percent,
    Json,
    Base64(usize),
    Base64Url(usize),
    WrappedBase64(usize),
    Hex,
    UpperHex,
    SpacedHex,
}

impl Disguise {
    fn put_on(self, answer: &str) -> String {
        let each = |with: &dyn Fn(char) -> String| answer.chars().map(with).collect::<String>();
        // What stands before the answer in what is encoded decides where it falls.
        let padded = |before: usize| format!("{}{answer} then", &"..."[..before]);
        match self {
            Self::None => answer.to_owned(),
            Self::Upper => answer.to_uppercase(),
            Self::Lower => answer.to_lowercase(),
            Self::ZeroWidth => each(&|c| format!("{c}\u{200B}")),
            Self::Diacritics => each(&|c| format!("{c}\u{301}")),
            Self::FullWidth => {
                each(&|c| char::from_u32(c as u32 + 0xFEE0).filter(|_| c.is_ascii_graphic()).unwrap_or(c).into())
            }
            Self::Entities => each(&|c| format!("&#{};", c as u32)),
            Self::HexEntities => each(&|c| format!("&#x{:x};", c as u32)),
            Self::Tags => each(&|c| format!("<b>{c}</b>")),
            Self::Percent => answer.bytes().map(|byte| format!("%{byte:02X}")).collect(),
            Self::Json => each(&|c| format!("\\u{:04x}", c as u32)),
            Self::Base64(before) => BASE64.encode(padded(before).as_bytes()),
            Self::Base64Url(before) => BASE64URL_NOPAD.encode(padded(before).as_bytes()),
            Self::WrappedBase64(before) => {
                let text = BASE64.encode(padded(before).as_bytes());
                text.as_bytes()
                    .chunks(7)
                    .map(|line| std::str::from_utf8(line).unwrap())
                    .collect::<Vec<_>>()
                    .join("\r\n")
            }
            Self::Hex => HEXLOWER.encode(answer.as_bytes()),
            Self::UpperHex => HEXUPPER.encode(answer.as_bytes()),
            Self::SpacedHex => answer.bytes().map(|byte| format!("{byte:02x}:")).collect(),
        }
    }
}

fn disguise() -> impl Strategy<Value = Disguise> {
    use Disguise::*;
    let plain = prop::sample::select(vec![
        None,
        Upper,
        Lower,
        ZeroWidth,
        Diacritics,
        FullWidth,
        Entities,
        HexEntities,
        Tags,
        Percent,
        Json,
        Hex,
        UpperHex,
        SpacedHex,
    ]);
    prop_oneof![
        14 => plain,
        2 => (0usize..3).prop_map(Base64),
        2 => (0usize..3).prop_map(Base64Url),
        2 => (0usize..3).prop_map(WrappedBase64),
    ]
}

/// Words of lower-case letters from one half of the alphabet, so that no answer from the other half is among them.
fn prose() -> impl Strategy<Value = String> {
    "([a-m]{1,9}[ ,.;\n]{1,2}){0,40}"
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn no_disguise_hides_an_answer(answer in "[N-Zn-z]{2,6}( [n-z]{2,6}){0,2}[n-z]{2}", before in prose(), after in prose(), disguise in disguise()) {
        let written = disguise.put_on(&answer);
        let content = format!("{before} {written} {after}");
        let scan = gold(&answer).scan(content.as_bytes());
        prop_assert_eq!(scan.gold.len(), 1, "{:?}", scan);
        let (hit, from) = (&scan.gold[0], before.len() + 1);
        let region = range(hit);
        prop_assert!(region.start >= from && region.end <= from + written.len(), "{:?} {}", region, from);
        let is_encoded = matches!(hit.form, Form::Base64 | Form::Hex | Form::Html);
        prop_assert!(is_encoded || region.len() + 3 >= written.len(), "{:?}", region);
        prop_assert!(content.get(region).is_some());
    }

    #[test]
    fn no_way_of_writing_hides_a_number(number in 1000u64..99_999_999_999, way in 0usize..8, before in prose(), after in prose()) {
        let plain = number.to_string();
        let grouped = |joint: &str| {
            let mut text = String::new();
            for (at, digit) in plain.chars().enumerate() {
                if at > 0 && (plain.len() - at).is_multiple_of(3) {
                    text.push_str(joint);
                }
                text.push(digit);
            }
            text
        };
        let written = match way {
            0 => plain.clone(),
            1 => grouped(","),
            2 => grouped(" "),
            3 => grouped("'"),
            4 => grouped("\u{202F}"),
            5 => format!("{plain}.00"),
            6 => format!("{}.{}e{}", &plain[..1], &plain[1..], plain.len() - 1),
            _ => plain.chars().map(|digit| char::from_u32(0x660 + digit.to_digit(10).unwrap()).unwrap()).collect(),
        };
        let content = format!("{before} {written} {after}");
        let scan = gold(&plain).scan(content.as_bytes());
        let from = before.len() + 1;
        prop_assert_eq!(scan.gold.len(), 1, "{}", content);
        prop_assert_eq!(range(&scan.gold[0]), from..from + written.len(), "{}", content);
    }

    #[test]
    fn ordinary_text_has_no_finds(answer in "[N-Zn-z]{4,8}( [n-z]{2,6}){0,2}", text in prose()) {
        prop_assert!(Needles::new(&Value::from(answer.as_str()), QUESTION).scan(text.as_bytes()).is_empty());
    }

    #[test]
    fn any_bytes_can_be_scanned_and_finds_lie_within(
        content in prop::collection::vec(prop_oneof![3 => any::<u8>(), 5 => prop::sample::select(b"Pparis,.; 12&#;%\\un<b>/-=\xCC\x81".to_vec())], 0..400),
        answer in prop::sample::select(vec!["Paris", "pa", "1", "12", "1, 2", "is, pa", "a", "&", "p.a", "ř", "-12"]),
    ) {
        let scan = Needles::new(&Value::from(answer), "a pa paris 1 2").scan(&content);
        for hits in [&scan.gold, &scan.question] {
            prop_assert!(hits.iter().all(|hit| hit.length > 0 && content.get(range(hit)).is_some()));
            prop_assert!(hits.windows(2).all(|pair| pair[0].offset <= pair[1].offset));
        }
        prop_assert_eq!(Needles::new(&Value::from(answer), "a pa paris 1 2").scan(&content), scan);
    }
}

/// Contents that are as bad as they can be for a scanner that looks ahead or back.
fn hostile(bytes: usize) -> Vec<(&'static str, Vec<u8>)> {
    let parts: [(&str, &[u8]); 18] = [
        ("<", b"<"),
        ("<a", b"<a"),
        ("<!--", b"<!--"),
        ("&", b"&"),
        ("&#", b"&#1"),
        ("&aaa", b"&aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"),
        ("%25", b"%25"),
        ("backslashes", b"\\"),
        ("\\u", b"\\ud800"),
        ("digits", b"1"),
        ("digits and commas", b"1,"),
        ("thousands", b"111,"),
        ("spaced thousands", b"111 "),
        ("marks", "a\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}".as_bytes()),
        ("zero width", "\u{200B}".as_bytes()),
        ("the answer's letters", b"a "),
        ("the answer", b"aaaaaaaaaaaaaaaab "),
        ("no text", b"\xFF\x80"),
    ];
    parts.map(|(name, part)| (name, part.repeat(bytes / part.len()))).to_vec()
}

#[test]
fn time_grows_with_the_length_whatever_the_content() {
    let long_list = vec!["a"; 200].join(", ");
    let needles = [
        Needles::new(&Value::from("aaaaaaaaaaaaaaaa"), &"a a a a ".repeat(40)),
        Needles::new(&Value::from(long_list.as_str()), &"word ".repeat(3000)),
        Needles::new(&Value::Array(vec!["1".into(), "111".into(), "111111".into()]), ""),
    ];
    for (name, content) in hostile(1 << 18) {
        for needles in &needles {
            let start = Instant::now();
            needles.scan(&content);
            // In debug, on a busy machine; something quadratic would take hours.
            assert!(start.elapsed() < Duration::from_secs(20), "{name}");
        }
    }
}

/// `cargo test --release -p proofmark-artefact speed -- --ignored --nocapture`
#[test]
#[ignore = "prints figures, checks nothing"]
fn speed() {
    let words =
        "The quick brown fox jumps over the lazy dog near the river bank; it was built in 1931, at a cost of 12,400. ";
    let html = "<div class=\"x\"><p>The <b>quick</b> brown fox &amp; the lazy dog, <a href=\"/wiki/River%20bank\">river</a> 1931</p></div>\n";
    let russian = "Съешь же ещё этих мягких французских булок, да выпей чаю в 1931 году. ";
    let chinese = "他在一九三一年的春天修理了第二架滑翔机的尾翼，花费了一万二千四百元。";
    let json = r#"{"title":"The \"quick\" brown fox","text":"line one\nline two \u00e9t\u00e9","n":12400},"#;
    for (name, needles) in [
        ("text", Needles::new(&Value::from("Edith Walker"), QUESTION)),
        ("number", Needles::new(&Value::from("17000"), QUESTION)),
    ] {
        for (kind, part) in
            [("text", words), ("html", html), ("russian", russian), ("chinese", chinese), ("json", json)]
        {
            let content = part.repeat((16 << 20) / part.len());
            let start = Instant::now();
            let scan = needles.scan(content.as_bytes());
            let seconds = start.elapsed().as_secs_f64();
            println!("{name} in {kind}: {:.0} MB/s {}", content.len() as f64 / 1e6 / seconds, scan.is_empty());
        }
    }
    for (name, content) in hostile(16 << 20) {
        let needles = Needles::new(&Value::from("aaaaaaaaaaaaaaaa"), &"a a a a ".repeat(40));
        let start = Instant::now();
        needles.scan(&content);
        println!("{name}: {:.0} MB/s", content.len() as f64 / 1e6 / start.elapsed().as_secs_f64());
    }
    let start = Instant::now();
    for _ in 0..100 {
        Needles::new(&Value::from("Edith Walker"), QUESTION);
    }
    println!("needles: {:.2} ms", start.elapsed().as_secs_f64() * 10.0);
}
