//! The names of a benchmark: where its answers can be had.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use aho_corasick::AhoCorasick;
use proofmark_artefact::scan::Plain;
use proofmark_canon::Digest;

/// Dataset repositories, addresses, file names and content digests of a benchmark, known for all its samples.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Marks {
    names: BTreeSet<Mark>,
    digests: BTreeSet<Digest>,
    /// What copies on other hosts of datasets are called, if that is a word with other meanings too.
    nicknames: BTreeSet<&'static str>,
    quick: Quick,
}

/// Tells that a text has no address in it, as most have none; made when it is first asked.
#[derive(Debug, Clone, Default)]
struct Quick(OnceLock<Option<AhoCorasick>>);

/// It follows from the names.
impl PartialEq for Quick {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Quick {}

/// One name, folded as texts are before they are compared.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Mark {
    pub kind: MarkKind,
    pub text: String,
}

/// How much a name says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum MarkKind {
    /// Nothing else is called so: a repository, an address.
    Address,
    /// A file's name, which others may have too: it says something beside an answer.
    File,
}

impl Marks {
    /// No names at all.
    pub fn none() -> Self {
        Self::default()
    }

    /// What GAIA's data is called, where it lives and what copies of it are called.
    pub fn gaia() -> Self {
        let mut marks = Self::none();
        for address in [
            "gaia-benchmark/GAIA",
            "gaia-benchmark--GAIA",
            "datasets/gaia-benchmark",
            "dataset=gaia-benchmark",
            "spaces/gaia-benchmark",
            "2023/validation/metadata.jsonl",
            "2023/test/metadata.jsonl",
            "2023/validation/metadata.parquet",
            "gaia_validation.jsonl",
            "gaia_validation.json",
            "gaia-validation.jsonl",
            "gaia_val.jsonl",
            "gaia_metadata.jsonl",
            "gaia_answers",
            "gaia-answers",
            "gaia/metadata.jsonl",
            "gaia/2023/validation",
            "AI-ModelScope/GAIA",
        ] {
            marks.add_address(address);
        }
        for file in [
            "metadata.jsonl",
            "metadata.parquet",
            "metadata.level1.parquet",
            "metadata.level2.parquet",
            "metadata.level3.parquet",
        ] {
            marks.add_file(file);
        }
        marks.nicknames.insert("gaia");
        marks
    }

    /// What is known of any dataset: its repository (`owner/name`), its file and the digest of its bytes.
    pub fn of_dataset(repository: Option<&str>, path: Option<&str>, digest: Option<Digest>) -> Self {
        let mut marks = Self::none();
        if let Some(repository) = repository {
            marks.add_address(repository);
            marks.add_address(&repository.replace('/', "--"));
        }
        if let Some(path) = path {
            let path = path.trim_start_matches("./");
            if path.contains('/') {
                marks.add_address(path);
            }
            marks.add_file(path.rsplit('/').next().unwrap_or(path));
        }
        if let Some(digest) = digest {
            marks.add_digest(digest);
        }
        marks
    }

    /// Adds an address or a part of one that nothing else has. What is too short to be anyone's own is left out.
    pub fn add_address(&mut self, address: &str) {
        let address = address.trim_start_matches("https://").trim_start_matches("http://").trim_end_matches('/');
        self.add(MarkKind::Address, address, 8);
    }

    /// Adds a file's name.
    pub fn add_file(&mut self, name: &str) {
        if name.contains('.') {
            self.add(MarkKind::File, name, 8);
        }
    }

    /// Adds the digest of a file's bytes. A pointer that names the digest counts as the file's address.
    pub fn add_digest(&mut self, digest: Digest) {
        let text = digest.to_string();
        self.add(MarkKind::Address, text.rsplit(':').next().unwrap_or(&text), 64);
        self.digests.insert(digest);
    }

    /// All names of both.
    pub fn merge(mut self, other: &Self) -> Self {
        self.quick = Quick::default();
        self.names.extend(other.names.iter().cloned());
        self.digests.extend(other.digests.iter().copied());
        self.nicknames.extend(other.nicknames.iter().copied());
        self
    }

    /// Whether these are the bytes of one of the benchmark's files.
    pub fn knows(&self, digest: &Digest) -> bool {
        self.digests.contains(digest)
    }

    /// Whether an address leads to the benchmark's data.
    pub fn is_source(&self, source: &str) -> bool {
        let plain = Plain::joined(source);
        let may_be = self.prepare().is_none_or(|quick| quick.is_match(plain.text()));
        may_be && self.addresses().any(|mark| find_name(plain.text(), mark).next().is_some())
            || self.is_mirror(plain.text())
    }

    /// Whether an address leads to a copy: a dataset of any owner, on a host of datasets, whose name says that it is a copy
    /// of the benchmark. The benchmark's name alone is not enough, for others have it too: Gaia is also a telescope.
    fn is_mirror(&self, address: &str) -> bool {
        if self.nicknames.is_empty() {
            return false;
        }
        let path = HOSTS.iter().find_map(|host| Some(&address[find_name(address, host).next()? + host.len()..]));
        let is_copy = |name: &str| {
            let words = || name.split(|sign: char| !sign.is_alphanumeric());
            words().any(|word| self.nicknames.contains(word))
                && words().any(|word| COPIES.contains(&word))
                && !words().any(|word| OTHERS.contains(&word))
        };
        path.is_some_and(|path| path.split(['?', '#']).next().unwrap_or_default().split('/').take(4).any(is_copy))
    }

