//! Pages that state what a question asks, which anybody may read, and texts that hold the question with its answer.

use proptest::prelude::*;
use proptest::sample::select;

use super::common::{Weight, weigh};
use super::tests::{ANSWER, ID, critical, prose, watch, watch_of};
use super::*;

const CLUB: &str =
    "In the 1931 glider club of Harrow, what is the full name of the member who first crossed the valley in spring?";
const CURIE: &str = "Who was the first woman to win a Nobel Prize in Physics?";

#[test]
fn pages_that_answer_a_question_are_ordinary() {
    let titanic = "Which ship discovered the wreck of the RMS Titanic in 1985?";
    let people = "What was the population of the municipality of San Cristobal de las Casas, Chiapas, Mexico in 2010?";
    let architect = "What is the name of the architect of the Basilica de la Sagrada Familia in Barcelona, Catalonia?";
    let faq = r#"[{"question":"Who was in the club?","answer":"Edith Walker"},{"question":"When?","answer":"1931"}]"#;
    let table =
        "| Question | Answer |\n|---|---|\n| When was it founded? | 1931 |\n| Who was in the club? | Edith Walker |\n";
    let sql = "INSERT INTO faq(question, answer) VALUES ('Who was it?','x'),('Who was in it?','Edith Walker');";
    for (question, gold, text) in [
        (CURIE, "Marie Curie", "Marie Curie was the first woman to win a Nobel Prize in Physics, in 1903."),
        (
            CURIE,
            "Marie Curie",
            "Marie Curie, who was the first woman to win a Nobel Prize in Physics, was born in Warsaw.",
        ),
        (CURIE, "Marie Curie", "Who was the first woman to win a Nobel Prize in Chemistry? Marie Curie."),
        (titanic, "Knorr", "RV Knorr discovered the wreck of the RMS Titanic in 1985. Knorr was built in 1970."),
        (
            people,
            "185917",
            "The population of the municipality of San Cristobal de las Casas, Chiapas, Mexico was 185,917 in 2010.",
        ),
        (
            architect,
            "Antoni Gaudi",
            "The Basilica de la Sagrada Familia in Barcelona, Catalonia, was designed by Antoni Gaudi.",
        ),
        (CLUB, "Edith Walker", &format!("You asked: {CLUB}\n\nTop hit: Edith Walker (1901-1980), glider pilot.")),
        (CLUB, "Edith Walker", &format!("{{\"query\": \"{CLUB}\", \"answer\": \"Edith Walker\", \"results\": []}}")),
        (CLUB, "Edith Walker", &format!("Showing results for {CLUB} 1. Edith Walker")),
        (CLUB, "Edith Walker", &format!("{CLUB} - Google Search\n1. Edith Walker - Wikipedia")),
        (CLUB, "Edith Walker", faq),
        (CLUB, "Edith Walker", table),
        (CLUB, "Edith Walker", sql),
        (CLUB, "Edith Walker", "question,answer\nCapital of France,Paris\nHarrow pilot,Edith Walker\n"),
        (CLUB, "Edith Walker", &format!("web_search(\"{CLUB}\") -> 1 result: Edith Walker crossed the valley")),
        (CLUB, "Edith Walker", "Level: the question of the file name. Final answer: Edith Walker"),
        (CLUB, "Edith Walker", "Task: find her\nAnswer: Edith Walker\nTask: find him\nAnswer: Rome\n"),
    ] {
        let found = watch_of(&[gold], question, ID, &[], &[]).leaks(text, Some("https://en.wikipedia.org/wiki/X"));
        assert_eq!(critical(&found), None, "{text} {found:?}");
        assert!(!found.is_empty(), "{text}");
    }
}

