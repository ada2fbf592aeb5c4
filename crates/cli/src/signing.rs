//! Which key signs, what opens it, and whom one believes.

use std::fs::{DirBuilder, File};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use proofmark_artefact::store::{AtomicFile, read_bounded};
use proofmark_trust::key::PrivateKey;
use proofmark_trust::keyfile::{KeyFile, KeyFileError, Opened};
use proofmark_trust::keyring::{Held, Keyring, KeyringError, Links, read_private};
use proofmark_trust::passphrase::Passphrase;
use proofmark_trust::policy::{MAX_TRUST_FILE, Role, Trust, TrustError};

use crate::exit::Failure;
use crate::settings::Settings;
use crate::ui::ask::ask_secret;

/// A key that signs, and where it came from.
pub(crate) struct Signer {
    pub(crate) key: PrivateKey,
    pub(crate) source: Source,
}

/// Where a private key is kept.
#[derive(Debug, Clone)]
pub(crate) enum Source {
    Ring(Held),
    File(PathBuf),
    Variable(&'static str),
}

/// Finds the key for a role and opens it.
///
/// `chosen` is a name, a fingerprint or a path. Without it, the role's variable counts, then the only key of the ring that
/// is believed in the role now.
pub(crate) fn signer(
    settings: &Settings,
    trust: &Trust,
    role: Role,
    chosen: Option<&str>,
    passphrase_file: Option<&Path>,
) -> Result<Signer, Failure> {
    let source = match chosen {
        Some(what) => choose(settings, what)?,
        None => choose_for(settings, trust, role)?,
    };
    let key = open(settings, &source, passphrase_file)?;
    Ok(Signer { key, source })
}

/// The key that a text names: one of the ring, or a file.
fn choose(settings: &Settings, what: &str) -> Result<Source, Failure> {
    let path = Path::new(what);
    match keyring(settings)?.find(what) {
        Ok(held) => Ok(Source::Ring(held)),
        Err(KeyringError::Unknown { .. }) if path.is_file() => Ok(Source::File(path.to_owned())),
        Err(error) => Err(ring_failure(&error)),
    }
}

/// The key that signs in a role when nobody chose one.
pub(crate) fn choose_for(settings: &Settings, trust: &Trust, role: Role) -> Result<Source, Failure> {
    if settings.key_text(role).is_some() {
        return Ok(Source::Variable(Settings::key_variable(role)));
    }
    let keys = keyring(settings)?.list().map_err(|error| ring_failure(&error))?.keys;
    let now = settings.now();
    let mut fit: Vec<Held> =
        keys.into_iter().filter(|held| trust.key(&held.public.fingerprint(), role, &now).is_ok()).collect();
    match fit.len() {
        1 => Ok(Source::Ring(fit.remove(0))),
        0 => Err(Failure::new(format!("none of your keys may act as {role} now")).hint(format!(
            "make one with `proofmark keys new NAME --role {role}`, or set {} in CI",
            Settings::key_variable(role)
        ))),
        _ => {
            let names: Vec<&str> = fit.iter().map(|held| held.name.as_str()).collect();
            Err(Failure::new(format!("several of your keys may act as {role}: {}", names.join(", ")))
                .hint("name the one to use".to_owned()))
        }
    }
}

/// Opens a private key, and warns when its file protects it badly.
pub(crate) fn open(
    settings: &Settings,
    source: &Source,
    passphrase_file: Option<&Path>,
) -> Result<PrivateKey, Failure> {
    let name = source.to_string();
    let opened = match source {
        Source::Ring(held) => {
            let ring = keyring(settings)?;
            let file = ring.load(held).map_err(|error| ring_failure(&error))?;
            let passphrase =
                if file.is_encrypted() { Some(passphrase(settings, &name, passphrase_file)?) } else { None };
            ring.open(held, &file, passphrase.as_ref()).map_err(|error| ring_failure(&error))?
        }
        Source::File(path) => open_file(settings, path, passphrase_file)?.0,
        Source::Variable(variable) => {
            let role = Role::ALL.iter().find(|role| Settings::key_variable(**role) == *variable);
            let text = role.and_then(|role| settings.key_text(*role)).unwrap_or_default();
            let failure = |error: KeyFileError| {
                Failure::new(format!("{variable} gives no key: {error}")).hint(error.hint().map(str::to_owned))
            };
            let file = KeyFile::parse(text.as_bytes()).map_err(failure)?;
            let passphrase =
                if file.is_encrypted() { Some(passphrase(settings, &name, passphrase_file)?) } else { None };
            file.open(passphrase.as_ref()).map_err(failure)?
        }
    };
    warn(settings, &name, &opened);
    Ok(opened.key)
}

/// Opens a file that the user names; returns what opened it too.
pub(crate) fn open_file(
    settings: &Settings,
    path: &Path,
    passphrase_file: Option<&Path>,
) -> Result<(Opened, Option<Passphrase>), Failure> {
    let bytes = read_private(path, Links::Follow).map_err(|error| ring_failure(&error))?;
    let failure = |source| ring_failure(&KeyringError::File { path: path.to_owned(), source });
    let file = KeyFile::parse(&bytes).map_err(failure)?;
    let secret = match file.is_encrypted() {
        true => Some(passphrase(settings, &format!("`{}`", path.display()), passphrase_file)?),
        false => None,
    };
    let opened = file.open(secret.as_ref()).map_err(failure)?;
    Ok((opened, secret))
}

pub(crate) fn warn(settings: &Settings, name: &str, opened: &Opened) {
    if let Some(weakness) = opened.weakness {
        let text = format!("{name} is protected by {weakness}: passphrases can be tried fast; import it again\n");
        settings.print_err(&format!("{}{text}", settings.style.stderr.warn("warning: ")));
    }
}

impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Ring(held) => write!(f, "`{}`", held.name),
            Self::File(path) => write!(f, "`{}`", path.display()),
            Self::Variable(name) => write!(f, "the key in {name}"),
        }
    }
}

