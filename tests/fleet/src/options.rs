//! Command line flags, read once in `main`.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, ensure};
use clap::Parser;
use muster_api::ids::InfraEnvId;
use url::Url;

use crate::faults::FaultShare;

/// Most hosts of a fleet.
pub const MOST_HOSTS: u32 = 200_000;

const AFTER_HELP: &str = "\
Examples:
  muster-fleet --hosts 20 --infra-env simulated             twenty machines in the InfraEnv of that name, until Ctrl-C
  muster-fleet --infra-env simulated --remove               they and the InfraEnv are gone
  muster-fleet --hosts 300 --duration 5m                    register 300 hosts and poll as the service says
  muster-fleet --hosts 3000 --register-rate 0 --until-inventory --json
  muster-fleet --hosts 3000 --resume --infra-env-id ID --poll-interval 1500ms --duration 30s     2,000 polls/s
  muster-fleet --hosts 3000 --cluster --until-inventory     the hosts of one cluster, which check whom they reach
  muster-fleet --hosts 50 --poll-interval 1s --duration 1m --fault silent=5% --fault hostile-inventory=3

Faults (KIND=SHARE, a share such as 5% or a number of hosts; each host has at most one):
  silent             reports once, then never speaks again
  slow               takes seconds for each step and sends its replies in drips
  duplicate-id       has the id of another machine, with an inventory of its own
  replayed-reply     sends each reply twice, and its first ones again and again
  hostile-inventory  15,000 disks, control characters and markup in every text, huge, deep or broken inventories
  foreign-reply      also replies for hosts that do not exist and from InfraEnvs that it is not in
  long-log           uploads a log of a million lines
  failed-install     fails while it writes the image, when it is to install
  failed-again       the same in its second installation alone

Ctrl-C ends a run early, with its summary. A run whose hosts are all deleted ends by itself.";

/// Simulates many hosts: agents that speak the true agent protocol to a service, from one process
#[derive(Debug, Clone, Parser)]
#[command(version, after_help = AFTER_HELP)]
pub struct Options {
    /// The service, without /api/assisted-install
    #[arg(
        long,
        env = "MUSTER_URL",
        default_value = "http://127.0.0.1:8090",
        value_name = "URL"
    )]
    pub url: Url,

    /// The InfraEnv that the hosts join [default: one is created]
    #[arg(long, value_name = "ID")]
    pub infra_env_id: Option<InfraEnvId>,

    /// The InfraEnv of that name, which is created unless there is one
    #[arg(long, value_name = "NAME", conflicts_with = "infra_env_id")]
    pub infra_env: Option<String>,

    /// Import a cluster, and have all hosts belong to it
    #[arg(long, conflicts_with_all = ["infra_env_id", "infra_env"])]
    pub cluster: bool,

    /// In place of a run: delete the hosts that earlier runs with the same seed made in the InfraEnv, and the InfraEnv
    #[arg(long)]
    pub remove: bool,

    /// The operator's token, for creating an InfraEnv, learning the agents' token, and the states at the end
    #[arg(long, env = "MUSTER_TOKEN", hide_env_values = true, value_name = "TOKEN")]
    pub token: Option<String>,

    /// The token that the agents use [default: from the InfraEnv's discovery.ign, as machines get it]
    #[arg(
        long,
        env = "MUSTER_AGENT_TOKEN",
        hide_env_values = true,
        value_name = "TOKEN"
    )]
    pub agent_token: Option<String>,

    /// Number of hosts
    #[arg(long, default_value_t = 100, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_HOSTS)))]
    pub hosts: u32,

    /// Hosts that boot each second; 0 for all at once
    #[arg(long, default_value_t = 50.0, value_name = "PER_SECOND")]
    pub register_rate: f64,

    /// Poll at this pace, e.g. 1500ms [default: as the service says]
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    pub poll_interval: Option<Duration>,

    /// End after this time, e.g. 90s or 5m [default: Ctrl-C]
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    pub duration: Option<Duration>,

    /// End when every host that can has reported its inventory; with --duration not before that, and 5
    /// minutes after it at the latest
    #[arg(long)]
    pub until_inventory: bool,

    /// The hosts of an earlier run with the same seed go on: registered already, and with nothing new to
    /// report
    #[arg(long, requires = "infra_env_id")]
    pub resume: bool,

    /// Do not ask the service for its view of the hosts at the end (the whole list, inventories included)
    #[arg(long)]
    pub skip_states: bool,

    /// Seed that the machines are made from
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub seed: u64,

    /// Hosts that misbehave (see below); may be repeated
    #[arg(long = "fault", value_name = "KIND=SHARE")]
    pub faults: Vec<FaultShare>,

    /// Lines of 300 bytes in the log of `long-log`
    #[arg(long, default_value_t = 1_000_000, value_name = "N")]
    pub log_lines: u64,

    /// Duration of an installation from its first report to the reboot
    #[arg(long, default_value = "60s", value_name = "TIME", value_parser = humantime::parse_duration)]
    pub install_time: Duration,

    /// Machines that were installed go on as nodes with an agent of ours on them: it polls, reboots them when that is requested, and
    /// boots the discovery image again when they are taken out of their cluster [default: a machine ends with its reboot]
    #[arg(long)]
    pub nodes: bool,

    /// Version or image that the agents report as their own
    #[arg(long, default_value = concat!("muster-agent/", env!("CARGO_PKG_VERSION")), value_name = "TEXT")]
    pub agent_version: String,

    /// PEM file with the certificate authorities to trust for https
    #[arg(long, value_name = "FILE", conflicts_with = "insecure")]
    pub ca_cert: Option<PathBuf>,

    /// Trust any certificate
    #[arg(long)]
    pub insecure: bool,

    /// All agents use a few connections together [default: each has its own, as machines do]
    #[arg(long)]
    pub share_connections: bool,

    /// Worker threads
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64))]
    pub threads: u16,

    /// Print the summary as JSON
    #[arg(long)]
    pub json: bool,
}

