//! The built-in Kubernetes API of this process: opened on the service's database, for controllers in the process and for `kubectl`.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use kube::Client;
use muster_connections::Listener;
use muster_kube_api::{Conversion, Conversions, KubeApi, SqlStorage, Tokens, write_private};
use muster_resources::cluster_api::{conversion, names::GROUP};
use muster_resources::crds;
use muster_store::Store;
use rustls::ServerConfig;
use serde_json::Value;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::addresses::seen_from_here;
use crate::builtin_access::BuiltinAccess;
use crate::sealed_objects::SealedObjects;
use crate::viewers;

/// The administrator's kubeconfig in the data dir.
pub const KUBECONFIG: &str = "kubeconfig";

/// Namespace of the client in the process.
const NAMESPACE: &str = "default";

/// The API, ready to listen.
pub struct BuiltinApi {
    api: KubeApi,
    listener: Listener,
    tls: ServerConfig,
    tokens: Tokens,
    /// Its listening address.
    pub address: SocketAddr,
    /// The file that `kubectl` needs.
    pub kubeconfig: PathBuf,
}

impl BuiltinApi {
    /// Opens it on the database of `store` with Muster's custom resources, and writes the administrator's kubeconfig into `folder`.
    /// `public`: the URL at which clients on other machines reach it.
    pub async fn open(
        store: &Store,
        listener: Listener,
        folder: &Path,
        public: Option<&Url>,
    ) -> Result<Self> {
        let address = listener.tcp.local_addr()?;
        let (readers, writers) = store.pools();
        let definitions = crds::own().into_iter().chain(crds::foreign());
        let mut definitions: Vec<Value> = definitions.map(serde_json::to_value).collect::<Result<_, _>>()?;
        definitions.extend(crds::builtin());
        definitions.iter_mut().for_each(add_to_all);
        let cipher = SealedObjects(store.vault().clone());
        let storage = SqlStorage::with_cipher(store.kind(), readers, writers, Arc::new(cipher));
        let api = KubeApi::open_with(storage, definitions, conversions(), Some(viewers::hide))
            .await
            .context("the built-in Kubernetes API cannot be opened")?;

        let access = BuiltinAccess::open(store, folder).await?;
        let name = public.and_then(|url| Some(url.host_str()?.trim_matches(['[', ']']).to_owned()));
        let names: Vec<String> = [address.ip().to_string()].into_iter().chain(name).collect();
        let tls = access
            .authority
            .server_config(&names)
            .context("the certificate of the built-in Kubernetes API")?;
        let server = match public {
            Some(url) => url.as_str().trim_end_matches('/').to_owned(),
            None => format!("https://{}", seen_from_here(address)),
        };
        let path = folder.join(KUBECONFIG);
        let of_viewer = access.viewers_kubeconfig(&server);
        for (path, text) in [
            (path.clone(), access.kubeconfig(&server)?),
            (folder.join("kubeconfig-viewer"), of_viewer),
        ] {
            // kubectl cannot be used here without the file; hosts are served nevertheless.
            if let Err(error) = write_private(&path, text.as_bytes()) {
                tracing::warn!(%error, file = %path.display(), "a kubeconfig could not be written");
            }
        }
        Ok(Self {
            api,
            listener,
            tls,
            tokens: access.tokens(),
            address,
            kubeconfig: path,
        })
    }

    /// A client in this process: its requests do not pass the listener.
    pub fn client(&self) -> Client {
        Client::new(self.api.service(), NAMESPACE)
    }

    /// Listens in `tasks` until `stop`. The API keeps serving the client in the process as long as the returned value is kept.
    pub fn listen(self, tasks: &mut JoinSet<Result<()>>, stop: CancellationToken) -> KubeApi {
        let api = self.api.clone();
        tasks.spawn(async move {
            self.api
                .listen(self.listener, self.tls, self.tokens, stop)
                .await
                .context("the listener of the built-in Kubernetes API failed")
        });
        api
    }
}

/// Adds a kind with namespaces to the output of `kubectl get all`. Only here: in a cluster, `all` is for workloads.
fn add_to_all(definition: &mut Value) {
    if definition["spec"]["scope"] != "Namespaced" {
        return;
    }
    match &mut definition["spec"]["names"]["categories"] {
        Value::Array(categories) => categories.push("all".into()),
        none => *none = serde_json::json!(["all"]),
    }
}

/// Converts a kind of Cluster API between its versions.
#[derive(Debug)]
struct ClusterApi(conversion::Kind);

impl Conversion for ClusterApi {
    fn convert(&self, object: Value, to: &str) -> Value {
        conversion::convert(self.0, object, to)
    }
}

/// The kinds with versions of different content.
fn conversions() -> Conversions {
    Conversions::default()
        .with(GROUP, "Cluster", Arc::new(ClusterApi(conversion::Kind::Cluster)))
        .with(GROUP, "Machine", Arc::new(ClusterApi(conversion::Kind::Machine)))
}
