//! `muster-agent run`: the session as an ordinary program on a system that somebody else set up.

use std::sync::Arc;

use anyhow::Context;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tracing::info;

use crate::config::Settings;
use crate::foreign::disk_speed;
use crate::host;
use crate::net::names::Names;
use crate::session::client::Client;
use crate::session::devices::Devices;
use crate::session::runner::{self, HostIdentity, Surroundings};
use crate::session::steps::{Dependencies, Registry};
use crate::session::view::SessionView;
use crate::time::sources::TimeSources;

/// Making a disk blank again takes so long at most, unless it is sick.
const LEAVING_DISKS: std::time::Duration = std::time::Duration::from_secs(10);

/// Talks to the service until SIGTERM or SIGINT.
///
/// # Errors
/// Settings that cannot work (a token or certificate that is none). A service that cannot be reached is no error.
pub fn run(settings: &Settings, identity: HostIdentity) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("no threads can be started")?;
    let ended = runtime.block_on(async {
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let names = Names::system();
        let time = TimeSources::new(names.clone());
        for source in &settings.ntp_sources {
            time.add(source);
        }
        let client = Client::new(settings, &names)?;
        info!(url = %settings.service_url, infra_env_id = %settings.infra_env_id, "joining");
        // An ordinary program is not told of changes: it tries again by time alone.
        let (_changes, changes) = watch::channel(0);
        let surroundings = Surroundings {
            identity,
            fingerprint: Arc::new(host::fingerprint),
            registry: Arc::new(Registry::standard(&Dependencies {
                time,
                devices: Devices::of_running_system(),
                settings: Arc::new(settings.clone()),
                names,
                client: client.clone(),
            })),
            interval: settings.interval,
            own_version: settings.agent_version.clone(),
            view: watch::Sender::new(SessionView::default()),
            changes,
        };
        let stop = CancellationToken::new();
        let session = tokio::spawn(runner::run(client, surroundings, stop.clone()));
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        info!("told to stop");
        stop.cancel();
        session.await.context("the session broke")
    });
    leave_disks_blank();
    // A blocking call that never returns (a sick disk) must not hold up the end.
    runtime.shutdown_background();
    ended
}

/// A disk whose speed is being measured is made blank again before the program or the machine ends.
pub fn leave_disks_blank() {
    if !disk_speed::stop_all(LEAVING_DISKS) {
        tracing::error!("a disk whose speed was being measured may hold test data");
    }
}
