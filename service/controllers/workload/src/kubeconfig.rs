//! Reads kubeconfigs of workload clusters.
//!
//! A user who may write such a Secret must not thereby run programs in this service or read its files: a kubeconfig that would do so is
//! refused. No error quotes the text, which contains credentials.

use std::time::Duration;

use http::Uri;
use hyper_util::client::proxy::matcher::Matcher;
use kube::Config;
use kube::config::{AuthInfo, Cluster, Kubeconfig};
use muster_outgoing::{NetworkError, Networks};

/// Longest kubeconfig, bytes. Ordinary ones have 5 to 20 KB.
const LONGEST: usize = 256 * 1024;

/// Limit of establishing a connection.
const CONNECT_LIMIT: Duration = Duration::from_secs(5);

/// A kubeconfig that cannot be used. Its text names the mistake, with advice, and quotes nothing of the kubeconfig but names of its fields.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KubeconfigError {
    #[error("it has {bytes} bytes; at most {max} are read", max = LONGEST)]
    TooLong { bytes: usize },
    #[error("it is no kubeconfig in YAML or JSON")]
    NoKubeconfig,
    #[error("it has no current-context; set it")]
    NoContext,
    #[error("its current-context names no context of it")]
    UnknownContext,
    #[error("its current context names no {what} of it")]
    Unknown { what: &'static str },
    #[error(
        "its user is to be authenticated by a program (exec), and none is run here; give a token or a client certificate"
    )]
    Program,
    #[error("its user has an auth-provider, and none is used here; give a token or a client certificate")]
    AuthProvider,
    #[error("its {field} names a file, and none is read here; give {instead}")]
    File {
        field: &'static str,
        instead: &'static str,
    },
    #[error("its {field} must be a URL that begins with {}://", .schemes.join(":// or "))]
    Url {
        field: &'static str,
        schemes: &'static [&'static str],
    },
    #[error(
        "its {field}: {refusal}; the operator of this service may name its network in --workload-networks"
    )]
    Network {
        field: &'static str,
        refusal: NetworkError,
    },
    #[error("its certificates or its server cannot be read; they are PEM in base64")]
    Unreadable,
    #[error("its certificates or keys cannot be used; they are PEM in base64")]
    BadKeys,
}

/// The current context of a kubeconfig.
#[derive(Debug)]
pub struct Found {
    pub config: Config,
    /// True when the proxy is that of the service's environment, which no tenant controls.
    pub proxy_of_operator: bool,
}

/// Reads a kubeconfig's current context. Its server and its proxy are checked against `networks` as far as that is possible without
/// resolving names; the connection checks the rest.
///
/// # Errors
/// [`KubeconfigError`]
pub fn config(text: &str, networks: &Networks) -> Result<Found, KubeconfigError> {
    if text.len() > LONGEST {
        return Err(KubeconfigError::TooLong { bytes: text.len() });
    }
    // The parser's error may quote the text.
    let mut kubeconfig = Kubeconfig::from_yaml(text).map_err(|_| KubeconfigError::NoKubeconfig)?;
    let (cluster, user) = current(&kubeconfig)?;
    check_cluster(&cluster)?;
    check_user(&user)?;
    let server = uri("server", cluster.server.as_deref().unwrap_or_default(), networks)?;
    let named = cluster.proxy_url.as_deref().filter(|url| !url.is_empty());
    let proxy = match named {
        Some(url) => Some(uri("proxy-url", url, networks)?),
        None => environment_proxy(&server),
    };
    let proxy_of_operator = named.is_none() && proxy.is_some();
    // Set here, so that the environment is not searched again.
    for named in &mut kubeconfig.clusters {
        if let Some(cluster) = &mut named.cluster {
            cluster.proxy_url = Some(server.to_string());
        }
    }
    let mut config = Config::try_from(kubeconfig).map_err(|_| KubeconfigError::Unreadable)?;
    config.proxy_url = proxy;
    config.connect_timeout = Some(CONNECT_LIMIT);
    // The circuit does the retries.
    config.default_retry = false;
    Ok(Found {
        config,
        proxy_of_operator,
    })
}

