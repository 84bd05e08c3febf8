//! Downloads a newer program, checks it and tries it.

use std::time::Duration;

use muster_api::ids::HostId;
use muster_api::steps::AgentProgram;
use tokio::time::sleep;
use tracing::warn;

use super::error::HandoverError;
use super::successor::Successor;
use super::trial::Trial;
use crate::client::Client;
use crate::config::Settings;

/// No download is larger, bytes.
const LARGEST: u64 = 128 << 20;
/// Requests in a row without new bytes.
const TRIES: u32 = 6;
/// Pause after the first of them; doubles.
const PAUSE: Duration = Duration::from_secs(1);

/// The program, ready to take over.
///
/// # Errors
/// [`HandoverError`]
pub async fn prepare(
    client: &Client,
    settings: &Settings,
    host_id: HostId,
    program: &AgentProgram,
    name: &str,
) -> Result<Successor, HandoverError> {
    let packed = download(client, host_id, program).await?;
    let (promised, name) = (program.clone(), name.to_owned());
    let unpacked = tokio::task::spawn_blocking(move || Successor::unpack(&packed, &promised, &name)).await;
    let successor = unpacked.map_err(|error| HandoverError::Memory(std::io::Error::other(error)))??;
    let token = client.token();
    let trial = Trial::of(settings, token.to_str().unwrap_or_default(), host_id);
    trial.run(&successor).await?;
    Ok(successor)
}

/// Downloads the program; continues where a connection ended.
async fn download(
    client: &Client,
    host_id: HostId,
    program: &AgentProgram,
) -> Result<Vec<u8>, HandoverError> {
    let promised = program.packed_size;
    if promised > LARGEST {
        return Err(HandoverError::TooLarge(promised));
    }
    let mut packed = Vec::new();
    let (mut failures, mut pause) = (0, PAUSE);
    loop {
        let before = packed.len();
        let ended = client
            .agent_program(host_id, &program.sha256, promised, &mut packed)
            .await;
        let found = packed.len() as u64;
        if found == promised {
            return Ok(packed);
        }
        let reason = ended.map_or_else(
            |failure| failure.text(),
            |()| format!("it ends after {found} of {promised} bytes"),
        );
        if packed.len() > before {
            (failures, pause) = (0, PAUSE);
        }
        failures += 1;
        if failures == TRIES {
            return Err(HandoverError::Download(reason));
        }
        warn!(
            failures,
            found, "the download of a newer agent is continued: {reason}"
        );
        sleep(pause).await;
        pause *= 2;
    }
}
