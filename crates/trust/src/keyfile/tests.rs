use super::*;
use data_encoding::BASE64;

fn key() -> PrivateKey {
    PrivateKey::from_secret(&[9; 32])
}

fn passphrase(text: &str) -> Passphrase {
    Passphrase::new(text).unwrap()
}

fn pem(label: &str, der: &[u8]) -> String {
    let base64 = BASE64.encode(der);
    let lines: Vec<&str> =
        base64.as_bytes().chunks(64).map(|line| std::str::from_utf8(line).expect("base64 is ASCII")).collect();
    format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", lines.join("\n"))
}

fn der(text: &str) -> Vec<u8> {
    let body: String = text.lines().filter(|line| !line.starts_with('-')).collect();
    BASE64.decode(body.as_bytes()).unwrap()
}

/// Encrypted with other parameters than ours.
fn protected(parameters: pbes2::Parameters) -> String {
    let plain = der(&seal(&key(), None, &[0; 32]));
    let encrypted = parameters.encrypt(b"passphrase", &plain).unwrap();
    let info = pkcs8::EncryptedPrivateKeyInfo {
        encryption_algorithm: parameters.into(),
        encrypted_data: OctetStringRef::new(&encrypted).unwrap(),
    };
    pem(ENCRYPTED_LABEL, &info.to_der().unwrap())
}

#[test]
fn a_sealed_key_is_opened_by_its_passphrase_alone() {
    let text = seal(&key(), Some(&passphrase("correct horse")), &[4; 32]);
    assert!(text.starts_with("-----BEGIN ENCRYPTED PRIVATE KEY-----\n"), "{}", *text);
    let file = KeyFile::parse(text.as_bytes()).unwrap();
    assert!(file.is_encrypted());
    let opened = file.open(Some(&passphrase("correct horse"))).unwrap();
    assert_eq!((opened.key.public(), opened.weakness), (key().public(), None));
    assert_eq!(file.open(Some(&passphrase("correct hors"))).unwrap_err(), KeyFileError::WrongPassphrase);
    assert_eq!(file.open(None).unwrap_err(), KeyFileError::Locked);
    // The same noise gives the same file; other noise another one.
    assert_eq!(*seal(&key(), Some(&passphrase("correct horse")), &[4; 32]), *text);
    assert_ne!(*seal(&key(), Some(&passphrase("correct horse")), &[5; 32]), *text);
}

#[test]
fn a_key_without_a_passphrase_is_pkcs8_version_1() {
    let text = seal(&key(), None, &[0; 32]);
    assert!(text.starts_with("-----BEGIN PRIVATE KEY-----\n"));
    // RFC 8410 §7: sequence, version 0, the algorithm, 34 bytes.
    assert_eq!(&der(&text)[..16], [0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20]);
    let file = KeyFile::parse(text.trim().as_bytes()).unwrap();
    assert!(!file.is_encrypted());
    assert_eq!(file.open(None).unwrap().key.public(), key().public());
}

#[test]
fn version_2_is_read_when_its_halves_fit() {
    let plain = der(&seal(&key(), None, &[0; 32]));
    let with_public = |public: &[u8]| {
        let mut bytes = plain.clone();
        bytes[4] = 1;
        bytes.extend_from_slice(&[0x81, 33, 0]);
        bytes.extend_from_slice(public);
        bytes[1] = (bytes.len() - 2) as u8;
        KeyFile::parse(pem(PLAIN_LABEL, &bytes).as_bytes()).unwrap().open(None)
    };
    assert_eq!(with_public(key().public().as_bytes()).unwrap().key.public(), key().public());
    let other = PrivateKey::from_secret(&[8; 32]).public();
    assert_eq!(with_public(other.as_bytes()).unwrap_err(), KeyFileError::Halves);
}

#[test]
fn weak_protection_is_read_and_named() {
    let open = |text: &str| KeyFile::parse(text.as_bytes()).unwrap().open(Some(&passphrase("passphrase"))).unwrap();
    for (iterations, weakness) in [(2048, Some(Weakness::Pbkdf2(2048))), (100_000, None)] {
        let parameters = pbes2::Parameters::generate_pbkdf2_sha256_aes256cbc(iterations, &[1; 8], [2; 16]).unwrap();
        assert_eq!(open(&protected(parameters)).weakness, weakness);
    }
    let cost = scrypt::Params::new(10, 8, 1).unwrap();
    let parameters = pbes2::Parameters::generate_scrypt_aes256cbc(cost, &[1; 8], [2; 16]).unwrap();
    let opened = open(&protected(parameters));
    assert_eq!((opened.key.public(), opened.weakness), (key().public(), Some(Weakness::Scrypt(8192))));
}

