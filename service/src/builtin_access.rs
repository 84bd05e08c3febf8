//! Credentials of the built-in Kubernetes API: its authority and its tokens. They are in the database, so that all replicas share them and
//! a kubeconfig outlives restarts.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use muster_core::record::Secret;
use muster_kube_api::{Authority, Caller, Credentials, Tokens, kubeconfig};
use muster_operations::{now, random};
use muster_store::Store;
use serde_json::Value;

use crate::authority;

/// The setting that holds the administrator's token.
const TOKEN_SETTING: &str = "kube_api_token";

/// The setting that holds the token of viewers.
const VIEWER_TOKEN_SETTING: &str = "kube_api_viewer_token";

/// Common name of the authority, and the setting that holds it. Issued certificates name it, so it must not change.
const AUTHORITY: &str = "muster-kube-api-ca";

/// The credentials of the built-in API.
pub struct BuiltinAccess {
    pub authority: Authority,
    token: Secret,
    viewer: Secret,
}

impl BuiltinAccess {
    /// Returns the keys in the database, and makes the missing ones. `folder`: the data dir, where an earlier version kept the authority.
    ///
    /// # Errors
    /// Fails if the database does, or if the stored value is not an authority.
    pub async fn open(store: &Store, folder: &Path) -> Result<Self> {
        let authority = authority::open(store, AUTHORITY, authority_of_a_file(folder)?)
            .await
            .context("the authority of the built-in Kubernetes API")?;
        let token = |setting| store.setting_or_insert(setting, now(), || Secret::new(random::token()));
        Ok(Self {
            authority,
            token: token(TOKEN_SETTING).await?,
            viewer: token(VIEWER_TOKEN_SETTING).await?,
        })
    }

    /// Replaces the keys in the database. Services load them when they start.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn rotate(store: &Store) -> Result<()> {
        let authority = Authority::generate(AUTHORITY)?.to_pem();
        for (setting, value) in [
            (AUTHORITY, authority),
            (TOKEN_SETTING, random::token()),
            (VIEWER_TOKEN_SETTING, random::token()),
        ] {
            store.set_setting(setting, now(), &Secret::new(value)).await?;
        }
        Ok(())
    }

    /// Names the bearers of the tokens.
    pub fn tokens(&self) -> Tokens {
        Tokens::default()
            .with(self.token.reveal(), Caller::administrator())
            .with(self.viewer.reveal(), Caller::viewer())
    }

    /// The kubeconfig of viewers.
    pub fn viewers_kubeconfig(&self, server: &str) -> String {
        let credentials = Credentials::Token(self.viewer.reveal());
        kubeconfig(server, self.authority.certificate_pem(), &credentials)
    }

    /// The administrator's kubeconfig, with two ways to authenticate: the context in use has the token, `muster-certificate` a
    /// client certificate.
    ///
    /// # Errors
    /// Fails if the certificate cannot be made.
    pub fn kubeconfig(&self, server: &str) -> Result<String> {
        let identity = self.authority.client(&Caller::administrator())?;
        let of = |credentials| -> Result<Value> {
            let text = kubeconfig(server, self.authority.certificate_pem(), &credentials);
            Ok(serde_saphyr::from_str(&text)?)
        };
        let mut both = of(Credentials::Token(self.token.reveal()))?;
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
