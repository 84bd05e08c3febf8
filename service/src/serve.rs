//! `muster serve`: opens everything, says where it is and what to do next, runs until told to stop.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use metrics_exporter_prometheus::PrometheusBuilder;
use muster_core::record::Secret;
use muster_core::rules::agent_version::OWN_PREFIX;
use muster_http::listener::whole;
use muster_images::Downloads;
use muster_operations::auth::{Auth, Keys, keys};
use muster_operations::bridge::BridgeState;
use muster_operations::hosts::HostSettings;
use muster_operations::live_image::LiveImages;
use muster_operations::urls::Urls;
use muster_operations::{OperationSettings, Operations, jobs, now};
use muster_rest::Rest;
use muster_store::Store;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::kubernetes::{Kubernetes, Running, Source};
use crate::settings::{AuthMode, ServeArgs};
use crate::{listen, logging, upkeep};

/// File name of the live image beside the program or in the data dir.
pub const LIVE_IMAGE_NAME: &str = "muster-live-x86_64.iso";

/// Runs the service.
pub async fn run(args: ServeArgs) -> Result<()> {
    logging::start(args.log_format, &args.log)?;
    listen::raise_file_limit();
    prepare_data_dir(&args.data_dir)?;
    let api = listen::bind(args.listen, "--listen")?;
    let boot = listen::bind(args.boot_listen, "--boot-listen")?;
    let kube_source = args.kube_source()?;
    let kube_listener = match kube_source {
        Source::Builtin => {
            let bound = listen::bind(args.kube_listen, "--kube-listen");
            Some(bound.context(
                "the built-in Kubernetes API needs a port: choose another one, or say --kube-api off",
            )?)
        }
        Source::Cluster(_) | Source::Off => None,
    };
    let (api_address, boot_address) = (api.local_addr()?, boot.local_addr()?);
    let urls = Urls {
        public: args.public_url(api_address)?,
        boot: args.boot_url(boot_address)?,
    };
    let tls = match (&args.tls_cert, &args.tls_key) {
        (Some(cert), Some(key)) => Some(listen::tls(cert, key).await?),
        _ => None,
    };

    let store = Store::open(&args.database_url())
        .await?
        .with_event_limits(args.event_limits.clone());
    let keys = open_keys(&store, args.auth_key.as_deref()).await?;
    let operations = Arc::new(Operations::new(
        store,
        Auth::new(args.auth_mode() == AuthMode::Local, keys, args.url_lifetime),
        LiveImages::new(live_image_candidates(&args)),
        BridgeState::new(kube_source != Source::Off, kube_source == Source::Builtin),
        OperationSettings {
            hosts: HostSettings {
                requirements: args.requirements.load()?,
                agent_version: format!("{OWN_PREFIX}{}", env!("CARGO_PKG_VERSION")),
                agent_image: args.agent_image.clone(),
                listening_since: now(),
            },
            urls,
            service_ca: service_ca(&args)?,
            openshift_versions: args.openshift_versions.clone(),
        },
    ));
    let rest = Rest {
        operations: operations.clone(),
        metrics: PrometheusBuilder::new()
            .install_recorder()
            .context("metrics cannot be recorded")?,
    };
    // After the recorder: it announces its gauges.
    let images = muster_images::routes(operations.clone(), Downloads::new(args.max_downloads as usize));

    let kube = Kubernetes::open(&args, kube_source, &operations.store, kube_listener).await?;

    // Before anybody can connect: from here on a signal means "finish what was begun".
    let mut signals = Signals::new()?;
    let stop = CancellationToken::new();
    let mut tasks = JoinSet::new();
    listen::spawn(
        &mut tasks,
        api,
        whole(muster_rest::api(rest.clone()).merge(images.clone())),
        tls,
        stop.clone(),
        args.drain_timeout,
    )?;
    listen::spawn(
        &mut tasks,
        boot,
        whole(images.merge(muster_rest::boot_script(rest.clone()))),
        None,
        stop.clone(),
        args.drain_timeout,
    )?;
    let background_stop = CancellationToken::new();
    let mut background = JoinSet::new();
    jobs::start(&operations, &mut background, &background_stop);
    background.spawn(upkeep::run(rest.metrics.clone(), background_stop.clone()));
    // Kept until the end: with it the API ends.
    let kube = kube.start(&operations, &mut tasks, &mut background, &stop);
    greet(&operations, &args, api_address, boot_address, &kube).await;

    let outcome = until_stopped(&mut signals, &mut tasks, &mut background).await;
    tracing::info!(
        seconds = args.drain_timeout.as_secs(),
        "stopping: no new connections, running requests get this long; a second signal stops at once"
    );
    stop.cancel();
    let drained = drain(&mut signals, &mut tasks).await;
    // Requests are over, so nothing is noted any more: the last flush is complete.
    background_stop.cancel();
    tokio::select! {
        () = async { while background.join_next().await.is_some() {} } => {}
        () = signals.next() => tracing::warn!("a second signal: background jobs are cut off"),
        () = tokio::time::sleep(args.drain_timeout) => tracing::warn!("background jobs did not end in time"),
    }
    background.shutdown().await;
    operations.store.close().await;
    tracing::info!("stopped");
    outcome.and(drained)
}

/// Waits for running requests, unless a second signal says that nobody wants to wait for them.
async fn drain(signals: &mut Signals, tasks: &mut JoinSet<Result<()>>) -> Result<()> {
    loop {
        tokio::select! {
            ended = tasks.join_next() => match ended {
                Some(done) => done??,
                None => return Ok(()),
            },
            () = signals.next() => {
                tracing::warn!("a second signal: running requests are cut off");
                tasks.shutdown().await;
                return Ok(());
            }
        }
    }
}

