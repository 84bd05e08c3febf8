//! `muster-agent try-out`: requests a host's instructions once, before this program replaces the one that started it.

use std::io::{Read, Write};

use anyhow::{Context, anyhow};
use uuid::Uuid;

use crate::client::{Client, Failure};
use crate::config::OWN_VERSION;
use crate::handover::trial::{NO_ANSWER, READY, Trial};
use crate::host::key;
use crate::net::names::Names;
use crate::time::clock;

/// Runs the trial that `input` describes.
///
/// # Errors
/// Fails if this program cannot act for the host here.
pub fn run(mut input: impl Read, output: &mut impl Write) -> anyhow::Result<()> {
    let mut text = Vec::new();
    input.read_to_end(&mut text)?;
    // The text holds a token and a key: it is not quoted.
    let trial: Trial = serde_json::from_slice(&text).map_err(|_| anyhow!("the trial is of another form"))?;
    key::inherit(&trial.host_key)?;
    let settings = trial.settings(OWN_VERSION)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("no runtime can be started")?;
    let answer = runtime.block_on(async {
        let client = Client::new(&settings, &Names::system())?;
        let asked = client.instructions(trial.host_id, OWN_VERSION, None, clock::now(), Uuid::new_v4());
        anyhow::Ok(asked.await)
    });
    match answer? {
        Ok(_) => writeln!(output, "{READY}")?,
        Err(failure @ (Failure::Transport(_) | Failure::Status(500.., _))) => {
            writeln!(output, "{NO_ANSWER}{}", failure.text())?;
        }
        Err(failure) => return Err(anyhow!(failure.text())),
    }
    Ok(())
}
