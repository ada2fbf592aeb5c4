//! `proofmark models`.

use proofmark_artefact::text::one_line;
use proofmark_model::preset::{PRESETS, Preset};
use proofmark_model::{Surroundings, known_programs, offline, price};
use serde::Serialize;

use super::run::to_json;
use crate::args::{ModelsArgs, TextOrJson};
use crate::exit::{Exit, Failure};
use crate::settings::Settings;
use crate::ui::table::{Align, render};
use crate::ui::wrap::wrap;

pub(crate) fn run(args: &ModelsArgs, settings: &Settings) -> Result<Exit, Failure> {
    let text = match (args.prices, args.format) {
        (true, TextOrJson::Text) => price_table(settings),
        (true, TextOrJson::Json) => to_json(&PriceDocument::new())?,
        (false, format) => {
            let document = Document::new(&settings.surroundings(None));
            match format {
                TextOrJson::Text => describe(&document, settings),
                TextOrJson::Json => to_json(&document)?,
            }
        }
    };
    settings.print(&text)?;
    Ok(Exit::Holds)
}

/// Everything that can stand before the colon of a model.
#[derive(Serialize)]
struct Document {
    format: &'static str,
    offline: Vec<Offline>,
    programs: Vec<Program>,
    providers: Vec<Provider>,
    version: u32,
}

#[derive(Serialize)]
struct Provider {
    about: &'static str,
    /// Null when the suite or the environment must say.
    address: Option<String>,
    /// The variable that says so, when it is not the preset's own.
    address_from: Option<&'static str>,
    /// What is missing when there is no address.
    address_missing: Option<String>,
    is_local: bool,
    /// The variable that holds the key; never the key.
    key_set_in: Option<String>,
    key_variables: &'static [&'static str],
    makes_images: bool,
    name: &'static str,
    needs_key: bool,
}

#[derive(Serialize)]
struct Offline {
    about: &'static str,
    model: String,
}

#[derive(Serialize)]
struct Program {
    found_at: Option<String>,
    install: &'static str,
    model: String,
    program: &'static str,
}

impl Document {
    fn new(surroundings: &Surroundings) -> Self {
        let offline =
            offline::NAMES.map(|name| Offline { about: offline::about(name), model: format!("offline:{name}") });
        let programs = known_programs().map(|known| Program {
            found_at: surroundings.find_program(known.program).map(|path| path.display().to_string()),
            install: known.install,
            model: format!("command:{}", known.name),
            program: known.program,
        });
        Self {
            format: "proofmark.models",
            offline: offline.into(),
            programs: programs.collect(),
            providers: PRESETS.iter().map(|preset| Provider::new(preset, surroundings)).collect(),
            version: 1,
        }
    }
}

impl Provider {
    fn new(preset: &'static Preset, surroundings: &Surroundings) -> Self {
        let (address, address_from, address_missing) = match surroundings.base_of(preset) {
            Ok((base, from)) => (Some(without_secrets(&base)), from, None),
            Err(error) => (None, None, Some(error.message)),
        };
        Self {
            about: preset.about,
            address,
            address_from,
            address_missing,
            is_local: preset.is_local,
            key_set_in: surroundings.key_is_in(preset),
            key_variables: preset.keys,
            makes_images: preset.makes_images,
            name: preset.name,
            needs_key: !preset.is_keyless,
        }
    }

    fn address_text(&self) -> String {
        match (&self.address, self.address_from, &self.address_missing) {
            (Some(address), Some(variable), _) => format!("{} (from {variable})", one_line(address, 200)),
            (Some(address), None, _) => one_line(address, 200),
            (None, _, missing) => format!("no address yet: {}", missing.as_deref().unwrap_or("it is not known")),
        }
    }

    fn key_text(&self) -> String {
        let is_needed = if self.needs_key { "" } else { " and not needed" };
        match (&self.key_set_in, self.key_variables) {
            (Some(variable), _) => format!("{variable} is set"),
            (None, []) => "no key, unless `api_key_env` names one".to_owned(),
            (None, [one]) => format!("{one} is not set{is_needed}"),
            (None, several) => format!("neither {} is set{is_needed}", several.join(" nor ")),
        }
    }
}

/// An address as it may be shown: people put names, passwords and keys into them.
pub(super) fn without_secrets(address: &str) -> String {
    let bare = address.split(['?', '#']).next().unwrap_or_default();
    let Some((scheme, rest)) = bare.split_once("://") else { return bare.to_owned() };
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    format!("{scheme}://{host}{path}")
}

