//! The parts of process 1 that run side by side, each started again when it breaks.

use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use muster_api::live::{CONFIG_PATH, kernel_arguments};
use tokio::runtime::Handle;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tracing::{error, warn};

use super::rescue;
use super::system::{self, Ending};
use crate::config::live::{self, KernelArguments};
use crate::config::{OWN_VERSION, Settings};
use crate::console::screen::Screen;
use crate::console::terminals;
use crate::host;
use crate::net::manager;
use crate::net::names::Names;
use crate::net::view::NetworkView;
use crate::session::client::{Client, client_builder};
use crate::session::devices::Devices;
use crate::session::runner::{self, Surroundings};
use crate::session::steps::{Dependencies, Registry};
use crate::session::view::SessionView;
use crate::time::clock;
use crate::time::discipline;
use crate::time::sources::TimeSources;

/// A part that broke starts again after this.
const AGAIN: Duration = Duration::from_secs(1);
/// Somebody may still bring a configuration.
const LOOK_FOR_CONFIGURATION: Duration = Duration::from_secs(5);
/// No certificate is valid by a clock that was never set.
const ASK_THE_TIME_AGAIN: Duration = Duration::from_secs(10);

/// What the parts share.
#[derive(Clone)]
struct Shared {
    names: Names,
    time: TimeSources,
    devices: Devices,
    network: watch::Sender<NetworkView>,
    session: watch::Sender<SessionView>,
    /// The settings, or why there are none.
    settings: watch::Sender<Result<Option<Arc<Settings>>, String>>,
}

/// Runs everything until the machine is to end.
///
/// # Errors
/// No threads or signals can be had.
pub fn run(devices: Devices) -> anyhow::Result<Ending> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let ending = runtime.block_on(async {
        let names = Names::system();
        let shared = Shared {
            time: TimeSources::new(names.clone()),
            names,
            devices,
            network: watch::Sender::default(),
            session: watch::Sender::default(),
            settings: watch::Sender::new(Ok(None)),
        };
        supervise("network", shared.clone(), network);
        supervise("console", shared.clone(), console);
        supervise("configuration", shared.clone(), configuration);
        supervise("time", shared.clone(), time);
        supervise("session", shared.clone(), session);
        wait_for_end().await
    });
    crate::commands::run::leave_disks_blank();
    // A blocking call that never returns (a sick disk) must not hold up the reboot.
    runtime.shutdown_background();
    ending
}

