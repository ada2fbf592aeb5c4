//! What is seen, what is not, and how grave it is.

use std::time::{Duration, Instant};

use data_encoding::{BASE64, BASE64URL_NOPAD, HEXLOWER};
use proofmark_artefact::scan::Needles;
use proofmark_artefact::trajectory::Form;
use proofmark_canon::Value;
use proptest::prelude::*;

use super::layers::{WORD, is_no_word};
use super::*;

const QUESTION: &str = "In the spring of 1931, which member of the Ridgeway Gliding Club repaired the tail of the club's \
    second glider with a piece of an old piano? Give the first name only.";
pub(super) const ID: &str = "32102e3e-d12a-4209-9163-7b3a104efe5d";

pub(super) fn watch(gold: &str, question: &str) -> Watch {
    watch_of(&[gold], question, "t1", &[], &[])
}

pub(super) fn watch_of(gold: &[&str], question: &str, task_id: &str, choices: &[&str], shown: &[&str]) -> Watch {
    let own = |texts: &[&str]| -> Vec<String> { texts.iter().map(|text| (*text).to_owned()).collect() };
    let (gold, choices) = (own(gold), own(choices));
    Watch::new(&Subject { gold: &gold, question, task_id, choices: &choices, shown, marks: &Marks::gaia() })
}

pub(super) fn critical(sightings: &[Sighting]) -> Option<Why> {
    sightings.iter().find(|sighting| sighting.grade == Grade::Critical).map(|sighting| sighting.why)
}

#[test]
fn leaks_of_the_conformance_cases_are_graded_as_they_want() {
    for (gold, text, source, want) in [
        (
            "Paris",
            "answer: Paris",
            Some("https://huggingface.co/datasets/gaia-benchmark/GAIA"),
            Some(Why::DatasetSource),
        ),
        ("Paris", "Paris from GAIA-BENCHMARK/GAIA", None, Some(Why::DatasetNamed)),
        (
            "Paris",
            "Paris from DATASETS-SERVER.HUGGINGFACE.CO/ROWS?DATASET=GAIA-BENCHMARK",
            None,
            Some(Why::DatasetNamed),
        ),
        ("Paris", "Paris from gaia-benchmark/GAIA metadata.jsonl", None, Some(Why::DatasetNamed)),
        ("17000", "about 17,000 hours, source metadata.jsonl", None, Some(Why::DatasetFile)),
        ("Paris", "answer key: Pa\u{200B}ris", None, Some(Why::AnswerKey)),
        ("AT&T", "answer key: AT&amp;T", None, Some(Why::AnswerKey)),
        ("Antoni Gaudi", "key: QW50b25pIEdhdWRp", None, Some(Why::AnswerKey)),
        ("a1, b2", "key: a1;b2", None, Some(Why::AnswerKey)),
        ("z9", "[binary]", Some("https://huggingface.co/datasets/gaia-benchmark/GAIA"), Some(Why::DatasetSource)),
        ("Paris", "Paris is the capital of France.", Some("https://en.wikipedia.org/wiki/Paris"), None),
        ("3", "See section 3.2; retrieved 3 May", None, None),
        ("100", "id=9910023", None, None),
        ("Paris", "download it from data/labels/readme.txt", None, None),
        ("Paris", "nothing relevant here", None, None),
    ] {
        let found = watch(gold, "Q?").leaks(text, source);
        assert_eq!(critical(&found), want, "{gold} {text} {found:?}");
    }
}

#[test]
fn oracles_of_the_conformance_cases_are_graded_as_they_want() {
    for (question, text, want) in [
        ("Q?", "Answer: Paris. Q?", true),
        ("Q?", "hint paris", true),
        ("Q?", "The gold answer is Paris", true),
        ("Q?", "Gold answer: Paris", true),
        ("Q?", "Q?", false),
        ("Is the word 'Paris' capitalised?", "Is the word 'Paris' capitalised? Repeat it.", false),
    ] {
        let found = watch("Paris", question).oracle(text);
        assert_eq!(critical(&found).is_some(), want, "{text} {found:?}");
    }
}

