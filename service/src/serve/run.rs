//! Starts listeners, jobs and controllers, and stops them in order.

use std::time::Duration;

use anyhow::{Context, Result};
use muster_connections::Budgets;
use muster_http::listener::whole;
use muster_http::only_known_names;
use muster_images::Downloads;
use muster_metal3::Flow;
use muster_operations::bridge::BridgeStatus;
use muster_operations::jobs;
use muster_operations::urls::Urls;
use muster_rest::Rest;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::banner::Banner;
use super::certificate::{Identity, names};
use super::data_lock::DataLock;
use super::front::front;
use super::given::Given;
use super::kubernetes_runtime::KubernetesRuntime;
use super::open::{Listeners, operations, prepare_data_dir, store};
use super::signals::Signals;
use super::{last_resort, notify};
use crate::bmcs::drives;
use crate::cli::bmc::pasted;
use crate::kubernetes::{Asked, Kubernetes, Source};
use crate::settings::ServeArgs;
use crate::{image_downloads, listen, logging, upkeep};

/// Time for running statements at the end, and for folding SQLite's log into its file.
const DATABASE_CLOSING: Duration = Duration::from_secs(15);

/// Runs the service.
pub async fn run(args: ServeArgs) -> Result<()> {
    logging::start(args.log_format, &args.log)?;
    let (descriptors, budgets) = listen::raise_file_limit();
    let Given {
        kube_source,
        vault,
        for_operations,
    } = Given::read(&args).await?;
    // Where there is a data dir, the service that has it is named before a port that is taken. A new one is made once the ports are ours, so
    // that a start that fails leaves none.
    let early = match args.data.data_dir.exists() {
        true => None,
        false => Some(Front::open(&args, &kube_source, budgets)?),
    };
    prepare_data_dir(&args.data.data_dir)?;
    // Kept until the end. On PostgreSQL several services may run, and each takes a name of its own.
    let _lock = args
        .own_disk()
        .map(|_| DataLock::take(&args.data.data_dir))
        .transpose()?;
    if let Some(disk) = args.own_disk()
        && let Err(error) = disk.give_up_reserve()
    {
        tracing::warn!(%error, "the space of the data dir's disk is not known");
    }
    let Front {
        listeners,
        urls,
        names,
        mut identity,
    } = match early {
        Some(front) => front,
        None => Front::open(&args, &kube_source, budgets)?,
    };
    let (api, boot) = (listeners.api.tcp.local_addr()?, listeners.boot.tcp.local_addr()?);
    listen::tell_budgets(descriptors, budgets);
    // Before a client can connect: from here on a signal means "finish what was begun".
    let mut signals = Signals::new()?;
    last_resort::start(args.drain_timeout)?;
    // Ends after the database is closed.
    let threads = KubernetesRuntime::open()?;
    let mut tasks = Tasks::default();
    let (requests, stop, drain) = (&mut tasks.requests, &tasks.stop, args.drain_timeout);
    // The database may have to be waited for and migrated: `/health` responds meanwhile.
    let (opened, early) = front();
    listen::spawn(
        requests,
        listeners.api,
        early,
        identity.tls.clone(),
        stop.clone(),
        drain,
    );
    let (opened_status, early) = front();
    let has_status = listeners.status.is_some();
    if let Some(status) = listeners.status {
        listen::spawn(requests, status, early, None, stop.clone(), drain);
    }
    let opening = async {
        let store = store(&args, vault).await?;
        identity.open(&args, &store, &names).await?;
        let service_ca = &identity.service_ca;
        let opened = operations(
            &args,
            &kube_source,
            for_operations,
            store.clone(),
            urls,
            service_ca,
        );
        anyhow::Ok((opened.await?, store))
    };
    let (operations, store) = tokio::select! {
        opened = opening => opened?,
        () = signals.next() => return Ok(()),
    };
    let metrics = upkeep::recorder()?;
    let rest = Rest {
        operations: operations.clone(),
        metrics: metrics.clone(),
        page: (!args.no_web).then_some(muster_web::PAGE),
    };
    // After the recorder, since it registers gauges there.
    let downloads = Downloads::new(args.download_limits());
    let images = muster_images::routes(operations.clone(), downloads.clone());
    let for_hosts = muster_images::host_routes(operations.clone(), downloads);
    let mut api_routes = muster_rest::api(rest.clone());
    if rest.page.is_some() {
        let is_https = operations.urls.public.starts_with("https://");
        api_routes = api_routes
            .clone()
            .merge(muster_web::pages(api_routes, is_https, pasted));
    }
    let mut api_routes = api_routes.merge(images.clone()).merge(for_hosts);
    if !has_status {
        api_routes = api_routes.merge(muster_rest::metrics(rest.clone()));
    }
    let mut api_routes = whole(api_routes);
    if !operations.auth.asks_for_tokens() {
        api_routes = only_known_names(api_routes, &operations.urls);
    }
    let status_routes = whole(muster_rest::probes(rest.clone()).merge(muster_rest::metrics(rest.clone())));
    let boot_routes = whole(images.merge(muster_rest::boot_script(rest)));
    let (given, database) = (args.clone(), store.clone());
    let opening = async move { Kubernetes::open(&given, kube_source, &database, listeners.kube).await };
    let kube = threads.run(opening).await??;

    listen::spawn(requests, listeners.boot, boot_routes, None, stop.clone(), drain);
    opened.send_replace(Some(api_routes));
    opened_status.send_replace(Some(status_routes));
    jobs::start(&operations, &mut tasks.background, &tasks.stop_background);
    let (downloading, stop_downloading) = (operations.clone(), tasks.stop_background.clone());
    let largest = args.installation.largest_os_image();
    tasks.background.spawn(async move {
        stop_downloading
            .run_until_cancelled(image_downloads::run(downloading, largest))
            .await;
    });
    // Replicas that use the Kubernetes API know which BMCs are Metal3's.
    let metal3 = kube.client().filter(|_| Flow::from(args.metal3) != Flow::Off);
    let bmcs = args
        .bmcs
        .settings(&operations.urls, metal3, args.namespaces.clone().into());
    let bmc_client = bmcs.client();
    if operations.bridge.status() != BridgeStatus::Elsewhere {
        tasks.background.spawn(muster_bmc_driver::run(
            operations.clone(),
            bmc_client.clone(),
            bmcs,
            tasks.stop_background.clone(),
        ));
    }
    tasks
        .background
        .spawn(upkeep::run(metrics, tasks.stop_background.clone()));
    // Kept until the end: the built-in API ends with it.
    let asked = Asked {
        capi_provider: args.capi_provider,
        watch_filter: args.watch_filter(),
        mirror: !args.no_mirror,
        metal3: args.metal3.into(),
        drives: drives(bmc_client),
        namespaces: args.namespaces.clone().into(),
        workload_networks: args.workload_networks(),
        take_over: args.take_over,
    };
    let (requests, background) = (&mut tasks.requests, &mut tasks.background);
    let kube = threads.within(|| kube.start(&operations, asked, requests, background, &tasks.stop));
    let ca_file = identity.ca_file.clone();
    let following = identity.follow(operations.clone(), store.clone(), tasks.stop_background.clone());
    tasks.background.spawn(following);
    let banner = Banner {
        ca_file: ca_file.as_deref(),
        operations: &operations,
        args: &args,
        api,
        boot,
        kube: &kube,
    };
    banner.print().await;
    notify::ready(&banner.url());

    let outcome = tasks.until_stopped(&mut signals).await;
    notify::stopping();
    // Streams last for as long as their client wants.
    operations.change_log.close();
    let drained = tasks.stop(&mut signals, drain).await;
    // A connection that a task does not return must not hold up a restart: commits are kept.
    let closed = tokio::time::timeout(DATABASE_CLOSING, store.close()).await;
    if closed.is_err() {
        tracing::warn!("connections to the database were still in use; they are cut off");
    }
    tracing::info!("stopped");
    outcome.and(drained)
}