/// What asks the service to stop.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    fn new() -> Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

/// A signal, or a task that should never end.
async fn until_stopped(
    signals: &mut Signals,
    tasks: &mut JoinSet<Result<()>>,
    background: &mut JoinSet<()>,
) -> Result<()> {
    tokio::select! {
        () = signals.next() => Ok(()),
        Some(ended) = tasks.join_next() => ended?.context("a listener ended"),
        Some(ended) = background.join_next() => ended.context("a background job ended"),
    }
}

fn prepare_data_dir(dir: &Path) -> Result<()> {
    use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(dir);
    made.with_context(|| format!("--data-dir {} cannot be made", dir.display()))?;
    let mode = std::fs::metadata(dir)?.permissions().mode();
    if mode & 0o077 != 0 {
        tracing::warn!(dir = %dir.display(), mode = format!("{:o}", mode & 0o777), "others can read the data dir, and keys are in it: chmod 700");
    }
    Ok(())
}

/// The key pair: from `--auth-key`, else from the database, where the first replica to start has put it.
pub async fn open_keys(store: &Store, file: Option<&Path>) -> Result<Keys> {
    let pem = match file {
        Some(path) => {
            std::fs::read_to_string(path).with_context(|| format!("--auth-key {}", path.display()))?
        }
        None => {
            let made = store
                .setting_or_insert(keys::SETTING, now(), || Secret::new(Keys::generate()))
                .await?;
            made.reveal().to_owned()
        }
    };
    let from = || {
        file.map_or_else(
            || "the key in the database".into(),
            |path| format!("--auth-key {}", path.display()),
        )
    };
    Keys::from_pem(&pem).with_context(from)
}

/// What hosts need to trust us: as given, or our own certificate.
fn service_ca(args: &ServeArgs) -> Result<String> {
    let Some(path) = args.service_ca.as_ref().or(args.tls_cert.as_ref()) else {
        return Ok(String::new());
    };
    let pem = std::fs::read_to_string(path).with_context(|| format!("{} cannot be read", path.display()))?;
    anyhow::ensure!(
        pem.contains("-----BEGIN CERTIFICATE-----"),
        "{} holds no PEM certificate",
        path.display()
    );
    Ok(pem)
}

fn live_image_candidates(args: &ServeArgs) -> Vec<PathBuf> {
    if let Some(path) = &args.live_image {
        return vec![path.clone()];
    }
    let beside = std::env::current_exe()
        .ok()
        .and_then(|program| program.parent().map(|dir| dir.join(LIVE_IMAGE_NAME)));
    beside
        .into_iter()
        .chain([args.data_dir.join(LIVE_IMAGE_NAME)])
        .collect()
}

/// Of the right form, for a first try.
const EXAMPLE_PULL_SECRET: &str = r#"{"auths":{"registry.example":{"auth":"dXNlcjpwYXNz"}}}"#;

/// Tells people, and tests, where the service is. The first two lines are stable.
async fn greet(operations: &Operations, args: &ServeArgs, api: SocketAddr, boot: SocketAddr, kube: &Running) {
    let scheme = if args.tls_cert.is_some() { "https" } else { "http" };
    println!("listening on {scheme}://{api}");
    println!("boot artifacts on http://{boot}");
    println!("hosts are told to report to {}", operations.urls.public);
    println!("live image: {}", operations.live_images.describe().await);
    if let Running::Builtin { address, .. } = kube {
        println!("kubernetes API on https://{address}");
    }
    let local = format!("{scheme}://{api}");
    // As it was called, so that the lines below can be typed as they stand.
    let muster = std::env::args().next().unwrap_or_else(|| "muster".into());
    println!("\nNext, in another terminal:");
    let mut flags = format!(" --url {local}");
    match args.auth_mode() {
        AuthMode::None => {
            println!("  (no tokens are asked for: only this machine should reach these addresses)")
        }
        AuthMode::Local => {
            let database = args
                .database_url
                .as_ref()
                .map_or(String::new(), |_| " --database-url $MUSTER_DATABASE_URL".into());
            println!(
                "  export MUSTER_TOKEN=$({muster} token --operator --data-dir {}{database})",
                args.data_dir.display()
            );
        }
    }
    if api.port() == 8090 && api.ip().is_loopback() && scheme == "http" {
        flags.clear();
    }
    // Any pull secret of the right form serves discovery; this one opens nothing.
    println!(
        "  echo '{EXAMPLE_PULL_SECRET}' | {muster} infra-env create --name lab --pull-secret -{flags}   # prints the ISO's URL; boot machines from it"
    );
    println!("  {muster} hosts --watch{flags}");
    if let Running::Builtin { kubeconfig, .. } = kube {
        println!("or the same by custom resources:");
        println!("  export KUBECONFIG={}", kubeconfig.display());
        println!(
            "  kubectl apply -f infraenv.yaml   # then: kubectl get infraenv,agents; kubectl explain infraenv.spec"
        );
    }
    if api.ip().is_loopback() {
        println!("\nOnly this machine reaches the service. For machines elsewhere:");
        println!(
            "  {muster} serve --listen 0.0.0.0:8090 --boot-listen 0.0.0.0:8091 --public-url http://ADDRESS:8090 --boot-url http://ADDRESS:8091"
        );
    }
    use std::io::Write;
    let _ = std::io::stdout().flush();
}
