//! Holds `docs/models.md` against the tables that it describes.

use proofmark_artefact::suite::config::Api;
use proofmark_artefact::suite::plan::ModelPlan;

use crate::build::Speaker;
use crate::class::Class;
use crate::params::KINDS;
use crate::preset::PRESETS;

const PAGE: &str = include_str!("../../../docs/models.md");

/// The cells of every table row that begins with a word in code.
fn rows() -> impl Iterator<Item = Vec<&'static str>> {
    PAGE.lines()
        .filter(|line| line.starts_with("| `"))
        .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
}

fn row(name: &str, cells: usize) -> Vec<&'static str> {
    let found = rows().find(|row| row[0] == format!("`{name}`") && row.len() == cells);
    found.unwrap_or_else(|| panic!("docs/models.md has no row of {cells} cells for `{name}`"))
}

#[test]
fn the_page_has_every_provider_with_its_address_and_its_keys() {
    for preset in PRESETS {
        let row = row(preset.name, 4);
        let address = if preset.base.is_empty() { "base_url" } else { preset.base };
        assert_eq!(row[1], format!("`{address}`"), "{}", preset.name);
        for key in preset.keys {
            assert!(row[2].contains(&format!("`{key}`")), "{}: {key}", preset.name);
        }
        assert_eq!(row[2].contains("none"), preset.is_keyless, "{}", preset.name);
    }
}

#[test]
fn the_page_says_which_provider_takes_which_parameter() {
    let models = ["openai", "openai", "compatible", "anthropic", "gemini", "mistral", "cohere", "ollama", "cloudflare"];
    let of_pictures = [
        "size",
        "quality",
        "background",
        "style",
        "image_format",
        "aspect_ratio",
        "width",
        "height",
        "steps",
        "guidance",
        "negative_prompt",
    ];
    for (name, _) in KINDS {
        if of_pictures.contains(name) {
            assert!(PAGE.contains(&format!("`{name}`")), "{name}");
            continue;
        }
        let row = row(name, 2 + models.len());
        for (at, model) in models.iter().enumerate() {
            let mut plan = ModelPlan::named("m", format!("{model}:x"));
            plan.api = (at == 1).then_some(Api::Responses);
            let speaker = Speaker::of(&plan).unwrap();
            let Speaker::Live(_, wire) = &speaker else { panic!("{model} is not live") };
            let takes =
                crate::build::known_params(&plan, &speaker).contains(name) && (*name != "seed" || wire.takes_seed());
            assert_eq!(row[2 + at], if takes { "yes" } else { "–" }, "`{name}` of {model}, column {at}");
        }
    }
}

#[test]
fn the_page_has_every_class_with_its_status() {
    for class in Class::ALL {
        let row = row(class.as_str(), 4);
        assert_eq!(row[1], format!("`{}`", class.status().as_str()));
    }
}