impl Options {
    /// Finds contradictions.
    ///
    /// # Errors
    /// The contradiction, with the change to make.
    pub fn check(&self) -> Result<()> {
        ensure!(
            self.register_rate >= 0.0 && self.register_rate.is_finite(),
            "--register-rate {} is no rate: give hosts per second, or 0 for all at once",
            self.register_rate
        );
        ensure!(
            !self.remove || self.infra_env.is_some() || self.infra_env_id.is_some(),
            "--remove: give --infra-env NAME or --infra-env-id ID, whose hosts are to go"
        );
        ensure!(
            self.poll_interval.is_none_or(|pace| !pace.is_zero()),
            "--poll-interval 0 would be a tight loop: give at least 1ms"
        );
        ensure!(
            matches!(self.url.scheme(), "http" | "https") && self.url.has_host(),
            "--url {} is not http:// or https://",
            self.url
        );
        ensure!(
            self.url.scheme() == "http" || self.insecure || self.ca_cert.is_some(),
            "--url is https: give --ca-cert FILE (the service's --tls-cert or its CA), or --insecure"
        );
        Ok(())
    }

    /// Base URL of the protocol's operations, without a trailing slash.
    pub fn base(&self) -> String {
        let url = self.url.as_str().trim_end_matches('/');
        format!("{url}{}", muster_api::BASE_PATH)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_removal_names_its_infra_env() {
        let check = |arguments: &[&str]| Options::try_parse_from(arguments).unwrap().check();
        let refused = check(&["muster-fleet", "--remove"]).unwrap_err();
        assert!(refused.to_string().contains("--infra-env"), "{refused}");
        check(&["muster-fleet", "--remove", "--infra-env", "simulated"]).unwrap();
        let both = ["muster-fleet", "--infra-env", "simulated", "--cluster"];
        assert!(Options::try_parse_from(both).is_err());
    }
}
