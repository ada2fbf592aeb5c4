use super::*;
use crate::key::PrivateKey;

const NOON: &str = "2026-06-15T12:00:00Z";

fn public(seed: u8) -> PublicKey {
    PrivateKey::from_secret(&[seed; 32]).public()
}

fn moment(text: &str) -> Option<Moment> {
    Some(text.parse().unwrap())
}

fn judge(seed: u8, name: &str) -> Trusted {
    let mut trusted = Trusted::always(name.parse().unwrap(), public(seed));
    trusted.roles.insert(Role::Judge);
    trusted
}

fn trust_in(trusted: Trusted) -> Trust {
    let mut trust = Trust::default();
    trust.put(trusted).unwrap();
    trust
}

fn revoked(reason: Reason) -> Option<Revocation> {
    Some(Revocation { at: NOON.parse().unwrap(), reason })
}

/// A file with one key whose member is replaced by a text of JSON; `-` takes it out.
fn with(member: &str, json: &str) -> Result<Trust, TrustError> {
    let mut file: serde_json::Value = serde_json::from_slice(&trust_in(judge(1, "ada")).to_bytes()).unwrap();
    let target =
        if ["format", "version", "keys", "extra"].contains(&member) { &mut file } else { &mut file["keys"][0] };
    match json {
        "-" => drop(target.as_object_mut().unwrap().remove(member)),
        json => target[member] = serde_json::from_str(json).unwrap(),
    }
    Trust::load(file.to_string().as_bytes())
}

#[test]
fn a_key_is_believed_in_its_role_alone() {
    let trust = Trust::default().with(public(1), Role::Judge).with(public(1), Role::Runner);
    let signer = public(1).fingerprint();
    assert_eq!(trust.key(&signer, Role::Judge, NOON), Ok(&public(1)));
    assert_eq!(trust.key(&signer, Role::Runner, NOON), Ok(&public(1)));
    assert_eq!(trust.key(&signer, Role::Submitter, NOON), Err(Distrust::Role(signer, Role::Submitter)));
    let stranger = public(2).fingerprint();
    assert_eq!(trust.key(&stranger, Role::Judge, NOON), Err(Distrust::Unknown(stranger)));
    assert_eq!(trust.key(&signer, Role::Judge, "noon"), Err(Distrust::Undated(signer, "noon".to_owned())));
    assert!(Distrust::Role(signer, Role::Submitter).to_string().ends_with("may not act as submitter"));
}

#[test]
fn a_key_is_believed_while_it_is_valid() {
    let mut trusted = judge(1, "ada");
    trusted.not_before = moment("2026-01-01T00:00:00Z");
    trusted.not_after = moment("2026-12-31T23:59:59Z");
    let trust = trust_in(trusted);
    let signer = public(1).fingerprint();
    for (at, expected) in [
        ("2025-12-31T23:59:59.999Z", Some("not valid yet")),
        ("2026-01-01T00:00:00Z", None),
        ("2026-12-31T23:59:59Z", None),
        ("2026-12-31T23:59:59.001Z", Some("not valid any more")),
    ] {
        let found = trust.key(&signer, Role::Judge, at).err().map(|distrust| distrust.to_string());
        assert_eq!(found.is_some(), expected.is_some(), "{at}: {found:?}");
        assert!(found.unwrap_or_default().contains(expected.unwrap_or_default()), "{at}");
    }
}

#[test]
fn a_stolen_key_is_never_believed_and_a_retired_one_until_then() {
    let signer = public(1).fingerprint();
    for (reason, before) in [(Reason::Compromised, false), (Reason::Superseded, true), (Reason::Retired, true)] {
        let trust = trust_in(Trusted { revoked: revoked(reason), ..judge(1, "ada") });
        let at = |at| trust.key(&signer, Role::Judge, at);
        assert_eq!(at("2026-06-15T11:59:59.999Z").is_ok(), before, "{reason}");
        assert_eq!(at("2000-01-01T00:00:00Z").is_ok(), before, "{reason}");
        assert_eq!(at(NOON), Err(Distrust::Revoked(signer)), "{reason}");
        assert_eq!(at("2030-01-01T00:00:00Z"), Err(Distrust::Revoked(signer)), "{reason}");
    }
}

