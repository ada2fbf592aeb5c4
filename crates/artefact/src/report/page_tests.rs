//! The page as a whole: its shape, its safety, its determinism.

use super::*;
use crate::picture::png;
use crate::record::{Image, Message, Output, Record, Role, Status};
use crate::report::fixture;
use crate::store::{OutputName, write_atomic};
use crate::summary::Counts;

fn page_of(manifest: &Manifest, summary: &Summary, records: &[Record]) -> String {
    page_in(Path::new("/nowhere"), manifest, summary, records)
}

fn page_in(run_dir: &Path, manifest: &Manifest, summary: &Summary, records: &[Record]) -> String {
    let mut out = Vec::new();
    render(manifest, summary, &fixture::selection(records), run_dir, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn page() -> String {
    page_of(&fixture::manifest(), &fixture::summary(), &fixture::records())
}

/// What stands between two marks, the first time they do.
fn between<'a>(text: &'a str, start: &str, end: &str) -> &'a str {
    let from = text.find(start).unwrap_or_else(|| panic!("no {start}")) + start.len();
    &text[from..from + text[from..].find(end).unwrap_or_else(|| panic!("no {end}"))]
}

/// Every tag of a page, with style sheet and script taken out; panics where tags do not nest.
fn tags(page: &str) -> Vec<String> {
    const VOID: [&str; 5] = ["meta", "input", "wbr", "img", "br"];
    let page = page.replace(STYLE, "").replace(PICTURES_STYLE, "").replace(TIMELINE_STYLE, "").replace(SCRIPT, "");
    let (mut open, mut all) = (Vec::new(), Vec::new());
    let mut rest = page.strip_prefix("<!DOCTYPE html>").unwrap();
    while let Some(at) = rest.find('<') {
        // Attributes hold no `>`: it is escaped in values.
        let tag = &rest[at + 1..at + rest[at..].find('>').unwrap()];
        rest = &rest[at + tag.len() + 2..];
        let name = tag.trim_start_matches('/').split([' ', '/']).next().unwrap();
        assert!(!name.is_empty() && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit()), "<{tag}>");
        assert_eq!(tag.matches('"').count() % 2, 0, "<{tag}>");
        if tag.starts_with('/') {
            assert_eq!(open.pop().as_deref(), Some(name), "before {}", rest.chars().take(60).collect::<String>());
        } else {
            if !tag.ends_with('/') && !VOID.contains(&name) {
                open.push(name.to_owned());
            }
            all.push(tag.to_owned());
        }
    }
    assert!(open.is_empty(), "{open:?}");
    all
}

#[test]
fn the_page_nests_and_has_its_parts() {
    let page = page();
    let tags = tags(&page);
    let count = |start: &str| tags.iter().filter(|tag| tag.starts_with(start)).count();
    assert_eq!(count("details class=\"sample\""), 48);
    assert_eq!(count("details class=\"task\""), 3);
    assert_eq!(count("h1"), 1);
    for id in ["results", "differences", "tasks", "errors", "samples", "setup"] {
        assert_eq!(count(&format!("section id=\"{id}\"")), 1, "{id}");
    }
    // Every table says what it is.
    assert_eq!(count("table"), count("caption"));
    // 4 rows of results, 24 of tasks, 4 of differences.
    assert_eq!(count("svg class=\"plot\""), 32);
    for text in [
        "<h1><bdi>small world</bdi></h1>",
        "12 of 48 samples",
        "+12.0 points</strong>, 95% CI +3.1 to +20.4, 40 items",
        "clearly higher",
        "20.8–93.9%",
        "Showing all 48 samples: 12 errors, 12 failures, 24 passes.",
        "proofmark validate DIR",
        "What is the capital of France?",
        "compared with the target",
    ] {
        assert!(page.contains(text), "{text}");
    }
}

#[test]
fn ids_are_unique_and_links_lead_somewhere() {
    let page = page();
    let mut ids: Vec<_> = tags(&page)
        .iter()
        .filter(|tag| tag.contains(" id=\""))
        .map(|tag| between(tag, " id=\"", "\"").to_owned())
        .collect();
    let all = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), all);
    for tag in tags(&page).iter().filter(|tag| tag.starts_with("a ")) {
        let target = between(tag, "href=\"#", "\"").to_owned();
        assert!(ids.contains(&target), "{target}");
    }
}

#[test]
fn the_same_run_gives_the_same_bytes_and_artifacts_do_not_matter() {
    let mut manifest = fixture::manifest();
    manifest.artifacts.insert("report.html".to_owned(), Digest::of(b"not known yet"));
    assert_eq!(page(), page());
    assert_eq!(page_of(&manifest, &fixture::summary(), &fixture::records()), page());
}

