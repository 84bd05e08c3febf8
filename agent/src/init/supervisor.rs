//! Runs the parts of process 1 side by side, and restarts each when it fails.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use muster_api::live::{CONFIG_PATH, LiveConfig, kernel_arguments};
use tokio::runtime::Handle;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;
use tracing::{error, warn};

use super::system::{self, Ending};
use super::{rescue, ssh, watchdog};
use crate::client::Client;
use crate::config::live::{self, KernelArguments};
use crate::config::{PROGRAM_VERSION, Settings};
use crate::console::screen::Screen;
use crate::console::terminals;
use crate::drivers::devices::Devices;
use crate::handover::plan::Handover;
use crate::host;
use crate::install::arguments::NETWORK_FOLDER;
use crate::inventory::trouble;
use crate::net::manager;
use crate::net::names::Names;
use crate::net::paths::Paths;
use crate::net::preference;
use crate::net::{dracut, http, keyfiles};
use crate::root::Root;
use crate::session::runner::{self, Environment};
use crate::session::steps::Registry;
use crate::step::Dependencies;
use crate::time::clock;
use crate::time::discipline;
use crate::time::sources::TimeSources;
use crate::view::erasure::ErasureView;
use crate::view::network::{NetworkView, SWITCH_PORTS};
use crate::view::problem::{self, NETWORK_PROBLEMS};
use crate::view::session::SessionView;

/// Folder of the name servers of each card.
const RESOLV_FOLDER: &str = "/run/muster/resolv";
/// Delay before a failed part starts again.
const RESTART_DELAY: Duration = Duration::from_secs(1);
/// A configuration may still appear.
const CONFIGURATION_RETRY_INTERVAL: Duration = Duration::from_secs(5);
/// Interval between two signs of life.
const SIGN_INTERVAL: Duration = Duration::from_secs(5);
/// Time for the drivers of the devices that are there at power-on.
const FIRST_DEVICES: Duration = Duration::from_secs(60);
/// Interval between two searches for devices that do not work.
const HARDWARE_INTERVAL: Duration = Duration::from_secs(30);
/// No certificate is valid by a clock that was never set.
const TIME_RETRY_INTERVAL: Duration = Duration::from_secs(10);
/// Interval between two attempts to set the clock when certificates show that it is wrong.
const CLOCK_RETRY_INTERVAL: Duration = Duration::from_secs(60);

/// The configuration of the image, as read so far.
#[derive(Debug, Clone, Default)]
enum Configuration {
    #[default]
    Missing,
    /// Holds the text for the console.
    Invalid(String),
    Valid(Arc<Settings>),
}

/// State that the parts share.
#[derive(Clone)]
struct Shared {
    names: Names,
    time: TimeSources,
    devices: Devices,
    network: watch::Sender<NetworkView>,
    /// The card through which the service responded, if it did not by the usual way.
    working: watch::Sender<Option<String>>,
    session: watch::Sender<SessionView>,
    configuration: watch::Sender<Configuration>,
    /// The line of the screen about logins.
    ssh: watch::Sender<String>,
    /// The lines of the screen about hardware.
    trouble: watch::Sender<Vec<String>>,
    erasure: watch::Sender<Option<ErasureView>>,
}

impl Shared {
    /// The settings of the image, once they are known.
    async fn settings(&self) -> anyhow::Result<Arc<Settings>> {
        let mut configuration = self.configuration.subscribe();
        let configuration = configuration
            .wait_for(|configuration| matches!(configuration, Configuration::Valid(_)))
            .await?
            .clone();
        let Configuration::Valid(settings) = configuration else {
            anyhow::bail!("the configuration became invalid")
        };
        Ok(settings)
    }
}

/// Runs everything until the machine is to end.
///
/// # Errors
/// Fails if threads or signals cannot be set up.
pub fn run(devices: Devices, power_button: &Notify) -> anyhow::Result<Ending> {
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
            working: watch::Sender::default(),
            session: watch::Sender::default(),
            configuration: watch::Sender::default(),
            ssh: watch::Sender::default(),
            trouble: watch::Sender::default(),
            erasure: watch::Sender::default(),
        };
        supervise("network", shared.clone(), network);
        supervise("console", shared.clone(), console);
        supervise("configuration", shared.clone(), configuration);
        supervise("time", shared.clone(), time);
        supervise("session", shared.clone(), session);
        supervise("paths", shared.clone(), paths);
        supervise("ssh", shared.clone(), ssh_server);
        supervise("hardware", shared.clone(), hardware);
        tokio::spawn(signs_of_life());
        wait_for_end(power_button).await
    });
    crate::commands::run::leave_disks_blank();
    // A blocking call that never returns (a hanging disk) must not delay the reboot.
    runtime.shutdown_background();
    ending
}

/// Runs a part, and again whenever it ends.
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
            tokio::time::sleep(RESTART_DELAY).await;
        }
    });
}