#[test]
fn an_answer_with_its_question_or_id_is_a_leak() {
    let watch = watch_of(&["Edith"], QUESTION, ID, &[], &[]);
    let upper = QUESTION.to_uppercase();
    for (text, why) in [
        (format!("{QUESTION} Edith"), Why::WithQuestion),
        (format!("Edith: {upper}"), Why::WithQuestion),
        (format!("{{\"Question\": \"{QUESTION}\", \"Level\": 1, \"x\": \"edith\"}}"), Why::WithQuestion),
        (format!("{}\n{}\nEdith", &QUESTION[..100], "word ".repeat(200)), Why::WithQuestion),
        (format!("{ID},Edith"), Why::WithTaskId),
        (format!("{} = Edith", ID.to_uppercase()), Why::WithTaskId),
        (BASE64.encode(format!("{QUESTION} Edith").as_bytes()), Why::WithQuestion),
    ] {
        assert_eq!(critical(&watch.leaks(&text, None)), Some(why), "{text}");
    }
}

#[test]
fn an_answer_without_them_is_none() {
    let quoting =
        "According to \"the long and winding title of a paper about very old gliders and pianos\", who was it?";
    for (watch, text) in [
        (watch("Edith", QUESTION), format!("Search results for: {QUESTION}\n1. Edith Walker, glider pilot")),
        (watch("Edith", QUESTION), format!("{{\"query\": \"{QUESTION}\", \"results\": [\"Edith Walker\"]}}")),
        (watch("Edith", QUESTION), "The Ridgeway Gliding Club was founded in the spring of 1931 by Edith.".to_owned()),
        (watch("Edith", QUESTION), format!("{QUESTION}{} Edith", "x ".repeat(8000))),
        (
            watch("Edith", quoting),
            "The long and winding title of a paper about very old gliders and pianos. By Edith Walker.".to_owned(),
        ),
        (watch_of(&["Edith"], QUESTION, ID, &[], &[]), format!("/files/{ID}.xlsx: row 1: Edith")),
        (watch("Edith", QUESTION), "FINAL ANSWER: Edith".to_owned()),
        (watch("Edith", QUESTION), format!("{}key: Edith", "An ordinary page about maps. ".repeat(9))),
        (
            watch("France", QUESTION),
            "Gold: France, Silver: Italy, Bronze: Spain. All results of the games of 1924 by country.".repeat(2),
        ),
    ] {
        let found = watch.leaks(&text, Some("https://example.org/page"));
        assert_eq!(critical(&found), None, "{text} {found:?}");
        assert!(found.iter().all(|sighting| sighting.why == Why::Ordinary), "{found:?}");
        assert!(!found.is_empty(), "{text}");
    }
}

#[test]
fn a_common_answer_needs_more_than_to_stand_there() {
    let watch = watch_of(&["3"], QUESTION, ID, &[], &[]);
    for text in [
        format!("{QUESTION} There are 3 of them."),
        format!("{ID} 3"),
        "gaia-benchmark/GAIA has 3 splits".to_owned(),
        "3 files, metadata.jsonl".to_owned(),
        "3".to_owned(),
        format!("{QUESTION} Answer: 31. And 3 more."),
    ] {
        assert_eq!(critical(&watch.leaks(&text, None)), None, "{text}");
    }
    for (text, why) in [
        (format!("\"Question\": \"{QUESTION}\", \"Level\": 1, \"Final answer\": \"3\""), Why::WithQuestion),
        (format!("\"Question\": \"{QUESTION}\", \"Final answer\": \"three\""), Why::WithQuestion),
        (format!("{QUESTION},3,x"), Why::WithQuestion),
        (format!("<td>{QUESTION}</td><td>3</td>"), Why::WithQuestion),
        (format!("{ID}: answer = 3"), Why::WithTaskId),
        ("gaia-benchmark/GAIA says: the answer is 3".to_owned(), Why::DatasetNamed),
        ("answer key: 3".to_owned(), Why::AnswerKey),
    ] {
        assert_eq!(critical(&watch.leaks(&text, None)), Some(why), "{text}");
    }
}