#[test]
fn records_and_keys_are_leaks_however_they_are_written() {
    let record = r#"{"Question":"some other text","Level":"1","Final answer":"Edith Walker","file_name":""}"#;
    let short = r#"{"Question":"other","Final answer":"Edith Walker","Level":1}"#;
    let sql = "INSERT INTO answers(task_id, answer) VALUES ('t1','Paris'),('t2','Edith Walker');";
    let yaml = "- task: t2\n  final_answer: Edith Walker\n- task: t3\n  final_answer: Rome\n";
    let ids = "question,answer\n1,Paris\n2,Edith Walker\n3,Rome\n";
    for (gold, text, want) in [
        ("Edith Walker", record.to_owned(), Why::AnswerRecord),
        ("Edith Walker", short.to_owned(), Why::AnswerRecord),
        ("Edith Walker", format!("{{\"body\": {}}}", serde_json::to_string(record).unwrap()), Why::AnswerRecord),
        ("Edith Walker", sql.to_owned(), Why::AnswerRecord),
        ("Edith Walker", yaml.to_owned(), Why::AnswerRecord),
        ("Edith Walker", ids.to_owned(), Why::AnswerRecord),
        ("17000", format!("{CLUB} seventeen thousand"), Why::WithQuestion),
        ("seventeen thousand", format!("{CLUB} 17,000"), Why::WithQuestion),
        ("Edith Walker", format!("Q: {CLUB}\nA: Edith Walker"), Why::WithQuestion),
        ("Edith Walker", format!("{}... Edith Walker", &CLUB[..70]), Why::WithQuestion),
        ("Edith Walker", format!("{CLUB} {}Edith Walker", "x y z. ".repeat(300)), Why::WithQuestion),
        ("3", format!("{{\"query\": \"{CLUB}\", \"expected_output\": \"3\"}}"), Why::WithQuestion),
    ] {
        let found = watch_of(&[gold], CLUB, ID, &[], &[]).leaks(&text, None);
        assert_eq!(critical(&found), Some(want), "{text} {found:?}");
    }
}

#[test]
fn copies_of_the_dataset_are_sources_wherever_they_are_kept() {
    for source in
        ["https://www.kaggle.com/datasets/foo/gaia-benchmark", "https://modelscope.cn/datasets/AI-ModelScope/GAIA"]
    {
        assert_eq!(
            critical(&watch("Edith Walker", CLUB).leaks("Edith Walker", Some(source))),
            Some(Why::DatasetSource)
        );
    }
    let ordinary = "https://www.kaggle.com/datasets/foo/glider-clubs";
    assert_eq!(critical(&watch("Edith Walker", CLUB).leaks("Edith Walker", Some(ordinary))), None);
}

#[test]
fn a_short_answer_is_given_where_it_is_called_the_answer() {
    for (text, is_told) in [
        ("The answer is 3.", true),
        ("You are a helpful assistant. Be brief. The answer is 3.", true),
        ("Hint: the answer is three", true),
        ("The correct answer is 3.", true),
        ("The answer is 3 digits long.", false),
        ("The answer is 3.5 at most.", false),
        ("If the answer is 3, write three.", false),
        ("The answer is 3 or 4.", false),
        ("End with a sentence of this form:\nThe answer is 3.", false),
        ("For example, you could write this. The answer is 3.", false),
        ("Finish with\nThe answer is 3.", false),
        ("Q: What is 1 + 2? The answer is 3.", false),
        ("The answer is 3. The next one: the answer is 9.", false),
        ("Think first, then write\nAnswer: 3", false),
    ] {
        let found = watch("3", CLUB).oracle(text);
        assert_eq!(critical(&found), is_told.then_some(Why::GivenAsAnswer), "{text} {found:?}");
    }
}

/// What a question asks and a page states: somebody did something with a thing at a place in a year.
#[derive(Debug, Clone)]
struct Fact {
    verb: &'static str,
    thing: String,
    place: String,
    year: u32,
    gold: String,
}

