//! `proofmark cache`.
//!
//! - [`look`] `stats`, `ls` and `show`; [`check`] `verify`;
//! - [`carry`] `export` and `import`; [`gc`] what is thrown away;
//! - [`walk`] all shards on all processors, in order.

mod carry;
mod check;
mod gc;
mod look;
mod walk;

use proofmark_artefact::judgment::{Entry, IntegrityReason};
use proofmark_trust::key::Fingerprint;
use proofmark_trust::policy::Trust;

use crate::args::{CacheArgs, CacheCommand};
use crate::exit::{Exit, Failure};
use crate::judge_cache::{Signing, access, folder, open, open_or_make};
use crate::settings::Settings;

pub(crate) fn run(args: &CacheArgs, settings: &Settings) -> Result<Exit, Failure> {
    let dir = folder(settings, args.cache.as_deref())?;
    let access = |signing: &Signing<'_>| access(settings, args.trust.as_deref(), signing);
    let reader = || {
        let access = access(&Signing::Never)?;
        let trust = std::sync::Arc::clone(&access.trust);
        Ok::<_, Failure>((open(&dir, access)?, trust))
    };
    match &args.command {
        CacheCommand::Stats(args) => reader().and_then(|(cache, trust)| look::stats(args, &cache, &trust, settings)),
        CacheCommand::Ls(args) => reader().and_then(|(cache, trust)| look::ls(args, &cache, &trust, settings)),
        CacheCommand::Show(args) => reader().and_then(|(cache, trust)| look::show(args, &cache, &trust, settings)),
        CacheCommand::Verify(args) => reader().and_then(|(cache, _)| check::verify(args, &cache, settings)),
        CacheCommand::Export(args) => reader().and_then(|(cache, _)| carry::export(args, &cache, settings)),
        CacheCommand::Import(args) => {
            let cache = open_or_make(settings, &dir, access(&Signing::With(&args.key))?)?;
            carry::import(args, &cache, settings)
        }
        CacheCommand::Gc(args) => {
            gc::check(args)?;
            // What is only looked at needs no key.
            let signing =
                if args.dry_run || gc::is_only_set_aside(args) { Signing::Never } else { Signing::With(&args.key) };
            let access = access(&signing)?;
            let trust = std::sync::Arc::clone(&access.trust);
            gc::run(args, &open(&dir, access)?, &trust, settings)
        }
    }
}

/// The signer of an entry: its name in the trust file, or its fingerprint.
fn signer_name(trust: &Trust, signer: &str) -> String {
    let known = signer.parse::<Fingerprint>().ok().and_then(|fingerprint| trust.get(&fingerprint));
    known.map_or_else(|| signer.to_owned(), |trusted| trusted.name.to_string())
}

/// Whether a key is the one that a user named.
fn is_signer(trust: &Trust, signer: &str, named: &str) -> bool {
    signer_name(trust, signer) == named
        || signer.starts_with(named)
        || signer.strip_prefix("SHA256:").is_some_and(|rest| rest.starts_with(named))
}

fn signer_of(entry: &Entry) -> &str {
    entry.signature.as_ref().map_or("", |signed| &signed.signer)
}

/// The word for a reason, as it stands in JSON.
fn word(reason: IntegrityReason) -> String {
    serde_json::to_value(reason).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}