/// What opens a key: the file that was named, the variable, or what somebody types.
pub(crate) fn passphrase(settings: &Settings, of: &str, file: Option<&Path>) -> Result<Passphrase, Failure> {
    if let Some(given) = given_passphrase(settings, file)? {
        return Ok(given);
    }
    ask(&format!("passphrase of {of}: "))?.ok_or_else(|| no_passphrase(&format!("{of} needs a passphrase")))
}

/// The passphrase of a new key; typed, it is typed twice.
pub(crate) fn new_passphrase(settings: &Settings, of: &str, file: Option<&Path>) -> Result<Passphrase, Failure> {
    let found = match given_passphrase(settings, file)? {
        Some(given) => given,
        None => {
            let first = ask(&format!("passphrase for {of}: "))?
                .ok_or_else(|| no_passphrase(&format!("{of} is to have a passphrase")))?;
            first.check_new().map_err(|error| short(&error))?;
            let second = ask("the same again: ")?;
            if !second.is_some_and(|second| second.is_same(&first)) {
                return Err(Failure::new("the two passphrases differ"));
            }
            first
        }
    };
    found.check_new().map_err(|error| short(&error))?;
    Ok(found)
}

fn given_passphrase(settings: &Settings, file: Option<&Path>) -> Result<Option<Passphrase>, Failure> {
    let (text, place) = match (file, settings.passphrase()) {
        (Some(path), _) => {
            let bytes = read_private(path, Links::Follow).map_err(|error| ring_failure(&error))?;
            let text = std::str::from_utf8(&bytes).unwrap_or_default();
            (zeroize::Zeroizing::new(text.to_owned()), format!("`{}`", path.display()))
        }
        (None, Some(text)) => (zeroize::Zeroizing::new(text.to_owned()), "PROOFMARK_KEY_PASSPHRASE".to_owned()),
        (None, None) => return Ok(None),
    };
    Passphrase::new(&text).map(Some).map_err(|error| Failure::new(format!("{place}: {error}")))
}

fn ask(question: &str) -> Result<Option<Passphrase>, Failure> {
    match ask_secret(question) {
        Ok(None) => Ok(None),
        Ok(Some(text)) => Passphrase::new(&text).map(Some).map_err(|error| Failure::from_error(&error)),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Err(Failure::new("given up")),
        Err(error) => Err(Failure::new(format!("cannot ask for the passphrase: {error}"))),
    }
}

