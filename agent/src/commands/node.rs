//! `muster-agent node`: runs on an installed node, and brings it back into discovery when its service requests that.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;
use muster_api::node_agent::{CONFIG_PATH, HOST_KEY_PATH, NodeAgentConfig};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tracing::info;

use super::signals::Signals;
use crate::client::Client;
use crate::config::{OWN_VERSION, Settings, Token, service_url};
use crate::drivers::devices::Devices;
use crate::host::key;
use crate::net::names::Names;
use crate::session::node;
use crate::session::steps::Registry;
use crate::step::Dependencies;
use crate::time::sources::TimeSources;

/// Wait on an installed node for the instruction to return into discovery
#[derive(Debug, Args)]
pub struct NodeCommand {
    /// The service and this host's credentials
    #[arg(long, value_name = "FILE", default_value = CONFIG_PATH)]
    config: PathBuf,
}

impl NodeCommand {
    /// Runs until SIGTERM or SIGINT.
    ///
    /// # Errors
    /// Fails for a configuration that cannot work. An unreachable service is no error.
    pub fn run(&self) -> anyhow::Result<()> {
        let config = read(&self.config)?;
        key::take_from(Path::new(HOST_KEY_PATH))?;
        let settings = settings(&config)?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .context("no threads can be started")?;
        let ended = runtime.block_on(serve(&config, settings));
        // A blocking call that never returns must not delay the end.
        runtime.shutdown_background();
        ended
    }
}

async fn serve(config: &NodeAgentConfig, settings: Settings) -> anyhow::Result<()> {
    let signals = Signals::caught()?;
    let names = Names::system();
    let client = Client::new(&settings, &names)?;
    info!(url = %settings.service_url, host_id = %config.host_id, "waiting for instructions");
    let registry = Registry::of_node(&Dependencies {
        time: TimeSources::new(names.clone()),
        devices: Devices::of_running_system(),
        settings: Arc::new(settings),
        names,
        client: client.clone(),
        handover: None,
        erasure: watch::Sender::default(),
    });
    let stop = CancellationToken::new();
    let session = node::run(
        client,
        config.host_id,
        OWN_VERSION.to_owned(),
        Arc::new(registry),
        stop.clone(),
    );
    signals.end(stop, tokio::spawn(session)).await
}

/// Reads the file. It holds a token, so errors do not quote it.
fn read(path: &Path) -> anyhow::Result<NodeAgentConfig> {
    let text = std::fs::read(path).with_context(|| format!("{}: cannot be read", path.display()))?;
    serde_json::from_slice(&text).map_err(|error| {
        anyhow::anyhow!(
            "{}: is no configuration of a node's agent (line {}, column {})",
            path.display(),
            error.line(),
            error.column()
        )
    })
}

fn settings(config: &NodeAgentConfig) -> anyhow::Result<Settings> {
    if !config.ca_certificates.is_empty() && !config.ca_certificates.contains("-----BEGIN CERTIFICATE-----") {
        bail!("ca_certificates holds no PEM certificate");
    }
    Ok(Settings {
        service_url: service_url(&config.service_url)?,
        infra_env_id: config.infra_env_id,
        infra_env_name: String::new(),
        token: Token::new(config.token.clone().unwrap_or_default()),
        ca_certificates: config.ca_certificates.clone(),
        insecure: false,
        proxy: config.proxy.clone(),
        ntp_sources: Vec::new(),
        interval: Duration::from_secs(60),
        agent_version: OWN_VERSION.to_owned(),
        host_id: Some(config.host_id),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "bbf2dead-3746-54cb-b32a-917afd236656";

    #[test]
    fn the_service_and_the_host_are_taken_from_the_file() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let text = format!(
            r#"{{"service_url":"https://muster.example","infra_env_id":"{ID}","host_id":"{ID}","token":"t"}}"#
        );
        std::fs::write(file.path(), text).unwrap();
        let config = read(file.path()).unwrap();
        let settings = settings(&config).unwrap();
        assert_eq!(settings.service_url.as_str(), "https://muster.example/");
        assert_eq!(settings.token.reveal(), "t");
    }

    #[test]
    fn a_broken_file_is_named_and_not_quoted() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), r#"{"token":"secret"}"#).unwrap();
        let error = format!("{:#}", read(file.path()).unwrap_err());
        assert!(
            error.contains("no configuration") && !error.contains("secret"),
            "{error}"
        );
        let gone = read(Path::new("/nonexistent")).unwrap_err();
        assert!(format!("{gone:#}").contains("/nonexistent"));
    }
}