#[test]
fn the_policy_names_exactly_what_the_page_holds() {
    let page = page();
    for (kind, start, end) in [("style-src", "<style>", "</style>"), ("script-src", "<script>", "</script>")] {
        let digest = base64(Digest::of(between(&page, start, end).as_bytes()).as_bytes());
        assert!(page.contains(&format!("{kind} &#39;sha256-{digest}&#39;")), "{kind}");
        assert_eq!(page.matches(start).count(), 1);
    }
    assert!(page.contains("content=\"default-src &#39;none&#39;;"));
}

#[test]
fn the_page_makes_no_request() {
    for text in
        ["http://", "https://", "url(", "@import", " src=", "srcset", "<link", "<img", "<iframe", "fetch(", "import("]
    {
        assert!(!page().contains(text), "{text}");
    }
    for tag in tags(&page()) {
        assert!(!tag.contains(" style=") && !tag.contains(" on"), "<{tag}>");
        assert!(!tag.contains(" href=\"") || tag.contains(" href=\"#"), "<{tag}>");
    }
}

#[test]
fn hostile_strings_stay_text_wherever_they_come_from() {
    let evil = "\"'><img src=x onerror=alert(1)></pre></style><script>alert(1)</script>\u{202e}\0";
    let harmless = tags(&page());
    let mut manifest = fixture::manifest();
    let mut summary = fixture::summary();
    let mut records = fixture::records();
    manifest.name = evil.to_owned();
    manifest.harness.name = evil.to_owned();
    manifest.unicode_version = evil.to_owned();
    for model in &mut manifest.models {
        model.model = evil.to_owned();
        model.provider = evil.to_owned();
        model.params.insert(evil, evil);
    }
    for dataset in &mut manifest.datasets {
        dataset.format = evil.to_owned();
        dataset.path = Some(evil.to_owned());
        dataset.split = Some(evil.to_owned());
        dataset.revision = Some(evil.to_owned());
    }
    for task in &mut manifest.tasks {
        task.scorers[0] = evil.to_owned();
        task.id = evil.to_owned();
    }
    for row in &mut summary.models {
        row.model = evil.to_owned();
        row.condition = evil.to_owned();
    }
    for comparison in &mut summary.comparisons {
        comparison.model = evil.to_owned();
        comparison.condition = evil.to_owned();
        comparison.task = Some(evil.to_owned());
    }
    for cell in &mut summary.cells {
        cell.task = evil.to_owned();
        cell.scorer = evil.to_owned();
    }
    for record in &mut records {
        record.item_id = evil.to_owned();
        record.input.messages = vec![Message::new(Role::System, evil.to_owned())];
        record.expected = evil.into();
        record.finish_reason = Some(evil.to_owned());
        for score in &mut record.scores {
            score.scorer = evil.to_owned();
            score.explanation = evil.to_owned();
        }
        if let Some(output) = &mut record.output {
            output.text = evil.to_owned();
        }
        if let Some(error) = &mut record.error {
            error.class = evil.to_owned();
            error.message = evil.to_owned();
        }
    }
    let page = page_of(&manifest, &summary, &records);
    let names = |tags: &[String]| {
        let mut names: Vec<_> = tags.iter().map(|tag| tag.split([' ', '/']).next().unwrap().to_owned()).collect();
        names.sort_unstable();
        names.dedup();
        names
    };
    let found = tags(&page);
    assert!(names(&found).iter().all(|name| names(&harmless).contains(name)), "{:?}", names(&found));
    assert_eq!((page.matches("<script").count(), page.matches("</style").count()), (1, 1));
    assert!(!page.contains('\u{202e}') && !page.contains('\0') && page.contains("⟨U+202E⟩⟨U+0000⟩"));
    // Ids are ours.
    for tag in found.iter().filter(|tag| tag.contains(" id=\"")) {
        assert!(between(tag, " id=\"", "\"").bytes().all(|byte| byte.is_ascii_alphanumeric()), "<{tag}>");
    }
}

#[test]
fn long_texts_are_cut_with_a_note() {
    let mut records = vec![fixture::record(0, Status::Success, Some(false))];
    if let Some(output) = &mut records[0].output {
        output.text = format!("{}THE END", "<&\u{202e}".repeat(20_000));
    }
    let page = page_of(&fixture::manifest(), &fixture::summary(), &records);
    tags(&page);
    assert!(page.contains("bytes left out") && page.contains("THE END"));
    assert!(page.len() < 150_000, "{}", page.len());
}

