//! `cache gc`.

use proofmark_artefact::judgment::Entry;
use proofmark_artefact::number::{count, counted};
use proofmark_trust::cache::{Cache, Retain};
use proofmark_trust::moment::Moment;
use proofmark_trust::policy::Trust;

use super::{is_signer, signer_of};
use crate::args::CacheGcArgs;
use crate::exit::{Exit, Failure};
use crate::judge_cache::failure;
use crate::settings::Settings;

/// Refuses a command without a rule.
pub(super) fn check(args: &CacheGcArgs) -> Result<(), Failure> {
    let has_rule = args.older_than.is_some() || !args.keep_signer.is_empty() || args.untrusted || args.set_aside;
    if has_rule {
        return Ok(());
    }
    let hint = "give `--older-than DAYS`, `--keep-signer KEY`, `--untrusted` or `--set-aside`";
    Err(Failure::new("nothing says what is to go").hint(hint.to_owned()))
}

/// Whether no shard is to be written.
pub(super) fn is_only_set_aside(args: &CacheGcArgs) -> bool {
    args.older_than.is_none() && args.keep_signer.is_empty() && !args.untrusted
}

pub(super) fn run(args: &CacheGcArgs, cache: &Cache, trust: &Trust, settings: &Settings) -> Result<Exit, Failure> {
    let since: Option<Moment> = args
        .older_than
        .map(|days| settings.days_ago(days).parse())
        .transpose()
        .map_err(|error| Failure::from_error(&error))?;
    let is_kept = |entry: &&Entry| args.keep_signer.iter().any(|named| is_signer(trust, signer_of(entry), named));
    let is_young = |entry: &&Entry| {
        // A moment that cannot be read is of a signer whom nobody could believe.
        since.as_ref().is_none_or(|since| entry.judgment.judged_at.parse::<Moment>().is_ok_and(|at| at >= *since))
    };
    let would = if args.dry_run { "would be " } else { "" };
    if !is_only_set_aside(args) {
        let what = Retain { only_believed: args.untrusted, dry_run: args.dry_run };
        let is_wanted = |entries: &[&Entry]| {
            entries.iter().any(is_young) && (args.keep_signer.is_empty() || entries.iter().any(is_kept))
        };
        let gone = cache.retain(what, |_, entries| is_wanted(entries)).map_err(|error| failure(&error))?;
        let flawed = match gone.flawed {
            0 => String::new(),
            number => format!(", {} that are not believed {would}set aside", count(number)),
        };
        settings.print(&format!(
            "{} {would}thrown away{flawed}, {} bytes less; {} left\n",
            counted(gone.entries, "entry", "entries"),
            count(gone.bytes),
            count(gone.left)
        ))?;
    }
    if args.set_aside {
        let (files, bytes) = cache.set_aside().map_err(|error| failure(&error))?;
        if !args.dry_run {
            cache.clear_set_aside().map_err(|error| failure(&error))?;
        }
        let files = counted(files, "file", "files");
        settings.print(&format!("{files} that had been set aside {would}removed, {} bytes\n", count(bytes)))?;
    }
    Ok(Exit::Holds)
}