/// Waits for a signal: Ctrl-Alt-Del and SIGTERM reboot, SIGUSR1 and SIGUSR2 power off, as busybox `reboot`
/// and `poweroff` send them, and so does the power button. Reaps children meanwhile.
async fn wait_for_end(power_button: &Notify) -> anyhow::Result<Ending> {
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
            () = power_button.notified() => return Ok(Ending::PowerOff),
        }
    }
}

/// Feeds the watchdog while this runtime works.
async fn signs_of_life() {
    loop {
        watchdog::alive();
        tokio::time::sleep(SIGN_INTERVAL).await;
    }
}

/// Looks for devices that do not work, after those of power-on were found, and repeatedly: some appear late.
async fn hardware(shared: Shared) -> anyhow::Result<()> {
    shared.devices.settled(FIRST_DEVICES).await;
    loop {
        let found = tokio::task::spawn_blocking(|| trouble::of_devices(&Root::live())).await?;
        shared.trouble.send_if_modified(|known| {
            let changed = *known != found;
            *known = found;
            changed
        });
        tokio::time::sleep(HARDWARE_INTERVAL).await;
    }
}

async fn network(shared: Shared) -> anyhow::Result<()> {
    let arguments = KernelArguments::of_this_boot();
    let (said_network, wrong) = dracut::network(&arguments);
    let problems = problem::of_arguments(&arguments, &wrong);
    for problem in &problems {
        warn!("{}: {}", problem.line(), problem.advice);
    }
    let keyfiles = PathBuf::from(NETWORK_FOLDER);
    if let Err(error) = keyfiles::make_folder(&keyfiles) {
        warn!(folder = NETWORK_FOLDER, "not made: {error}");
    }
    let time = shared.time;
    manager::run(&manager::Environment {
        naming: Box::new(host::predictable_name),
        renames: arguments.has_predictable_names(),
        time_source: Box::new(move |source| {
            time.add(source);
        }),
        view: shared.network,
        networks: image_config().map(|config| config.networks).unwrap_or_default(),
        said_network,
        keyfiles,
        resolv_conf: PathBuf::from("/etc/resolv.conf"),
        resolv_folder: PathBuf::from(RESOLV_FOLDER),
        boot_mac: preference::boot_mac(&arguments),
        working: shared.working.subscribe(),
        switch_ports: PathBuf::from(SWITCH_PORTS),
        problems,
        problems_file: PathBuf::from(NETWORK_PROBLEMS),
        devices: shared.devices,
    })
    .await
}

async fn ssh_server(shared: Shared) -> anyhow::Result<()> {
    let keys = image_config().map(|config| config.ssh_authorized_keys);
    ssh::serve(&keys.unwrap_or_default(), &shared.ssh).await
}

/// The file in the image. `configuration` reports one that cannot be read.
fn image_config() -> Option<LiveConfig> {
    serde_json::from_slice(&std::fs::read(CONFIG_PATH).ok()?).ok()
}

async fn configuration(shared: Shared) -> anyhow::Result<()> {
    loop {
        let file = std::fs::read(CONFIG_PATH)
            .ok()
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        match live::settings(file.as_deref(), &KernelArguments::of_this_boot()) {
            Ok(settings) => {
                for source in &settings.ntp_sources {
                    shared.time.add(source);
                }
                shared
                    .configuration
                    .send_replace(Configuration::Valid(Arc::new(settings)));
                // The settings never change again.
                std::future::pending::<()>().await;
            }
            Err(error) => {
                let text = error.to_string();
                shared.configuration.send_if_modified(|present| {
                    let changed = !matches!(present, Configuration::Invalid(old) if *old == text);
                    *present = Configuration::Invalid(text);
                    changed
                });
            }
        }
        tokio::time::sleep(CONFIGURATION_RETRY_INTERVAL).await;
    }
}

async fn time(shared: Shared) -> anyhow::Result<()> {
    wait_for_address(&shared).await?;
    discipline::keep(&shared.time).await
}