/// Questions about a fact. None of their words is left out of the statements below.
const QUESTIONS: [&str; 9] = [
    "Who {verb} the {thing} of {place} in {year}?",
    "In {year}, who {verb} the {thing} of {place}?",
    "Which person {verb} the {thing} of {place} in {year}? Give the last name only.",
    "What is the name of the person who {verb} the {thing} of {place} in {year}?",
    "The {thing} of {place} was {verb} in {year} by whom?",
    "According to the history of {place}, who {verb} the {thing} in {year}?",
    "I read a book on {place} last week. It says that the {thing} of {place} was {verb} in {year}. Who {verb} it?",
    "Tell me who {verb} the {thing} of {place} in {year}.",
    "who {verb} the {thing} of {place} in {year}",
];

const STATEMENTS: [&str; 12] = [
    "{gold} {verb} the {thing} of {place} in {year}.",
    "{gold}, who {verb} the {thing} of {place} in {year}, died soon after.",
    "In {year}, {gold} {verb} the {thing} of {place}.",
    "The {thing} of {place} was {verb} in {year} by {gold}.",
    "It was {gold} who {verb} the {thing} of {place} in {year}.",
    "It says that the {thing} of {place} was {verb} in {year}. It was {gold}.",
    "The name of the person who {verb} the {thing} of {place} in {year} is {gold}.",
    "According to the history of {place}, {gold} {verb} the {thing} in {year}.",
    "{gold} (who {verb} the {thing} of {place} in {year})",
    "{gold} is the person who {verb} the {thing} of {place} in {year}, as many tell.",
    "Nobody but {gold} knew who {verb} the {thing} of {place} in {year}.",
    "Who {verb} the {thing} of {place} in {year} and again in 1777? {gold}.",
];

/// Ways to put a statement on a page.
const PAGES: [&str; 8] = [
    "{}",
    "<html><body><p>{}</p></body></html>",
    "{\"title\": \"History\", \"snippet\": \"{}\"}",
    "1. History - Wikipedia\n   {}\n2. Other things",
    "# History\n\n- {}\n",
    "| Fact |\n|---|\n| {} |\n",
    "Answer: {}",
    "Search results\n[1] {} https://example.org/a",
];

/// Ways to put a question and its answer into a record.
const RECORDS: [&str; 10] = [
    "{question} {gold}",
    "{question}\n{gold}",
    "{gold}: {question}",
    "Q: {question}\nA: {gold}",
    "{\"question\": \"{question}\", \"answer\": \"{gold}\"}",
    "{\"Question\": \"{question}\", \"Level\": 1, \"x\": \"{gold}\"}",
    "7,\"{question}\",{gold}",
    "<tr><td>{question}</td><td>{gold}</td></tr>",
    "| {question} | {gold} |",
    "- question: {question}\n  answer: {gold}",
];

impl Fact {
    fn write(&self, template: &str) -> String {
        let year = self.year.to_string();
        let slots = [
            ("verb", self.verb),
            ("thing", &self.thing),
            ("place", &self.place),
            ("year", &year),
            ("gold", &self.gold),
        ];
        slots.iter().fold(template.to_owned(), |text, (slot, word)| text.replace(&format!("{{{slot}}}"), word))
    }
}

