//! Signatures by one key in great number, checked with a table of the key's multiples.
//!
//! A cache or a package holds thousands of judgments by the same judge. Checking `s·B = R + k·A` for one of them means
//! multiplying the key `A` and the base point `B` by numbers of 32 bytes. With the multiples `d·256ⁱ` of both at hand, that
//! is one addition a byte, and no doubling. Everything here is public, so that nothing need take the same time.

use std::sync::LazyLock;

use curve25519_dalek::constants::ED25519_BASEPOINT_POINT;
use curve25519_dalek::edwards::EdwardsPoint;
use curve25519_dalek::scalar::Scalar;
use curve25519_dalek::traits::Identity as _;
use ed25519_dalek::VerifyingKey;
use sha2::{Digest as _, Sha512};

use crate::key::BadSignature;

/// The multiples 1 to 128 of a point, of 256 times the point, and so on: 640 KB.
pub(crate) struct Multiples(Vec<[EdwardsPoint; 128]>);

/// Of the base point.
static BASE: LazyLock<Multiples> = LazyLock::new(|| Multiples::of_point(ED25519_BASEPOINT_POINT));

impl Multiples {
    pub(crate) fn of(key: &VerifyingKey) -> Self {
        Self::of_point(-key.to_edwards())
    }

    fn of_point(mut point: EdwardsPoint) -> Self {
        let row = |_| {
            let mut next = EdwardsPoint::identity();
            let row = std::array::from_fn(|_| {
                next += point;
                next
            });
            point = row[127] + row[127];
            row
        };
        Self((0..32).map(row).collect())
    }

    /// Adds the point `scalar` times to a sum.
    fn add_times(&self, scalar: &Scalar, sum: &mut EdwardsPoint) {
        let mut carry = 0;
        for (row, byte) in self.0.iter().zip(scalar.as_bytes()) {
            // More than half a row is less than nothing of this row and one more of the next. The last byte of a scalar
            // is too small for that.
            let digit = usize::from(*byte) + carry;
            carry = usize::from(digit > 128);
            match digit {
                0 | 256 => {}
                1..=128 => *sum += row[digit - 1],
                _ => *sum -= row[255 - digit],
            }
        }
    }

    /// Accepts exactly what `key.verify_strict` accepts, for the key that the table was made of, which is not a weak one.
    pub(crate) fn verify(&self, key: &VerifyingKey, message: &[u8], signature: &[u8; 64]) -> Result<(), BadSignature> {
        let (r, s) = signature.split_at(32);
        let s: [u8; 32] = s.try_into().map_err(|_| BadSignature)?;
        let s: Scalar = Option::from(Scalar::from_canonical_bytes(s)).ok_or(BadSignature)?;
        let hash = Sha512::new().chain_update(r).chain_update(key.as_bytes()).chain_update(message).finalize();
        let k = Scalar::from_bytes_mod_order_wide(&hash.into());
        let mut expected = EdwardsPoint::identity();
        BASE.add_times(&s, &mut expected);
        self.add_times(&k, &mut expected);
        // A point has one text that is compared here, so that `R` is the point that is expected, and need not be unpacked
        // to see whether it is of small order.
        if expected.compress().as_bytes() == r && !expected.is_small_order() { Ok(()) } else { Err(BadSignature) }
    }
}

#[cfg(test)]
mod tests {
    use curve25519_dalek::constants::EIGHT_TORSION;
    use curve25519_dalek::edwards::EdwardsPoint;
    use ed25519_dalek::{Signature, Signer as _, SigningKey};
    use proptest::prelude::*;

    use super::*;

    /// What both ways say of a signature, which has to be the same.
    fn verdict(key: &VerifyingKey, message: &[u8], signature: &[u8; 64]) -> bool {
        let strict = key.verify_strict(message, &Signature::from_bytes(signature)).is_ok();
        assert_eq!(Multiples::of(key).verify(key, message, signature).is_ok(), strict, "{signature:?} by {key:?}");
        strict
    }

    fn joined(r: &EdwardsPoint, s: &Scalar) -> [u8; 64] {
        let mut bytes = [0; 64];
        bytes[..32].copy_from_slice(r.compress().as_bytes());
        bytes[32..].copy_from_slice(s.as_bytes());
        bytes
    }

    /// The number that ties a signature to key and message.
    fn challenge(r: &EdwardsPoint, key: &VerifyingKey, message: &[u8]) -> Scalar {
        let hash = Sha512::new().chain_update(r.compress().as_bytes()).chain_update(key.as_bytes());
        Scalar::from_bytes_mod_order_wide(&hash.chain_update(message).finalize().into())
    }

