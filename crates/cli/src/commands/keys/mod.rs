//! `proofmark keys`.

mod look;
mod trust;

use std::path::Path;

use proofmark_artefact::text::visible;
use proofmark_trust::key::{PrivateKey, PublicKey};
use proofmark_trust::keyring::{Held, KeyringError, begins, named};
use proofmark_trust::passphrase::Passphrase;
use proofmark_trust::policy::{KeyName, Reason, Revocation, Role, Trust, Trusted};

use crate::args::{KeysArgs, KeysCommand, KeysImportArgs, KeysNewArgs, KeysRevokeArgs, KeysRotateArgs, RoleArgs};
use crate::exit::{Exit, Failure};
use crate::settings::Settings;
use crate::signing::{edit_trust, keyring, load_trust, new_passphrase, open_file, ring_failure, trust_failure, warn};

pub(crate) fn run(args: &KeysArgs, settings: &Settings) -> Result<Exit, Failure> {
    let trust = args.trust.as_deref();
    match &args.command {
        KeysCommand::New(args) => new(args, trust, settings),
        KeysCommand::Ls(args) => look::ls(args, trust, settings),
        KeysCommand::Show(args) => look::show(args, trust, settings),
        KeysCommand::Export(args) => look::export(args, trust, settings),
        KeysCommand::Import(args) => import(args, trust, settings),
        KeysCommand::Rotate(args) => rotate(args, trust, settings),
        KeysCommand::Revoke(args) => revoke(args, trust, settings),
        KeysCommand::Trust(args) => trust::run(args, trust, settings),
    }?;
    Ok(Exit::Holds)
}

fn new(args: &KeysNewArgs, trust_file: Option<&Path>, settings: &Settings) -> Result<(), Failure> {
    let ring = keyring(settings)?;
    // Everything that can be wrong is, before anybody types a passphrase.
    ring.check_free(&args.name).map_err(|error| ring_failure(&error))?;
    need_role(&args.role)?;
    check_roles(&args.role)?;
    check_name(&load_for_edit(settings, trust_file)?, &args.name, None)?;
    let passphrase = match args.no_passphrase {
        true => None,
        false => {
            Some(new_passphrase(settings, &format!("`{}`", args.name), args.passphrase.passphrase_file.as_deref())?)
        }
    };
    let key = PrivateKey::from_secret(&*settings.random()?);
    let held = add(settings, &args.name, &key, passphrase.as_ref())?;
    say_made(settings, "made", &held, passphrase.is_some())?;
    believe(settings, trust_file, &held, &args.role)
}

fn import(args: &KeysImportArgs, trust_file: Option<&Path>, settings: &Settings) -> Result<(), Failure> {
    check_roles(&args.role)?;
    let stem = args.file.file_stem().and_then(|stem| stem.to_str()).and_then(|stem| stem.parse().ok());
    let name: KeyName = args.name.clone().or(stem).ok_or_else(|| {
        Failure::new(format!("the name of `{}` cannot be a key's", args.file.display()))
            .hint("give one with `--name`".to_owned())
    })?;
    keyring(settings)?.check_free(&name).map_err(|error| ring_failure(&error))?;
    check_name(&load_for_edit(settings, trust_file)?, &name, None)?;
    let file = args.passphrase.passphrase_file.as_deref();
    let (opened, found) = open_file(settings, &args.file, file)?;
    warn(settings, &format!("`{}`", args.file.display()), &opened);
    // What opened the file protects the key here too; a file without one gets one.
    let passphrase = match (args.no_passphrase, found) {
        (true, _) => None,
        (false, Some(found)) => {
            found.check_new().map_err(|error| {
                Failure::from_error(&error).hint("give the file a longer one first: `openssl pkcs8 -topk8`".to_owned())
            })?;
            Some(found)
        }
        (false, None) => Some(new_passphrase(settings, &format!("`{name}`"), file)?),
    };
    let held = add(settings, &name, &opened.key, passphrase.as_ref())?;
    say_made(settings, "imported", &held, passphrase.is_some())?;
    let hint = format!("`{}` is still there; delete it if it is not needed\n", args.file.display());
    settings.print_err(&format!("{}{}", settings.style.stderr.hint("hint: "), visible(&hint)));
    if args.role.roles.is_empty() {
        return Ok(());
    }
    believe(settings, trust_file, &held, &args.role)
}

