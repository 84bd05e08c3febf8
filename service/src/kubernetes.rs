//! Selects the Kubernetes API of the custom-resource bridge, opens it, and names this replica there.

use std::fs::File;
use std::io::{Read, Seek, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use axum::http::HeaderValue;
use axum::http::header::USER_AGENT;
use clap::ValueEnum;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use muster_connections::Listener;
use muster_controller::namespaces::Namespaces;
use muster_controllers::bridge::{self, Bridge};
use muster_kube_api::KubeApi;
use muster_metal3::Flow;
use muster_metal3::drives::Drives;
use muster_operations::{Operations, random};
use muster_outgoing::Networks;
use muster_store::{Kind, Store};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::builtin_api::BuiltinApi;
use crate::claimed_file::{Claim, claim};
use crate::settings::ServeArgs;

/// The value of `--kube-api`: which Kubernetes API is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum KubeApiChoice {
    /// That of --kubeconfig or of the pod's cluster; the built-in one where there is neither.
    Auto,
    /// The one in this process.
    Builtin,
    /// That of --kubeconfig or of the pod's cluster.
    Cluster,
    /// None here: other replicas on the same PostgreSQL database run the controllers, and have the BMCs.
    Elsewhere,
    /// None: no custom resources.
    Off,
}

/// The value of `--metal3`: how BareMetalHosts get the discovery image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Metal3Choice {
    /// The discovery ISO is their live ISO.
    LiveIso,
    /// Metal3 boots what a PreprovisioningImage names; needs an image with the agent of Ironic.
    Converged,
    /// None: BareMetalHosts and PreprovisioningImages are left alone.
    Off,
}

impl From<Metal3Choice> for Flow {
    fn from(choice: Metal3Choice) -> Self {
        match choice {
            Metal3Choice::LiveIso => Self::LiveIso,
            Metal3Choice::Converged => Self::Converged,
            Metal3Choice::Off => Self::Off,
        }
    }
}

/// The Kubernetes API in use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// No API.
    Off,
    /// The API of other replicas.
    Elsewhere,
    /// The built-in API in this process.
    Builtin,
    /// The API server of this kubeconfig; `None`: that of the cluster in which this pod runs.
    Cluster(Option<PathBuf>),
}

/// Resolves `choice`; `in_pod`: Kubernetes runs this process.
pub fn source(choice: KubeApiChoice, kubeconfig: Option<&Path>, in_pod: bool) -> Result<Source> {
    let file = kubeconfig.map(Path::to_owned);
    Ok(match (choice, file) {
        (KubeApiChoice::Off | KubeApiChoice::Elsewhere | KubeApiChoice::Builtin, Some(_)) => {
            bail!("--kubeconfig names an API server: leave it out, or use --kube-api cluster")
        }
        (KubeApiChoice::Off, None) => Source::Off,
        (KubeApiChoice::Elsewhere, None) => Source::Elsewhere,
        (KubeApiChoice::Builtin, None) => Source::Builtin,
        (KubeApiChoice::Auto | KubeApiChoice::Cluster, Some(file)) => Source::Cluster(Some(file)),
        (KubeApiChoice::Auto | KubeApiChoice::Cluster, None) if in_pod => Source::Cluster(None),
        (KubeApiChoice::Auto, None) => Source::Builtin,
        (KubeApiChoice::Cluster, None) => {
            bail!("--kube-api cluster: this is no pod of a cluster; give --kubeconfig FILE")
        }
    })
}

/// The Kubernetes API, opened and not yet started.
pub enum Kubernetes {
    /// No API.
    Off,
    /// The API in this process.
    Builtin {
        /// The API itself.
        api: Box<BuiltinApi>,
        /// As in [`Bridge`].
        lease: Option<(String, String)>,
        /// Keeps the replica's name.
        name: Option<File>,
    },
    /// An API server.
    Cluster {
        /// Client of the server.
        client: Client,
        /// As in [`Bridge`].
        lease: Option<(String, String)>,
        /// Keeps the replica's name.
        name: Option<File>,
    },
}

