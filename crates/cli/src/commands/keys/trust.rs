//! `proofmark keys trust`.

use std::path::Path;

use proofmark_artefact::store::read_bounded;
use proofmark_trust::key::PublicKey;
use proofmark_trust::keyring::KeyringError;
use proofmark_trust::policy::{KeyName, Trust, Trusted};
use proofmark_trust::public::MAX_PUBLIC_KEY;

use super::{check_name, check_roles, find_trusted, list, load_for_edit, need_role, visible_lines};
use crate::args::KeysTrustArgs;
use crate::exit::Failure;
use crate::settings::Settings;
use crate::signing::{edit_trust, keyring, load_trust, ring_failure, trust_failure};

pub(super) fn run(args: &KeysTrustArgs, trust_file: Option<&Path>, settings: &Settings) -> Result<(), Failure> {
    if args.remove {
        return remove(args, trust_file, settings);
    }
    let trust = load_for_edit(settings, trust_file)?;
    let found = resolve(&args.key, &trust, settings)?;
    let before = trust.get(&found.key.fingerprint());
    let mut trusted = match before {
        Some(before) => before.clone(),
        None => {
            need_role(&args.role)?;
            let name = args.name.clone().or(found.name).ok_or_else(|| {
                Failure::new("the key has no name that can be used").hint("give one with `--name`".to_owned())
            })?;
            Trusted::always(name, found.key)
        }
    };
    if let Some(name) = &args.name {
        trusted.name = name.clone();
    }
    check_name(&trust, &trusted.name, Some(&trusted.key))?;
    if !args.role.roles.is_empty() {
        check_roles(&args.role)?;
        trusted.roles = args.role.roles.iter().copied().collect();
    }
    trusted.not_before = args.role.from.clone().or(trusted.not_before);
    trusted.not_after = args.role.until.clone().or(trusted.not_after);
    let verb = match before {
        None => "believed",
        Some(before) if *before == trusted => "unchanged:",
        Some(_) => "changed:",
    };
    let mut text = format!("{verb} `{}` {} as {}", trusted.name, trusted.key.fingerprint(), list(trusted.roles.iter()));
    text.extend(trusted.not_before.iter().map(|start| format!(" from {start}")));
    text.extend(trusted.not_after.iter().map(|end| format!(" until {end}")));
    let revoked = trusted.revoked.clone();
    let path = edit_trust(settings, trust_file, |trust, path| {
        trust.put(trusted).map_err(|error| trust_failure(&error, path))
    })?;
    settings.print(&visible_lines(&format!("{text}, in {}\n", path.display())))?;
    if let Some(revoked) = revoked {
        let what = format!("it stays revoked, as {} at {}\n", revoked.reason, revoked.at);
        settings.print_err(&format!("{}{what}", settings.style.stderr.warn("warning: ")));
    }
    Ok(())
}

fn remove(args: &KeysTrustArgs, trust_file: Option<&Path>, settings: &Settings) -> Result<(), Failure> {
    let trusted = find_trusted(&load_trust(settings, trust_file)?, &args.key)?.clone();
    let path = edit_trust(settings, trust_file, |trust, _| {
        trust.remove(&trusted.key.fingerprint());
        Ok(())
    })?;
    let (name, fingerprint) = (&trusted.name, trusted.key.fingerprint());
    settings.print(&visible_lines(&format!(
        "removed `{name}` {fingerprint} from {}: nothing it ever signed is believed\n",
        path.display()
    )))
}

/// A public key, and what it might be called.
struct Found {
    key: PublicKey,
    name: Option<KeyName>,
}

/// The key that a text gives: a line, a file, or one that is known.
fn resolve(what: &str, trust: &Trust, settings: &Settings) -> Result<Found, Failure> {
    let path = Path::new(what);
    // A line, or a whole file that was pasted.
    if what.starts_with("ssh-") || what.starts_with("-----BEGIN ") {
        let (key, comment) =
            PublicKey::parse(what).map_err(|error| Failure::new(format!("what was given: {error}")))?;
        return Ok(Found { key, name: comment.and_then(|comment| comment.parse().ok()) });
    }
    if let Ok(trusted) = find_trusted(trust, what) {
        return Ok(Found { key: trusted.key.clone(), name: Some(trusted.name.clone()) });
    }
    match keyring(settings)?.find(what) {
        Ok(held) => return Ok(Found { key: held.public, name: Some(held.name) }),
        Err(KeyringError::Unknown { .. }) if path.is_file() => {}
        Err(error @ KeyringError::Unknown { .. }) => {
            return Err(ring_failure(&error).hint("nor is there such a file; give one with a public key".to_owned()));
        }
        Err(error) => return Err(ring_failure(&error)),
    }
    let bytes = read_bounded(path, MAX_PUBLIC_KEY).map_err(|error| Failure::from_error(&error))?;
    let (key, comment) = PublicKey::parse(&String::from_utf8_lossy(&bytes))
        .map_err(|error| Failure::new(format!("`{}`: {error}", path.display())))?;
    let stem = || path.file_stem()?.to_str()?.parse().ok();
    Ok(Found { key, name: comment.and_then(|comment| comment.parse().ok()).or_else(stem) })
}