fn rotate(args: &KeysRotateArgs, trust_file: Option<&Path>, settings: &Settings) -> Result<(), Failure> {
    let ring = keyring(settings)?;
    let old = ring.find(&args.key).map_err(|error| ring_failure(&error))?;
    let trust = load_for_edit(settings, trust_file)?;
    let signer = old.public.fingerprint();
    let before = trust.get(&signer).cloned().ok_or_else(|| {
        Failure::new(format!("`{}` has no role that a new key could take over", old.name))
            .hint(format!("`proofmark keys trust {} --role ROLE` gives it one", old.name))
    })?;
    if let Some(revoked) = &before.revoked {
        return Err(Failure::new(format!(
            "`{}` was revoked as {} at {} already",
            old.name, revoked.reason, revoked.at
        ))
        .hint("make a new key with `proofmark keys new NAME --role ROLE`".to_owned()));
    }
    let name = match &args.name {
        Some(name) => name.clone(),
        None => next_name(&old.name, |name| {
            ring.check_free(name).is_ok() && trust.keys().iter().all(|trusted| trusted.name != *name)
        })?,
    };
    ring.check_free(&name).map_err(|error| ring_failure(&error))?;
    check_name(&trust, &name, None)?;
    let passphrase = match args.no_passphrase {
        true => None,
        false => Some(new_passphrase(settings, &format!("`{name}`"), args.passphrase.passphrase_file.as_deref())?),
    };
    let key = PrivateKey::from_secret(&*settings.random()?);
    let held = add(settings, &name, &key, passphrase.as_ref())?;
    say_made(settings, "made", &held, passphrase.is_some())?;
    let now = settings.now();
    let at = now.parse().map_err(|error| Failure::from_error(&error))?;
    let path = edit_trust(settings, trust_file, |trust, path| {
        let revocation = Revocation { at, reason: Reason::Superseded };
        let mut successor = Trusted::always(name.clone(), held.public.clone());
        successor.roles.clone_from(&before.roles);
        successor.not_before = now.parse().ok();
        trust.revoke(&signer, revocation).map_err(|error| trust_failure(&error, path))?;
        trust.put(successor).map_err(|error| trust_failure(&error, path))
    })?;
    let roles = list(before.roles.iter());
    settings.print(&visible_lines(&format!(
        "believed as {roles} from {now} on, in {}\n`{}` is superseded: what it signed before {now} is still believed\n",
        path.display(),
        old.name
    )))
}

fn revoke(args: &KeysRevokeArgs, trust_file: Option<&Path>, settings: &Settings) -> Result<(), Failure> {
    let trust = load_trust(settings, trust_file)?;
    let trusted = find_trusted(&trust, &args.key)?.clone();
    let at = match &args.at {
        Some(at) => at.clone(),
        None => settings.now().parse().map_err(|error| Failure::from_error(&error))?,
    };
    let revocation = Revocation { at: at.clone(), reason: args.reason };
    let path = edit_trust(settings, trust_file, |trust, path| {
        trust.revoke(&trusted.key.fingerprint(), revocation).map_err(|error| trust_failure(&error, path))
    })?;
    let meaning = match args.reason {
        Reason::Compromised => "nothing it ever signed is believed".to_owned(),
        Reason::Superseded | Reason::Retired => format!("what it signed before {at} is still believed"),
    };
    settings.print(&visible_lines(&format!(
        "revoked `{}` {} as {} in {}: {meaning}\n",
        trusted.name,
        trusted.key.fingerprint(),
        args.reason,
        path.display()
    )))?;
    settings.print_err(&format!(
        "{}others learn of it from your trust file alone: hand it to them\n",
        settings.style.stderr.hint("hint: ")
    ));
    Ok(())
}

fn add(
    settings: &Settings,
    name: &KeyName,
    key: &PrivateKey,
    passphrase: Option<&Passphrase>,
) -> Result<Held, Failure> {
    let noise = settings.random()?;
    keyring(settings)?.add(name, key, passphrase, &noise).map_err(|error| ring_failure(&error))
}

fn say_made(settings: &Settings, verb: &str, held: &Held, is_protected: bool) -> Result<(), Failure> {
    let path = keyring(settings)?.path(&held.name);
    let (style, name) = (settings.style.stdout, held.name.as_str());
    let protection = if is_protected { "behind its passphrase" } else { "without a passphrase" };
    settings.print(&format!(
        "{verb} {} {}\n  private: {} ({protection})\n  public:  {}\n",
        style.bold(name),
        held.public.fingerprint(),
        visible(&path.display().to_string()),
        visible(&path.with_file_name(format!("{name}.pub")).display().to_string()),
    ))?;
    if !is_protected {
        let text = "whoever can read the private half has the key\n";
        settings.print_err(&format!("{}{text}", settings.style.stderr.warn("warning: ")));
    }
    Ok(())
}

/// Believes one's own key.
fn believe(settings: &Settings, file: Option<&Path>, held: &Held, args: &RoleArgs) -> Result<(), Failure> {
    let path = edit_trust(settings, file, |trust, path| {
        let mut trusted = Trusted::always(held.name.clone(), held.public.clone());
        trusted.roles.extend(&args.roles);
        trusted.not_before.clone_from(&args.from);
        trusted.not_after.clone_from(&args.until);
        trust.put(trusted).map_err(|error| trust_failure(&error, path))
    })
    .map_err(|failure| failure.hint(format!("`proofmark keys trust {} --role ROLE` tries again", held.name)))?;
    let roles = list(args.roles.iter());
    settings.print(&visible_lines(&format!("believed as {roles}, in {}\n", path.display())))
}

