//! `muster-agent run`: runs the session as an ordinary program on a running system.

use std::sync::Arc;

use anyhow::Context;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tracing::info;

use super::signals::Signals;
use crate::client::Client;
use crate::config::Settings;
use crate::drivers::devices::Devices;
use crate::foreign::disk_speed;
use crate::handover::plan::Handover;
use crate::host;
use crate::net::names::Names;
use crate::session::runner::{self, Environment, HostIdentity};
use crate::session::steps::Registry;
use crate::step::Dependencies;
use crate::time::sources::TimeSources;
use crate::view::session::SessionView;

/// Longest wait for disks to be made blank again.
const LEAVING_DISKS: std::time::Duration = std::time::Duration::from_secs(10);

/// Runs the session until SIGTERM or SIGINT.
///
/// # Errors
/// Fails for settings that cannot work, such as an invalid token or certificate. An unreachable service is no error.
pub fn run(settings: &Settings, identity: HostIdentity) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("no threads can be started")?;
    let ended = runtime.block_on(async {
        let signals = Signals::caught()?;
        let names = Names::system();
        let time = TimeSources::new(names.clone());
        for source in &settings.ntp_sources {
            time.add(source);
        }
        let client = Client::new(settings, &names)?;
        info!(url = %settings.service_url, infra_env_id = %settings.infra_env_id, "joining");
        // An ordinary program receives no change events: it retries by time only.
        let (_changes, changes) = watch::channel(0);
        let infra_env_id = settings.infra_env_id;
        let handover = tokio::task::spawn_blocking(move || Handover::new(infra_env_id)).await?;
        let environment = Environment {
            identity,
            fingerprint: Arc::new(host::fingerprint),
            registry: Arc::new(Registry::standard(&Dependencies {
                time,
                devices: Devices::of_running_system(),
                settings: Arc::new(settings.clone()),
                names,
                client: client.clone(),
                handover: handover.clone(),
                erasure: watch::Sender::default(),
            })),
            interval: settings.interval,
            own_version: settings.agent_version.clone(),
            handover,
            view: watch::Sender::new(SessionView::default()),
            changes,
        };
        let stop = CancellationToken::new();
        let session = tokio::spawn(runner::run(client, environment, stop.clone()));
        signals.end(stop, session).await
    });
    leave_disks_blank();
    // A blocking call that never returns (a hanging disk) must not delay the end.
    runtime.shutdown_background();
    ended
}

/// Blanks disks again that are part of a running speed test, before the program or the machine ends.
pub fn leave_disks_blank() {
    if !disk_speed::stop_all(LEAVING_DISKS) {
        tracing::error!("a disk whose speed was being measured may hold test data");
    }
}