#[test]
fn lists_of_answers_are_keys() {
    let watch = watch("egalitarian", "Q?");
    let record = r#"{"task_id": "c61d22de-5f6c-4958-a7f6-5e9707bd3466", "Question": "Another one?", "Level": 2, "Final answer": "egalitarian", "file_name": ""}"#;
    let trivia = r#"[{"question": "One?", "answer": "x"}, {"question": "Two?", "answer": "egalitarian"}]"#;
    let table = "task_id,question,answer\na1,One?,x\na2,Two?,egalitarian\n";
    let markdown = "| Question | Gold |\n|---|---|\n| One? | x |\n| Two? | egalitarian |\n";
    for text in [record, trivia, table, markdown] {
        assert_eq!(critical(&watch.leaks(text, None)), Some(Why::AnswerRecord), "{text}");
    }
    for text in [
        "name,town,views\na1,One,x\na2,Two,egalitarian\n",
        "| Party | Views |\n|---|---|\n| One | egalitarian |\n",
        r#"{"title": "Society", "views": "egalitarian"}"#,
        "Q: One? A: x. Q: Two? A: egalitarian.",
    ] {
        assert_eq!(critical(&watch.leaks(text, None)), None, "{text}");
    }
}

#[test]
fn the_one_leak_among_many_answers_is_found() {
    let page = "Edith went home. ".repeat(2000);
    let found = watch("Edith", QUESTION).leaks(&format!("{page}{QUESTION} Edith{page}"), None);
    assert_eq!(critical(&found), Some(Why::WithQuestion));
    assert_eq!(found.len(), 16);
    let found =
        watch_of(&["3"], QUESTION, ID, &[], &[]).leaks(&format!("{}{ID} answer: 3", "3 and ".repeat(9000)), None);
    assert_eq!(critical(&found), Some(Why::WithTaskId));
    let found = watch("Edith", "Q?").leaks(&format!("{page}The ground truth: Edith. {page}"), None);
    assert_eq!(critical(&found), Some(Why::AnswerKey));
}

#[test]
fn what_the_task_shows_is_no_oracle() {
    let prompt = format!("You are a careful assistant.\n{QUESTION}\nChoices:\nA) Edith\nB) Mary\nAnswer with A or B.");
    let watch = watch_of(&["Edith"], QUESTION, "t1", &["Edith", "Mary"], &[QUESTION]);
    assert_eq!(critical(&watch.oracle(&prompt)), None);
    let told = format!("{prompt}\nThe correct answer is Edith.");
    assert_eq!(critical(&watch.oracle(&told)), Some(Why::GivenAsAnswer));
    let letters = watch_of(&["A"], QUESTION, "t1", &["Edith", "Mary"], &[QUESTION]);
    assert_eq!(critical(&letters.oracle(&prompt)), None);
    assert_eq!(critical(&letters.oracle(&format!("{prompt}\nGold answer: A"))), Some(Why::GivenAsAnswer));
    let attached = watch_of(&["Edith"], QUESTION, "t1", &[], &[QUESTION, "Members: Mary, Edith, Joan"]);
    assert_eq!(critical(&attached.oracle("Attachment:\nMembers: Mary, Edith, Joan\n")), None);
    assert_eq!(critical(&attached.oracle("Members: Mary, Edith, Joan. Hint: Edith")), Some(Why::GivenAsAnswer));
}

