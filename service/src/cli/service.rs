//! The service that a command is about: the options by which it is found, and in this folder how it is reached.

mod client;
pub mod contexts;
pub mod ready;
pub mod save;
mod tls;
mod unreachable;

pub use client::Client;

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;
use muster_api::BASE_PATH;
use url::Url;

use self::contexts::{Config, ContextEntry};
use super::failure::Failure;

/// The default URL, without an option, variable or context.
pub const DEFAULT_URL: &str = "http://127.0.0.1:8090";

/// The service, and the credentials for it.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Service")]
pub struct ServiceArgs {
    /// URL of the service [default: of the context, or http://127.0.0.1:8090]
    #[arg(long, env = "MUSTER_URL", value_name = "URL")]
    url: Option<String>,

    /// The operator's token, where the service requires one (muster token create --operator)
    #[arg(long, env = "MUSTER_TOKEN", hide_env_values = true, value_name = "TOKEN")]
    token: Option<String>,

    /// PEM file with the authority of the service's certificate, or with that certificate itself
    #[arg(long, env = "MUSTER_CA", value_name = "FILE")]
    ca: Option<PathBuf>,

    /// Accept any certificate. A machine on the way can read the token then
    #[arg(long)]
    insecure: bool,

    /// Context of the configuration file (muster config list) [default: the one in use, unless --url is given]
    #[arg(long, env = "MUSTER_CONTEXT", value_name = "NAME")]
    context: Option<String>,
}

/// The service that the options name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Without slash at the end.
    pub base: String,
    /// Sent with every request.
    pub token: Option<String>,
    /// PEM certificates to trust in addition to those of the system.
    pub ca: Option<Vec<u8>>,
    /// No certificate is checked.
    pub insecure: bool,
}

impl ServiceArgs {
    /// Reads the files that the options name.
    ///
    /// # Errors
    /// Fails for an invalid URL, and for files that cannot be read.
    pub fn target(&self) -> Result<Target> {
        let url = given(self.url.as_deref());
        let context = self.context(url.is_some())?;
        let read = |path: &PathBuf, what: &str| {
            std::fs::read(path).with_context(|| format!("{what} {} cannot be read", path.display()))
        };
        let ca = match (&self.ca, &context.ca) {
            (Some(path), _) => Some(read(path, "--ca")?),
            (None, Some(path)) => Some(read(path, "the context's ca")?),
            (None, None) => None,
        };
        let token = match (given(self.token.as_deref()), &context.token_file) {
            (Some(token), _) => Some(token.to_owned()),
            (None, Some(path)) => {
                let text = String::from_utf8(read(path, "the context's token file")?);
                let text = text.with_context(|| format!("{} holds no token", path.display()))?;
                given(Some(&text)).map(str::to_owned)
            }
            (None, None) => None,
        };
        let known = given(Some(&context.url)).unwrap_or(DEFAULT_URL);
        Ok(Target {
            base: base(url.unwrap_or(known))?,
            token,
            ca,
            insecure: self.insecure || context.insecure,
        })
    }

    /// The context to begin with. A URL that is given does not get the token of another service.
    fn context(&self, url_is_given: bool) -> Result<ContextEntry> {
        let asked = given(self.context.as_deref());
        if asked.is_none() && url_is_given {
            return Ok(ContextEntry::default());
        }
        let config = Config::read()?;
        match asked.or(config.current.as_deref()) {
            Some(name) => Ok(config.context(name)?.clone()),
            None => Ok(ContextEntry::default()),
        }
    }
}

fn given(text: Option<&str>) -> Option<&str> {
    text.map(str::trim).filter(|text| !text.is_empty())
}

/// The URL without slash and without the path of the API at its end.
///
/// # Errors
/// Fails for anything but a URL of a service, with the one that may be meant.
pub fn base(text: &str) -> Result<String, Failure> {
    let known = text.starts_with("http://") || text.starts_with("https://");
    if !known && !text.contains("://") && Url::parse(&format!("http://{text}")).is_ok() {
        return Err(Failure::usage(format!("--url {text} has no scheme"))
            .hint(format!("write --url http://{text}"))
            .hint(format!(
                "or --url https://{text} if the service has a certificate (--tls-cert)"
            )));
    }
    let refused = |why: &str| Err(Failure::usage(format!("--url {text} {why}")));
    let Ok(url) = Url::parse(text) else {
        return refused("is no URL: write it as http://ADDRESS:8090");
    };
    if !known {
        return refused("is neither http:// nor https://");
    }
    if url.query().is_some() || url.fragment().is_some() {
        return refused("has a query or fragment: give the address alone, such as http://ADDRESS:8090");
    }
    let trimmed = url.as_str().trim_end_matches('/');
    let trimmed = trimmed.strip_suffix(BASE_PATH).unwrap_or(trimmed);
    Ok(trimmed.trim_end_matches('/').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_taken_with_and_without_path_and_refused_without_scheme() {
        assert_eq!(base("http://127.0.0.1:8090/").unwrap(), "http://127.0.0.1:8090");
        assert_eq!(
            base("https://[::1]:8090/api/assisted-install/v2/").unwrap(),
            "https://[::1]:8090"
        );
        assert_eq!(
            base("http://proxy.test/muster").unwrap(),
            "http://proxy.test/muster"
        );
        for wrong in [
            "127.0.0.1:8090",
            "localhost:8090",
            "ftp://x",
            "http://",
            "http://x/?y",
        ] {
            assert!(base(wrong).is_err(), "{wrong}");
        }
    }
}