/// Parts of the bridge that the operator selects.
#[derive(Debug, Clone)]
pub struct Asked {
    /// As in [`Bridge`].
    pub capi_provider: bool,
    /// As in [`Bridge`].
    pub watch_filter: Option<String>,
    /// As in [`Bridge`], on the built-in API.
    pub mirror: bool,
    /// As in [`Bridge`].
    pub metal3: Flow,
    /// As in [`Bridge`].
    pub drives: Arc<dyn Drives>,
    /// As in [`Bridge`].
    pub namespaces: Namespaces,
    /// As in [`Bridge`].
    pub workload_networks: Networks,
    /// As in [`Bridge`].
    pub take_over: bool,
}

impl Asked {
    /// The bridge to an API server.
    fn bridge(self, client: Client, lease: Option<(String, String)>) -> Bridge {
        Bridge {
            client,
            lease,
            capi_provider: self.capi_provider,
            watch_filter: self.watch_filter,
            node_pools: false,
            mirror: false,
            metal3: self.metal3,
            drives: Some(self.drives),
            namespaces: self.namespaces,
            workload_networks: self.workload_networks,
            take_over: self.take_over,
        }
    }
}

/// The running API; kept while the service runs.
pub enum Running {
    /// No custom resources.
    Off,
    /// The API in this process.
    Builtin {
        /// Ends when it is dropped.
        api: KubeApi,
        /// Its listening address.
        address: SocketAddr,
        /// The file that `kubectl` needs.
        kubeconfig: PathBuf,
        /// Keeps the replica's name.
        name: Option<File>,
    },
    /// An API server.
    Cluster {
        /// Keeps the replica's name.
        name: Option<File>,
    },
}

impl Kubernetes {
    /// Opens the API that `source` names; `listener` is given if that is the built-in API.
    pub async fn open(
        args: &ServeArgs,
        source: Source,
        store: &Store,
        listener: Option<Listener>,
    ) -> Result<Self> {
        let given = args.kube_namespace.as_deref();
        match (source, listener) {
            (Source::Off | Source::Elsewhere, _) | (Source::Builtin, None) => Ok(Self::Off),
            (Source::Builtin, Some(listener)) => {
                let api = BuiltinApi::open(
                    store,
                    listener,
                    &args.data.data_dir,
                    args.kube_public_url.as_ref(),
                )
                .await?;
                // One process writes to SQLite, so no other replica can lead.
                let (lease, name) = match store.kind() {
                    Kind::Sqlite => (None, None),
                    Kind::Postgres => {
                        let (name, held) = replica_name(&args.data.data_dir)?;
                        (Some((given.unwrap_or("default").to_owned(), name)), held)
                    }
                };
                Ok(Self::Builtin {
                    api: Box::new(api),
                    lease,
                    name,
                })
            }
            (Source::Cluster(file), _) => {
                let client = client(file.as_deref()).await?;
                let (name, held) = replica_name(&args.data.data_dir)?;
                let namespace = given.unwrap_or(client.default_namespace()).to_owned();
                Ok(Self::Cluster {
                    client,
                    lease: Some((namespace, name)),
                    name: held,
                })
            }
        }
    }

    /// A client for requests outside the bridge.
    pub fn client(&self) -> Option<Client> {
        match self {
            Self::Off => None,
            Self::Builtin { api, .. } => Some(api.client()),
            Self::Cluster { client, .. } => Some(client.clone()),
        }
    }

    /// Listens in `tasks` and runs the bridge in `background`, until `stop`.
    pub fn start(
        self,
        operations: &Arc<Operations>,
        parts: Asked,
        tasks: &mut JoinSet<Result<()>>,
        background: &mut JoinSet<()>,
        stop: &CancellationToken,
    ) -> Running {
        match self {
            Self::Off => Running::Off,
            Self::Builtin { api, lease, name } => {
                let bridge = Bridge {
                    node_pools: true,
                    mirror: parts.mirror,
                    ..parts.bridge(api.client(), lease)
                };
                background.spawn(bridge::run(operations.clone(), bridge, stop.clone()));
                let (address, kubeconfig) = (api.address, api.kubeconfig.clone());
                Running::Builtin {
                    api: api.listen(tasks, stop.clone()),
                    address,
                    kubeconfig,
                    name,
                }
            }
            Self::Cluster { client, lease, name } => {
                let bridge = parts.bridge(client, lease);
                background.spawn(bridge::run(operations.clone(), bridge, stop.clone()));
                Running::Cluster { name }
            }
        }
    }
}