#[test]
fn a_line_end_at_the_start_of_a_text_survives() {
    let mut records = vec![fixture::record(0, Status::Success, Some(true))];
    if let Some(output) = &mut records[0].output {
        output.text = "\n  indented".to_owned();
    }
    assert!(page_of(&fixture::manifest(), &fixture::summary(), &records).contains("<pre>\n\n  indented</pre>"));
}

#[test]
fn a_run_without_samples_or_with_errors_only_still_makes_sense() {
    let mut summary = fixture::summary();
    for row in &mut summary.models {
        row.estimate = None;
        row.counts = Counts { attempted: 4, errored: 4, passed: 0, scored: 0 };
    }
    summary.comparisons.clear();
    let records: Vec<_> = (0..5).map(|ordinal| fixture::record(ordinal, Status::Timeout, None)).collect();
    let errors = page_of(&fixture::manifest(), &summary, &records);
    tags(&errors);
    assert!(errors.contains("no score") && errors.contains("Showing all 5 samples: 5 errors."));
    assert!(!errors.contains("href=\"#differences\""));

    (summary.models, summary.cells, summary.tasks) = Default::default();
    let empty = page_of(&fixture::manifest(), &summary, &[]);
    tags(&empty);
    assert!(empty.contains("There are no samples.") && empty.contains("There are no results."));
    assert!(!empty.contains("id=\"filter\""));
}

#[test]
fn our_own_files_cannot_end_their_elements() {
    assert!(!STYLE.contains("</") && !SCRIPT.contains("</") && SCRIPT.is_ascii());
    assert!(!STYLE.contains('\r') && !SCRIPT.contains('\r'));
}

#[test]
fn base64_matches_the_rfc() {
    let cases =
        [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("foobar", "Zm9vYmFy")];
    for (bytes, want) in cases {
        assert_eq!(base64(bytes.as_bytes()), want);
    }
}

/// A run with a picture in its first answers, and what the page shows of it.
fn page_with_pictures(picture: &[u8], media_type: &str, records: usize) -> (tempfile::TempDir, String) {
    let dir = tempfile::tempdir().unwrap();
    let image = Image {
        bytes: picture.len() as u64,
        digest: Digest::of(picture),
        height: 200,
        media_type: media_type.to_owned(),
        width: 300,
    };
    if let Some(name) = OutputName::of(&image) {
        std::fs::create_dir(dir.path().join("outputs")).unwrap();
        write_atomic(&name.under(dir.path()), picture).unwrap();
    }
    let mut all = fixture::records();
    for output in all.iter_mut().filter_map(|record| record.output.as_mut()).take(records) {
        *output = Output { images: vec![image.clone()], ..Output::default() };
    }
    let page = page_in(dir.path(), &fixture::manifest(), &fixture::summary(), &all);
    (dir, page)
}

fn noise(width: u32, height: u32) -> Vec<u8> {
    let mut state = 1u32;
    let pixels = (0..width * height * 3).map(|_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    });
    png::encode_rgb(width, height, &pixels.collect::<Vec<u8>>())
}

#[test]
fn a_picture_is_shown_small_with_its_facts() {
    let picture = png::encode_rgb(300, 200, &vec![90; 300 * 200 * 3]);
    let (_dir, page) = page_with_pictures(&picture, "image/png", 1);
    let tags = tags(&page);
    let shown: Vec<_> = tags.iter().filter(|tag| tag.starts_with("img ")).collect();
    assert_eq!(shown.len(), 1);
    assert!(shown[0].starts_with("img src=\"data:image/png;base64,iVBORw0KGgo"), "{}", shown[0]);
    assert!(shown[0].contains("width=\"96\" height=\"64\" alt=\"the picture that the model made, 300 × 200 pixels\""));
    assert!(page.contains(&format!("image/png, {} bytes<br>", count(picture.len() as u64))));
    assert!(page.contains(&format!("title=\"{}\"", Digest::of(&picture))));
    assert!(page.contains("<span class=\"glance\">picture, 300 × 200 pixels"));
    // The policy lets exactly this in.
    assert!(page.contains("content=\"default-src &#39;none&#39;; img-src data:; style-src"));
    let digest = base64(Digest::of(PICTURES_STYLE.as_bytes()).as_bytes());
    assert!(page.contains(&format!(" &#39;sha256-{digest}&#39;; script-src")));
    assert_eq!(page.matches("<style>").count(), 2);
    let plain = page_of(&fixture::manifest(), &fixture::summary(), &fixture::records());
    assert!(!plain.contains("img-src") && !plain.contains("pictures"));
}