    proptest! {
        #[test]
        fn a_signature_holds_and_none_of_its_bits_can_be_changed(
            secret: [u8; 32], message in proptest::collection::vec(any::<u8>(), 0..200), bit in 0_usize..512,
        ) {
            let key = SigningKey::from_bytes(&secret);
            let mut signature = key.sign(&message).to_bytes();
            prop_assert!(verdict(&key.verifying_key(), &message, &signature));
            signature[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(!verdict(&key.verifying_key(), &message, &signature));
        }

        #[test]
        fn a_point_is_added_as_often_as_a_number_says(bytes: [u8; 32]) {
            let scalar = Scalar::from_bytes_mod_order(bytes);
            let mut sum = EdwardsPoint::identity();
            BASE.add_times(&scalar, &mut sum);
            prop_assert_eq!(sum, EdwardsPoint::mul_base(&scalar));
        }

        #[test]
        fn bytes_that_are_no_signature_are_refused(secret: [u8; 32], r: [u8; 32], s: [u8; 32]) {
            let mut bytes = [0; 64];
            bytes[..32].copy_from_slice(&r);
            bytes[32..].copy_from_slice(&s);
            prop_assert!(!verdict(&SigningKey::from_bytes(&secret).verifying_key(), b"message", &bytes));
        }
    }

    /// Bytes about which a row says something else, at all places.
    #[test]
    fn a_point_is_added_as_often_as_a_number_says_at_the_edges() {
        for byte in [0, 1, 127, 128, 129, 254, 255] {
            for next in [0, 127, 128, 255] {
                for at in 0..31 {
                    let mut bytes = [0; 32];
                    (bytes[at], bytes[at + 1]) = (byte, next);
                    let scalar = Scalar::from_bytes_mod_order(bytes);
                    let mut sum = EdwardsPoint::identity();
                    BASE.add_times(&scalar, &mut sum);
                    assert_eq!(sum, EdwardsPoint::mul_base(&scalar), "{byte} {next} at {at}");
                }
            }
        }
        let mut sum = EdwardsPoint::identity();
        BASE.add_times(&-Scalar::ONE, &mut sum);
        assert_eq!(sum, -ED25519_BASEPOINT_POINT);
    }

    #[test]
    fn a_number_has_one_text() {
        let key = SigningKey::from_bytes(&[1; 32]);
        let mut signature = key.sign(b"message").to_bytes();
        // The order of the group added to `s`: the same number to whoever does not look.
        let order = (-Scalar::ONE).to_bytes();
        let mut carry = 1;
        for (byte, add) in signature[32..].iter_mut().zip(order) {
            let sum = u16::from(*byte) + u16::from(add) + carry;
            *byte = sum as u8;
            carry = sum >> 8;
        }
        assert_eq!(carry, 0);
        assert!(!verdict(&key.verifying_key(), b"message", &signature));
    }

    /// Keys and points that are off by a point of small order, where ways of checking that are not the same differ.
    #[test]
    fn points_of_small_order_are_treated_alike() {
        let (secret, nonce) = (Scalar::from(123_456_789_u64), Scalar::from(987_654_321_u64));
        let (mut held, mut refused) = (0, 0);
        for in_key in EIGHT_TORSION {
            let key = VerifyingKey::from(EdwardsPoint::mul_base(&secret) + in_key);
            assert!(!key.is_weak());
            for in_r in EIGHT_TORSION {
                for nonce in [nonce, Scalar::ZERO] {
                    for message in 0..16_u8 {
                        let r = EdwardsPoint::mul_base(&nonce) + in_r;
                        let s = nonce + challenge(&r, &key, &[message]) * secret;
                        match verdict(&key, &[message], &joined(&r, &s)) {
                            true => held += 1,
                            false => refused += 1,
                        }
                    }
                }
            }
        }
        assert!(held > 100 && refused > 1000, "{held} held, {refused} did not");
    }

    #[test]
    fn texts_that_no_point_has_are_refused() {
        let key = SigningKey::from_bytes(&[1; 32]).verifying_key();
        for last in [0x7f, 0xff] {
            // `y` at and above the prime: the same points again under other names, those of small order among them.
            for first in 0xec..=0xff {
                let mut signature = [0xff; 64];
                (signature[0], signature[31]) = (first, last);
                signature[32..].copy_from_slice(Scalar::ZERO.as_bytes());
                assert!(!verdict(&key, b"message", &signature));
            }
        }
    }
}
