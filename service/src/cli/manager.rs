//! `muster manager`: the options of cluster-api-provider-agent, as HyperShift gives them. Source: docs/protocol/capi-agent-provider.md#1.

pub mod arguments;

use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::builder::{BoolishValueParser, PossibleValuesParser};
use clap::{ArgAction, Args, ValueEnum};
use ipnet::IpNet;

use crate::addresses;
use crate::settings::LogFormat;

/// The names of TLS versions that Kubernetes' programs have.
const TLS_VERSIONS: [&str; 4] = ["VersionTLS10", "VersionTLS11", "VersionTLS12", "VersionTLS13"];

/// Log lines, as zap names them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Encoder {
    /// For people.
    Console,
    /// One JSON object a line.
    Json,
}

impl From<Encoder> for LogFormat {
    fn from(encoder: Encoder) -> Self {
        match encoder {
            Encoder::Console => Self::Text,
            Encoder::Json => Self::Json,
        }
    }
}

/// Where a listener is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bind {
    /// There is none.
    Off,
    At(SocketAddr),
}

/// The options of `muster manager`.
#[derive(Debug, Clone, Args)]
pub struct ManagerArgs {
    /// Namespace of the Machines, and of the Lease: that of a hosted control plane. Nothing is read in others, but for the Agents
    #[arg(long, value_name = "NAMESPACE", value_parser = namespace)]
    pub namespace: String,

    /// Namespace of the Agents: all that are approved there may be taken
    #[arg(long, value_name = "NAMESPACE", value_parser = namespace)]
    pub agent_namespace: String,

    /// Address of /healthz and /readyz (:PORT for every address; 0 for none)
    #[arg(long, value_name = "ADDR:PORT", default_value = ":8081", value_parser = bind)]
    pub health_probe_bind_address: Bind,

    /// Address of /metrics, plain HTTP (:PORT for every address; 0 for none)
    #[arg(long, value_name = "ADDR:PORT", default_value = ":8080", value_parser = bind)]
    pub metrics_bind_address: Bind,

    /// Work only while it holds the Lease 7605f49b.agent-install.openshift.io of the namespace: without it neither another replica nor
    /// another provider is noticed
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true",
        action = ArgAction::Set, value_parser = BoolishValueParser::new())]
    pub leader_elect: bool,

    /// Kubeconfig of the API server [default: that of the pod's cluster]
    #[arg(long, env = "KUBECONFIG", value_name = "FILE", value_parser = file)]
    kubeconfig: Option<PathBuf>,

    /// Networks that API servers of workload clusters may be in, as for muster serve
    #[arg(
        long,
        env = "MUSTER_WORKLOAD_NETWORKS",
        value_name = "LIST",
        value_delimiter = ','
    )]
    pub workload_networks: Vec<IpNet>,

    /// Least version of TLS of its listeners. Accepted, and without effect: none of them speaks TLS
    #[arg(long, value_name = "VERSION", value_parser = PossibleValuesParser::new(TLS_VERSIONS))]
    pub tls_min_version: Option<String>,

    /// Cipher suites of its listeners. Accepted, and without effect: none of them speaks TLS
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub tls_cipher_suites: Vec<String>,

    /// What is logged: debug, info, error, panic, or a number from 1 on for more than info
    #[arg(long, value_name = "LEVEL", default_value = "info", value_parser = level)]
    pub zap_log_level: String,

    /// How log lines look
    #[arg(long, value_name = "FORMAT", default_value = "console")]
    pub zap_encoder: Encoder,

    /// Log at the level debug
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true",
        action = ArgAction::Set, value_parser = BoolishValueParser::new())]
    pub zap_devel: bool,

    /// Accepted, and without effect: no log line has a stack
    #[arg(long, value_name = "LEVEL")]
    pub zap_stacktrace_level: Option<String>,

    /// Accepted, and without effect: times are in RFC 3339
    #[arg(long, value_name = "FORMAT")]
    pub zap_time_encoding: Option<String>,
}

impl ManagerArgs {
    /// The given kubeconfig. The variable may be set and empty.
    pub fn kubeconfig(&self) -> Option<PathBuf> {
        self.kubeconfig
            .clone()
            .filter(|file| !file.as_os_str().is_empty())
    }

    /// The format of log lines, and what is logged.
    pub fn log(&self) -> (LogFormat, &str) {
        let level = if self.zap_devel {
            "debug"
        } else {
            &self.zap_log_level
        };
        (self.zap_encoder.into(), level)
    }
}

