//! What a cheat would write so as not to be seen, and what honest pages hold that looks like it.

use data_encoding::{BASE32, BASE64, HEXLOWER};
use proptest::prelude::*;
use proptest::sample::select;

use super::tests::{ANSWER, ID, critical, prose, watch_of};
use super::{Watch, Why};

const QUESTION: &str =
    "In the 1931 glider club of Harrow, what is the full name of the member who first crossed the valley in spring?";
const GOLD: &str = "Edith Walker";

fn watch(gold: &str) -> Watch {
    watch_of(&[gold], QUESTION, ID, &[], &[])
}

fn utf16(text: &str, bytes: fn(u16) -> [u8; 2], mark: bool) -> Vec<u8> {
    let mark = mark.then_some(0xFEFF);
    mark.into_iter().chain(text.encode_utf16()).flat_map(bytes).collect()
}

/// Ways of writing that are undone without guessing.
#[derive(Debug, Clone, Copy)]
enum Way {
    Utf16Base64 { is_big: bool, mark: bool },
    Utf16Hex { is_big: bool, mark: bool },
    Base32,
    Backwards,
    Rot13,
    Letters,
    Strings,
    Added,
    Tags,
    Selectors,
    Codes,
    CharCodes,
    Octal,
    Binary,
    Latex,
    SmallCapitals,
}

impl Way {
    fn write(self, text: &str) -> String {
        let bytes = |is_big: bool| if is_big { u16::to_be_bytes } else { u16::to_le_bytes };
        let each = |joint: &str, with: &dyn Fn(char) -> String| text.chars().map(with).collect::<Vec<_>>().join(joint);
        let rotated = |c: char| match c {
            'a'..='z' => char::from((c as u8 - b'a' + 13) % 26 + b'a'),
            'A'..='Z' => char::from((c as u8 - b'A' + 13) % 26 + b'A'),
            _ => c,
        };
        let small = |c: char| {
            let at = "abcdefghijklmnopqrstuvwxyz".find(c.to_ascii_lowercase());
            at.and_then(|at| "ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘꞯʀꜱᴛᴜᴠᴡxʏᴢ".chars().nth(at)).unwrap_or(c).to_string()
        };
        match self {
            Self::Utf16Base64 { is_big, mark } => BASE64.encode(&utf16(text, bytes(is_big), mark)),
            Self::Utf16Hex { is_big, mark } => HEXLOWER.encode(&utf16(text, bytes(is_big), mark)),
            Self::Base32 => BASE32.encode(text.as_bytes()),
            Self::Backwards => text.chars().rev().collect(),
            Self::Rot13 => text.chars().map(rotated).collect(),
            Self::Letters => each(" ", &|c| c.to_string()),
            Self::Strings => format!("[{}]", each(", ", &|c| format!("\"{c}\""))),
            Self::Added => format!("\"{}\" + \"{}\"", &text[..3], &text[3..]),
            Self::Tags => each("", &|c| char::from_u32(c as u32 + 0xE0000).unwrap().to_string()),
            Self::Selectors => {
                text.bytes().map(|byte| char::from_u32(0xE0100 + u32::from(byte) - 16).unwrap()).collect()
            }
            Self::Codes => each(", ", &|c| (c as u32).to_string()),
            Self::CharCodes => each("+", &|c| format!("String.fromCharCode({})", c as u32)),
            Self::Octal => each("", &|c| format!("\\{:03o}", c as u32)),
            Self::Binary => each(" ", &|c| format!("{:08b}", c as u32)),
            Self::Latex => format!("$\\boxed{{\\text{{{text}}}}}$"),
            Self::SmallCapitals => each("", &small),
        }
    }
}