#[test]
fn a_file_comes_back_and_its_digest_ignores_its_looks() {
    let mut trust = trust_in(judge(1, "zoe"));
    let mut other = Trusted { revoked: revoked(Reason::Superseded), ..judge(2, "ada@example.org") };
    other.not_before = moment("2026-01-01T00:00:00.5Z");
    trust.put(other).unwrap();
    let bytes = trust.to_bytes();
    let again = Trust::load(&bytes).unwrap();
    assert_eq!(again, trust);
    assert_eq!(again.to_bytes(), bytes);
    assert!(bytes.starts_with(b"{\n  \"format\": \"proofmark.trust\",\n  \"version\": 1,\n  \"keys\": [\n"));
    let names: Vec<&str> = again.keys().iter().map(|trusted| trusted.name.as_str()).collect();
    assert_eq!(names, ["ada@example.org", "zoe"]);
    let squeezed: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
    assert_eq!(Trust::load(squeezed.to_string().as_bytes()).unwrap().digest(), trust.digest());
    // Anything that it says moves the digest: here a role.
    let mut changed = trust.clone();
    let mut zoe = judge(1, "zoe");
    zoe.roles.insert(Role::Verifier);
    changed.put(zoe).unwrap();
    assert_ne!(changed.digest(), trust.digest());
}

#[test]
fn what_is_not_understood_is_refused() {
    assert!(with("name", "\"ada\"").is_ok());
    let (comment, pem) = (public(1).to_ssh_line("of ada"), public(1).to_pem());
    assert!(with("public_key", &serde_json::to_string(&comment).unwrap()).is_ok());
    let pem = serde_json::to_string(&pem).unwrap();
    let other = public(2).fingerprint().to_string();
    let weak = "\"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\"";
    for (member, json, expected) in [
        ("format", "\"proofmark.other\"", "the trust file is `proofmark.other`"),
        ("format", "-", "does not have the shape"),
        ("version", "2", "the trust file has version 2"),
        ("version", "-", "does not have the shape"),
        ("extra", "1", "does not have the shape"),
        ("threshold", "2", "does not have the shape"),
        ("name", "\"\"", "key 1: the name is none"),
        ("name", "\"a b\"", "key 1: the name is none"),
        ("name", "\"../a\"", "key 1: the name is none"),
        ("name", "\"-a\"", "key 1: the name is none"),
        ("public_key", &pem, "key `ada`: the public key cannot be used"),
        ("public_key", weak, "key `ada`: the public key cannot be used"),
        ("public_key", "\"ssh-rsa AAAA\"", "key `ada`: the public key cannot be used"),
        ("fingerprint", "\"sha256:00\"", "key `ada`: the fingerprint is none"),
        ("fingerprint", &format!("\"{other}\""), "but the public key has"),
        ("roles", "[]", "key `ada` has no role"),
        ("roles", "[\"king\"]", "does not have the shape"),
        ("not_before", "\"yesterday\"", "key `ada`: `not_before` is wrong"),
        ("not_after", "\"2026-02-30T00:00:00Z\"", "key `ada`: `not_after` is wrong"),
        ("revoked", "{\"at\": \"now\", \"reason\": \"retired\"}", "key `ada`: `revoked.at` is wrong"),
        ("revoked", "{\"at\": \"2026-01-01T00:00:00Z\", \"reason\": \"bored\"}", "does not have the shape"),
        ("revoked", "{\"reason\": \"compromised\"}", "does not have the shape"),
    ] {
        let error = with(member, json).unwrap_err().to_string();
        assert!(error.contains(expected), "{member} {json}: {error}");
    }
    for text in ["", "[]", "{}", "{\"format\":\"proofmark.trust\",\"format\":\"proofmark.trust\"}"] {
        assert!(Trust::load(text.as_bytes()).is_err(), "{text}");
    }
    assert!(matches!(Trust::load(&vec![b' '; 5 << 20]), Err(TrustError::TooLarge)));
}