#[test]
fn costs_beyond_reason_are_refused_untried() {
    let scrypt = |n: u64, r: u16, p: u16| {
        let cost = scrypt::Params::new(10, 8, 1).unwrap();
        let mut parameters = pbes2::ScryptParams::from_params_and_salt(cost, &[1; 8]).unwrap();
        (parameters.cost_parameter, parameters.block_size, parameters.parallelization) = (n, r, p);
        check_cost(&Kdf::Scrypt(parameters))
    };
    assert_eq!(scrypt(1 << 14, 8, 5), Ok(None));
    assert_eq!(scrypt(1 << 17, 8, 1), Ok(None));
    for (n, r, p) in [(1 << 30, 8, 1), (u64::MAX / 2 + 1, 8, 1), (1 << 63, 65_535, 65_535), (1 << 14, 8, 65_535)] {
        assert_eq!(scrypt(n, r, p), Err(KeyFileError::Costly), "{n} {r} {p}");
    }
    for (n, r, p) in [(0, 8, 1), (1, 8, 1), (1000, 8, 1), (1 << 14, 0, 1), (1 << 14, 8, 0)] {
        assert!(matches!(scrypt(n, r, p), Err(KeyFileError::Damaged(_))), "{n} {r} {p}");
    }
    let pbkdf2 = |iterations, prf| {
        let mut parameters = pbes2::Pbkdf2Params::hmac_sha256(1, &[1; 8]).unwrap();
        (parameters.iteration_count, parameters.prf) = (iterations, prf);
        check_cost(&Kdf::Pbkdf2(parameters))
    };
    assert_eq!(pbkdf2(u32::MAX, Pbkdf2Prf::HmacWithSha256), Err(KeyFileError::Costly));
    assert!(matches!(pbkdf2(0, Pbkdf2Prf::HmacWithSha256), Err(KeyFileError::Damaged(_))));
    assert_eq!(pbkdf2(2048, Pbkdf2Prf::HmacWithSha1), Err(KeyFileError::Protection("PBKDF2 with SHA-1")));
    assert_eq!(pbkdf2(600_000, Pbkdf2Prf::HmacWithSha512), Ok(None));
}

#[test]
fn what_is_no_ed25519_key_is_refused_by_name() {
    let rsa = [0x30, 0x14, 2, 1, 0, 0x30, 0x0d, 6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 1, 5, 0, 4, 0];
    let rsa = pem(PLAIN_LABEL, &rsa);
    assert_eq!(
        KeyFile::parse(rsa.as_bytes()).unwrap().open(None).unwrap_err(),
        KeyFileError::Algorithm("RSA".to_owned())
    );
    for (text, expected) in [
        (String::new(), KeyFileError::NotAKey),
        ("hello".to_owned(), KeyFileError::NotAKey),
        ("-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n".to_owned(), KeyFileError::NotAKey),
        (key().public().to_pem(), KeyFileError::Public),
        (key().public().to_ssh_line("me"), KeyFileError::Public),
        ("-----BEGIN EC PRIVATE KEY-----\n".to_owned(), KeyFileError::Algorithm("ECDSA".to_owned())),
        ("-----BEGIN PRIVATE KEY-----\nMAA=\n".to_owned(), KeyFileError::Damaged("the PEM is not")),
        ("x".repeat(MAX_KEY_FILE + 1), KeyFileError::TooLarge),
    ] {
        assert_eq!(KeyFile::parse(text.as_bytes()).unwrap_err(), expected, "{text:.60}");
    }
    assert_eq!(KeyFile::parse(b"\xff\xfe").unwrap_err(), KeyFileError::NotAKey);
}

#[test]
fn a_flipped_bit_never_gives_the_key() {
    let whole = der(&seal(&key(), None, &[0; 32]));
    for at in 0..whole.len() * 8 {
        let mut bytes = whole.clone();
        bytes[at / 8] ^= 1 << (at % 8);
        let opened = KeyFile::parse(pem(PLAIN_LABEL, &bytes).as_bytes()).and_then(|file| file.open(None));
        if let Ok(opened) = opened {
            assert_ne!(opened.key.public(), key().public(), "bit {at}");
        }
    }
}

#[test]
fn nothing_of_a_key_is_ever_shown() {
    let text = seal(&key(), Some(&passphrase("canary canary")), &[4; 32]);
    let file = KeyFile::parse(text.as_bytes()).unwrap();
    let shown = format!(
        "{file:?} {:?} {:?}",
        file.open(Some(&passphrase("canary canary"))),
        file.open(Some(&passphrase("wrong canary")))
    );
    assert!(!shown.contains("canary") && !shown.contains("9, 9"), "{shown}");
}
