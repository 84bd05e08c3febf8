//! The arguments of `muster-agent run`: the same as those of upstream's agent, so that units written for it work. Source:
//! docs/protocol/agent-protocol.md#1.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use clap::{ArgAction, Args};
use muster_api::ids::{HostId, InfraEnvId};
use muster_api::live::LiveProxy;
use url::Url;

use super::live::{self, KernelArguments};
use super::{OWN_VERSION, Settings, Token, service_url};

/// Join a service as a host and run its steps, until stopped.
#[derive(Debug, Args)]
pub struct RunFlags {
    /// Base URL of the service, without /api/assisted-install
    #[arg(long, value_parser = service_url, required_unless_present = "config")]
    pub url: Option<Url>,
    /// The InfraEnv to join
    #[arg(long, value_name = "UUID", required_unless_present = "config")]
    pub infra_env_id: Option<InfraEnvId>,
    /// A file with service, InfraEnv, token, certificates, proxies and time sources, as discovery images hold it
    #[arg(long, value_name = "FILE", conflicts_with_all = ["url", "infra_env_id"])]
    pub config: Option<PathBuf>,
    /// Version that the agent reports to the service
    #[arg(long, default_value = OWN_VERSION)]
    pub agent_version: String,
    /// The agent's token, if the service requires one
    #[arg(long, env = "PULL_SECRET_TOKEN", hide_env_values = true, default_value = "")]
    pub token: Token,
    /// PEM file of certificates to trust in addition to the system's
    #[arg(long, value_name = "FILE")]
    pub cacert: Option<PathBuf>,
    /// Do not verify the service's certificate
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value = "false", action = ArgAction::Set)]
    pub insecure: bool,
    /// Longest wait between two attempts to register, seconds
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=86400))]
    pub interval: u64,
    /// Use this host id, not the one computed from the hardware
    #[arg(long, visible_alias = "force-id", value_name = "UUID")]
    pub host_id: Option<HostId>,
    /// A time source to query (repeatable); those that the service names are queried too
    #[arg(long = "ntp-source", value_name = "HOST")]
    pub ntp_sources: Vec<String>,
    /// Accepted for old units, without effect: the agent logs to standard error
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", hide = true)]
    pub with_journal_logging: Option<bool>,
    /// Accepted for old units, without effect
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", hide = true)]
    pub with_text_logging: Option<bool>,
    /// Accepted for old units, without effect
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", hide = true)]
    pub with_stdout_logging: Option<bool>,
}

impl RunFlags {
    /// Reads the files that the flags name.
    ///
    /// # Errors
    /// Fails for a certificate file that is absent or holds no certificate.
    pub fn settings(self) -> anyhow::Result<Settings> {
        let (service_url, infra_env_id) = match (self.config, self.url, self.infra_env_id) {
            (Some(path), _, _) => return of_file(&path),
            (None, Some(url), Some(infra_env_id)) => (url, infra_env_id),
            (None, _, _) => bail!("--config, or --url and --infra-env-id, name the service to join"),
        };
        let ca_certificates = match &self.cacert {
            Some(path) => {
                let text = std::fs::read_to_string(path)
                    .with_context(|| format!("--cacert {}: cannot be read", path.display()))?;
                if !text.contains("-----BEGIN CERTIFICATE-----") {
                    bail!("--cacert {}: holds no PEM certificate", path.display());
                }
                text
            }
            None => String::new(),
        };
        Ok(Settings {
            service_url,
            infra_env_id,
            infra_env_name: String::new(),
            token: self.token,
            ca_certificates,
            insecure: self.insecure,
            proxy: proxy_from(|name| std::env::var(name).ok()),
            ntp_sources: self.ntp_sources,
            interval: Duration::from_secs(self.interval),
            agent_version: if self.agent_version.is_empty() {
                OWN_VERSION.to_owned()
            } else {
                self.agent_version
            },
            host_id: self.host_id,
        })
    }
}

