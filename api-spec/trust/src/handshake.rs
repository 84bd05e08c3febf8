//! Verifies that a server has the key of its certificate, for keys that the verifiers of authorities' certificates refuse, too.

use ring::signature::UnparsedPublicKey;
use rsa::pkcs8::{AssociatedOid, ObjectIdentifier};
use rsa::sha2::digest::FixedOutputReset;
use rsa::sha2::{Digest, Sha256, Sha384, Sha512};
use rsa::signature::hazmat::PrehashVerifier;
use rsa::signature::{self, Verifier};
use rsa::{BigUint, RsaPublicKey, pkcs1v15, pss};
use rustls::SignatureScheme;

use crate::public_key::PublicKey;

/// Signature schemes for servers, the most widely supported first.
pub(crate) const SCHEMES: [SignatureScheme; 10] = [
    SignatureScheme::ECDSA_NISTP256_SHA256,
    SignatureScheme::ECDSA_NISTP384_SHA384,
    SignatureScheme::ECDSA_NISTP521_SHA512,
    SignatureScheme::ED25519,
    SignatureScheme::RSA_PSS_SHA256,
    SignatureScheme::RSA_PSS_SHA384,
    SignatureScheme::RSA_PSS_SHA512,
    SignatureScheme::RSA_PKCS1_SHA256,
    SignatureScheme::RSA_PKCS1_SHA384,
    SignatureScheme::RSA_PKCS1_SHA512,
];

/// Bits of an RSA key: a smaller one can be broken, and verifying with a larger one takes long.
const SMALLEST: usize = 1024;
const LARGEST: usize = 8192;

const ED25519: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.101.112");

/// A key that no server can be verified by here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnusableKey {
    #[error("no public key can be read in it")]
    Unreadable,
    #[error("its RSA key has {0} bits, and {SMALLEST} to {LARGEST} are taken")]
    RsaSize(usize),
    /// Object identifiers of the algorithm and of its curve, if it has one.
    #[error("its key is of the kind {0}, and RSA, ECDSA on P-256, P-384 or P-521, and Ed25519 are taken")]
    Kind(String),
}

#[derive(Debug)]
pub(crate) enum NotVerified {
    Key(UnusableKey),
    /// The server does not have the key, or signed with what was not offered.
    Signature,
}

impl From<signature::Error> for NotVerified {
    fn from(_: signature::Error) -> Self {
        Self::Signature
    }
}

