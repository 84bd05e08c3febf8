//! Opens what the service needs from its options: data directory, keys, listeners, operations.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use muster_connections::{Budgets, Connections, Listener};
use muster_core::record::BmcLimits;
use muster_core::rules::agent_version::OWN_PREFIX;
use muster_operations::auth::{Auth, Claims};
use muster_operations::bridge::{BridgeState, BridgeStatus};
use muster_operations::hosts::HostSettings;
use muster_operations::images::live::LiveImages;
use muster_operations::images::options::ImageOptions;
use muster_operations::time::clock::SystemClock;
use muster_operations::urls::Urls;
use muster_operations::{OperationSettings, Operations, now};
use muster_store::{Store, Vault};

use super::emptied::refuse_emptied;
use super::given::ForOperations;
use crate::kubernetes::Source;
use crate::listen::{self, API_HEAD, BOOT_HEAD};
use crate::settings::{AuthMode, ServeArgs, password_in_arguments};

/// File names of the live images in the folder of the program or in the data directory.
const LIVE_IMAGE_NAMES: [&str; 2] = ["muster-live-x86_64.iso", "muster-live-aarch64.iso"];

/// The default address of the built-in Kubernetes API.
const KUBE_LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 6443);

/// Listening sockets, bound before anything else so that a port in use is reported at once.
pub(super) struct Listeners {
    pub(super) api: Listener,
    pub(super) boot: Listener,
    /// Of the built-in Kubernetes API, if it runs.
    pub(super) kube: Option<Listener>,
    /// Of health and metrics, if they have their own.
    pub(super) status: Option<Listener>,
}

impl Listeners {
    pub(super) fn bind(args: &ServeArgs, kube: &Source, budgets: Budgets) -> Result<Self> {
        let bind = |address, flag, name, budget, head| {
            listen::bind(address, flag, Connections::new(name, budget), head)
        };
        let api = bind(args.listen, "--listen", "api", budgets.api, API_HEAD)?;
        let boot = bind(
            args.boot_listen(),
            "--boot-listen",
            "boot",
            budgets.boot,
            BOOT_HEAD,
        )?;
        let kube = match kube {
            Source::Builtin => {
                let listen = |address| {
                    bind(
                        address,
                        "--kube-listen",
                        "kubernetes",
                        budgets.kubernetes,
                        API_HEAD,
                    )
                };
                let bound = match args.kube_listen {
                    Some(address) => listen(address),
                    // The port is often taken by another local cluster; the kubeconfig names the port that was found.
                    None => listen(KUBE_LISTEN).or_else(|_| {
                        tracing::warn!(
                            "port {} is taken: the built-in Kubernetes API has another one",
                            KUBE_LISTEN.port()
                        );
                        listen(SocketAddr::new(KUBE_LISTEN.ip(), 0))
                    }),
                };
                Some(bound.context(
                    "the built-in Kubernetes API needs a port: choose another one, or use --kube-api off",
                )?)
            }
            Source::Cluster(_) | Source::Elsewhere | Source::Off => None,
        };
        let status = args
            .status_listen
            .map(|address| bind(address, "--status-listen", "status", budgets.status, API_HEAD));
        let status = status.transpose()?;
        Ok(Self {
            api,
            boot,
            kube,
            status,
        })
    }

    /// The addresses under which the service is reached.
    pub(super) fn urls(&self, args: &ServeArgs) -> Result<Urls> {
        Ok(Urls {
            public: args.public_url(self.api.tcp.local_addr()?)?,
            boot: args.boot_url(self.boot.tcp.local_addr()?)?,
        })
    }
}

/// Opens the database with the keys of its secrets.
pub(super) async fn store(args: &ServeArgs, vault: Vault) -> Result<Store> {
    let (connections, url) = (Some(args.database_connections), args.database_url());
    if let Some(words) = password_in_arguments(&url) {
        tracing::warn!("{words}");
    }
    refuse_emptied(&args.data.data_dir, &url)?;
    let store = Store::open_with_keys(&url, vault, connections).await?;
    Ok(store.with_event_limits(args.event_limits.clone()))
}

/// Opens the operations and everything that they use.
pub(super) async fn operations(
    args: &ServeArgs,
    kube: &Source,
    given: ForOperations,
    store: Store,
    urls: Urls,
    service_ca: &str,
) -> Result<Arc<Operations>> {
    let keys = given.keys.open(&store).await?;
    let hosts = HostSettings {
        requirements: given.requirements,
        agent_version: format!("{OWN_PREFIX}{}", env!("CARGO_PKG_VERSION")),
        agent_image: args.agent_image.clone(),
        replaces_agents: !args.no_agent_upgrade,
        listening_since: now(),
        installer_image: args.installation.installer_image.clone(),
        controller_image: args.installation.controller_image.clone(),
        node_agent: args.installation.node_agent,
        limits: args.installation.limits(),
        max_hosts: args.retention.max_hosts,
        max_inventories: u64::from(args.retention.max_inventories) << 20,
    };
    // What an image holds of the options: addresses, the form of its configuration, and tokens.
    let sample = keys.sign(&Claims::operator());
    let fixed = [
        env!("CARGO_PKG_VERSION"),
        &urls.public,
        &urls.boot,
        &format!("{:?}", args.auth_mode()),
        &sample,
    ]
    .join("\n");
    let image_options = ImageOptions::open(&store, fixed, service_ca, now()).await?;
    Ok(Arc::new(Operations::new(
        store,
        Auth::new(args.auth_mode() == AuthMode::Local, keys, args.url_lifetime),
        live_images(args),
        BridgeState::new(bridge_status(kube), *kube == Source::Builtin),
        OperationSettings {
            hosts,
            urls,
            image_options,
            openshift_versions: args.openshift_versions.clone(),
            os_images: given.os_images,
            downloaded_images: args.os_images_dir(),
            retention: args.retention.retention(),
            disk: args.own_disk(),
            bmcs: BmcLimits::default(),
            clock: Arc::new(SystemClock::default()),
        },
    )))
}

/// The state of the bridge until it is opened.
fn bridge_status(kube: &Source) -> BridgeStatus {
    match kube {
        Source::Off => BridgeStatus::Off,
        Source::Elsewhere => BridgeStatus::Elsewhere,
        Source::Builtin | Source::Cluster(_) => BridgeStatus::Starting,
    }
}

/// Creates the data directory, readable by its owner only.
pub(super) fn prepare_data_dir(dir: &Path) -> Result<()> {
    use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(dir);
    made.with_context(|| format!("--data-dir {} cannot be made", dir.display()))?;
    let mode = std::fs::metadata(dir)?.permissions().mode();
    if mode & 0o077 != 0 {
        tracing::warn!(dir = %dir.display(), mode = format!("{:o}", mode & 0o777), "others can read the data dir, and keys are in it: chmod 700");
    }
    Ok(())
}

fn live_images(args: &ServeArgs) -> LiveImages {
    let given = [&args.live_image, &args.live_image_aarch64];
    let [x86_64, aarch64] = std::array::from_fn(|index| match given[index] {
        Some(path) => vec![path.clone()],
        None => default_places(args, LIVE_IMAGE_NAMES[index]),
    });
    LiveImages::new(x86_64, aarch64, Some(&args.data.data_dir))
}

fn default_places(args: &ServeArgs, name: &str) -> Vec<PathBuf> {
    let beside = std::env::current_exe()
        .ok()
        .and_then(|program| program.parent().map(|dir| dir.join(name)));
    beside
        .into_iter()
        .chain([args.data.data_dir.join(name)])
        .collect()
}
