//! `proofmark keys ls`, `show` and `export`: nothing is changed, and nothing private shown.

use std::collections::BTreeMap;
use std::path::Path;

use proofmark_artefact::text::visible;
use proofmark_trust::key::{Fingerprint, PublicKey};
use proofmark_trust::keyring::{Held, KeyringError, Listing};
use proofmark_trust::policy::{Distrust, Reason, Role, Trust, Trusted};
use proofmark_trust::sshsig::NAMESPACE;
use serde::Serialize;

use super::super::run::to_json;
use super::{find_trusted, list};
use crate::args::{KeyForm, KeysExportArgs, KeysLsArgs, KeysShowArgs, TextOrJson};
use crate::exit::Failure;
use crate::settings::Settings;
use crate::signing::{Signer, Source, choose_for, keyring, load_trust, open, ring_failure, signer};
use crate::ui::table::{Align, render};

#[derive(Serialize)]
struct LsDocument {
    broken: Vec<Broken>,
    format: &'static str,
    keys: Vec<Row>,
    version: u32,
}

#[derive(Serialize)]
struct Broken {
    name: String,
    why: String,
}

/// What is known of a key.
#[derive(Serialize)]
struct Row {
    fingerprint: Fingerprint,
    name: String,
    not_after: Option<String>,
    not_before: Option<String>,
    /// Whether the private half is here: `encrypted`, `plain`, `unreadable`, or null.
    private: Option<&'static str>,
    revoked: Option<Revoked>,
    roles: Vec<Role>,
    state: State,
}

#[derive(Serialize)]
struct Revoked {
    at: String,
    reason: Reason,
}

/// Whether the key is believed now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum State {
    Believed,
    NotYet,
    Expired,
    Revoked,
    /// Not in the trust file.
    Unknown,
}

pub(super) fn ls(args: &KeysLsArgs, trust_file: Option<&Path>, settings: &Settings) -> Result<(), Failure> {
    let trust = load_trust(settings, trust_file)?;
    let Listing { keys, broken } = keyring(settings)?.list().map_err(|error| ring_failure(&error))?;
    let mut all = BTreeMap::new();
    for trusted in trust.keys() {
        all.insert(trusted.key.fingerprint(), row(&trusted.key, None, Some(trusted), settings)?);
    }
    for held in keys {
        let trusted = trust.get(&held.public.fingerprint());
        all.insert(held.public.fingerprint(), row(&held.public, Some(&held), trusted, settings)?);
    }
    let mut keys: Vec<Row> = all.into_values().collect();
    keys.sort_by(|a, b| a.name.cmp(&b.name).then_with(|| a.fingerprint.cmp(&b.fingerprint)));
    let why = |error: KeyringError| ring_failure(&error).on_one_line();
    let broken: Vec<Broken> = broken.into_iter().map(|(name, error)| Broken { name, why: why(error) }).collect();
    if args.format == TextOrJson::Json {
        return settings.print(&to_json(&LsDocument { broken, format: "proofmark.keys-ls", keys, version: 1 })?);
    }
    if keys.is_empty() {
        settings.print("no keys; `proofmark keys new NAME --role ROLE` makes one\n")?;
    } else {
        // Where there is little room the fingerprint gives way; its beginning is enough to name the key.
        let head = ["name", "fingerprint", "roles", "believed", "private"].map(|title| (title, Align::Left));
        let rows: Vec<Vec<String>> = keys
            .iter()
            .map(|row| {
                let private = row.private.unwrap_or("not here").to_owned();
                vec![row.name.clone(), row.fingerprint.to_string(), list(row.roles.iter()), row.words(), private]
            })
            .collect();
        settings.print(&render(&head, &rows, settings.width))?;
    }
    for Broken { name, why } in broken {
        let text = format!("`{name}` cannot be used: {why}\n");
        settings.print_err(&format!("{}{}", settings.style.stderr.warn("warning: "), visible(&text)));
    }
    Ok(())
}

#[derive(Serialize)]
struct ShowDocument {
    format: &'static str,
    key: Row,
    /// Whether the private half was opened.
    opened: bool,
    pem: String,
    public_key: String,
    /// Where the private half is: a path or a variable; null when it is not here.
    source: Option<String>,
    version: u32,
}

pub(super) fn show(args: &KeysShowArgs, trust_file: Option<&Path>, settings: &Settings) -> Result<(), Failure> {
    let trust = load_trust(settings, trust_file)?;
    let passphrase_file = args.passphrase.passphrase_file.as_deref();
    let (public, source) = match (&args.key, args.role) {
        (Some(what), _) => match find(what, &trust, settings) {
            // The public half of a file or a variable is behind the private one.
            Err(_) if Path::new(what).is_file() => {
                behind(settings, &trust, Role::Submitter, Some(what), passphrase_file)?
            }
            other => other?,
        },
        (None, role) => match choose_for(settings, &trust, role.unwrap_or(Role::Submitter))? {
            Source::Ring(held) => (held.public.clone(), Some(Source::Ring(held))),
            _ => behind(settings, &trust, role.unwrap_or(Role::Submitter), None, passphrase_file)?,
        },
    };
    if args.open {
        match &source {
            Some(source) => drop(open(settings, source, passphrase_file)?),
            None => return Err(Failure::new("the private half of this key is not here")),
        }
    }
    let held = match &source {
        Some(Source::Ring(held)) => Some(held),
        _ => None,
    };
    let row = row(&public, held, trust.get(&public.fingerprint()), settings)?;
    let place = match &source {
        Some(Source::Ring(held)) => Some(keyring(settings)?.path(&held.name).display().to_string()),
        Some(Source::File(path)) => Some(path.display().to_string()),
        Some(Source::Variable(name)) => Some((*name).to_owned()),
        None => None,
    };
    let (public_key, pem) = (public.to_ssh_line(&row.name), public.to_pem());
    if args.format == TextOrJson::Json {
        let format = "proofmark.keys-show";
        let document = ShowDocument { format, key: row, opened: args.open, pem, public_key, source: place, version: 1 };
        return settings.print(&to_json(&document)?);
    }
    let style = settings.style.stdout;
    let mut out = format!("{} {}\n", style.bold(if row.name.is_empty() { "key" } else { &row.name }), row.fingerprint);
    let mut line = |name: &str, text: &str| out.push_str(&format!("{} {}\n", style.dim(name), visible(text)));
    if !row.roles.is_empty() {
        line("roles:   ", &list(row.roles.iter()));
    }
    line("believed:", &row.words());
    line(
        "private: ",
        &match (&place, row.private) {
            (Some(place), Some(form)) => format!("{place} ({form})"),
            (Some(place), None) => place.clone(),
            (None, _) => "not here".to_owned(),
        },
    );
    if args.open {
        line("opened:  ", "the passphrase is right and both halves fit");
    }
    out.push_str(&format!("{public_key}\n{pem}"));
    settings.print(&out)
}