fn describe(document: &Document, settings: &Settings) -> String {
    let (mut list, width) = (List { out: String::new(), settings }, settings.width);
    list.title("providers, for models written `provider:model-id`");
    let column = document.providers.iter().map(|provider| provider.name.len()).max().unwrap_or(0);
    for provider in &document.providers {
        list.entry(provider.name, column, provider.about, Mark::Plain);
        let (address, key) = (provider.address_text(), provider.key_text());
        let mark = Mark::of(provider.key_set_in.is_some());
        let both = format!("{address} · {key}");
        if both.chars().count() + column + 4 <= width {
            list.entry("", column, &both, mark);
        } else {
            list.entry("", column, &address, Mark::Plain);
            list.entry("", column, &key, mark);
        }
    }
    list.title("programs; any other is `command:NAME` with `command: {run: [PROGRAM]}`");
    let column = document.programs.iter().map(|program| program.model.len()).max().unwrap_or(0);
    for program in &document.programs {
        let text = match &program.found_at {
            Some(path) => one_line(path, 200),
            None => format!("not found; {}", program.install),
        };
        list.entry(&program.model, column, &text, Mark::of(program.found_at.is_some()));
    }
    list.title("offline models, which need no network and no key");
    for model in &document.offline {
        list.entry(&model.model, column, model.about, Mark::Plain);
    }
    let hint = "`proofmark doctor SUITE` asks each model of a suite once.";
    list.out.push_str(&format!("\n{}\n", wrap(0, hint, width)));
    list.out
}

/// Names on the left, what there is to say on the right. It reads well on a narrow terminal, where a table of addresses
/// would be cut.
struct List<'a> {
    out: String,
    settings: &'a Settings,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    Plain,
    /// It is there.
    Present,
}

impl Mark {
    fn of(is_there: bool) -> Self {
        if is_there { Self::Present } else { Self::Plain }
    }
}

impl List<'_> {
    fn title(&mut self, text: &str) {
        let gap = if self.out.is_empty() { "" } else { "\n" };
        self.out.push_str(&format!("{gap}{}\n", wrap(0, text, self.settings.width)));
    }

    fn entry(&mut self, name: &str, column: usize, text: &str, mark: Mark) {
        let style = self.settings.style.stdout;
        let text = wrap(column + 4, text, self.settings.width);
        let text = if mark == Mark::Present { style.good(&text) } else { text };
        let padding = " ".repeat(column.saturating_sub(name.chars().count()));
        let name = if name.is_empty() { String::new() } else { style.bold(name) };
        self.out.push_str(&format!("  {name}{padding}  {text}\n"));
    }
}

/// The built-in table of list prices.
#[derive(Serialize)]
struct PriceDocument {
    as_of: &'static str,
    format: &'static str,
    prices: Vec<Price>,
    unit: &'static str,
    version: u32,
}

#[derive(Serialize)]
struct Price {
    input: f64,
    /// A model costs this when its name is this one, or goes on with `-`, `@` or `:`; the longest fits best.
    model: &'static str,
    output: f64,
    provider: &'static str,
}

impl PriceDocument {
    fn new() -> Self {
        let price = |&(provider, model, input, output): &_| Price { input, model, output, provider };
        Self {
            as_of: price::AS_OF,
            format: "proofmark.prices",
            prices: price::TABLE.iter().map(price).collect(),
            unit: "usd_per_million_tokens",
            version: 1,
        }
    }
}

fn price_table(settings: &Settings) -> String {
    let head = [("provider", Align::Left), ("model", Align::Left), ("input", Align::Right), ("output", Align::Right)];
    let rows: Vec<Vec<String>> = price::TABLE
        .iter()
        .map(|(provider, model, input, output)| {
            vec![(*provider).to_owned(), (*model).to_owned(), dollars(*input), dollars(*output)]
        })
        .collect();
    let note = format!(
        "List prices of {} in US dollars a million tokens, without discounts, caches and batches. A name stands for its \
         snapshots too (`gpt-4.1` for `gpt-4.1-2025-04-14`); the longest name that fits counts. What a suite says \
         wins: `price: {{input: 0.4, output: 1.6}}`.",
        price::AS_OF
    );
    format!("{}\n{}\n", render(&head, &rows, settings.width), wrap(0, &note, settings.width))
}

/// Two digits, or as many more as there are.
fn dollars(amount: f64) -> String {
    let exact = amount.to_string();
    let digits = exact.split_once('.').map_or(0, |(_, digits)| digits.len());
    format!("{amount:.*}", digits.max(2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_loses_what_must_not_be_seen() {
        for (address, shown) in [
            ("https://api.example/v1", "https://api.example/v1"),
            ("https://me:pw@api.example/v1", "https://api.example/v1"),
            ("https://api.example/v1?key=abc", "https://api.example/v1"),
            ("http://[::1]:80", "http://[::1]:80"),
            ("https://a@b@c/d@e", "https://c/d@e"),
            ("nonsense", "nonsense"),
        ] {
            assert_eq!(without_secrets(address), shown);
        }
    }

    #[test]
    fn prices_keep_their_digits() {
        assert_eq!([2.0, 0.4, 0.075, 0.0375].map(dollars), ["2.00", "0.40", "0.075", "0.0375"]);
    }
}