    /// Makes what is needed to ask for sources, so that copies need not make it again.
    pub(super) fn prepare(&self) -> Option<&AhoCorasick> {
        self.quick.0.get_or_init(|| AhoCorasick::new(self.addresses()).ok()).as_ref()
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &Mark> {
        self.names.iter()
    }

    pub(super) fn addresses(&self) -> impl Iterator<Item = &str> {
        self.names.iter().filter(|mark| mark.kind == MarkKind::Address).map(|mark| mark.text.as_str())
    }

    fn add(&mut self, kind: MarkKind, name: &str, shortest: usize) {
        let text = Plain::joined(name).text().to_owned();
        if text.len() >= shortest {
            self.quick = Quick::default();
            self.names.insert(Mark { kind, text });
        }
    }
}

/// Where copies of datasets are kept.
const HOSTS: &[&str] = &[
    "kaggle.com/datasets",
    "kaggle.com/api/v1/datasets",
    "modelscope.cn/datasets",
    "modelscope.cn/api/v1/datasets",
    "modelscope.ai/datasets",
    "huggingface.co/datasets",
    "huggingface.co/api/datasets",
    "hf.co/datasets",
    "hf-mirror.com/datasets",
    "opendatalab.com",
    "wisemodel.cn/datasets",
    "gitcode.com/hf_mirrors",
];

/// What the name of a dataset says beside the benchmark's, when it is a copy of it.
const COPIES: &[&str] = &[
    "benchmark",
    "bench",
    "validation",
    "val",
    "answers",
    "questions",
    "agent",
    "agents",
    "assistant",
    "assistants",
    "llm",
    "leaderboard",
];

/// What it says when it is about the telescope's stars.
const OTHERS: &[&str] =
    &["dr1", "dr2", "dr3", "dr4", "edr3", "esa", "star", "stars", "stellar", "astronomy", "catalog", "catalogue"];

/// Where a name stands in a folded text as a name of its own: not as a part of a longer word.
pub(super) fn find_name<'a>(text: &'a str, name: &'a str) -> impl Iterator<Item = usize> + 'a {
    let is_word = |character: Option<char>| character.is_some_and(char::is_alphanumeric);
    text.match_indices(name)
        .map(|(at, _)| at)
        .filter(move |at| !is_word(text[..*at].chars().next_back()) && !is_word(text[at + name.len()..].chars().next()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_the_dataset_are_known_however_they_are_written() {
        let marks = Marks::gaia();
        for source in [
            "https://huggingface.co/datasets/gaia-benchmark/GAIA",
            "HTTPS://HUGGINGFACE.CO/DATASETS/GAIA-BENCHMARK/GAIA/resolve/main/2023/validation/metadata.jsonl",
            "https://datasets-server.huggingface.co/rows?dataset=gaia-benchmark%2FGAIA&config=2023_all",
            "https://hf-mirror.com/datasets/gaia-benchmark/GAIA",
            "/home/u/.cache/huggingface/hub/datasets--gaia-benchmark--GAIA/snapshots/x",
            "https://example.org/copy/2023/validation/metadata.jsonl",
            "https://raw.githubusercontent.com/u/r/main/data/gaia_validation.jsonl",
            "https://www.kaggle.com/datasets/foo/gaia-benchmark",
            "https://www.kaggle.com/api/v1/datasets/download/foo/gaia_validation_2023",
            "https://modelscope.cn/datasets/AI-ModelScope/GAIA",
            "https://www.modelscope.cn/datasets/someone/GAIA-benchmark/files?x=1",
            "https://huggingface.co/datasets/someone/gaia-validation-with-answers",
        ] {
            assert!(marks.is_source(source), "{source}");
        }
        for source in [
            "https://en.wikipedia.org/wiki/Gaia",
            "https://example.org/metadata.jsonl",
            "https://huggingface.co/datasets/squad",
            "https://www.esa.int/gaia",
            "https://www.kaggle.com/datasets/foo/gaia",
            "https://www.kaggle.com/datasets/foo/gaia-dr3-validation",
            "https://www.kaggle.com/datasets/foo/llm-benchmark",
            "https://www.kaggle.com/datasets/gaia-labs/house-prices",
            "https://www.kaggle.com/code/foo/gaia-benchmark-of-telescopes",
            "https://www.kaggle.com/datasets?search=gaia-benchmark",
            "https://modelscope.cn/datasets/foo/poetry",
            "",
        ] {
            assert!(!marks.is_source(source), "{source}");
        }
    }

    #[test]
    fn any_dataset_has_marks() {
        let digest = Digest::of(b"bytes");
        let marks = Marks::of_dataset(Some("acme/trivia"), Some("data/test-00000.parquet"), Some(digest));
        assert!(marks.knows(&digest) && !marks.knows(&Digest::of(b"other")));
        assert!(marks.is_source("https://huggingface.co/datasets/Acme/Trivia/viewer"));
        assert!(marks.is_source("https://x.org/data/test-00000.parquet"));
        assert!(!marks.is_source("https://x.org/test-00000.parquet"), "a file's name alone is no address");
        assert!(!marks.is_source("https://acme.org/trivia"));
        let pointer = format!("oid {digest}");
        assert!(marks.is_source(&pointer));
        assert!(!Marks::none().merge(&Marks::gaia()).is_source("https://acme.org/trivia"));
        assert_eq!(Marks::none().merge(&marks), marks);
    }

    #[test]
    fn what_is_too_short_to_be_a_name_is_left_out() {
        assert_eq!(Marks::of_dataset(Some("a/b"), Some("x.csv"), None), Marks::none());
        assert_eq!(Marks::of_dataset(Some(""), Some("readme"), None), Marks::none());
    }
}