pub(super) fn export(args: &KeysExportArgs, trust_file: Option<&Path>, settings: &Settings) -> Result<(), Failure> {
    let trust = load_trust(settings, trust_file)?;
    let Some(what) = &args.key else {
        return settings.print(&trust.allowed_signers(args.role, NAMESPACE));
    };
    let (public, source) = find(what, &trust, settings)?;
    let name = match source {
        Some(Source::Ring(held)) => held.name.to_string(),
        _ => trust.get(&public.fingerprint()).map(|trusted| trusted.name.to_string()).unwrap_or_default(),
    };
    settings.print(&match args.form {
        KeyForm::Ssh => format!("{}\n", public.to_ssh_line(&name)),
        KeyForm::Pem => public.to_pem(),
    })
}

/// The public half of a key that must be opened to know it.
fn behind(
    settings: &Settings,
    trust: &Trust,
    role: Role,
    chosen: Option<&str>,
    passphrase_file: Option<&Path>,
) -> Result<(PublicKey, Option<Source>), Failure> {
    let Signer { key, source } = signer(settings, trust, role, chosen, passphrase_file)?;
    Ok((key.public(), Some(source)))
}

/// A key of the ring, or else of the trust file.
fn find(what: &str, trust: &Trust, settings: &Settings) -> Result<(PublicKey, Option<Source>), Failure> {
    match keyring(settings)?.find(what) {
        Ok(held) => Ok((held.public.clone(), Some(Source::Ring(held)))),
        Err(KeyringError::Unknown { what: shown, mut there }) => match find_trusted(trust, what) {
            Ok(trusted) => Ok((trusted.key.clone(), None)),
            Err(_) => {
                there.extend(trust.keys().iter().map(|trusted| trusted.name.to_string()));
                there.sort();
                there.dedup();
                Err(ring_failure(&KeyringError::Unknown { what: shown, there }))
            }
        },
        Err(error) => Err(ring_failure(&error)),
    }
}

fn row(key: &PublicKey, held: Option<&Held>, trusted: Option<&Trusted>, settings: &Settings) -> Result<Row, Failure> {
    let fingerprint = key.fingerprint();
    let private = match held {
        None => None,
        Some(held) => Some(match keyring(settings)?.load(held) {
            Ok(file) if file.is_encrypted() => "encrypted",
            Ok(_) => "plain",
            Err(_) => "unreadable",
        }),
    };
    let name = held.map(|held| held.name.to_string()).or_else(|| trusted.map(|trusted| trusted.name.to_string()));
    Ok(Row {
        fingerprint,
        name: name.unwrap_or_default(),
        not_after: trusted.and_then(|trusted| trusted.not_after.as_ref()).map(ToString::to_string),
        not_before: trusted.and_then(|trusted| trusted.not_before.as_ref()).map(ToString::to_string),
        private,
        revoked: trusted
            .and_then(|trusted| trusted.revoked.as_ref())
            .map(|revoked| Revoked { at: revoked.at.to_string(), reason: revoked.reason }),
        roles: trusted.map(|trusted| trusted.roles.iter().copied().collect()).unwrap_or_default(),
        state: trusted.map_or(State::Unknown, |trusted| state(trusted, &settings.now())),
    })
}

/// Whether a key is believed now, in the first of its roles: dates are the same for all.
fn state(trusted: &Trusted, now: &str) -> State {
    let Some(role) = trusted.roles.first() else { return State::Unknown };
    let mut alone = Trust::default();
    if alone.put(trusted.clone()).is_err() {
        return State::Unknown;
    }
    match alone.key(&trusted.key.fingerprint(), *role, now) {
        Ok(_) => State::Believed,
        Err(Distrust::TooEarly(..)) => State::NotYet,
        Err(Distrust::Expired(..)) => State::Expired,
        Err(Distrust::Revoked(..)) => State::Revoked,
        Err(_) => State::Unknown,
    }
}

impl Row {
    fn words(&self) -> String {
        match (self.state, &self.revoked) {
            (State::Unknown, _) => "not in the trust file".to_owned(),
            (_, Some(revoked)) => format!("{} {}", revoked.reason, day(&revoked.at)),
            (State::NotYet, None) => format!("from {}", self.not_before.as_deref().map_or("", day)),
            (State::Expired, None) => format!("expired {}", self.not_after.as_deref().map_or("", day)),
            (_, None) => match &self.not_after {
                Some(end) => format!("until {}", day(end)),
                None => "yes".to_owned(),
            },
        }
    }
}

/// The day of a moment, for a column.
fn day(moment: &str) -> &str {
    moment.split('T').next().unwrap_or(moment)
}