#[test]
fn a_picture_that_cannot_be_shown_leaves_its_facts() {
    // No file, no picture, too many pixels, a hostile media type.
    let mut bomb = png::encode_rgb(1, 1, &[0; 3]);
    bomb[16..20].copy_from_slice(&[0x3f, 0, 0, 0]);
    for (bytes, media_type) in [
        (&b"not a picture"[..], "image/png"),
        (&bomb, "image/png"),
        (&noise(4, 4), "image/gif"),
        (b"x", "\"><script>alert(1)</script>"),
    ] {
        let (_dir, page) = page_with_pictures(bytes, media_type, 1);
        let tags = tags(&page);
        // A picture is what its bytes are, whatever its name says.
        let shown = tags.iter().filter(|tag| tag.starts_with("img")).count();
        assert_eq!(shown, usize::from(media_type == "image/gif"), "{media_type}");
        assert_eq!(page.contains("no preview"), shown == 0);
        assert!(page.contains("300 × 200 pixels"));
        assert_eq!(tags.iter().filter(|tag| tag.starts_with("script")).count(), 1);
    }
}

#[test]
fn the_small_copies_of_a_page_are_bounded() {
    let (dir, page) = page_with_pictures(&noise(96, 96), "image/png", 48);
    let one = between(&page, "<img src=\"", "\"").len();
    assert_eq!(page.matches("<img").count(), 36);
    let image =
        Image { bytes: 0, digest: Digest::of(&noise(96, 96)), height: 1, media_type: "image/png".to_owned(), width: 1 };
    let mut records = fixture::records();
    for output in records.iter_mut().filter_map(|record| record.output.as_mut()) {
        *output = Output { images: vec![image.clone(); 9], ..Output::default() };
    }
    let page = page_in(dir.path(), &fixture::manifest(), &fixture::summary(), &records);
    let shown = page.matches("<img").count();
    assert_eq!(shown, ((4 << 20) - 1) / one, "{one}");
    // Four a sample, the others are counted.
    assert_eq!(page.matches("<figure>").count(), 36 * 4);
    assert!(page.contains("5 pictures left out"));
}

#[test]
fn a_page_of_agents_nests_and_its_policy_names_every_style_sheet() {
    use crate::manifest::AgentEntry;
    use crate::record::{Voting, VotingRule};
    use crate::trajectory::{Step, StopReason, Trajectory};
    let mut manifest = fixture::manifest();
    manifest.evidence.recorded = true;
    let agent = AgentEntry { protocol: crate::suite::solver::Protocol::Native, tools: Vec::new() };
    manifest.tasks.iter_mut().for_each(|task| task.agent = Some(agent.clone()));
    let mut records = fixture::records();
    let mut lines = Vec::new();
    for record in &mut records {
        let answers = vec![Some("</ol></details>".to_owned()), None];
        record.voting = Some(Voting { answers, chosen: None, rule: VotingRule::TieNoAnswer, votes: 1 });
        for attempt in 0..2 {
            let trajectory = Trajectory {
                attempt: Some(attempt),
                final_answer: None,
                key: record.key.clone(),
                model: record.model.clone(),
                no_answer: Some("</pre>".to_owned()),
                run_id: record.run_id,
                steps: vec![
                    Step::prompt(Role::User, "</li>"),
                    Step::model_output("<ol>", Some(record.usage)),
                    Step::tool_call("<code>", &"</code>".into()).unwrap(),
                    Step::tool_result("<p>", b"<pre>", Some("<bdi>"), true, Some("<i>"), None),
                ],
                stop: Some(StopReason::ModelError),
                task_id: record.task.clone(),
                turns: 1,
                usage: record.usage,
            };
            lines.extend(proofmark_canon::to_vec(&trajectory).unwrap());
            lines.push(b'\n');
        }
    }
    let dir = tempfile::tempdir().unwrap();
    write_atomic(&dir.path().join(crate::store::names::TRAJECTORIES), &lines).unwrap();
    let page = page_in(dir.path(), &manifest, &fixture::summary(), &records);
    let found = tags(&page);
    assert_eq!(found.iter().filter(|tag| *tag == "details class=\"course\"").count(), 96);
    assert_eq!(found.iter().filter(|tag| tag.starts_with("ol start")).count(), 48);
    for style in [STYLE, TIMELINE_STYLE] {
        let digest = base64(Digest::of(style.as_bytes()).as_bytes());
        assert!(page.contains(&format!("&#39;sha256-{digest}&#39;")) && page.contains(style));
    }
    // Pages without agents do not carry what only agents need.
    assert!(!self::page().contains(TIMELINE_STYLE));
}