#[test]
fn a_key_and_a_name_stand_once() {
    let twice = |first: Trusted, second: Trusted| {
        let entries = [first, second].map(|trusted| write_entry(&trusted)).to_vec();
        let file = TrustFile { format: TRUST_FORMAT.to_owned(), version: 1, keys: entries };
        Trust::load(&serde_json::to_vec(&file).unwrap()).unwrap_err().to_string()
    };
    assert_eq!(twice(judge(1, "ada"), judge(2, "ada")), "two keys have the name `ada`");
    assert_eq!(twice(judge(1, "ada"), judge(1, "bob")), "`ada` and `bob` are one key");
    let mut trust = trust_in(judge(1, "ada"));
    assert!(matches!(trust.put(judge(2, "ada")), Err(TrustError::SameName(_))));
    // The same key under another name is that key.
    trust.put(judge(1, "bob")).unwrap();
    assert_eq!(trust.keys().len(), 1);
    let mut backwards = judge(3, "eve");
    (backwards.not_before, backwards.not_after) = (moment(NOON), moment("2026-01-01T00:00:00Z"));
    assert!(matches!(trust.put(backwards), Err(TrustError::Backwards(_))));
    assert!(trust.remove(&public(1).fingerprint()).is_some());
    assert!(trust.keys().is_empty());
}

#[test]
fn allowed_signers_have_one_role_and_its_dates() {
    let submitter = |seed, name, reason: Option<Reason>| {
        let mut trusted = Trusted::always(name, public(seed));
        trusted.roles.insert(Role::Submitter);
        trusted.not_before = moment("2026-01-01T00:00:00Z");
        trusted.revoked = reason.and_then(revoked);
        trusted
    };
    let mut trust = trust_in(judge(1, "judge"));
    for (seed, name, reason) in
        [(2, "ada", None), (3, "bob", Some(Reason::Compromised)), (4, "cleo", Some(Reason::Retired))]
    {
        trust.put(submitter(seed, name.parse().unwrap(), reason)).unwrap();
    }
    let lines = trust.allowed_signers(Role::Submitter, "proofmark");
    let expected = format!(
        "ada namespaces=\"proofmark\",valid-after=\"20260101000000Z\" {}\n\
         cleo namespaces=\"proofmark\",valid-after=\"20260101000000Z\",valid-before=\"20260615120000Z\" {}\n",
        public(2).to_ssh_line(""),
        public(4).to_ssh_line(""),
    );
    assert_eq!(lines, expected);
}

#[test]
fn who_judges_what_he_hands_in_is_seen() {
    let mut trusted = judge(1, "ada");
    assert!(!trusted.is_self_judging());
    trusted.roles.insert(Role::Submitter);
    assert!(trusted.is_self_judging());
}

#[test]
fn a_revocation_can_be_made_worse_and_never_better() {
    let signer = public(1).fingerprint();
    let at = |text: &str, reason| Revocation { at: text.parse().unwrap(), reason };
    let mut trust = trust_in(judge(1, "ada"));
    let mut revoke = |text, reason| trust.revoke(&signer, at(text, reason)).is_ok();
    assert!(revoke(NOON, Reason::Retired));
    assert!(!revoke("2026-06-15T12:00:01Z", Reason::Superseded));
    assert!(revoke("2026-06-15T11:00:00Z", Reason::Superseded));
    assert!(revoke("2026-07-01T00:00:00Z", Reason::Compromised));
    assert!(!revoke("2020-01-01T00:00:00Z", Reason::Retired));
    assert!(!revoke("2020-01-01T00:00:00Z", Reason::Compromised));
    let stranger = public(2).fingerprint();
    assert!(matches!(trust.revoke(&stranger, at(NOON, Reason::Retired)), Err(TrustError::Unknown(_))));
}
