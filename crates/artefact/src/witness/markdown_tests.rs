use super::super::block::{Role, Start};
use super::super::testing;
use super::*;

/// The text inside the first fence, by the rules of CommonMark.
fn fenced(text: &str) -> (&str, &str) {
    let (first, rest) = text.split_once('\n').unwrap();
    let ticks = first.len() - first.trim_start_matches('`').len();
    assert!(ticks >= 3);
    let closes = |line: &str| {
        let bare = line.trim_end();
        bare.len() >= ticks && bare.bytes().all(|byte| byte == b'`')
    };
    let mut end = 0;
    for line in rest.split_inclusive('\n') {
        if closes(line) {
            return (&first[ticks..], &rest[..end]);
        }
        end += line.len();
    }
    panic!("the fence is never closed");
}

const HOSTILE: [&str; 22] = [
    "plain",
    "```",
    "`````````",
    "\n```\n# owned\n",
    "a: b",
    "a #b",
    "# heading",
    "\"quoted\" 'twice' \\n",
    "- item",
    "{a: [b",
    "*alias &anchor !tag %x @y",
    "yes",
    "null",
    "1e5",
    "~",
    "a\r\nb\tc\0d\u{1b}[31m",
    "\u{202e}right to left\u{2066}\u{200b}\u{feff}\u{2028}\u{85}",
    "\u{e0041}\u{e007f}\u{ffff}\u{fdd0}\u{10fffe}",
    "<script>alert(1)</script><!-- -->",
    "| a | b |",
    "",
    "\u{1f469}\u{200d}\u{1f680} Zürich 北京",
];

#[test]
fn whatever_things_are_called_the_block_is_yaml_and_says_what_the_sidecar_says() {
    let long = "x` ".repeat(5000);
    for text in HOSTILE.into_iter().chain([long.as_str()]) {
        let (mut manifest, mut summary) = testing::run();
        manifest.models[0].id = text.to_owned();
        manifest.models[0].model = format!("p:{text}");
        manifest.models[1].provider = text.to_owned();
        manifest.conditions.requested = vec![text.to_owned()];
        manifest.assets[0].path = text.to_owned();
        manifest.datasets[0].path = Some(text.to_owned());
        summary.name = text.to_owned();
        summary.models[0].model = text.to_owned();
        summary.models[0].condition = text.to_owned();
        summary.cells[0].task = text.to_owned();
        summary.cells[0].scorer = text.to_owned();
        summary.comparisons[0].task = Some(text.to_owned());
        summary.answered_by[0].name = text.to_owned();
        let block = testing::block_of(&manifest, &summary, &["proofmark", "run", text]);
        let out = render(&block, &summary).unwrap();
        assert_eq!(out, render(&block, &summary).unwrap());
        let (info, yaml) = fenced(&out);
        assert_eq!(info, INFO);
        let read = crate::yaml::load(yaml).unwrap_or_else(|error| panic!("{text:?}: {error}\n{yaml}")).to_value();
        let sidecar = json::to_value(&block).unwrap();
        assert_eq!(read, shown(&sidecar), "{text:?}");
        assert_eq!(read.get("models").unwrap().as_array().unwrap()[0].get("id").unwrap().as_str(), Some(text));
        assert!(!out.chars().any(|c| c != '\n' && is_deceptive(c)), "{text:?}");
        // Outside of fences nothing is markup: no tag, and every row of a table has its number of cells.
        let rest = &out[out.find(yaml).unwrap() + yaml.len()..];
        let (tables, script) = rest.split_once("## Replay this run").unwrap();
        assert!(!tables.contains('<') && !tables.contains("owned\n#"), "{tables}");
        for table in tables.split("\n\n").filter(|part| part.starts_with('|')) {
            let cells: Vec<usize> = table.lines().map(|line| line.matches('|').count()).collect();
            assert!(cells.iter().all(|count| *count == cells[0]), "{table}");
        }
        let start = script.find("```").unwrap();
        let (info, command) = fenced(&script[start..]);
        assert_eq!((info, command.lines().count()), ("sh", 3), "{command}");
    }
}

