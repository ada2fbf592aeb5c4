//! Keys, and whose signatures are believed.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use proofmark_trust::policy::{KeyName, Reason, Role};

use super::TextOrJson;

pub(super) const KEYS_EXAMPLES: &str = "\
Examples:
  proofmark keys new judge-2026 --role judge              make a key and believe it as judge
  proofmark keys ls                                       your keys, and those you believe
  proofmark keys export judge-2026 > judge-2026.pub       hand out the public half
  proofmark keys trust ada.pub --role submitter --until 2027-06-30
  proofmark keys rotate judge-2026                        a new key takes over, the old one is dated
  proofmark keys revoke ada --reason compromised          believe nothing it ever signed
  proofmark keys export --allowed-signers > signers       for `ssh-keygen -Y verify -f signers`";

#[derive(Debug, Args)]
pub struct KeysArgs {
    #[command(subcommand)]
    pub command: KeysCommand,
    /// The trust file [default: PROOFMARK_TRUST, or trust.json in PROOFMARK_HOME]
    #[arg(long, global = true, value_name = "FILE")]
    pub trust: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub enum KeysCommand {
    /// Make a key and believe it in a role
    ///
    /// Asks for a passphrase, twice. The private half goes to NAME.pem (mode 600), the public one to NAME.pub beside it; no
    /// file is ever written over. Back it up: no copy is kept and nobody can open it without its passphrase.
    New(KeysNewArgs),
    /// List your keys and those that you believe
    Ls(KeysLsArgs),
    /// Show one key, or the one that would sign in a role
    Show(KeysShowArgs),
    /// Print the public half of a key, or the keys you believe as OpenSSH's allowed signers
    Export(KeysExportArgs),
    /// Take a private key in that was made elsewhere
    ///
    /// Reads PKCS#8 PEM (`openssl genpkey -algorithm ed25519`), with a passphrase or without, and OpenSSH's own form without
    /// one. Writes it as `keys new` does; the file itself is not touched.
    Import(KeysImportArgs),
    /// Put a new key in the place of an old one
    ///
    /// The new key has the roles of the old one and is believed from now on; the old one is marked as superseded: what it
    /// signed until now is still believed.
    Rotate(KeysRotateArgs),
    /// Stop believing a key
    ///
    /// As compromised, nothing it ever signed is believed. As superseded or retired, what it signed before the date is. A
    /// revocation can be made worse later, never better.
    Revoke(KeysRevokeArgs),
    /// Believe a key of somebody else, or change what is believed of one
    ///
    /// Takes a file with a public key, the line `ssh-ed25519 …` itself, or the name or fingerprint of a key that is known. Check
    /// the fingerprint with its owner first.
    Trust(KeysTrustArgs),
}

#[derive(Debug, Args)]
pub struct PassphraseArgs {
    /// Read the passphrase from the first line of this file, which only you can read
    #[arg(long, value_name = "FILE")]
    pub passphrase_file: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct RoleArgs {
    /// Believe it as this: judge, runner, submitter or verifier (repeatable)
    #[arg(long = "role", value_name = "ROLE")]
    pub roles: Vec<Role>,
    /// Believe it for nothing before this day or moment (UTC), such as 2026-11-16 or 2026-11-16T09:30:00Z
    #[arg(long, value_name = "WHEN", value_parser = proofmark_trust::moment::Moment::from_start)]
    pub from: Option<proofmark_trust::moment::Moment>,
    /// Believe it for nothing after this day or moment (UTC)
    #[arg(long, value_name = "WHEN", value_parser = proofmark_trust::moment::Moment::from_end)]
    pub until: Option<proofmark_trust::moment::Moment>,
    /// Let one key be judge and submitter
    ///
    /// Whoever hands in answers can then grade them too, and a verifier cannot tell.
    #[arg(long)]
    pub allow_self_judging: bool,
}

#[derive(Debug, Args)]
pub struct KeysNewArgs {
    /// What to call it: up to 64 letters, digits and ._@+-
    #[arg(value_name = "NAME")]
    pub name: KeyName,
    #[command(flatten)]
    pub role: RoleArgs,
    #[command(flatten)]
    pub passphrase: PassphraseArgs,
    /// Write it without a passphrase: whoever reads the file has the key
    #[arg(long, conflicts_with = "passphrase_file")]
    pub no_passphrase: bool,
}

#[derive(Debug, Args)]
pub struct KeysLsArgs {
    /// How to print the list
    #[arg(long, value_enum, default_value_t = TextOrJson::Text, value_name = "FORMAT")]
    pub format: TextOrJson,
}

#[derive(Debug, Args)]
pub struct KeysShowArgs {
    /// Its name, its fingerprint, the beginning of one, or a file with a private key
    #[arg(value_name = "KEY", required_unless_present = "role")]
    pub key: Option<String>,
    /// Show the key that would sign in this role: from the environment, or the only one of your keys that may
    #[arg(long, value_name = "ROLE", conflicts_with = "key")]
    pub role: Option<Role>,
    /// Open the private half, to see that the passphrase is right
    #[arg(long)]
    pub open: bool,
    #[command(flatten)]
    pub passphrase: PassphraseArgs,
    /// How to print it
    #[arg(long, value_enum, default_value_t = TextOrJson::Text, value_name = "FORMAT")]
    pub format: TextOrJson,
}

#[derive(Debug, Args)]
pub struct KeysExportArgs {
    /// Its name, its fingerprint, or the beginning of one
    #[arg(value_name = "KEY", required_unless_present = "allowed_signers", conflicts_with = "allowed_signers")]
    pub key: Option<String>,
    /// In which form
    #[arg(long, value_enum, default_value_t = KeyForm::Ssh, value_name = "FORM")]
    pub form: KeyForm,
    /// Print all keys that you believe in a role, for `ssh-keygen -Y verify -f`
    #[arg(long)]
    pub allowed_signers: bool,
    /// In which role: OpenSSH's file knows none
    #[arg(long, value_name = "ROLE", default_value_t = Role::Submitter, requires = "allowed_signers")]
    pub role: Role,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum KeyForm {
    /// The line of an OpenSSH `.pub` file
    Ssh,
    /// PEM, as OpenSSL, cosign and Python read it
    Pem,
}

#[derive(Debug, Args)]
pub struct KeysImportArgs {
    /// The file with the private key; only you can read it
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// What to call it [default: the file's name without its end]
    #[arg(long, value_name = "NAME")]
    pub name: Option<KeyName>,
    #[command(flatten)]
    pub role: RoleArgs,
    #[command(flatten)]
    pub passphrase: PassphraseArgs,
    /// Write it without a passphrase: whoever reads the file has the key
    #[arg(long)]
    pub no_passphrase: bool,
}

#[derive(Debug, Args)]
pub struct KeysRotateArgs {
    /// The old key: its name, its fingerprint, or the beginning of one
    #[arg(value_name = "KEY")]
    pub key: String,
    /// What to call the new one [default: the old name with the next number]
    #[arg(long, value_name = "NAME")]
    pub name: Option<KeyName>,
    #[command(flatten)]
    pub passphrase: PassphraseArgs,
    /// Write it without a passphrase: whoever reads the file has the key
    #[arg(long, conflicts_with = "passphrase_file")]
    pub no_passphrase: bool,
}

#[derive(Debug, Args)]
pub struct KeysRevokeArgs {
    /// Its name, its fingerprint, or the beginning of one
    #[arg(value_name = "KEY")]
    pub key: String,
    /// Why: compromised, superseded or retired
    #[arg(long, value_name = "REASON")]
    pub reason: Reason,
    /// From which day or moment on (UTC) [default: now]
    #[arg(long, value_name = "WHEN", value_parser = proofmark_trust::moment::Moment::from_start)]
    pub at: Option<proofmark_trust::moment::Moment>,
}

#[derive(Debug, Args)]
pub struct KeysTrustArgs {
    /// A file, a line `ssh-ed25519 …`, or the name or fingerprint of a key that is known
    #[arg(value_name = "KEY")]
    pub key: String,
    /// What to call it [default: the comment of the line, or the file's name]
    #[arg(long, value_name = "NAME")]
    pub name: Option<KeyName>,
    #[command(flatten)]
    pub role: RoleArgs,
    /// Forget the key, as if it had never been believed; mostly, revoke is what is wanted
    #[arg(long, conflicts_with_all = ["name", "roles", "from", "until", "allow_self_judging"])]
    pub remove: bool,
}
