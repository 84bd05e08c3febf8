//! Reads the Secrets and ConfigMaps that custom resources refer to. Source:
//! docs/protocol/kube-controllers.md#0.
//!
//! The objects are read by name, one at a time, and not all Secrets of a cluster are watched: those that were read
//! get two labels, and only those with the first of them are watched, without their content. No error and no
//! log line contains a value.

use std::collections::BTreeMap;
use std::fmt::Debug;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{ConfigMap, Secret as KubeSecret};
use kube::api::Patch;
use kube::runtime::watcher;
use kube::{Api, Client, Resource, ResourceExt};
use muster_core::record::{KubeRef, Secret};
use muster_resources::names;
use serde::de::DeserializeOwned;
use serde_json::json;

use super::namespaces::{Namespaces, OUTSIDE};
use super::writes::patch_params;

/// A value that an object refers to cannot be read. `what`: kind, namespace and name of the object.
#[derive(Debug, thiserror::Error)]
pub enum ReferenceError {
    /// The object does not exist.
    #[error("the {what} does not exist; create it, it is looked for again every few seconds")]
    Missing { what: String },
    /// The object is in a namespace that is not managed.
    #[error("the {what} is {}", OUTSIDE)]
    Outside { what: String },
    /// The reference names nothing.
    #[error("the reference has no name of a {0}; set it")]
    Nameless(&'static str),
    /// The object exists, the key does not.
    #[error("the {what} has no key {key:?}; it has {}", if .keys.is_empty() { "no keys" } else { .keys })]
    NoKey {
        what: String,
        key: String,
        /// The keys that exist: a comma list.
        keys: String,
    },
    /// Binary data where text is needed.
    #[error("the key {key:?} of the {what} is not text (UTF-8)")]
    NotText { what: String, key: String },
    /// The request to the API server failed.
    #[error("reading the {what} failed")]
    Api {
        what: String,
        #[source]
        source: Box<kube::Error>,
    },
}

impl ReferenceError {
    /// True when only a user can correct it; otherwise it may pass.
    pub fn is_input(&self) -> bool {
        match self {
            Self::Missing { .. }
            | Self::Outside { .. }
            | Self::Nameless(_)
            | Self::NoKey { .. }
            | Self::NotText { .. } => true,
            Self::Api { .. } => false,
        }
    }
}

/// Checks the namespace of a reference that may name any: nothing is read in namespaces that are not managed.
///
/// # Errors
/// Fails with [`ReferenceError::Outside`].
pub fn check_namespace(
    namespaces: &Namespaces,
    kind: &'static str,
    namespace: &str,
    name: &str,
) -> Result<(), ReferenceError> {
    if namespaces.contains(namespace) {
        return Ok(());
    }
    let what = what(kind, namespace, name);
    Err(ReferenceError::Outside { what })
}

fn what(kind: &str, namespace: &str, name: &str) -> String {
    format!("{kind} {namespace}/{name}")
}

/// Selects the Secrets and ConfigMaps that were read once, for a watch of their metadata.
pub fn watched() -> watcher::Config {
    watcher::Config::default().labels(&format!("{}=true", names::label::WATCH))
}

/// The value of `key` in a Secret. Labels the Secret, so that its changes are noticed.
///
/// # Errors
/// Fails with a [`ReferenceError`].
pub async fn read_secret(
    client: &Client,
    namespace: &str,
    name: &str,
    key: &str,
) -> Result<Secret, ReferenceError> {
    let secret: KubeSecret = get(client, "Secret", namespace, name).await?;
    let data = secret.data.unwrap_or_default();
    let text = value("Secret", namespace, name, key, &data, text)?;
    Ok(Secret::new(text))
}

/// The values of the `keys` that a Secret has, in their order. Labels the Secret, so that its changes are noticed.
///
/// # Errors
/// Fails with a [`ReferenceError`]; `NoKey` if the Secret has none of the keys, naming the first.
pub async fn read_secret_keys<const N: usize>(
    client: &Client,
    namespace: &str,
    name: &str,
    keys: [&str; N],
) -> Result<[Option<Secret>; N], ReferenceError> {
    let secret: KubeSecret = get(client, "Secret", namespace, name).await?;
    let data = secret.data.unwrap_or_default();
    let text = |key: &str| value("Secret", namespace, name, key, &data, text).map(Secret::new);
    let mut found = [const { None }; N];
    for (key, place) in keys.into_iter().zip(&mut found) {
        if data.contains_key(key) {
            *place = Some(text(key)?);
        }
    }
    if found.iter().all(Option::is_none) {
        text(keys.first().copied().unwrap_or_default())?;
    }
    Ok(found)
}

/// User name and password of a BMC; `None`: the Secret lacks one of them. White space around them is removed, as with BareMetalHosts: it
/// comes from the files that they were made from. Labels the Secret, so that its changes are noticed.
///
/// # Errors
/// Fails like [`read_secret_keys`].
pub async fn read_credentials(
    client: &Client,
    namespace: &str,
    name: &str,
) -> Result<Option<(String, Secret)>, ReferenceError> {
    let keys = [names::key::USER_NAME, names::key::PASSWORD];
    let [Some(user_name), Some(password)] = read_secret_keys(client, namespace, name, keys).await? else {
        return Ok(None);
    };
    let trimmed = |secret: &Secret| secret.reveal().trim().to_owned();
    Ok(Some((trimmed(&user_name), Secret::new(trimmed(&password)))))
}

/// The uid of a Secret, and the value of the first of `keys` that it has. The Secret is not labelled.
///
/// # Errors
/// Fails with a [`ReferenceError`]; `NoKey` names the first key.
pub async fn read_first(
    client: &Client,
    secret: &KubeRef,
    keys: &[&str],
) -> Result<(String, Secret), ReferenceError> {
    let (namespace, name) = (&secret.namespace, &secret.name);
    let secret: KubeSecret = find(client, "Secret", namespace, name).await?;
    let uid = secret.metadata.uid.unwrap_or_default();
    let data = secret.data.unwrap_or_default();
    let key = keys.iter().find(|key| data.contains_key(**key)).or(keys.first());
    let key = key.copied().unwrap_or_default();
    let text = value("Secret", namespace, name, key, &data, text)?;
    Ok((uid, Secret::new(text)))
}

/// All texts in a ConfigMap. Labels it, so that its changes are noticed.
///
/// # Errors
/// Fails with a [`ReferenceError`].
pub async fn read_config_map(
    client: &Client,
    namespace: &str,
    name: &str,
) -> Result<BTreeMap<String, String>, ReferenceError> {
    let map: ConfigMap = get(client, "ConfigMap", namespace, name).await?;
    Ok(map.data.unwrap_or_default())
}

/// The version of a Secret, which changes with its content. Labels the Secret, so that its changes are noticed.
///
/// # Errors
/// Fails with a [`ReferenceError`], never with a variant about keys.
pub async fn version(client: &Client, namespace: &str, name: &str) -> Result<String, ReferenceError> {
    let secret: KubeSecret = get(client, "Secret", namespace, name).await?;
    if missing_labels(secret.labels()).is_none() {
        return Ok(secret.metadata.resource_version.unwrap_or_default());
    }
    // Setting the labels changed the version.
    let secret: KubeSecret = find(client, "Secret", namespace, name).await?;
    Ok(secret.metadata.resource_version.unwrap_or_default())
}

/// Checks that a Secret with this key exists, without reading its value or labelling it.
///
/// # Errors
/// Fails like [`read_secret`].
pub async fn has_secret(
    client: &Client,
    namespace: &str,
    name: &str,
    key: &str,
) -> Result<(), ReferenceError> {
    let secret: KubeSecret = find(client, "Secret", namespace, name).await?;
    let data = secret.data.unwrap_or_default();
    value("Secret", namespace, name, key, &data, |_| Some(())).map(drop)
}

fn text(bytes: &ByteString) -> Option<String> {
    String::from_utf8(bytes.0.clone()).ok()
}

fn value<V, T>(
    kind: &'static str,
    namespace: &str,
    name: &str,
    key: &str,
    data: &BTreeMap<String, V>,
    read: impl Fn(&V) -> Option<T>,
) -> Result<T, ReferenceError> {
    let what = what(kind, namespace, name);
    let key = key.to_owned();
    let Some(found) = data.get(&key) else {
        let keys: Vec<&str> = data.keys().map(String::as_str).collect();
        let keys = keys.join(", ");
        return Err(ReferenceError::NoKey { what, key, keys });
    };
    read(found).ok_or(ReferenceError::NotText { what, key })
}

async fn get<K>(client: &Client, kind: &'static str, namespace: &str, name: &str) -> Result<K, ReferenceError>
where
    K: Resource<Scope = kube::core::NamespaceResourceScope> + Clone + Debug + DeserializeOwned,
    K::DynamicType: Default,
{
    let found: K = find(client, kind, namespace, name).await?;
    if let Some(labels) = missing_labels(found.labels()) {
        let api = Api::<K>::namespaced(client.clone(), namespace);
        let patch = Patch::Merge(json!({"metadata": {"labels": labels}}));
        // The Secret can be used without the labels; its changes are noticed by the next reconcile of its user.
        if let Err(error) = api.patch_metadata(name, &patch_params(), &patch).await {
            tracing::warn!(%error, kind, namespace, name, "it could not be labelled, so changes of it may go unnoticed");
        }
    }
    Ok(found)
}

async fn find<K>(
    client: &Client,
    kind: &'static str,
    namespace: &str,
    name: &str,
) -> Result<K, ReferenceError>
where
    K: Resource<Scope = kube::core::NamespaceResourceScope> + Clone + Debug + DeserializeOwned,
    K::DynamicType: Default,
{
    if name.is_empty() {
        return Err(ReferenceError::Nameless(kind));
    }
    let api = Api::<K>::namespaced(client.clone(), namespace);
    let what = what(kind, namespace, name);
    match api.get_opt(name).await {
        Ok(Some(found)) => Ok(found),
        Ok(None) => Err(ReferenceError::Missing { what }),
        Err(source) => Err(ReferenceError::Api {
            what,
            source: Box::new(source),
        }),
    }
}

/// The labels that are still to be set; `None` when both are set.
fn missing_labels(labels: &BTreeMap<String, String>) -> Option<BTreeMap<&'static str, &'static str>> {
    let missing: BTreeMap<_, _> = [names::label::WATCH, names::label::BACKUP]
        .into_iter()
        .filter(|label| labels.get(*label).is_none_or(|value| value != "true"))
        .map(|label| (label, "true"))
        .collect();
    (!missing.is_empty()).then_some(missing)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect()
    }

    #[test]
    fn only_labels_that_are_missing_are_set() {
        assert_eq!(missing_labels(&labels(&[])).unwrap().len(), 2);
        let half = labels(&[(names::label::WATCH, "true"), ("mine", "x")]);
        assert_eq!(
            missing_labels(&half).unwrap().into_keys().collect::<Vec<_>>(),
            [names::label::BACKUP]
        );
        let whole = labels(&[(names::label::WATCH, "true"), (names::label::BACKUP, "true")]);
        assert_eq!(missing_labels(&whole), None);
        let wrong = labels(&[(names::label::WATCH, "false"), (names::label::BACKUP, "true")]);
        assert!(missing_labels(&wrong).is_some());
    }

    #[test]
    fn a_reference_into_a_namespace_that_is_not_looked_after_is_refused_unread() {
        let chosen = Namespaces::from(vec!["lab".to_owned()]);
        assert!(check_namespace(&chosen, "Secret", "lab", "token").is_ok());
        assert!(check_namespace(&Namespaces::default(), "Secret", "any", "token").is_ok());
        let error = check_namespace(&chosen, "Secret", "tenant", "token").unwrap_err();
        assert!(error.is_input());
        assert!(
            error
                .to_string()
                .starts_with("the Secret tenant/token is in a namespace"),
            "{error}"
        );
    }

    #[test]
    fn an_error_names_the_keys_and_never_a_value() {
        let data = labels(&[("config.json", "hunter2"), ("other", "hunter3")]);
        let error = value("Secret", "lab", "pull", names::key::PULL_SECRET, &data, |_| {
            Some(())
        })
        .unwrap_err();
        assert_eq!(
            error.to_string(),
            "the Secret lab/pull has no key \".dockerconfigjson\"; it has config.json, other"
        );
        assert!(!format!("{error:?}").contains("hunter"));
        let error = value("Secret", "lab", "pull", "other", &data, |_| None::<()>).unwrap_err();
        assert!(!format!("{error} {error:?}").contains("hunter"));
    }
}