/// Starts a part, and again whenever it ends.
fn supervise<F>(name: &'static str, shared: Shared, part: fn(Shared) -> F)
where
    F: Future<Output = anyhow::Result<()>> + Send + 'static,
{
    tokio::spawn(async move {
        loop {
            match tokio::spawn(part(shared.clone())).await {
                Ok(Ok(())) => warn!(part = name, "ended; starting it again"),
                Ok(Err(error)) => error!(part = name, "broke; starting it again: {error:#}"),
                Err(error) => error!(part = name, "broke; starting it again: {error}"),
            }
            tokio::time::sleep(AGAIN).await;
        }
    });
}

/// Signals: Ctrl-Alt-Del and SIGTERM reboot, as busybox `reboot` and `poweroff` ask; dead children are buried.
async fn wait_for_end() -> anyhow::Result<Ending> {
    let on = |kind| -> std::io::Result<Signal> { signal(kind) };
    let mut children = on(SignalKind::child())?;
    let mut control_alt_delete = on(SignalKind::interrupt())?;
    let mut terminate = on(SignalKind::terminate())?;
    let mut halt = on(SignalKind::user_defined1())?;
    let mut power_off = on(SignalKind::user_defined2())?;
    loop {
        tokio::select! {
            _ = children.recv() => system::reap(),
            _ = control_alt_delete.recv() => return Ok(Ending::Reboot),
            _ = terminate.recv() => return Ok(Ending::Reboot),
            _ = halt.recv() => return Ok(Ending::PowerOff),
            _ = power_off.recv() => return Ok(Ending::PowerOff),
        }
    }
}

async fn network(shared: Shared) -> anyhow::Result<()> {
    manager::run(&manager::Surroundings {
        naming: Box::new(host::predictable_name),
        time: shared.time,
        view: shared.network,
        resolv_conf: PathBuf::from("/etc/resolv.conf"),
    })
    .await
}

async fn configuration(shared: Shared) -> anyhow::Result<()> {
    loop {
        let line = std::fs::read_to_string("/proc/cmdline").unwrap_or_default();
        let file = std::fs::read(CONFIG_PATH)
            .ok()
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        match live::settings(file.as_deref(), &KernelArguments::parse(&line)) {
            Ok(settings) => {
                for source in &settings.ntp_sources {
                    shared.time.add(source);
                }
                shared
                    .settings
                    .send_modify(|present| *present = Ok(Some(Arc::new(settings))));
                // Nothing changes it any more.
                std::future::pending::<()>().await;
            }
            Err(error) => {
                let text = error.to_string();
                shared.settings.send_if_modified(|present| {
                    let changed = present.as_ref().err() != Some(&text);
                    *present = Err(text);
                    changed
                });
            }
        }
        tokio::time::sleep(LOOK_FOR_CONFIGURATION).await;
    }
}

async fn time(shared: Shared) -> anyhow::Result<()> {
    wait_for_address(&shared).await?;
    discipline::keep(&shared.time).await
}

async fn wait_for_address(shared: &Shared) -> anyhow::Result<()> {
    shared
        .network
        .subscribe()
        .wait_for(NetworkView::has_address)
        .await?;
    Ok(())
}

async fn session(shared: Shared) -> anyhow::Result<()> {
    let mut told = shared.settings.subscribe();
    let told = told.wait_for(|told| matches!(told, Ok(Some(_)))).await?.clone();
    let Ok(Some(settings)) = told else {
        anyhow::bail!("settings came and went")
    };
    let changes = tell_of_changes(&shared);
    wait_for_address(&shared).await?;
    let client = match Client::new(&settings, &shared.names) {
        Ok(client) => client,
        Err(error) => {
            shared
                .settings
                .send_modify(|present| *present = Err(error.to_string()));
            anyhow::bail!(error);
        }
    };
    if settings.service_url.scheme() == "https" {
        let unverified = Settings {
            insecure: true,
            ..(*settings).clone()
        };
        let plain = client_builder(&unverified, &shared.names)?.build()?;
        loop {
            discipline::before_tls(&shared.time, &plain, client.health_url()).await;
            if !clock::is_unset() {
                break;
            }
            shared.session.send_modify(|view| {
                view.trouble = Some("The clock was never set and nobody tells the time.".to_owned());
                view.advice = "Set the clock in the firmware, or make a time source reachable.";
            });
            tokio::time::sleep(ASK_THE_TIME_AGAIN).await;
        }
        shared.session.send_modify(|view| {
            view.trouble = None;
            view.advice = "";
        });
    }
    let surroundings = Surroundings {
        identity: Arc::new(host::identity),
        fingerprint: Arc::new(host::fingerprint),
        registry: Arc::new(Registry::standard(&Dependencies {
            time: shared.time,
            devices: shared.devices,
            settings: Arc::clone(&settings),
            names: shared.names,
            client: client.clone(),
        })),
        interval: settings.interval,
        own_version: settings.agent_version.clone(),
        view: shared.session,
        changes,
    };
    runner::run(client, surroundings, CancellationToken::new()).await;
    Ok(())
}

/// Counts what the service would want to hear of soon: links and addresses, and disks. Ends with its listener.
fn tell_of_changes(shared: &Shared) -> watch::Receiver<u64> {
    let (changes, heard) = watch::channel(0u64);
    let mut view = shared.network.subscribe();
    let mut devices = shared.devices.clone();
    tokio::spawn(async move {
        let mut known = view.borrow().reach();
        loop {
            tokio::select! {
                changed = view.changed() => {
                    if changed.is_err() {
                        return;
                    }
                    let reach = view.borrow_and_update().reach();
                    if reach == known {
                        continue;
                    }
                    known = reach;
                }
                () = devices.changed() => {}
                () = changes.closed() => return,
            }
            changes.send_modify(|count| *count += 1);
        }
    });
    heard
}

async fn console(shared: Shared) -> anyhow::Result<()> {
    let line = std::fs::read_to_string("/proc/cmdline").unwrap_or_default();
    let kernel = KernelArguments::parse(&line);
    let terminals = terminals::present(&kernel);
    let rescue = kernel.has(kernel_arguments::RESCUE) && rescue::start(&terminals);
    let first = Screen {
        version: OWN_VERSION.to_owned(),
        machine: host::machine(),
        rescue,
        ..Screen::default()
    };
    let screen = watch::Sender::new(first);
    for terminal in terminals {
        terminals::show(terminal, screen.subscribe(), Handle::current())?;
    }
    let (mut network, mut session, mut settings) = (
        shared.network.subscribe(),
        shared.session.subscribe(),
        shared.settings.subscribe(),
    );
    loop {
        let (network_now, session_now) = (
            network.borrow_and_update().clone(),
            session.borrow_and_update().clone(),
        );
        let settings_now = settings.borrow_and_update().clone();
        screen.send_modify(|screen| {
            screen.network = network_now;
            screen.session = session_now;
            match &settings_now {
                Ok(Some(settings)) => {
                    screen.image_trouble = None;
                    screen.service_url = settings.service_url.to_string();
                    screen.infra_env = pool(settings);
                }
                Ok(None) => {}
                Err(trouble) => screen.image_trouble = Some(trouble.clone()),
            }
        });
        tokio::select! {
            changed = network.changed() => changed?,
            changed = session.changed() => changed?,
            changed = settings.changed() => changed?,
        }
    }
}

fn pool(settings: &Settings) -> String {
    if settings.infra_env_name.is_empty() {
        settings.infra_env_id.to_string()
    } else {
        format!("{} ({})", settings.infra_env_name, settings.infra_env_id)
    }
}
