//! `README.md` of a package: what it is, how to check it with and without Proofmark, what it does not prove.

use proofmark_artefact::number::{count, counted, money};
use proofmark_artefact::package::predicate::EVAL_RUN;
use proofmark_artefact::package::{Inputs, Metadata};
use proofmark_artefact::text::one_line;
use proofmark_trust::key::PublicKey;
use proofmark_trust::sshsig::NAMESPACE;

use crate::results::ResultsFile;

/// Renders the text. The same metadata and key give the same bytes.
pub fn render(metadata: &Metadata, key: &PublicKey, results: &[ResultsFile]) -> String {
    let mut out = String::new();
    let title = metadata.name.as_ref().unwrap_or(&metadata.suite);
    out.push_str(&format!("# {}\n\n", plain(title)));
    out.push_str(&about(metadata));
    out.push_str(&files(metadata, results));
    out.push_str(&checks(key));
    out.push_str(LIMITS);
    out
}

fn about(metadata: &Metadata) -> String {
    let counts = &metadata.counts;
    let models: Vec<String> = metadata.models.iter().map(|model| format!("`{}`", plain(&model.model))).collect();
    let cost = metadata.cost_usd.map(|usd| format!("; {}", money(usd))).unwrap_or_default();
    let mut out = format!(
        "A sealed run of the suite `{}`: run {}, {} scored, {} passed{cost}. Models: {}. Attempts at each sample: {}.\n\n",
        plain(&metadata.suite),
        metadata.run_id,
        counted(counts.scored, "sample", "samples"),
        count(counts.passed),
        models.join(", "),
        metadata.voting_attempts,
    );
    if !metadata.allowances.is_empty() {
        out.push_str("**It was sealed although:**\n\n");
        for allowance in &metadata.allowances {
            out.push_str(&format!("- {}: {}\n", allowance.kind.as_str(), plain(&allowance.reason)));
        }
        out.push('\n');
    }
    out
}

fn files(metadata: &Metadata, results: &[ResultsFile]) -> String {
    let mut out = String::from(
        "## What is in it\n\n| file | what it is |\n|---|---|\n\
         | `run/` | the run directory as the run left it: records, trajectories, manifest, resolved suite, summary, reports, witness |\n",
    );
    out.push_str(match metadata.inputs {
        Inputs::Included => "| `inputs/`, `hub/` | what the run was fed: datasets, prompts, rubrics, scripts |\n",
        Inputs::LeftOut => {
            "| (no inputs) | what the run was fed may not be given away; digests of it are in `run/report.replay.json` |\n"
        }
    });
    out.push_str("| `audit-report.json` | whether the score was earned, as far as the files can tell |\n");
    out.push_str("| `metadata.json` | models, tools, split, attempts, cost, git state, digests of datasets |\n");
    for ResultsFile { name, cell } in results {
        let of = match results {
            [_] => String::new(),
            _ => format!(" of `{}` under `{}`, sample {}", plain(&cell.model), plain(&cell.condition), cell.sample),
        };
        out.push_str(&format!("| `{name}` | the answers{of} as GAIA's leaderboard takes them |\n"));
    }
    out.push_str(
        "| `package.json` | every file above with its size and SHA-256 |\n\
         | `attestations/run.sigstore.json` | what the signer says of every file: an in-toto statement in a DSSE envelope, as a Sigstore bundle |\n\
         | `attestations/package.json.sig` | an SSH signature over `package.json` |\n\
         | `attestations/signer.pub` | the signer's public key |\n\n",
    );
    out
}

fn checks(key: &PublicKey) -> String {
    let (fingerprint, pem) = (key.fingerprint(), key.to_pem());
    format!(
        r#"## How to check it

The signer's key is `{fingerprint}`. Compare that with what the signer tells you elsewhere: whoever makes a package can
put any key beside it.

With Proofmark, offline:

```sh
proofmark keys trust attestations/signer.pub --name submitter --role submitter
proofmark verify .
```

With nothing of ours. Each of these checks a signature; the last one checks the files. What they need beside the package goes
to a folder elsewhere: another file in this one would be one that nobody signed.

```sh
# OpenSSH
elsewhere="$(mktemp -d)"
echo "submitter namespaces=\"{NAMESPACE}\" $(cat attestations/signer.pub)" > "$elsewhere/allowed_signers"
ssh-keygen -Y verify -f "$elsewhere/allowed_signers" -I submitter -n {NAMESPACE} \
  -s attestations/package.json.sig < package.json

# cosign
elsewhere="$(mktemp -d)"
cat > "$elsewhere/signer.pem" <<'EOF'
{pem}EOF
cosign verify-blob-attestation --key "$elsewhere/signer.pem" --bundle attestations/run.sigstore.json \
  --type {EVAL_RUN} --insecure-ignore-tlog package.json

# Python: pip install securesystemslib cryptography
python3 - <<'EOF'
import base64, hashlib, json
from cryptography.hazmat.primitives.serialization import load_ssh_public_key
from securesystemslib.dsse import Envelope
from securesystemslib.signer import SSlibKey
key = load_ssh_public_key(open("attestations/signer.pub", "rb").read())
bundle = json.load(open("attestations/run.sigstore.json"))
keyid = bundle["verificationMaterial"]["publicKey"]["hint"]
Envelope.from_dict(bundle["dsseEnvelope"]).verify([SSlibKey.from_crypto(key, keyid=keyid)], 1)
statement = json.loads(base64.b64decode(bundle["dsseEnvelope"]["payload"]))
for subject in statement["subject"]:
    found = hashlib.sha256(open(subject["name"], "rb").read()).hexdigest()
    assert found == subject["digest"]["sha256"], subject["name"]
print("signed by", keyid, "and unchanged:", len(statement["subject"]), "files")
EOF
```

"#
    )
}

const LIMITS: &str = "## What may be in it

`run/trajectories.jsonl` holds the beginnings of what models wrote and of what tools returned: up to 2 KiB and 4 KiB a
step. Pages and files that an agent fetched are among them, with whatever they say about people. `run/records.jsonl` holds
questions, answers and the gold answers; `inputs/`, where it is there, holds the datasets whole. Think of all that before you
publish this, and of the terms of the datasets.

## What a signature cannot prove

That a model was called, which one it was, that nobody helped it, or that no other run was thrown away. The signature proves
which bytes the holder of the key signed; the rungs of `proofmark verify` and the audit prove what follows from those bytes.
The time of the signature is the signer's own word.
";

/// A text of somebody else on one line, without what Markdown would take for its own.
fn plain(text: &str) -> String {
    one_line(text, 200).chars().filter(|c| !matches!(c, '`' | '<' | '>' | '[' | ']' | '|' | '*' | '_' | '#')).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_write_markdown() {
        assert_eq!(plain("a `b` <script>\n# c [x](y) | *d*"), "a b script⏎ c x(y)  d");
        assert!(plain(&"x".repeat(1000)).chars().count() <= 200);
        assert!(!plain("a\u{1b}[31mb").contains('\u{1b}'));
    }
}