#[test]
fn prompts_that_hold_a_common_answer_by_chance_are_no_oracles() {
    let system = "You are a general AI assistant. Use at most 3 searches. Your answer should be a number or as few words as \
        possible, e.g. yes or no. If you are asked for a number, do not use a comma. Do your research, right or wrong.";
    for gold in ["3", "yes", "no", "right", "Research", "number"] {
        assert_eq!(watch(gold, QUESTION).oracle(&format!("{system}\n{QUESTION}")), [], "{gold}");
    }
    let examples = "Question: One?\nAnswer: B\nQuestion: Two?\nAnswer: A\nQuestion: Three?\nAnswer: B\n";
    let few_shot = format!("{examples}Question: {QUESTION}\nAnswer:");
    assert_eq!(critical(&watch("B", QUESTION).oracle(&few_shot)), None);
    assert_eq!(critical(&watch("B", QUESTION).oracle(&few_shot.replace("Answer:", "The correct answer is"))), None);
    assert_eq!(critical(&watch("B", QUESTION).oracle(&format!("{few_shot} B"))), Some(Why::GivenAsAnswer));
    assert_eq!(
        critical(&watch("3", QUESTION).oracle(&format!("{system} Hint: 3\n{QUESTION}"))),
        Some(Why::GivenAsAnswer)
    );
    assert_eq!(critical(&watch("Edith", QUESTION).oracle(&format!("{system} Edith.\n{QUESTION}"))), Some(Why::Given));
    assert_eq!(critical(&watch("Edith Walker", QUESTION).oracle("x RWRpdGggV2Fsa2Vy")), Some(Why::Given));
}

#[test]
fn facts_of_a_whole_body_are_graded_without_it() {
    let watch = watch_of(&["Edith"], QUESTION, ID, &[], &[]);
    let needles = Needles::new(&Value::from("Edith"), QUESTION);
    let page = "An ordinary page about gliders. ".repeat(400);
    for (body, source, want) in [
        (format!("{page} Edith {page}"), None, None),
        (format!("{page}{QUESTION} Edith"), None, Some(Why::WithQuestion)),
        (format!("{page} Edith {page}{QUESTION}"), None, None),
        (format!("query: {QUESTION}\n{page}Edith"), None, None),
        (format!("{page}Edith"), Some("https://huggingface.co/datasets/gaia-benchmark/GAIA"), Some(Why::DatasetSource)),
        (format!("{QUESTION} Edith {page}"), None, Some(Why::WithQuestion)),
    ] {
        let (scan, head) = (needles.scan(body.as_bytes()), &body[..body.floor_char_boundary(4096)]);
        let found = watch.leaks_of_scan(&scan, head, source);
        assert_eq!(critical(&found), want, "{found:?}");
        assert!(!found.is_empty());
    }
    let short = watch_of(&["3"], QUESTION, ID, &[], &[]);
    let needles = Needles::new(&Value::from("3"), QUESTION);
    for (body, want) in [
        (format!("{page}3 of them"), None),
        (format!("{page}{QUESTION}\", \"Final answer\": \"3\""), Some(Why::WithQuestion)),
        (format!("{page}{QUESTION}{page}3"), None),
    ] {
        let found = short.leaks_of_scan(&needles.scan(body.as_bytes()), &body[..4096], None);
        assert_eq!(critical(&found), want, "{found:?}");
    }
}

/// Ways to write a text so that it is not seen.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Veil {
    Upper,
    ZeroWidth,
    Diacritics,
    FullWidth,
    LookAlike,
    Tags,
    Entities,
    Percent,
    Json,
    Base64,
    Base64Url,
    Hex,
}

/// Those that can be laid over each other.
const ENCODINGS: [Veil; 6] = [Veil::Entities, Veil::Percent, Veil::Json, Veil::Base64, Veil::Base64Url, Veil::Hex];

impl Veil {
    fn over(self, text: &str) -> String {
        let each = |with: &dyn Fn(char) -> String| text.chars().map(with).collect::<String>();
        match self {
            Self::Upper => text.to_uppercase(),
            Self::ZeroWidth => each(&|c| format!("{c}\u{200B}")),
            Self::Diacritics => each(&|c| format!("{c}\u{301}")),
            Self::FullWidth => {
                each(&|c| char::from_u32(c as u32 + 0xFEE0).filter(|_| c.is_ascii_graphic()).unwrap_or(c).into())
            }
            Self::LookAlike => text.replace('o', "о").replace('p', "р").replace('s', "ѕ").replace('x', "х"),
            Self::Tags => each(&|c| format!("<i>{c}</i>")),
            Self::Entities => each(&|c| format!("&#{};", c as u32)),
            Self::Percent => text.bytes().map(|byte| format!("%{byte:02X}")).collect(),
            Self::Json => each(&|c| format!("\\u{:04x}", c as u32)),
            Self::Base64 => BASE64.encode(text.as_bytes()),
            Self::Base64Url => BASE64URL_NOPAD.encode(text.as_bytes()),
            Self::Hex => HEXLOWER.encode(text.as_bytes()),
        }
    }
}

