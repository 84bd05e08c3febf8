//! Reads the headers by which an agent proves that it is the machine that registered.

use http::{HeaderMap, StatusCode};
use muster_api::host_key::{HOST_KEY_HEADER, HOST_PROOF_HEADER, Proof};
use muster_api::ids::{HostId, InfraEnvId};
use muster_operations::hosts::{Hosts, NotProved, ProofError, Spoken};
use muster_operations::now;

use crate::problem::Problem;

/// Length of a public key, hexadecimal digits.
const KEY_DIGITS: usize = 64;

impl From<NotProved> for Problem {
    fn from(why: NotProved) -> Self {
        Self::Framework(StatusCode::UNAUTHORIZED, why.to_string())
    }
}

impl From<ProofError> for Problem {
    fn from(error: ProofError) -> Self {
        match error {
            ProofError::NotProved(why) => why.into(),
            ProofError::Store(error) => error.into(),
        }
    }
}

fn proof(headers: &HeaderMap) -> Option<Proof> {
    headers.get(HOST_PROOF_HEADER)?.to_str().ok()?.parse().ok()
}

fn spoken<'a>((method, path): (&'a str, &'a str), proof: Option<&'a Proof>) -> Spoken<'a> {
    Spoken { method, path, proof }
}

/// Checks that the holder of an image's token may act for this host.
///
/// # Errors
/// 401 when the host has a key and the request no proof of it.
pub async fn check(
    hosts: &Hosts,
    (infra_env_id, id): (InfraEnvId, HostId),
    said: (&str, &str),
    headers: &HeaderMap,
) -> Result<(), Problem> {
    let proof = proof(headers);
    let spoken = spoken(said, proof.as_ref());
    Ok(hosts.check_proof(infra_env_id, id, spoken, now()).await?)
}

/// True when a request proves to be of this host, and the host is installed or on its way there or back: it may then use a token that was
/// replaced.
///
/// # Errors
/// Fails if the database does.
pub async fn outlasts_token(
    hosts: &Hosts,
    (infra_env_id, id): (InfraEnvId, HostId),
    said: (&str, &str),
    headers: &HeaderMap,
) -> Result<bool, Problem> {
    let proof = proof(headers);
    let spoken = spoken(said, proof.as_ref());
    Ok(hosts.outlasts_token(infra_env_id, id, spoken, now()).await?)
}

/// The public key that a machine registers with, after the machine proved that it has the private one; empty: the machine sent no key.
///
/// # Errors
/// 400 when it is not a key, 401 without a proof.
pub fn public_key(
    hosts: &Hosts,
    claimed: HostId,
    said: (&str, &str),
    headers: &HeaderMap,
) -> Result<String, Problem> {
    let Some(key) = headers.get(HOST_KEY_HEADER) else {
        return Ok(String::new());
    };
    let key = key.to_str().unwrap_or_default().to_ascii_lowercase();
    if key.len() != KEY_DIGITS || !key.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(Problem::bad_request(format!(
            "{HOST_KEY_HEADER}: an Ed25519 key in {KEY_DIGITS} hexadecimal digits is expected"
        )));
    }
    let proof = proof(headers);
    let spoken = spoken(said, proof.as_ref());
    hosts.proofs().check_registration(&key, claimed, spoken, now())?;
    Ok(key)
}