/// Reads the name of a namespace. HyperShift gives its own by a variable, which may be missing.
fn namespace(text: &str) -> Result<String, String> {
    let is_part = |one: char| one.is_ascii_lowercase() || one.is_ascii_digit() || one == '-';
    if text.is_empty() || text.len() > 63 || !text.chars().all(is_part) {
        return Err("give the name of one namespace".into());
    }
    Ok(text.to_owned())
}

/// Reads the path of a file, which may be empty.
fn file(text: &str) -> Result<PathBuf, Infallible> {
    Ok(text.into())
}

fn bind(text: &str) -> Result<Bind, String> {
    match text {
        "0" => Ok(Bind::Off),
        text => addresses::of_go(text).map(Bind::At),
    }
}

/// Reads a level of zap: its names, or a verbosity.
fn level(text: &str) -> Result<String, String> {
    let level = match text {
        "debug" | "info" | "error" => text,
        "panic" => "error",
        _ => match text.parse::<u8>() {
            Ok(0) => "info",
            Ok(1) => "debug",
            Ok(_) => "trace",
            Err(_) => return Err("give debug, info, error, panic or a number".into()),
        },
    };
    Ok(level.to_owned())
}

#[cfg(test)]
mod tests {
    use std::net::Ipv6Addr;

    use clap::Parser;

    use super::arguments::spelled;
    use super::*;

    #[derive(Debug, Parser)]
    #[command(name = "muster")]
    enum Cli {
        Manager(ManagerArgs),
    }

    fn parsed(words: &[&str]) -> Result<ManagerArgs, String> {
        let words = words.iter().map(Into::into);
        let cli = Cli::try_parse_from(spelled(words)).map_err(|error| error.to_string())?;
        let Cli::Manager(args) = cli;
        Ok(args)
    }

    #[test]
    fn the_arguments_of_hypershift_are_understood() {
        let given = [
            "/manager",
            "--namespace",
            "clusters-east",
            "--agent-namespace",
            "hardware",
            "--health-probe-bind-address=:8081",
            "--metrics-bind-address=127.0.0.1:8080",
            "--leader-elect",
        ];
        let args = parsed(&given).unwrap();
        assert_eq!(
            (args.namespace.as_str(), args.agent_namespace.as_str()),
            ("clusters-east", "hardware")
        );
        let every = SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), 8081);
        assert_eq!(args.health_probe_bind_address, Bind::At(every));
        assert_eq!(
            args.metrics_bind_address,
            Bind::At("127.0.0.1:8080".parse().unwrap())
        );
        assert!(args.leader_elect);
        let newer = [
            &given[..],
            &[
                "--tls-min-version=VersionTLS12",
                "--tls-cipher-suites=TLS_AES_128_GCM_SHA256,TLS_AES_256_GCM_SHA384",
            ],
        ];
        assert!(parsed(&newer.concat()).unwrap().leader_elect);
    }

    #[test]
    fn flags_may_be_written_as_go_reads_them() {
        let given = ["/usr/bin/manager", "-namespace=c", "-agent-namespace", "h"];
        let of = |more: &[&str]| parsed(&[&given[..], more].concat()).unwrap();
        assert!(!of(&[]).leader_elect);
        assert!(!of(&["--leader-elect=false"]).leader_elect);
        assert!(of(&["-leader-elect=true"]).leader_elect);
        assert_eq!(of(&["-metrics-bind-address=0"]).metrics_bind_address, Bind::Off);
        assert_eq!(of(&["--zap-log-level=2"]).log(), (LogFormat::Text, "trace"));
        assert_eq!(
            of(&["--zap-devel", "--zap-encoder=json"]).log(),
            (LogFormat::Json, "debug")
        );
    }

    #[test]
    fn what_cannot_be_is_refused_with_what_to_do() {
        let given = ["/manager", "--namespace=c", "--agent-namespace=h"];
        let error = |words: &[&str]| parsed(words).unwrap_err();
        let more = |word: &str| error(&[&given[..], &[word]].concat());
        assert!(more("--no-such-flag").contains("unexpected argument '--no-such-flag'"));
        assert!(more("--tls-min-version=VersionTLS9").contains("VersionTLS13"));
        assert!(more("--metrics-bind-address=nowhere").contains("ADDRESS:PORT"));
        assert!(error(&["/manager", "--namespace=c"]).contains("--agent-namespace <NAMESPACE>"));
        let unset = error(&["/manager", "--namespace=", "--agent-namespace=h"]);
        assert!(unset.contains("give the name of one namespace"), "{unset}");
    }
}
