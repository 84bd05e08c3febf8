//! The built-in Kubernetes API of this process: opened on the service's database, for controllers in the process and for `kubectl`.

use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use kube::Client;
use muster_core::record::Secret;
use muster_kube_api::{
    Authority, Caller, Conversion, Conversions, Credentials, Database, KubeApi, SqlStorage, Tokens,
    kubeconfig, write_private,
};
use muster_operations::now;
use muster_operations::random;
use muster_resources::cluster_api::{conversion, names::GROUP};
use muster_resources::crds;
use muster_store::{Kind, Store};
use rustls::ServerConfig;
use serde_json::Value;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::addresses::seen_from_here;
use crate::authority;
use crate::sealed_objects::SealedObjects;

/// The setting that holds the administrator's token, so that all replicas know it and a kubeconfig outlives them.
const TOKEN_SETTING: &str = "kube_api_token";

/// Common name of its authority, and the setting that holds it. Issued certificates name it, so it must not change.
const AUTHORITY: &str = "muster-kube-api-ca";

/// Namespace of the client in the process.
const NAMESPACE: &str = "default";

/// The API, ready to be listened to.
pub struct BuiltinApi {
    api: KubeApi,
    listener: TcpListener,
    tls: ServerConfig,
    tokens: Tokens,
    /// Its listening address.
    pub address: SocketAddr,
    /// The file that `kubectl` needs.
    pub kubeconfig: PathBuf,
}

impl BuiltinApi {
    /// Opens it on the database of `store` with our custom resources, and writes the administrator's kubeconfig into `folder`.
    pub async fn open(store: &Store, listener: TcpListener, folder: &Path) -> Result<Self> {
        let address = listener.local_addr()?;
        let database = match store.kind() {
            Kind::Sqlite => Database::Sqlite,
            Kind::Postgres => Database::Postgres,
        };
        let (readers, writers) = store.pools();
        let definitions = crds::own().into_iter().chain(crds::foreign());
        let mut definitions: Vec<Value> = definitions.map(serde_json::to_value).collect::<Result<_, _>>()?;
        definitions.extend(crds::builtin());
        definitions.iter_mut().for_each(add_to_all);
        let cipher = SealedObjects(store.vault().clone());
        let storage = SqlStorage::with_cipher(database, readers, writers, Arc::new(cipher));
        let api = KubeApi::open_with(storage, definitions, conversions())
            .await
            .context("the built-in Kubernetes API cannot be opened")?;

        let authority = authority::open(store, AUTHORITY, authority_of_a_file(folder)?)
            .await
            .context("the authority of the built-in Kubernetes API")?;
        let tls = authority
            .server_config(&[address.ip().to_string()])
            .context("the certificate of the built-in Kubernetes API")?;
        let token = store
            .setting_or_insert(TOKEN_SETTING, now(), || Secret::new(random::token()))
            .await?;
        let text = contexts(
            &authority,
            &format!("https://{}", seen_from_here(address)),
            &token,
        )?;
        let path = folder.join("kubeconfig");
        write_private(&path, text.as_bytes()).context("the kubeconfig")?;
        Ok(Self {
            api,
            listener,
            tls,
            tokens: Tokens::default().with(token.reveal(), Caller::administrator()),
            address,
            kubeconfig: path,
        })
    }

    /// A client in this process: nothing of it passes the listener.
    pub fn client(&self) -> Client {
        Client::new(self.api.service(), NAMESPACE)
    }

    /// Listens in `tasks` until `stop`. The API works on for the client in the process as long as what this answers is kept.
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

/// The authority that an earlier version kept in the data dir, PEM: kubeconfigs that were handed out name it.
fn authority_of_a_file(folder: &Path) -> Result<Option<String>> {
    let [certificate, key] = authority::EARLIER_FILES.map(|name| folder.join(name));
    if !certificate.exists() || !key.exists() {
        return Ok(None);
    }
    let read = |path: PathBuf| {
        std::fs::read_to_string(&path).with_context(|| format!("{} cannot be read", path.display()))
    };
    Ok(Some(format!("{}{}", read(certificate)?, read(key)?)))
}

/// Adds a kind with namespaces to what `kubectl get all` shows. Only here: in a cluster, `all` is for workloads.
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

/// The kinds whose versions have different content.
fn conversions() -> Conversions {
    Conversions::default()
        .with(GROUP, "Cluster", Arc::new(ClusterApi(conversion::Kind::Cluster)))
        .with(GROUP, "Machine", Arc::new(ClusterApi(conversion::Kind::Machine)))
}

/// The administrator's kubeconfig, with two ways to prove who it is: the context in use shows the token, `muster-certificate` a client
/// certificate.
fn contexts(authority: &Authority, server: &str, token: &Secret) -> Result<String> {
    let identity = authority.client(&Caller::administrator())?;
    let of = |credentials| -> Result<Value> {
        let text = kubeconfig(server, authority.certificate_pem(), &credentials);
        Ok(serde_saphyr::from_str(&text)?)
    };
    let mut both = of(Credentials::Token(token.reveal()))?;
    let mut other = of(Credentials::Certificate(&identity))?;
    let name = Value::from("muster-certificate");
    other["users"][0]["name"] = name.clone();
    other["contexts"][0]["name"] = name.clone();
    other["contexts"][0]["context"]["user"] = name;
    for list in ["users", "contexts"] {
        let added = other[list][0].take();
        both[list]
            .as_array_mut()
            .with_context(|| format!("a kubeconfig has {list}"))?
            .push(added);
    }
    Ok(serde_saphyr::to_string(&both)?)
}