/// The trust file as it is, or none where it is to be begun.
fn load_for_edit(settings: &Settings, named: Option<&Path>) -> Result<Trust, Failure> {
    match named {
        Some(path) if path.try_exists().is_ok_and(|exists| !exists) => Ok(Trust::default()),
        _ => load_trust(settings, named),
    }
}

/// Refuses a name that another key has.
fn check_name(trust: &Trust, name: &KeyName, key: Option<&PublicKey>) -> Result<(), Failure> {
    match trust.keys().into_iter().find(|trusted| trusted.name == *name && Some(&trusted.key) != key) {
        None => Ok(()),
        Some(other) => {
            let message = format!("the trust file calls {} `{name}` already", other.key.fingerprint());
            Err(Failure::new(message).hint("take another name".to_owned()))
        }
    }
}

fn need_role(args: &RoleArgs) -> Result<(), Failure> {
    match args.roles.is_empty() {
        false => Ok(()),
        true => Err(Failure::new("what may the key do?")
            .hint("give `--role judge`, `--role runner`, `--role submitter` or `--role verifier`".to_owned())),
    }
}

/// Refuses a key that would judge what it hands in.
fn check_roles(args: &RoleArgs) -> Result<(), Failure> {
    let has = |role| args.roles.contains(&role);
    if has(Role::Judge) && has(Role::Submitter) && !args.allow_self_judging {
        let message = "a key that is judge and submitter can grade the answers it hands in";
        return Err(Failure::new(message)
            .hint("make two keys, or say `--allow-self-judging` if everybody is to know".to_owned()));
    }
    Ok(())
}

/// A key of the trust file by name, fingerprint, or the beginning of one.
fn find_trusted<'a>(trust: &'a Trust, what: &str) -> Result<&'a Trusted, Failure> {
    let keys = trust.keys();
    if let Some(found) = keys.iter().find(|trusted| trusted.name.as_str() == what) {
        return Ok(found);
    }
    let found: Vec<&&Trusted> = keys.iter().filter(|trusted| begins(&trusted.key.fingerprint(), what)).collect();
    let names = |keys: &mut dyn Iterator<Item = &&Trusted>| keys.map(|key| key.name.to_string()).collect::<Vec<_>>();
    match found.as_slice() {
        [one] => Ok(one),
        [] => {
            let there = names(&mut keys.iter());
            Err(Failure::new(format!("the trust file has no key `{}`", named(what))).hint(match there.is_empty() {
                true => "it has none yet; `proofmark keys trust KEY.pub --role ROLE` adds one".to_owned(),
                false => format!("it has {}", there.join(", ")),
            }))
        }
        several => {
            let error = KeyringError::Ambiguous { what: named(what), found: names(&mut several.iter().copied()) };
            Err(ring_failure(&error))
        }
    }
}

/// `judge` → `judge-2` → `judge-3`: the first one that is free.
fn next_name(old: &KeyName, is_free: impl Fn(&KeyName) -> bool) -> Result<KeyName, Failure> {
    let old = old.as_str();
    let (stem, number) = match old.rsplit_once('-').and_then(|(stem, end)| Some((stem, end.parse::<u32>().ok()?))) {
        // A year is not a count.
        Some((stem, number)) if number < 1000 => (stem, number),
        _ => (old, 1),
    };
    let names = (1..1000).filter_map(|more| format!("{stem}-{}", number + more).parse::<KeyName>().ok());
    names.into_iter().find(is_free).ok_or_else(|| {
        Failure::new(format!("there is no free name after `{old}`")).hint("give one with `--name`".to_owned())
    })
}

fn list<T: ToString>(all: impl Iterator<Item = T>) -> String {
    all.map(|one| one.to_string()).collect::<Vec<_>>().join(", ")
}

/// [`visible`] for text of several lines.
fn visible_lines(text: &str) -> String {
    text.lines().map(|line| visible(line) + "\n").collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_name_counts_up_and_leaves_years_alone() {
        for (old, taken, expected) in [
            ("judge", &[][..], "judge-2"),
            ("judge", &["judge-2"], "judge-3"),
            ("judge-2", &[], "judge-3"),
            ("judge-2026", &[], "judge-2026-2"),
            ("judge-2026-2", &[], "judge-2026-3"),
            ("a-b", &[], "a-b-2"),
        ] {
            let old: KeyName = old.parse().unwrap();
            let found = next_name(&old, |name| !taken.contains(&name.as_str())).unwrap();
            assert_eq!(found.as_str(), expected, "{old}");
        }
        assert!(next_name(&"x".repeat(64).parse().unwrap(), |_| true).is_err());
    }
}