fn veil() -> impl Strategy<Value = Veil> {
    use Veil::*;
    prop::sample::select(vec![
        Upper, ZeroWidth, Diacritics, FullWidth, LookAlike, Tags, Entities, Percent, Json, Base64, Base64Url, Hex,
    ])
}

/// Words of one half of the alphabet, so that no answer from the other half is among them.
pub(super) fn prose() -> impl Strategy<Value = String> {
    "([a-m]{1,9}[ ,.;\n]{1,2}){0,40}"
}

pub(super) const ANSWER: &str = "[N-Zn-z]{2,6}( [n-z]{2,6}){0,2}[n-z]{2}";

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn no_veil_hides_an_answer(answer in ANSWER, veil in veil(), before in prose(), after in prose()) {
        let written = veil.over(&answer);
        let watch = watch(&answer, QUESTION);
        let text = format!("{before} {written} {after}");
        let found = watch.leaks(&text, None);
        prop_assert!(!found.is_empty(), "{}", text);
        prop_assert_eq!(critical(&found), None);
        prop_assert_eq!(critical(&watch.oracle(&text)), Some(Why::Given));
        let key = format!("{before} answer key: {written} {after}");
        prop_assert_eq!(critical(&watch.leaks(&key, None)), Some(Why::AnswerKey));
        let asked = format!("{before} {QUESTION} {written} {after}");
        prop_assert_eq!(critical(&watch.leaks(&asked, None)), Some(Why::WithQuestion));
    }

    #[test]
    fn two_veils_do_not_hide_it_either(
        answer in ANSWER,
        inner in prop::sample::select(ENCODINGS.to_vec()),
        outer in prop::sample::select(ENCODINGS.to_vec()),
        before in prose(),
        after in prose(),
    ) {
        let written = outer.over(&inner.over(&answer));
        // A short run that may be a word is not decoded: now and then chance makes one.
        prop_assume!(written.len() >= WORD || is_no_word(written.trim_end_matches('=').as_bytes()));
        let text = format!("{before} {written} {after}");
        let found = watch(&answer, QUESTION).leaks(&text, None);
        prop_assert!(!found.is_empty(), "{:?} in {:?}: {}", inner, outer, text);
    }

    #[test]
    fn a_whole_document_in_two_layers_is_read(
        answer in ANSWER,
        inner in prop::sample::select(ENCODINGS.to_vec()),
        outer in prop::sample::select(vec![Veil::Base64, Veil::Base64Url, Veil::Hex]),
        before in prose(),
    ) {
        let text = format!("{before} {}", outer.over(&inner.over(&format!("{QUESTION} {answer}"))));
        prop_assert_eq!(critical(&watch(&answer, QUESTION).leaks(&text, None)), Some(Why::WithQuestion), "{:?} in {:?}", inner, outer);
    }

    #[test]
    fn no_way_of_writing_hides_a_number(number in 2101u64..99_999_999, way in 0usize..9, before in prose(), after in prose()) {
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
            3 => grouped("."),
            4 => format!("{},0", grouped(".")),
            5 => format!("{plain}.0"),
            6 => format!("{}.{}e{}", &plain[..1], &plain[1..], plain.len() - 1),
            7 => BASE64.encode(plain.as_bytes()),
            _ => HEXLOWER.encode(plain.as_bytes()),
        };
        let found = watch(&plain, QUESTION).leaks(&format!("{before} {written} {after}"), None);
        prop_assert!(!found.is_empty(), "{}", written);
        let key = format!("{before} ground truth: {written} {after}");
        let is_common = plain.trim_end_matches('0') == "1";
        prop_assert!(is_common || critical(&watch(&plain, QUESTION).leaks(&key, None)) == Some(Why::AnswerKey), "{}", key);
    }

    #[test]
    fn small_numbers_are_found_in_words(number in 0u64..=100, has_digits in any::<bool>()) {
        let word = super::numeral::numeral(number).unwrap();
        let (gold, written) = if has_digits { (number.to_string(), word) } else { (word, number.to_string()) };
        let text = format!("\"Question\": \"{QUESTION}\", \"Final answer\": \"{written}\"");
        let found = watch(&gold, QUESTION).leaks(&text, None);
        prop_assert_eq!(critical(&found), Some(Why::WithQuestion), "{}", text);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn any_text_can_be_looked_at(bytes in prop::collection::vec(prop_oneof![
        3 => any::<u8>(),
        5 => prop::sample::select(b"Pparis3,.; 12&#;%\\un<b>/-=\"'{}$(|)*?[]\n\xCC\x81\xE2\x80\x8B".to_vec()),
    ], 0..300), other in any::<String>()) {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        for text in [&text, &other] {
            for gold in ["Paris", "3"] {
                let watch = watch_of(&[gold], "a pa paris 1 2 Paris is where", text, &[], &[text]);
                let found = watch.leaks(text, Some(text));
                prop_assert!(found.len() <= 16 && found.iter().all(|sighting| sighting.offset <= text.len()));
                let head = &text[..text.floor_char_boundary(10)];
                let scan = Needles::new(&Value::from(gold), "a pa paris 1 2 Paris is where").scan(text.as_bytes());
                watch.leaks_of_scan(&scan, head, None);
                watch.oracle(text);
            }
            for plea in pleas(text) {
                prop_assert!(text.get(plea.offset..plea.offset + plea.length).is_some(), "{:?}", plea);
            }
            let mut forbidden = Forbidden::usual();
            forbidden.add(Place::RunDirectory, text);
            for tool in ["bash", "python", "search"] {
                touches(tool, &Value::from(text.as_str()), &forbidden);
            }
        }
    }
}