fn no_passphrase(what: &str) -> Failure {
    let hint = "give `--passphrase-file FILE` or set PROOFMARK_KEY_PASSPHRASE where nobody can be asked";
    Failure::new(format!("{what}, and there is no terminal to ask for it")).hint(hint.to_owned())
}

fn short(error: &proofmark_trust::passphrase::PassphraseError) -> Failure {
    Failure::from_error(error).hint("several words that you will remember are a good one".to_owned())
}

pub(crate) fn keyring(settings: &Settings) -> Result<Keyring, Failure> {
    settings.keyring().ok_or_else(|| {
        Failure::new("there is no place for keys").hint("set PROOFMARK_HOME to a folder of yours".to_owned())
    })
}

pub(crate) fn ring_failure(error: &KeyringError) -> Failure {
    Failure::from_error(error).hint(error.hint())
}

/// The trust file: the one that was named, or the usual one.
pub(crate) fn trust_path(settings: &Settings, named: Option<&Path>) -> Result<PathBuf, Failure> {
    named.map(Path::to_owned).or_else(|| settings.trust_path()).ok_or_else(|| {
        Failure::new("there is no place for a trust file").hint("give `--trust FILE`, or set PROOFMARK_HOME".to_owned())
    })
}

/// Whom one believes. No usual file is nobody; a file that was named must be there.
pub(crate) fn load_trust(settings: &Settings, named: Option<&Path>) -> Result<Trust, Failure> {
    let path = trust_path(settings, named)?;
    match path.try_exists() {
        Ok(false) if named.is_none() => Ok(Trust::default()),
        _ => read_trust(&path),
    }
}

fn read_trust(path: &Path) -> Result<Trust, Failure> {
    let cannot = |error: io::Error| Failure::new(format!("cannot read `{}`: {error}", path.display()));
    let mode = path.metadata().map_err(cannot)?.permissions().mode() & 0o777;
    if mode & 0o002 != 0 {
        let message = format!("anybody can change `{}` (mode {mode:03o}), hence whom you believe", path.display());
        return Err(Failure::new(message).hint(format!("chmod o-w {}", path.display())));
    }
    let bytes = read_bounded(path, MAX_TRUST_FILE).map_err(|error| Failure::from_error(&error))?;
    Trust::load(&bytes).map_err(|error| trust_failure(&error, path))
}

pub(crate) fn trust_failure(error: &TrustError, path: &Path) -> Failure {
    let place = format!("`{}`: ", path.display());
    Failure::from_error(error).within(&place).hint(match error {
        TrustError::SameName(_) => Some("give another name with `--name`".to_owned()),
        TrustError::Revoked { .. } => Some("a revocation can be made worse, never better".to_owned()),
        TrustError::Json(_) | TrustError::Shape(_) => {
            Some("`proofmark schema trust` says what it looks like".to_owned())
        }
        TrustError::Version(_) => Some("a newer Proofmark wrote it".to_owned()),
        _ => None,
    })
}

/// Changes the trust file, one process at a time; a file that is not there is begun. Returns where it is.
pub(crate) fn edit_trust(
    settings: &Settings,
    named: Option<&Path>,
    change: impl FnOnce(&mut Trust, &Path) -> Result<(), Failure>,
) -> Result<PathBuf, Failure> {
    let named = trust_path(settings, named)?;
    // Through a link, so that it stays one.
    let path = named.canonicalize().unwrap_or(named);
    let cannot = |error: io::Error| Failure::new(format!("cannot write `{}`: {error}", path.display()));
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    DirBuilder::new().recursive(true).mode(0o755).create(folder).map_err(cannot)?;
    let lock = File::open(folder).map_err(cannot)?;
    lock.lock().map_err(cannot)?;
    let mut trust = if path.try_exists().map_err(cannot)? { read_trust(&path)? } else { Trust::default() };
    let before = trust.clone();
    change(&mut trust, &path)?;
    if trust != before {
        let write = || -> io::Result<()> {
            let mut file = AtomicFile::create(&path)?;
            file.restrict(0o022)?;
            file.write_all(&trust.to_bytes())?;
            file.commit().map(drop)
        };
        write().map_err(cannot)?;
    }
    Ok(path)
}