/// Verifies the signature of a handshake. `bound`: as TLS 1.3 has it, where the scheme names the curve and RSA is PSS.
pub(crate) fn verify(
    key: &PublicKey<'_>,
    scheme: SignatureScheme,
    bound: bool,
    message: &[u8],
    signature: &[u8],
) -> Result<(), NotVerified> {
    use SignatureScheme as S;

    let is = |identifier: &ObjectIdentifier| key.algorithm == identifier.as_bytes();
    let on =
        |curve: &ObjectIdentifier| is(&p256::elliptic_curve::ALGORITHM_OID) && key.curve == curve.as_bytes();
    let is_of = |own: SignatureScheme| match bound {
        true => scheme == own,
        false => matches!(
            scheme,
            S::ECDSA_NISTP256_SHA256 | S::ECDSA_NISTP384_SHA384 | S::ECDSA_NISTP521_SHA512
        ),
    };
    if is(&rsa::pkcs1::ALGORITHM_OID) {
        let key = rsa_key(key)?;
        match scheme {
            S::RSA_PSS_SHA256 => pss::<Sha256>(key, message, signature),
            S::RSA_PSS_SHA384 => pss::<Sha384>(key, message, signature),
            S::RSA_PSS_SHA512 => pss::<Sha512>(key, message, signature),
            S::RSA_PKCS1_SHA256 if !bound => pkcs1::<Sha256>(key, message, signature),
            S::RSA_PKCS1_SHA384 if !bound => pkcs1::<Sha384>(key, message, signature),
            S::RSA_PKCS1_SHA512 if !bound => pkcs1::<Sha512>(key, message, signature),
            _ => Err(NotVerified::Signature),
        }
    } else if on(&p256::NistP256::OID) && is_of(S::ECDSA_NISTP256_SHA256) {
        let key = p256::ecdsa::VerifyingKey::from_sec1_bytes(key.bits)?;
        let signature = p256::ecdsa::Signature::from_der(signature)?;
        Ok(key.verify_prehash(&hashed(scheme, message), &signature)?)
    } else if on(&p384::NistP384::OID) && is_of(S::ECDSA_NISTP384_SHA384) {
        let key = p384::ecdsa::VerifyingKey::from_sec1_bytes(key.bits)?;
        let signature = p384::ecdsa::Signature::from_der(signature)?;
        Ok(key.verify_prehash(&hashed(scheme, message), &signature)?)
    } else if on(&p521::NistP521::OID) && is_of(S::ECDSA_NISTP521_SHA512) {
        let key = p521::ecdsa::VerifyingKey::from_sec1_bytes(key.bits)?;
        let signature = p521::ecdsa::Signature::from_der(signature)?;
        // The same number, in as many bytes as this curve wants at least.
        let number = [vec![0; 2], hashed(scheme, message)].concat();
        Ok(key.verify_prehash(&number, &signature)?)
    } else if is(&ED25519) && scheme == S::ED25519 {
        let key = UnparsedPublicKey::new(&ring::signature::ED25519, key.bits);
        key.verify(message, signature).map_err(|_| NotVerified::Signature)
    } else if [p256::NistP256::OID, p384::NistP384::OID, p521::NistP521::OID]
        .iter()
        .any(on)
        || is(&ED25519)
    {
        Err(NotVerified::Signature)
    } else {
        Err(NotVerified::Key(UnusableKey::Kind(kind(key))))
    }
}

fn rsa_key(key: &PublicKey<'_>) -> Result<RsaPublicKey, NotVerified> {
    let unreadable = NotVerified::Key(UnusableKey::Unreadable);
    let Some((modulus, exponent)) = key.rsa() else {
        return Err(unreadable);
    };
    let modulus = BigUint::from_bytes_be(modulus);
    let bits = modulus.bits();
    if !(SMALLEST..=LARGEST).contains(&bits) {
        return Err(NotVerified::Key(UnusableKey::RsaSize(bits)));
    }
    let exponent = BigUint::from_bytes_be(exponent);
    RsaPublicKey::new_with_max_size(modulus, exponent, LARGEST).map_err(|_| unreadable)
}

fn pss<D: Digest + FixedOutputReset>(
    key: RsaPublicKey,
    message: &[u8],
    signature: &[u8],
) -> Result<(), NotVerified> {
    let signature = pss::Signature::try_from(signature)?;
    Ok(pss::VerifyingKey::<D>::new(key).verify(message, &signature)?)
}

fn pkcs1<D: Digest + AssociatedOid>(
    key: RsaPublicKey,
    message: &[u8],
    signature: &[u8],
) -> Result<(), NotVerified> {
    let signature = pkcs1v15::Signature::try_from(signature)?;
    Ok(pkcs1v15::VerifyingKey::<D>::new(key).verify(message, &signature)?)
}

/// The hash that a scheme of ECDSA names; any curve takes any in TLS 1.2.
fn hashed(scheme: SignatureScheme, message: &[u8]) -> Vec<u8> {
    match scheme {
        SignatureScheme::ECDSA_NISTP256_SHA256 => Sha256::digest(message).to_vec(),
        SignatureScheme::ECDSA_NISTP384_SHA384 => Sha384::digest(message).to_vec(),
        _ => Sha512::digest(message).to_vec(),
    }
}

/// `1.2.840.10045.2.1 1.3.132.0.10`, of object identifiers.
fn kind(key: &PublicKey<'_>) -> String {
    let parts = [key.algorithm, key.curve]
        .into_iter()
        .filter(|part| !part.is_empty());
    let read = |part: &[u8]| {
        ObjectIdentifier::from_bytes(part).map_or_else(|_| "?".to_owned(), |read| read.to_string())
    };
    parts.map(read).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests;