/// Texts that are as bad as they can be for those who look ahead or back.
fn hostile(bytes: usize) -> Vec<(&'static str, String)> {
    let parts = [
        "<",
        "<a",
        "<!--",
        "<!-- a",
        "&",
        "&#1",
        "&amp;#",
        "%25",
        "\\",
        "\\u0026",
        "1",
        "1,",
        "a\u{301}",
        "\u{200B}",
        "a ",
        "Paris ",
        "Paris",
        "answer key: Paris ",
        "QUJD",
        "QUJD\n",
        "41",
        "4a4A",
        "ignore ",
        "ignore all previous ",
        "\"",
        "'a'+",
        "$a",
        "a=",
        "{a,b}",
        "{",
        "chr(97)+",
        "gaia-benchmark/GAIA ",
        "\u{E0041}",
        "忽略",
        "a/",
        "../",
        "*",
        "x=$x$x;",
        "t1 ",
        "| ",
        "\n",
        "'a' + ",
        "'Par' + 'is' ",
        "=C3=A9",
        "=\n",
        "\u{E0150}",
        "80,",
        "chr(80)+",
        "01010000",
        "\\120",
        "1/2 ",
        "½",
        "3×10^4 ",
        "{,}",
        "17k ",
        "1|Paris\n",
        "32102e3e-",
        "32102e3ed12a420991637b3a104efe5d ",
        "metadata.jsonl ",
        "</answer>",
        "<answer>",
        "${x/a/b}",
        "$(echo a)",
        "'%s' % (",
        "OBQXE2LT",
        "siraP ",
    ];
    parts.map(|part| (part, part.repeat(bytes / part.len()))).to_vec()
}