/// The cluster and the user of the current context.
fn current(kubeconfig: &Kubeconfig) -> Result<(Cluster, AuthInfo), KubeconfigError> {
    let name = kubeconfig
        .current_context
        .as_deref()
        .filter(|name| !name.is_empty())
        .ok_or(KubeconfigError::NoContext)?;
    let context = kubeconfig
        .contexts
        .iter()
        .find(|one| one.name == name)
        .and_then(|one| one.context.as_ref())
        .ok_or(KubeconfigError::UnknownContext)?;
    let cluster = kubeconfig
        .clusters
        .iter()
        .find(|one| one.name == context.cluster)
        .and_then(|one| one.cluster.clone())
        .ok_or(KubeconfigError::Unknown { what: "cluster" })?;
    let user = context.user.as_deref().unwrap_or_default();
    let user = kubeconfig
        .auth_infos
        .iter()
        .find(|one| one.name == user)
        .and_then(|one| one.auth_info.clone())
        .ok_or(KubeconfigError::Unknown { what: "user" })?;
    Ok((cluster, user))
}

fn check_cluster(cluster: &Cluster) -> Result<(), KubeconfigError> {
    if cluster.certificate_authority.is_some() {
        return Err(KubeconfigError::File {
            field: "certificate-authority",
            instead: "certificate-authority-data",
        });
    }
    Ok(())
}

fn check_user(user: &AuthInfo) -> Result<(), KubeconfigError> {
    if user.exec.is_some() {
        return Err(KubeconfigError::Program);
    }
    if user.auth_provider.is_some() {
        return Err(KubeconfigError::AuthProvider);
    }
    let files = [
        (&user.token_file, "tokenFile", "token"),
        (
            &user.client_certificate,
            "client-certificate",
            "client-certificate-data",
        ),
        (&user.client_key, "client-key", "client-key-data"),
    ];
    match files.into_iter().find(|(named, ..)| named.is_some()) {
        Some((_, field, instead)) => Err(KubeconfigError::File { field, instead }),
        None => Ok(()),
    }
}

fn uri(field: &'static str, text: &str, networks: &Networks) -> Result<Uri, KubeconfigError> {
    let parsed: Option<Uri> = text.parse().ok();
    let schemes: &'static [&'static str] = if field == "server" {
        &["https"]
    } else {
        &["http", "https", "socks5"]
    };
    let found = parsed
        .filter(|uri| {
            uri.host().is_some() && uri.scheme_str().is_some_and(|scheme| schemes.contains(&scheme))
        })
        .ok_or(KubeconfigError::Url { field, schemes })?;
    networks
        .check_unresolved(found.host().unwrap_or_default())
        .map_err(|refusal| KubeconfigError::Network { field, refusal })?;
    Ok(found)
}