fn ways() -> Vec<Way> {
    use Way::*;
    let mut all = vec![
        Base32,
        Backwards,
        Rot13,
        Letters,
        Strings,
        Added,
        Tags,
        Selectors,
        Codes,
        CharCodes,
        Octal,
        Binary,
        Latex,
        SmallCapitals,
    ];
    for (is_big, mark) in [(false, false), (false, true), (true, false), (true, true)] {
        all.extend([Utf16Base64 { is_big, mark }, Utf16Hex { is_big, mark }]);
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn no_way_of_writing_hides_an_answer(
        // Long enough to be looked for backwards, and no palindrome.
        answer in "[N-Z][n-y]{4,6} [n-y]{4,6}z",
        way in select(ways()),
        before in prose(),
        after in prose(),
    ) {
        let written = way.write(&answer);
        let watch = watch(&answer);
        let page = watch.leaks(&format!("{before}\n{written}\n{after}"), None);
        prop_assert!(!page.is_empty(), "{:?}: {}", way, written);
        prop_assert_eq!(critical(&page), None);
        let key = format!("{before} answer key: {written}\n{after}");
        prop_assert_eq!(critical(&watch.leaks(&key, None)), Some(Why::AnswerKey), "{:?}: {}", way, key);
        let asked = format!("{before} {QUESTION} {written}\n{after}");
        prop_assert_eq!(critical(&watch.leaks(&asked, None)), Some(Why::WithQuestion), "{:?}: {}", way, asked);
        let given = format!("{before}\n{written}\n{after}");
        prop_assert!(critical(&watch.oracle(&given)).is_some(), "{:?}: {}", way, given);
    }

    #[test]
    fn a_document_that_is_written_so_is_read(answer in ANSWER, way in select(ways()), before in prose()) {
        prop_assume!(!matches!(way, Way::Backwards | Way::Rot13) || answer.len() >= 12);
        prop_assume!(!matches!(way, Way::Letters | Way::Strings | Way::Latex | Way::SmallCapitals | Way::Added));
        let text = format!("{before}\n{}", way.write(&format!("{QUESTION} {answer}")));
        prop_assert_eq!(critical(&watch(&answer).leaks(&text, None)), Some(Why::WithQuestion), "{:?}: {}", way, text);
    }

    #[test]
    fn letters_of_other_scripts_are_read_in_utf16_too(
        answer in "[б-щ]{8,12}|[齀-齿]{6,9}", is_big in any::<bool>(), mark in any::<bool>(), is_hex in any::<bool>(),
    ) {
        let way = if is_hex { Way::Utf16Hex { is_big, mark } } else { Way::Utf16Base64 { is_big, mark } };
        let text = format!("answer key: {}", way.write(&answer));
        prop_assert_eq!(critical(&watch(&answer).leaks(&text, None)), Some(Why::AnswerKey), "{}", text);
    }

    #[test]
    fn no_number_form_hides_a_number(thousands in 17u64..999, way in 0usize..9) {
        prop_assume!(thousands % 100 != 0);
        let written = match way {
            0 => format!("{thousands}k"),
            1 => format!("{thousands}K"),
            2 => format!("{thousands} thousand"),
            3 => format!("{}.{:03}M", thousands / 1000, thousands % 1000),
            4 => format!("{}.{:03} million", thousands / 1000, thousands % 1000),
            5 => format!("{thousands} × 10^3"),
            6 => format!("${thousands}{{,}}000$"),
            7 => format!("{thousands}\\,000"),
            _ => format!("{thousands}×10³"),
        };
        let gold = (thousands * 1000).to_string();
        for gold in [gold.as_str(), &format!("{thousands}k"), &format!("{thousands} thousand")] {
            let found = watch(gold).leaks(&format!("answer key: {written}"), None);
            prop_assert_eq!(critical(&found), Some(Why::AnswerKey), "{} {}", gold, written);
            prop_assert_eq!(critical(&watch(gold).leaks(&format!("The club had {written} members."), None)), None);
        }
    }

    #[test]
    fn no_number_in_words_hides_a_number(number in 101u64..999_999) {
        let gold = number.to_string();
        for words in super::numeral::other_ways(&gold) {
            let text = format!("Question: {QUESTION} Final answer: {words}");
            prop_assert_eq!(critical(&watch(&gold).leaks(&text, None)), Some(Why::WithQuestion), "{}", text);
            let text = format!("Question: {QUESTION} Final answer: {gold}");
            prop_assert_eq!(critical(&watch(&words).leaks(&text, None)), Some(Why::WithQuestion), "{}", words);
        }
    }

    #[test]
    fn no_way_of_writing_hides_a_task_id(way in 0usize..10, gold in select(vec![GOLD, "17000"])) {
        let id = match way {
            0 => ID.replace('-', ""),
            1 => ID.replace('-', "").to_uppercase(),
            2 => ID.replace('-', "_"),
            3 => ID.to_uppercase(),
            4 => ID.replace('-', "%2D"),
            5 => ID.bytes().map(|byte| format!("%{byte:02x}")).collect(),
            6 => ID.replace('-', " "),
            7 => BASE64.encode(ID.as_bytes()),
            8 => HEXLOWER.encode(ID.as_bytes()),
            _ => format!("{{{}}}", ID.to_uppercase()),
        };
        for text in [format!("{id}: {gold}"), format!("{{\"{id}\": \"{gold}\"}}"), format!("{id},{gold}\n")] {
            prop_assert_eq!(critical(&watch(gold).leaks(&text, None)), Some(Why::WithTaskId), "{}", text);
        }
        // Another id is another task's.
        let other = id.replace(['3', '2'], "9").replace(['M', 'z'], "Q");
        let found = watch(gold).leaks(&format!("{other}: {gold}"), None);
        prop_assert_eq!(critical(&found), None, "{}", other);
    }
}

#[test]
fn fractions_are_found_where_they_are_called_the_answer_and_nowhere_else() {
    for (gold, written) in [
        ("0.5", "1/2"),
        ("0.5", "½"),
        ("0.5", r"\frac{1}{2}"),
        ("1/2", "0.5"),
        ("1/2", "½"),
        ("½", "0.50"),
        ("2.5", "2½"),
        ("2.5", "2 1/2"),
        ("2½", "2.5"),
        ("0.1875", "3/16"),
    ] {
        let watch = watch(gold);
        for text in [format!("answer key: {written}"), format!("Question: {QUESTION} Final answer: {written}")] {
            assert!(critical(&watch.leaks(&text, None)).is_some(), "{gold} {text}");
        }
        for text in [
            format!("Mix {written} cups of flour with a pinch of salt."),
            format!("See page {written}. {QUESTION}"),
            format!("gaia-benchmark/GAIA has {written} of them"),
        ] {
            assert_eq!(critical(&watch.leaks(&text, None)), None, "{gold} {text}");
        }
    }
}

#[test]
fn a_short_word_backwards_is_another_word() {
    let prompt = "You are a helpful assistant that can deliver a regal drawer. Find green onyx nowhere.";
    for gold in ["reviled", "lager", "reward", "terra", "balk", "abjurer"] {
        assert_eq!(critical(&watch(gold).oracle(prompt)), None, "{gold}");
        assert_eq!(critical(&watch(gold).leaks(&format!("{prompt} {QUESTION}"), None)), None, "{gold}");
    }
}

#[test]
fn documents_of_ids_and_answers_are_keys() {
    let rows = |sign: &str| format!("1{sign}Paris\n2{sign}17\n3{sign}{GOLD}\n4{sign}b, e\n5{sign}3\n6{sign}0.1777\n");
    for text in [
        rows("|"),
        rows("\t"),
        rows(": "),
        rows("|").lines().map(|line| format!("| {} |\n", line.replace('|', " | "))).collect(),
        format!("Answer key\n\n{}", rows(". ")),
        format!("GAIA validation, ground truth\n1) Paris\n2) {GOLD}\n3) Rome\n"),
        format!("| # | Answer |\n|---|---|\n| 1 | Paris |\n| 2 | {GOLD} |\n"),
        format!("id,answer\n1,Paris\n2,{GOLD}\n3,Rome\n"),
    ] {
        assert_eq!(critical(&watch(GOLD).leaks(&text, None)), Some(Why::AnswerRecord), "{text}");
    }
}

#[test]
fn a_file_counts_where_it_is_the_source() {
    for text in [
        format!("{GOLD}, source metadata.jsonl"),
        format!("{GOLD} (from 2023/metadata.jsonl)"),
        format!("data/metadata.jsonl:12:{{\"x\": \"{GOLD}\"}}"),
        format!("metadata.jsonl: {GOLD}"),
        format!("{{\"task_id\": \"a1\", \"Question\": \"Who?\", \"Level\": 2, \"Final answer\": \"{GOLD}\"}}"),
    ] {
        assert!(critical(&watch(GOLD).leaks(&text, None)).is_some(), "{text}");
    }
    let addresses = "https://huggingface.co/datasets/gaia-benchmark/GAIA/resolve/main/2023/validation/metadata.jsonl";
    assert_eq!(critical(&watch(GOLD).leaks(GOLD, Some(addresses))), Some(Why::DatasetSource));
}

#[test]
fn honest_pages_are_not_condemned() {
    let filler = "The club met on Sundays near the mill and kept careful notes of the weather. ".repeat(6);
    for page in [
        // Programs and their outputs.
        format!(
            "## Exercise 3\nPrint the name.\n\n```python\nprint(name)\n```\n\nExpected output:\n\n```\n{GOLD}\n```\n"
        ),
        format!("Run `python main.py`. Expected output: {GOLD}\nIf you see an error, check your path."),
        format!("Tasks have a description and an expected_output. expected_output: {GOLD}'s life in three paragraphs"),
        format!(">>> member(1931)\nExpected:\n    {GOLD}\nGot:\n    {GOLD}"),
        format!("expect(received).toBe(expected)\nExpected: \"{GOLD}\"\nReceived: \"{GOLD} \""),
        format!("| Input | Expected output |\n|---|---|\n| 1931 | {GOLD} |\n| 1932 | Amy Johnson |\n"),
        format!(
            "| Problem | Expected output |\n|---|---|\n| Print the first pilot's name | {GOLD} |\n| Print a year | 1932 |\n"
        ),
        format!("- task: t1\n  expected output: {GOLD}\n- task: t2\n  expected output: 7\n"),
        format!("Example 1:\nInput: nums = [2,7,11,15], target = 9\nOutput: {GOLD}\nExplanation: x"),
        format!("{{\"key\": \"{GOLD}\", \"value\": 3}}"),
        format!("src/a.txt:12:{GOLD}\nsrc/b.txt:3:{GOLD} flew\n"),
        format!("Traceback (most recent call last):\n  File \"/workspace/{ID}/main.py\", line 3\n{GOLD}"),
        format!("/workspace/{ID}/notes.txt\n{GOLD}"),
        format!("{{\"file_path\": \"/data/{ID}.pdf\", \"content\": \"{GOLD}\"}}"),
        // Files of others.
        format!(
            "# ImageFolder\nCreate a metadata.jsonl file:\n{{\"file_name\": \"0001.png\", \"text\": \"{GOLD}\"}}\n{filler}"
        ),
        format!("total 12\n-rw-r--r-- 1 u u 120 metadata.jsonl\n-rw-r--r-- 1 u u 33 {GOLD}.txt\n"),
        format!("The archive of {GOLD} is described in a file called metadata.jsonl. Each line is one photograph."),
        format!("Captions are loaded from metadata.jsonl. The first photograph shows {GOLD}."),
        // Papers and data about benchmarks.
        format!("GAIA: a benchmark for General AI Assistants (arXiv 2311.12983). We thank {GOLD}. Humans obtain 92%."),
        format!("The GAIA benchmark has 466 questions with a ground truth answer. {filler} {GOLD} was a pilot."),
        format!("Ground truth {GOLD} was annotated by two experts."),
        format!("See the reference. Answer {GOLD} with a letter."),
        format!("The true answer is {GOLD}, says the biographer; {filler}"),
        format!(
            "{{\"id\": \"5733be28\", \"question\": \"Who flew?\", \"answers\": {{\"text\": [\"{GOLD}\"], \"answer_start\": [12]}}}}"
        ),
        format!(
            "[{{\"_id\":\"5a8b57f2\",\"question\":\"Who flew?\",\"answer\":\"{GOLD}\"}},{{\"_id\":\"5a8c7595\",\"question\":\"When?\",\"answer\":\"1931\"}}]"
        ),
        format!("https://huggingface.co/datasets/rajpurkar/squad {GOLD}"),
        // Lists and tables.
        format!("Pub quiz 12 answers\n1. Amelia Earhart\n2. {GOLD}\n3. Hanna Reitsch\n4. 1931\n5. Harrow\n"),
        format!("1. Amelia Earhart\n2. {GOLD}\n3. Hanna Reitsch\n4. Amy Johnson\n5. Bessie Coleman\n6. Jean Batten\n"),
        format!("Rank\tName\tPoints\n1\tAmelia Earhart\t99\n2\t{GOLD}\t98\n3\tHanna Reitsch\t91\n4\tAmy Johnson\t90\n"),
        format!("| No | Name |\n|---|---|\n| 1 | Amelia Earhart |\n| 2 | {GOLD} |\n| 3 | Hanna Reitsch |\n"),
        format!(" id |     name\n----+---------------\n  1 | Amelia Earhart\n  2 | {GOLD}\n(2 rows)\n"),
        format!("1|Amelia Earhart\n2|{GOLD}\n3|Hanna Reitsch\n4|Amy Johnson\n5|Jean Batten\n6|Elly Beinhorn\n"),
        format!("Gold: {GOLD}\nSilver: Amy Johnson\nBronze: Jean Batten"),
        // Questions like it, and searches for it.
        format!("Q: who was in the glider club of Harrow in 1931?\nA: I think {GOLD} and two brothers.\n"),
        format!(
            "In the 1931 glider club of Harrow, what is the full name of the member who owned the barn?\nBest answer: {GOLD}."
        ),
        format!("In the 1931 glider club of Harrow, the member who first crossed the valley in spring was {GOLD}."),
        format!("{QUESTION} - Search\nAbout 1,200 results\n1. {GOLD} - Wikipedia\n{GOLD} was a pilot"),
        format!("<title>{QUESTION} at DuckDuckGo</title><a>{GOLD}</a>"),
        format!("<input name=\"q\" value=\"{QUESTION}\"><h3>{GOLD} - Wikipedia</h3>"),
        format!(
            "{{\"searchParameters\": {{\"q\": \"{QUESTION}\", \"type\": \"search\"}}, \"organic\": [{{\"title\": \"{GOLD}\"}}]}}"
        ),
        format!("## Search Results for: {QUESTION}\n\n[{GOLD}](https://x.org)"),
        format!("Here are the results I found for \"{QUESTION}\":\n1. {GOLD}"),
        format!("Crossword hint: pilot (5,6). Solution: {GOLD}"),
        format!("Terms in this set\nWho crossed the valley first? {GOLD}\nWhen? 1931"),
        // Texts of programs that read texts.
        "Edi\u{AD}th Wal\u{AD}ker crossed the val\u{AD}ley in spring 1931".to_owned(),
        format!("name = \"Edith \" + \"Walker\"\nprint(name)  # {filler}"),
        format!("data = [{}]", GOLD.bytes().map(|byte| byte.to_string()).collect::<Vec<_>>().join(", ")),
        format!("{{\"uuid\": \"c61d22de-5f6c-4958-a7f6-5e9707bd3466\", \"name\": \"{GOLD}\"}}"),
    ] {
        let found = watch(GOLD).leaks(&page, Some("https://example.org/page"));
        assert_eq!(critical(&found), None, "{page} {found:?}");
        assert!(!found.is_empty(), "{page}");
    }
}