/// True when Kubernetes runs this process with a service account.
pub fn in_pod() -> bool {
    std::env::var_os("KUBERNETES_SERVICE_HOST").is_some()
        && Path::new("/var/run/secrets/kubernetes.io/serviceaccount/token").exists()
}

/// A client for a server. It connects when it is used, so the server may be away.
pub async fn client(kubeconfig: Option<&Path>) -> Result<Client> {
    let mut config = match kubeconfig {
        Some(path) => {
            let file = Kubeconfig::read_from(path)
                .with_context(|| format!("--kubeconfig {} cannot be used", path.display()))?;
            Config::from_custom_kubeconfig(file, &KubeConfigOptions::default())
                .await
                .with_context(|| format!("--kubeconfig {} cannot be used", path.display()))?
        }
        None => Config::incluster().context("the configuration of this pod cannot be used")?,
    };
    // The user agent, for audit logs and managedFields.
    let agent = concat!("muster/", env!("CARGO_PKG_VERSION"));
    config.headers.push((USER_AGENT, HeaderValue::from_static(agent)));
    Ok(Client::try_from(config)?)
}

/// The name of this replica in the lease: the machine's (or pod's) name and an id that stays with `folder`, so that a replica that was
/// killed continues at once. The returned file must be kept open: meanwhile no other process gets this name.
pub fn replica_name(folder: &Path) -> Result<(String, Option<File>)> {
    let machine = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let path = folder.join("replica-id");
    let Claim::Ours(mut file) = claim(&path)? else {
        // Another process uses the same folder.
        return Ok((format!("{machine}_{}", random::short_id()), None));
    };
    let mut id = String::new();
    file.read_to_string(&mut id)
        .with_context(|| path.display().to_string())?;
    if id.trim().is_empty() {
        id = random::short_id();
        file.rewind()?;
        file.write_all(id.as_bytes())?;
        file.sync_all()?;
    }
    Ok((format!("{machine}_{}", id.trim()), Some(file)))
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn the_built_in_api_serves_where_no_other_is_named() {
        let file = Path::new("/tmp/kubeconfig");
        let of = |choice, kubeconfig, in_pod| source(choice, kubeconfig, in_pod).ok();
        use KubeApiChoice::{Auto, Builtin, Cluster, Elsewhere, Off};
        for (choice, kubeconfig, in_pod, wanted) in [
            (Auto, None, false, Some(Source::Builtin)),
            (Auto, None, true, Some(Source::Cluster(None))),
            (Auto, Some(file), true, Some(Source::Cluster(Some(file.into())))),
            (Builtin, None, true, Some(Source::Builtin)),
            (Builtin, Some(file), false, None),
            (Cluster, None, true, Some(Source::Cluster(None))),
            (
                Cluster,
                Some(file),
                false,
                Some(Source::Cluster(Some(file.into()))),
            ),
            (Cluster, None, false, None),
            (Off, None, true, Some(Source::Off)),
            (Off, Some(file), false, None),
            (Elsewhere, None, true, Some(Source::Elsewhere)),
            (Elsewhere, Some(file), false, None),
        ] {
            assert_eq!(
                of(choice, kubeconfig, in_pod),
                wanted,
                "{choice:?} {kubeconfig:?} {in_pod}"
            );
        }
    }

    #[test]
    fn a_replica_keeps_its_name_and_two_processes_never_share_one() {
        let folder = tempfile::tempdir().unwrap();
        let (name, held) = replica_name(folder.path()).unwrap();
        let (other, none) = replica_name(folder.path()).unwrap();
        assert_ne!(name, other);
        assert!(none.is_none());
        drop(held);
        // A child of another test holds all files of this process, including this lock, until it becomes another program.
        let deadline = Instant::now() + Duration::from_secs(120);
        while replica_name(folder.path()).unwrap().0 != name {
            assert!(Instant::now() < deadline, "the name is not free");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}