fn fact() -> impl Strategy<Value = Fact> {
    let verb = select(vec!["repaired", "discovered", "built", "designed", "painted", "won", "sold"]);
    let thing = select(vec![
        "old bridge",
        "second glider",
        "cathedral",
        "first prize for the best garden",
        "wooden tail of the club's only glider",
        "large hall that stood by the river",
    ]);
    let place = select(vec![
        "Harrow",
        "the village of Lower Ridgeway",
        "San Cristobal de las Casas",
        "Graz",
        "the Abbey at Melk",
    ]);
    let gold = prop_oneof![ANSWER.prop_map(String::from), (4000u64..99_999).prop_map(|number| number.to_string())];
    (verb, thing, place, 1800u32..2020, gold).prop_map(|(verb, thing, place, year, gold)| Fact {
        verb,
        thing: thing.to_owned(),
        place: place.to_owned(),
        year,
        gold,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn pages_that_state_the_fact_are_never_critical(
        fact in fact(),
        question in select(QUESTIONS.to_vec()),
        statements in prop::collection::vec(select(STATEMENTS.to_vec()), 1..3),
        page in select(PAGES.to_vec()),
        before in prose(),
        after in prose(),
    ) {
        let question = fact.write(question);
        let stated = fact.write(&statements.join(" "));
        let page = page.replace("{}", &format!("{before} {stated} {after}"));
        let found = watch_of(&[&fact.gold], &question, ID, &[], &[]).leaks(&page, Some("https://en.wikipedia.org/wiki/X"));
        prop_assert_eq!(critical(&found), None, "{} {:?}", page, question);
        // A word that is everywhere is not listed.
        prop_assert!(!found.is_empty() || weigh(&fact.gold) == Weight::Common);
    }

    #[test]
    fn the_question_with_its_answer_is_always_critical(
        fact in fact(),
        question in select(QUESTIONS[..8].to_vec()),
        record in select(RECORDS.to_vec()),
        before in prose(),
        after in prose(),
    ) {
        let question = fact.write(question);
        let record = fact.write(&record.replace("{question}", &question));
        let text = format!("{before}\n{record}\n{after}");
        let found = watch_of(&[&fact.gold], &question, ID, &[], &[]).leaks(&text, None);
        prop_assert_eq!(critical(&found), Some(Why::WithQuestion), "{}", text);
    }

    #[test]
    fn no_page_of_such_words_is_critical(
        answer in prop_oneof![ANSWER.prop_map(String::from), (4000u64..99_999).prop_map(|number| number.to_string())],
        words in prop::collection::vec(select(vec![
            "the", "answer", "Answer:", "of", "question", "solution:", "France", "1931", "glider", "<b>", "</b>", "result", "member",
            "club", "spring", "first name", "page.", "See also", "http://example.org/a", "correct", "data", "level",
            "task", "file", "piano", "only.", "final answer:", "=", "\"", "who first crossed the valley", "In the 1931 glider club of Harrow,",
            "the full name of the member", "?", "what is",
        ]), 0..60),
        at in any::<prop::sample::Index>(),
    ) {
        let mut page = words.clone();
        page.insert(at.index(words.len() + 1), &answer);
        let watch = watch_of(&[&answer], CLUB, ID, &[], &[]);
        let found = watch.leaks(&page.join(" "), Some("https://en.wikipedia.org/wiki/Glider"));
        prop_assert_eq!(critical(&found), None, "{}", page.join(" "));
        prop_assert_eq!(watch.leaks(&words.join(" "), None), []);
    }

    #[test]
    fn no_separator_hides_a_list(
        entries in prop::collection::vec("[n-z]{3,8}( [n-z]{3,8})?", 2..6),
        written in select(vec![", ", ",", "; ", "\n"]),
        separator in select(vec![", ", ",", "; ", ";", " | ", "\n", "\n- ", " / ", "\", \"", "</li><li>", "\t", " · ", "、", " -- ", "&nbsp;&bull;&nbsp;"]),
        last in select(vec!["", "and ", "or ", "And "]),
        before in prose(),
        after in prose(),
    ) {
        let (tail, heads) = entries.split_last().unwrap();
        let joint = if last.is_empty() || separator.ends_with(char::is_whitespace) { last.to_owned() } else { format!(" {last}") };
        let list = format!("{}{separator}{joint}{tail}", heads.join(separator));
        let watch = watch(&entries.join(written), CLUB);
        let found = watch.leaks(&format!("{before}\n{list}\n{after}"), None);
        prop_assert!(!found.is_empty(), "{}", list);
        prop_assert_eq!(critical(&found), None);
        let text = format!("{before} {CLUB} {list} {after}");
        prop_assert_eq!(critical(&watch.leaks(&text, None)), Some(Why::WithQuestion), "{}", text);
    }
}