#[test]
fn the_markdown_shows_short_hashes_and_counts_request_ids() {
    let block = testing::block();
    let out = render(&block, &testing::run().1).unwrap();
    let (_, yaml) = fenced(&out);
    let suite = proofmark_canon::Digest::of(b"suite");
    assert!(yaml.contains(&format!("hash: \"sha256:{}\"", &suite.hex()[..12])), "{yaml}");
    assert!(!out.contains(&suite.hex()) && !out.contains("req_1"));
    assert!(yaml.contains("provider_request_ids: 3 captured\n") && yaml.contains("provider_request_ids: 0 captured\n"));
    for part in [
        "kind: eval-live",
        "root: \"../..\"",
        "root_in_repo: evals",
        "path: \"owner/set@",
        "program: \"…/agent\"",
        "base_url: \"https://***@h/v1?k=***\"",
        "submittable: false",
    ] {
        assert!(yaml.contains(part), "{part}: {yaml}");
    }
    for part in [
        "# small world\n",
        "| large | noisy:large | tiny-2 | **another model** | 3 |",
        "## Between conditions",
        "+12.0 | +3.1 to +20.4 | 40 | 10 / 26 / 4 |",
        "cd -- ../..    # from the folder of this report\nproofmark run suite.yaml\n",
        "# at commit 0123456789012345678901234567890123456789\n",
    ] {
        assert!(out.contains(part), "{part}: {out}");
    }
    assert!(!out.contains("/home/ada") && !out.contains("/usr/local"), "{out}");
}

#[test]
fn every_input_is_there_once_and_many_are_cut_in_the_markdown_alone() {
    let block = testing::block();
    let roles: Vec<Role> = block.inputs.iter().map(|input| input.role).collect();
    assert_eq!(roles, [Role::Suite, Role::Dataset, Role::Dataset, Role::Brief, Role::Prompt]);
    let hub = &block.inputs[2];
    assert_eq!((hub.repo.as_deref(), hub.files.len()), (Some("owner/set"), 1));
    let (mut manifest, summary) = testing::run();
    for at in 0..500 {
        let mut more = manifest.assets[1].clone();
        more.path = format!("attachments/{at}");
        manifest.assets.push(more);
    }
    let block = testing::block_of(&manifest, &summary, &[]);
    assert_eq!(block.inputs.len(), 505);
    let out = render(&block, &summary).unwrap();
    assert!(fenced(&out).1.contains("inputs_not_shown: 405"));
    assert!(out.contains("The command was not stored."));
}

#[test]
fn a_run_that_was_resumed_says_so_and_shows_the_command_that_started_it() {
    let mut block = testing::block();
    let again = Start {
        argv: vec!["proofmark".to_owned(), "run".to_owned(), "--resume".to_owned()],
        git_dirty: Some(true),
        invoked_at: "2026-11-17T00:00:00Z".to_owned(),
        proofmark_version: "0.1.0".to_owned(),
        repo_commit: block.repo_commit.clone(),
    };
    block.resumed = true;
    block.invocations = vec![again];
    block.git_dirty = Some(true);
    block.root = None;
    let out = render(&block, &testing::run().1).unwrap();
    let (_, yaml) = fenced(&out);
    assert!(yaml.contains("resumed: true") && !yaml.contains("invocations"), "{yaml}");
    for part in
        ["was interrupted and resumed", "with changes that were not committed", "# in the folder that holds suite.yaml"]
    {
        assert!(out.contains(part), "{part}");
    }
    let (before, _) = out.split_once("## Starts").unwrap();
    assert!(!before.contains("--resume\n"));
}

#[test]
fn every_start_of_a_resumed_run_shows_whole() {
    let (_, summary) = testing::run();
    let mut block = testing::block();
    assert!(!render(&block, &summary).unwrap().contains("## Starts"));
    let start = |argv: &str| Start {
        argv: vec!["proofmark".to_owned(), argv.to_owned()],
        git_dirty: Some(true),
        invoked_at: "2026-11-16T01:02:03Z".to_owned(),
        proofmark_version: "0.1.0".to_owned(),
        repo_commit: Some("a".repeat(40)),
    };
    block.invocations = vec![start("run"), start("it's ```")];
    let whole = render(&block, &summary).unwrap();
    // Any edit of a start is an edit of the report.
    let edits: [fn(&mut Start); 5] = [
        |start| start.argv[1].push('x'),
        |start| start.git_dirty = Some(false),
        |start| start.invoked_at.push('x'),
        |start| start.proofmark_version.push('x'),
        |start| start.repo_commit = None,
    ];
    for (at, edit) in edits.into_iter().enumerate() {
        let mut edited = block.clone();
        edit(&mut edited.invocations[1]);
        assert_ne!(render(&edited, &summary).unwrap(), whole, "edit {at}");
    }
}