/// The proxy that the service's environment names for this server (`HTTPS_PROXY`, `NO_PROXY`).
fn environment_proxy(server: &Uri) -> Option<Uri> {
    let found = Matcher::from_env().intercept(server)?;
    let uri = found.uri().clone();
    let Some((user, password)) = found.raw_auth() else {
        return Some(uri);
    };
    let authority = uri.authority()?;
    let mut parts = uri.clone().into_parts();
    parts.authority = format!("{user}:{password}@{authority}").parse().ok();
    Uri::from_parts(parts).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn config(text: &str) -> Result<Found, KubeconfigError> {
        super::config(text, &Networks::of_api_servers(&[], false))
    }

    fn kubeconfig(cluster: Value, user: Value) -> String {
        json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "lab",
            "clusters": [{"name": "lab", "cluster": cluster}],
            "users": [{"name": "admin", "user": user}],
            "contexts": [{"name": "lab", "context": {"cluster": "lab", "user": "admin"}}],
        })
        .to_string()
    }

    fn server() -> Value {
        json!({"server": "https://workload.example.test:6443", "proxy-url": "http://proxy.example.test:3128"})
    }

    #[test]
    fn a_kubeconfig_with_everything_inside_is_taken_with_its_proxy() {
        let found = config(&kubeconfig(server(), json!({"token": "hunter2"}))).unwrap();
        assert!(!found.proxy_of_operator);
        let config = found.config;
        assert_eq!(config.cluster_url, "https://workload.example.test:6443/");
        assert_eq!(config.proxy_url.unwrap(), "http://proxy.example.test:3128/");
        assert_eq!(config.connect_timeout, Some(CONNECT_LIMIT));
    }

    #[test]
    fn what_would_run_programs_or_read_files_is_refused_with_what_to_do() {
        let with = |name: &str, value: Value| {
            let mut user = json!({"token": "hunter2"});
            user[name] = value;
            config(&kubeconfig(server(), user)).unwrap_err().to_string()
        };
        let exec = json!({"apiVersion": "client.authentication.k8s.io/v1", "command": "/bin/true"});
        for (refused, word) in [
            (with("exec", exec), "exec"),
            (with("auth-provider", json!({"name": "gcp"})), "auth-provider"),
            (with("tokenFile", json!("/etc/shadow")), "tokenFile"),
            (with("client-certificate", json!("/a")), "client-certificate"),
            (with("client-key", json!("/a")), "client-key"),
        ] {
            assert!(refused.contains(word) && refused.contains("give"), "{refused}");
            assert!(!refused.contains("hunter2"), "{refused}");
        }
        let mut cluster = server();
        cluster["certificate-authority"] = json!("/etc/ssl/ca.pem");
        let refused = config(&kubeconfig(cluster, json!({"token": "hunter2"}))).unwrap_err();
        assert!(
            refused.to_string().contains("certificate-authority-data"),
            "{refused}"
        );
    }

    #[test]
    fn servers_and_proxies_at_this_service_and_at_metadata_services_are_refused_with_the_option() {
        for (server, proxy) in [
            ("https://127.0.0.1:6443", ""),
            ("https://localhost:8090/internal", ""),
            ("https://[::1]:6443", ""),
            ("https://169.254.169.254", ""),
            ("https://api.example.test:6443", "http://[::ffff:127.0.0.1]:8092"),
            ("https://127.0.0.1:6443", "http://proxy.example.test:3128"),
        ] {
            let cluster = json!({"server": server, "proxy-url": proxy});
            let refused = config(&kubeconfig(cluster, json!({"token": "hunter2"}))).unwrap_err();
            let told = refused.to_string();
            assert!(told.contains("--workload-networks"), "{server}: {told}");
        }
    }

    #[test]
    fn what_is_no_kubeconfig_is_refused_without_being_quoted() {
        let unnamed = json!({"clusters": [], "users": [], "contexts": [], "current-context": "x"});
        let plain = kubeconfig(
            json!({"server": "http://workload.example.test"}),
            json!({"token": "hunter2"}),
        );
        let odd = kubeconfig(
            json!({"server": "https://a.test", "proxy-url": "gopher://b.test"}),
            json!({"token": "hunter2"}),
        );
        let huge = "hunter2 ".repeat(LONGEST);
        for text in [
            "",
            "hunter2: [",
            "[hunter2]",
            &unnamed.to_string(),
            &plain,
            &odd,
            &huge,
        ] {
            let refused = config(text).unwrap_err();
            assert!(!format!("{refused} {refused:?}").contains("hunter2"), "{refused}");
        }
    }

    #[test]
    fn aliases_do_not_multiply() {
        let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
        for n in 1..12 {
            let before = format!("*a{}", n - 1);
            text += &format!("a{n}: &a{n} [{}]\n", [before.as_str(); 9].join(", "));
        }
        assert!(config(&text).is_err());
    }
}
