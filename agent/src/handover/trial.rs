//! Tries a newer program before it takes over: as a child, it requests this host's instructions once, as it would do later.

use std::process::Stdio;
use std::time::Duration;

use muster_api::ids::{HostId, InfraEnvId};
use muster_api::live::LiveProxy;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;
use tokio::time::timeout;

use super::error::HandoverError;
use super::successor::Successor;
use crate::config::{Settings, Token, service_url};
use crate::host::inherited::VARIABLE;
use crate::host::key;

/// The subcommand of the program that is tried. Programs of all versions have it.
pub const COMMAND: &str = "try-out";

/// The line that the tried program prints if it works.
pub const READY: &str = "ready";

/// Begin of the line that it prints if the service did not respond; the reason follows.
pub const NO_ANSWER: &str = "no answer: ";

/// Longest time for one request, with names and TLS.
const DEADLINE: Duration = Duration::from_secs(90);

/// Most of its error output that is reported, bytes.
const WORDS: usize = 300;

/// Everything that it needs, on its standard input: a token and a key are in it. Later programs read it: it changes by addition.
#[derive(Serialize, Deserialize)]
pub struct Trial {
    pub service_url: String,
    pub infra_env_id: InfraEnvId,
    pub token: String,
    pub ca_certificates: String,
    pub insecure: bool,
    pub proxy: LiveProxy,
    pub host_id: HostId,
    pub host_key: String,
}

impl Trial {
    /// The trial of a program that is to act for this host. `token`: the present one.
    pub fn of(settings: &Settings, token: &str, host_id: HostId) -> Self {
        Self {
            service_url: settings.service_url.to_string(),
            infra_env_id: settings.infra_env_id,
            token: token.to_owned(),
            ca_certificates: settings.ca_certificates.clone(),
            insecure: settings.insecure,
            proxy: settings.proxy.clone(),
            host_id,
            host_key: key::own().secret(),
        }
    }

    /// The settings of the program that is tried.
    ///
    /// # Errors
    /// Fails if the URL is invalid.
    pub fn settings(&self, agent_version: &str) -> anyhow::Result<Settings> {
        Ok(Settings {
            service_url: service_url(&self.service_url)?,
            infra_env_id: self.infra_env_id,
            infra_env_name: String::new(),
            token: Token::new(self.token.clone()),
            ca_certificates: self.ca_certificates.clone(),
            insecure: self.insecure,
            proxy: self.proxy.clone(),
            ntp_sources: Vec::new(),
            interval: DEADLINE,
            agent_version: agent_version.to_owned(),
            host_id: Some(self.host_id),
        })
    }

    /// Starts the program and waits for its result.
    ///
    /// # Errors
    /// Fails if the program does not start, or does not report that it works.
    pub async fn run(&self, successor: &Successor) -> Result<(), HandoverError> {
        let mut child = Command::new(successor.path())
            .arg(COMMAND)
            .env_remove(VARIABLE)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(HandoverError::Start)?;
        let input = serde_json::to_vec(self).map_err(|error| HandoverError::Start(error.into()))?;
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let talk = async {
            let (mut said, mut complained) = (String::new(), String::new());
            if let Some(mut stdin) = stdin {
                // A program that ends without reading gives the reason in its output.
                let _ = stdin.write_all(&input).await;
            }
            let read = async {
                if let Some(stdout) = stdout {
                    let _ = stdout.take(1 << 16).read_to_string(&mut said).await;
                }
            };
            let read_complaints = async {
                if let Some(stderr) = stderr {
                    let _ = stderr.take(1 << 16).read_to_string(&mut complained).await;
                }
            };
            tokio::join!(read, read_complaints);
            (said, complained)
        };
        let Ok((said, complained)) = timeout(DEADLINE, talk).await else {
            let reason = format!("it did not end within {} s", DEADLINE.as_secs());
            return Err(HandoverError::Trial(reason));
        };
        // Process 1 reaps all children and may have been first: its output counts, not its exit code.
        let _ = timeout(DEADLINE, child.wait()).await;
        if said.lines().any(|line| line == READY) {
            return Ok(());
        }
        let no_answer = said.lines().find_map(|line| line.strip_prefix(NO_ANSWER));
        Err(no_answer.map_or_else(
            || HandoverError::Trial(last_words(&complained)),
            |reason| HandoverError::NoAnswer(last_words(reason)),
        ))
    }
}

fn last_words(complained: &str) -> String {
    let last = complained.lines().rev().find(|line| !line.trim().is_empty());
    let last = last.unwrap_or("it ended without a word").chars();
    last.filter(|c| !c.is_control()).take(WORDS).collect()
}
