//! What is seen, what is not, and how grave it is.

use proofmark_canon::Value;

use super::*;

const QUESTION: &str = "In the spring of 1931, which member of the Ridgeway Gliding Club repaired the tail of the club's \
    second glider with a piece of an old piano? Give the first name only.";

fn watch(gold: &str, question: &str) -> Watch {
    watch_of(&[gold], question, "t1", &[])
}

fn watch_of(gold: &[&str], question: &str, task_id: &str, shown: &[&str]) -> Watch {
    let gold: Vec<String> = gold.iter().map(|text| (*text).to_owned()).collect();
    Watch::new(&Subject { gold: &gold, question, task_id, choices: &[], shown, marks: &Marks::gaia() })
}

fn critical(sightings: &[Sighting]) -> Option<Why> {
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
