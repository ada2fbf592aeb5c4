//! Every reader of foreign bytes, given what nobody would write: an error or a value, never a panic.

use proptest::prelude::*;

use crate::bundle::Bundle;
use crate::dsse::{Envelope, IN_TOTO};
use crate::key::{PrivateKey, PublicKey};
use crate::keyfile::{KeyFile, seal};
use crate::policy::{Role, Trust};
use crate::sshsig::SshSignature;
use crate::statement::Statement;

fn read_all(bytes: &[u8]) {
    let _ = KeyFile::parse(bytes).map(|file| file.open(None).is_ok());
    let _ = PublicKey::parse(&String::from_utf8_lossy(bytes));
    let _ = Trust::load(bytes);
    let _ = SshSignature::parse(bytes).map(|signature| signature.verify("proofmark", b"").is_ok());
    let _ = Envelope::parse(bytes);
    let _ = Bundle::parse(bytes);
    let _ = Statement::parse(bytes, "x");
}

/// One good thing of each kind.
fn samples() -> Vec<Vec<u8>> {
    let key = PrivateKey::from_secret(&[1; 32]);
    let envelope = Envelope::sign(IN_TOTO, b"{}".to_vec(), &[&key]);
    vec![
        seal(&key, None, &[0; 32]).as_bytes().to_vec(),
        key.public().to_pem().into_bytes(),
        key.public().to_ssh_line("me").into_bytes(),
        Trust::default().with(key.public(), Role::Judge).to_bytes(),
        SshSignature::sign(&key, "proofmark", b"").to_armour().into_bytes(),
        envelope.to_bytes(),
        Bundle::new(envelope).expect("one signature").to_bytes(),
    ]
}

proptest! {
    #[test]
    fn random_bytes_are_refused_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        read_all(&bytes);
    }

    #[test]
    fn good_things_that_were_changed_are_read_without_a_panic(
        which in 0..7usize,
        at in any::<prop::sample::Index>(),
        change in proptest::collection::vec(any::<u8>(), 0..8),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes = samples().swap_remove(which);
        let at = at.index(bytes.len());
        let end = (at + change.len()).min(bytes.len());
        bytes.splice(at..end, change);
        read_all(&bytes);
        bytes.truncate(cut.index(bytes.len() + 1));
        read_all(&bytes);
    }
}