fn of_file(path: &Path) -> anyhow::Result<Settings> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("--config {}: cannot be read", path.display()))?;
    live::settings(Some(&text), &KernelArguments::default())
        .with_context(|| format!("--config {}", path.display()))
}

/// Reads the proxy variables, in upper or lower case.
pub fn proxy_from(variable: impl Fn(&str) -> Option<String>) -> LiveProxy {
    let either = |name: &str| {
        variable(name)
            .filter(|value| !value.is_empty())
            .or_else(|| variable(&name.to_lowercase()))
            .unwrap_or_default()
    };
    LiveProxy {
        http_proxy: either("HTTP_PROXY"),
        https_proxy: either("HTTPS_PROXY"),
        no_proxy: either("NO_PROXY"),
    }
}

/// Accepts Go's spelling of flags: `-url` for `--url`. Short options of one letter stay.
pub fn with_two_dashes(argument: String) -> String {
    let bytes = argument.as_bytes();
    if bytes.len() > 2 && bytes[0] == b'-' && bytes[1].is_ascii_alphabetic() {
        format!("-{argument}")
    } else {
        argument
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Program {
        #[command(flatten)]
        run: RunFlags,
    }

    fn parse(arguments: &[&str]) -> Result<RunFlags, clap::Error> {
        let words = arguments.iter().map(|word| with_two_dashes((*word).to_owned()));
        Program::try_parse_from(["agent".to_owned()].into_iter().chain(words)).map(|program| program.run)
    }

    const INFRA_ENV: &str = "0f3e7a52-0b0d-4c3c-9a9e-111111111111";

    #[test]
    fn the_line_of_a_discovery_unit_is_understood() {
        let flags = parse(&[
            "-url",
            "https://a:8090",
            "--infra-env-id",
            INFRA_ENV,
            "--agent-version",
            "quay.io/x/agent:1",
            "--insecure=true",
            "--with-text-logging=false",
        ])
        .unwrap();
        assert!(flags.insecure);
        assert_eq!(flags.agent_version, "quay.io/x/agent:1");
        assert!(
            !parse(&[
                "--url",
                "http://a",
                "--infra-env-id",
                INFRA_ENV,
                "--insecure=false"
            ])
            .unwrap()
            .insecure
        );
        assert!(
            parse(&["--url", "http://a", "--infra-env-id", INFRA_ENV, "--insecure"])
                .unwrap()
                .insecure
        );
    }

    #[test]
    fn what_is_missing_or_wrong_is_named() {
        for (arguments, word) in [
            (vec!["--url", "http://a"], "infra-env-id"),
            (vec!["--infra-env-id", INFRA_ENV], "--url"),
            (vec!["--url", "a", "--infra-env-id", INFRA_ENV], "no URL"),
            (vec!["--url", "http://a", "--infra-env-id", "7"], "infra-env-id"),
            (
                vec![
                    "--url",
                    "http://a",
                    "--infra-env-id",
                    INFRA_ENV,
                    "--interval",
                    "0",
                ],
                "interval",
            ),
        ] {
            let error = parse(&arguments).expect_err("refused").to_string();
            assert!(error.contains(word), "{error}");
        }
    }

    #[test]
    fn a_certificate_file_must_hold_a_certificate() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let path = file.path().to_str().unwrap();
        let flags = parse(&["--url", "http://a", "--infra-env-id", INFRA_ENV, "--cacert", path]).unwrap();
        assert!(
            flags
                .settings()
                .unwrap_err()
                .to_string()
                .contains("no PEM certificate")
        );
    }

    #[test]
    fn proxies_are_taken_in_either_spelling() {
        let proxy = proxy_from(|name| match name {
            "http_proxy" => Some("http://p:1".to_owned()),
            "HTTPS_PROXY" => Some("http://p:2".to_owned()),
            _ => None,
        });
        assert_eq!(proxy.http_proxy, "http://p:1");
        assert_eq!(proxy.https_proxy, "http://p:2");
        assert_eq!(proxy.no_proxy, "");
    }
}