/// The parts that clients connect to, opened without a data dir.
struct Front {
    listeners: Listeners,
    urls: Urls,
    names: Vec<String>,
    identity: Identity,
}

impl Front {
    /// # Errors
    /// For a port that is taken, and for certificates and URLs that cannot be.
    fn open(args: &ServeArgs, kube_source: &Source, budgets: Budgets) -> Result<Self> {
        let listeners = Listeners::bind(args, kube_source, budgets)?;
        let urls = listeners.urls(args)?;
        let names = names(&urls, listeners.api.tcp.local_addr()?);
        let identity = Identity::new(args, &names)?;
        Ok(Self {
            listeners,
            urls,
            names,
            identity,
        })
    }
}

/// Everything that runs. Background jobs outlive requests, so that the last flush of check-ins is complete.
#[derive(Default)]
struct Tasks {
    requests: JoinSet<Result<()>>,
    stop: CancellationToken,
    background: JoinSet<()>,
    stop_background: CancellationToken,
}

impl Tasks {
    /// Waits for a signal, or for a task that should never end.
    async fn until_stopped(&mut self, signals: &mut Signals) -> Result<()> {
        tokio::select! {
            () = signals.next() => Ok(()),
            Some(ended) = self.requests.join_next() => ended?.context("a listener ended"),
            Some(ended) = self.background.join_next() => ended.context("a background job ended"),
        }
    }

    /// Stops listeners, then background jobs; each gets `limit`. A second signal cuts off what still runs.
    async fn stop(mut self, signals: &mut Signals, limit: Duration) -> Result<()> {
        tracing::info!(
            seconds = limit.as_secs(),
            "stopping: no new connections, running requests get this long; a second signal stops at once"
        );
        self.stop.cancel();
        let drained = self.drain(signals).await;
        self.stop_background.cancel();
        tokio::select! {
            () = async { while self.background.join_next().await.is_some() {} } => {}
            () = signals.next() => tracing::warn!("a second signal: background jobs are cut off"),
            () = tokio::time::sleep(limit) => tracing::warn!("background jobs did not end in time"),
        }
        self.background.shutdown().await;
        drained
    }

    async fn drain(&mut self, signals: &mut Signals) -> Result<()> {
        loop {
            tokio::select! {
                ended = self.requests.join_next() => match ended {
                    Some(done) => done??,
                    None => return Ok(()),
                },
                () = signals.next() => {
                    tracing::warn!("a second signal: running requests are cut off");
                    self.requests.shutdown().await;
                    return Ok(());
                }
            }
        }
    }
}