#[test]
fn time_grows_with_the_length_whatever_the_text() {
    let watch = watch_of(&["Paris", "3", "Edith Walker"], &"a a a a Paris ".repeat(20), ID, &[], &["Paris"]);
    let mut forbidden = Forbidden::usual();
    forbidden.add_marks(&Marks::gaia());
    for (name, text) in hostile(1 << 16) {
        let start = Instant::now();
        watch.leaks(&text, Some(&text[..text.floor_char_boundary(4096)]));
        watch.oracle(&text);
        let looked = start.elapsed();
        pleas(&text);
        let pleaded = start.elapsed();
        touches("bash", &Value::from(text.as_str()), &forbidden);
        // In debug, on a busy machine; something quadratic would take hours.
        let times = (looked, pleaded - looked, start.elapsed() - pleaded);
        assert!(start.elapsed() < Duration::from_secs(20), "{name:?} {times:?}");
    }
}

/// `cargo test --release -p proofmark-audit speed -- --ignored --nocapture`
#[test]
#[ignore = "prints figures, checks nothing"]
fn speed() {
    let page =
        "The quick brown fox jumps over the lazy dog near the river bank; it was built in 1931, at a cost of 12,400. ";
    let html = "<div class=\"x\"><p>The <b>quick</b> brown fox &amp; the lazy dog, <a href=\"/wiki/River%20bank\">river</a> 1931</p></div>\n";
    let named =
        "Edith Walker saw the quick brown fox jump over the lazy dog near the river bank; it was built in 1931. ";
    let base64 = BASE64.encode(&[7; 300]);
    let watch = watch_of(&["Edith Walker"], QUESTION, ID, &[], &[]);
    let needles = Needles::new(&Value::from("Edith Walker"), QUESTION);
    let number = watch_of(&["17000"], QUESTION, ID, &[], &[]);
    let time = |name: &str, text: &str, look: &dyn Fn(&str)| {
        let start = Instant::now();
        look(text);
        println!("{name}: {:.1} MB/s", text.len() as f64 / 1e6 / start.elapsed().as_secs_f64());
    };
    for (kind, part) in [("page", page), ("html", html), ("named", named), ("base64", &base64)] {
        let text = part.repeat((4 << 20) / part.len());
        time(&format!("scan of {kind}"), &text, &|text| drop(needles.scan(text.as_bytes())));
        time(&format!("leaks of {kind}"), &text, &|text| drop(watch.leaks(text, None)));
        time(&format!("leaks of a number, {kind}"), &text, &|text| drop(number.leaks(text, None)));
        time(&format!("leaks of {kind}, 4 KiB at a time"), &text, &|text| {
            for part in text.as_bytes().chunks(4096) {
                watch.leaks(std::str::from_utf8(part).unwrap(), None);
            }
        });
        time(&format!("pleas in {kind}"), &text, &|text| drop(pleas(text)));
    }
    let start = Instant::now();
    for _ in 0..100 {
        watch_of(&["Edith Walker"], QUESTION, ID, &[], &[]);
    }
    println!("watch: {:.2} ms", start.elapsed().as_secs_f64() * 10.0);
    let start = Instant::now();
    let call = Value::from("cd /tmp && python3 -c \"print(open('a' + 'b').read())\" | grep -v x > out.txt");
    for _ in 0..1000 {
        touches("bash", &call, &Forbidden::usual());
    }
    println!("touches: {:.3} ms", start.elapsed().as_secs_f64());
}

#[test]
fn forms_are_named_as_the_scan_names_them() {
    for (gold, text, form) in [
        ("Paris", "Paris", Form::Verbatim),
        ("Paris", "PARIS", Form::Folded),
        ("17000", "17,000", Form::Number),
        ("17000", "17 thousand", Form::Number),
        ("17000", "seventeen thousand", Form::Number),
        ("a1, b2", "a1; b2", Form::List),
        ("Antoni Gaudi", "QW50b25pIEdhdWRp", Form::Base64),
        ("Paris", "%50aris", Form::Url),
        ("Paris", "&#80;aris", Form::Html),
        ("Paris", "%2550aris", Form::Url),
    ] {
        let found = watch(gold, "Q?").leaks(&format!("x {text} y"), None);
        assert_eq!(found.first().and_then(|sighting| sighting.form), Some(form), "{text} {found:?}");
    }
}

#[test]
fn two_layers_without_a_small_letter_are_read() {
    assert!(!watch("Nnto", QUESTION).leaks("VG01MGJ3PT0=", None).is_empty());
}