/// Looks for the card that leads to the service.
async fn paths(shared: Shared) -> anyhow::Result<()> {
    let settings = shared.settings().await?;
    let health = Client::new(&settings, &shared.names)?.health_url().clone();
    let paths = Paths {
        settings: (*settings).clone(),
        names: shared.names,
        resolv_folder: Path::new(RESOLV_FOLDER),
        network: shared.network.subscribe(),
        session: shared.session.subscribe(),
        working: shared.working,
    };
    paths.keep(&health).await
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
    let settings = shared.settings().await?;
    let changes = count_changes(&shared);
    wait_for_address(&shared).await?;
    let client = match Client::new(&settings, &shared.names) {
        Ok(client) => client,
        Err(error) => {
            shared
                .configuration
                .send_replace(Configuration::Invalid(error.to_string()));
            anyhow::bail!(error);
        }
    };
    let unverified = Settings {
        insecure: true,
        ..(*settings).clone()
    };
    let plain = http::service_client(&unverified, &shared.names)?.build()?;
    let correct_clock = correct_clock(shared.clone(), plain.clone(), client.health_url().clone());
    if settings.service_url.scheme() == "https" {
        let earliest = clock::earliest(image_config().and_then(|config| config.created_at));
        loop {
            discipline::before_tls(&shared.time, &plain, client.health_url(), earliest).await;
            if !clock::is_unset() {
                break;
            }
            shared.session.send_modify(|view| {
                view.problem = Some("The clock was never set and no time source answers.".to_owned());
                view.advice = "Set the clock in the firmware, or make a time source reachable.";
            });
            tokio::time::sleep(TIME_RETRY_INTERVAL).await;
        }
        shared.session.send_modify(|view| {
            view.problem = None;
            view.advice = "";
        });
    }
    // The rescue shell belongs to this program, and a user may be at work in it.
    let handover = if KernelArguments::of_this_boot().has(kernel_arguments::RESCUE) {
        None
    } else {
        let infra_env_id = settings.infra_env_id;
        tokio::task::spawn_blocking(move || Handover::new(infra_env_id)).await?
    };
    let environment = Environment {
        identity: Arc::new(host::identity),
        fingerprint: Arc::new(host::fingerprint),
        registry: Arc::new(Registry::standard(&Dependencies {
            time: shared.time,
            devices: shared.devices,
            settings: Arc::clone(&settings),
            names: shared.names,
            client: client.clone(),
            handover: handover.clone(),
            erasure: shared.erasure,
        })),
        interval: settings.interval,
        own_version: settings.agent_version.clone(),
        handover,
        view: shared.session,
        changes,
    };
    tokio::select! {
        () = runner::run(client, environment, CancellationToken::new()) => {}
        () = correct_clock => {}
    }
    Ok(())
}

/// Sets the clock when the service's certificate is not valid by it, if the time can be had from a source.
async fn correct_clock(shared: Shared, plain: reqwest::Client, health: url::Url) {
    let mut session = shared.session.subscribe();
    while session.wait_for(|view| view.clock_is_doubted).await.is_ok() {
        if discipline::after_invalid_date(&shared.time, &plain, &health).await {
            return std::future::pending().await;
        }
        tokio::time::sleep(CLOCK_RETRY_INTERVAL).await;
    }
}

/// Counts the changes that the service should learn of soon: links and addresses, and disks. Ends with its
/// receiver.
fn count_changes(shared: &Shared) -> watch::Receiver<u64> {
    let (changes, receiver) = watch::channel(0u64);
    let mut view = shared.network.subscribe();
    let mut devices = shared.devices.clone();
    let mut working = shared.working.subscribe();
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
                Ok(()) = working.changed() => {}
                () = changes.closed() => return,
            }
            changes.send_modify(|count| *count += 1);
        }
    });
    receiver
}

async fn console(shared: Shared) -> anyhow::Result<()> {
    let kernel = KernelArguments::of_this_boot();
    let mut shown = Vec::new();
    let rescue = kernel.has(kernel_arguments::RESCUE) && rescue::start(&terminals::present(&kernel));
    let first = Screen {
        version: PROGRAM_VERSION.to_owned(),
        machine: host::machine(),
        rescue,
        ..Screen::default()
    };
    let screen = watch::Sender::new(first);
    let (mut network, mut session, mut configuration, mut ssh, mut trouble, mut erasure) = (
        shared.network.subscribe(),
        shared.session.subscribe(),
        shared.configuration.subscribe(),
        shared.ssh.subscribe(),
        shared.trouble.subscribe(),
        shared.erasure.subscribe(),
    );
    loop {
        // The serial ports of a PCI card come with its driver.
        for terminal in terminals::present(&kernel) {
            if !shown.contains(&terminal) {
                terminals::show(terminal.clone(), screen.subscribe(), Handle::current())?;
                shown.push(terminal);
            }
        }
        let (network_now, session_now) = (
            network.borrow_and_update().clone(),
            session.borrow_and_update().clone(),
        );
        let configuration_now = configuration.borrow_and_update().clone();
        let ssh_now = ssh.borrow_and_update().clone();
        let trouble_now = trouble.borrow_and_update().clone();
        let erasure_now = *erasure.borrow_and_update();
        screen.send_modify(|screen| {
            screen.network = network_now;
            screen.session = session_now;
            screen.ssh = ssh_now;
            screen.trouble = trouble_now;
            screen.erasure = erasure_now;
            match &configuration_now {
                Configuration::Valid(settings) => {
                    screen.image_problem = None;
                    screen.service_url = settings.service_url.to_string();
                    screen.infra_env = infra_env_text(settings);
                }
                Configuration::Missing => {}
                Configuration::Invalid(problem) => screen.image_problem = Some(problem.clone()),
            }
        });
        tokio::select! {
            changed = network.changed() => changed?,
            changed = session.changed() => changed?,
            changed = configuration.changed() => changed?,
            changed = ssh.changed() => changed?,
            changed = trouble.changed() => changed?,
            changed = erasure.changed() => changed?,
        }
    }
}

fn infra_env_text(settings: &Settings) -> String {
    if settings.infra_env_name.is_empty() {
        settings.infra_env_id.to_string()
    } else {
        format!("{} ({})", settings.infra_env_name, settings.infra_env_id)
    }
}
