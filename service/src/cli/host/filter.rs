//! Selects hosts of a list.

use std::collections::HashSet;

use anyhow::Result;
use clap::Args;
use muster_api::host::HostStatus;

use crate::cli::arguments::names;
use crate::cli::fleet::{HostKey, Member};
use crate::cli::service::Client;

/// Filters of hosts. Each option leaves out more.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Filters")]
pub struct FilterArgs {
    /// Only those of this InfraEnv: name, id, or beginning of the id
    #[arg(long, value_name = "INFRA_ENV")]
    pub infra_env: Option<String>,

    /// Only those of this cluster: name, id, or beginning of the id; "" for those of none
    #[arg(long, value_name = "CLUSTER")]
    cluster: Option<String>,

    /// Only those with this text in name, id, model, serial number, addresses, labels or reason, in any case
    #[arg(long, value_name = "TEXT")]
    text: Option<String>,

    /// Only the machine with this serial number (or a disk of it)
    #[arg(long, value_name = "NUMBER")]
    serial: Option<String>,

    /// Only the machine with this MAC address; with colons, dashes, dots or nothing
    #[arg(long, value_name = "ADDRESS")]
    mac: Option<String>,

    /// Only those in one of these states, e.g. known,insufficient; each also in its -unbound form
    #[arg(long, value_name = "STATES", value_delimiter = ',', value_parser = state)]
    state: Vec<HostStatus>,

    /// Only those with this label of their node: KEY or KEY=VALUE; may be given more than once
    #[arg(long, value_name = "LABEL")]
    label: Vec<String>,
}

fn state(text: &str) -> std::result::Result<HostStatus, String> {
    text.parse().map_err(|_| {
        "it is the name of no state; usual ones are known, insufficient, disconnected, discovering, binding, installing, installed, error"
            .into()
    })
}

impl FilterArgs {
    /// Finds the cluster of the option, and replaces its name by its id.
    pub async fn resolve(&mut self, client: &Client) -> Result<()> {
        if let Some(wanted) = self.cluster.as_mut().filter(|wanted| !wanted.is_empty()) {
            *wanted = names::cluster(client, wanted).await?.id.to_string();
        }
        Ok(())
    }

    /// True for hosts that pass the filters. InfraEnvs are selected before.
    pub fn takes(&self, member: &Member) -> bool {
        let host = &member.host;
        let in_cluster =
            |wanted: &String| host.cluster_id.map(|id| id.to_string()).unwrap_or_default() == *wanted;
        let in_state = self.state.is_empty()
            || self
                .state
                .iter()
                .any(|wanted| is_state(wanted.name(), member.state()));
        let labels = member.labels();
        let labelled = self.label.iter().all(|wanted| match wanted.split_once('=') {
            Some((key, value)) => labels.get(key).is_some_and(|is| is == value),
            None => labels.contains_key(wanted),
        });
        let inventory = &member.inventory;
        let serials = inventory.disks.iter().map(|disk| disk.serial.as_str());
        let macs: Vec<String> = inventory
            .interfaces
            .iter()
            .map(|one| hex(&one.mac_address))
            .collect();
        let mac = self.mac.as_deref().map(hex);
        self.cluster.as_ref().is_none_or(in_cluster)
            && in_state
            && labelled
            && is_one_of(self.serial.as_deref(), serials.chain([member.serial()]))
            && is_one_of(mac.as_deref(), macs.iter().map(String::as_str))
            && self.text.as_ref().is_none_or(|text| has_text(member, text))
    }
}

fn is_one_of<'a>(wanted: Option<&str>, mut values: impl Iterator<Item = &'a str>) -> bool {
    wanted.is_none_or(|wanted| values.any(|value| value.eq_ignore_ascii_case(wanted)))
}

fn is_state(wanted: &str, state: &str) -> bool {
    state == wanted || state.strip_suffix("-unbound") == Some(wanted)
}

fn hex(mac: &str) -> String {
    mac.replace([':', '-', '.'], "")
}

/// The hosts of `all` that `words` mean: each the one of that name or id, else those with that text. Without a word: all.
///
/// # Errors
/// Fails for a word that means no host, with similar names.
pub fn named(mut all: Vec<Member>, words: &[String]) -> Result<Vec<Member>> {
    let mut wanted = HashSet::new();
    for word in words {
        let is_called_so = |member: &&Member| member.name() == *word;
        let mut meant: Vec<HostKey> = all.iter().filter(is_called_so).map(Member::key).collect();
        if meant.is_empty() {
            let with_text = all.iter().filter(|member| has_text(member, word));
            meant = with_text.map(Member::key).collect();
        }
        if meant.is_empty() {
            meant.push(all[names::host_in(&all, word)?].key());
        }
        wanted.extend(meant);
    }
    all.retain(|member| words.is_empty() || wanted.contains(&member.key()));
    Ok(all)
}

fn has_text(member: &Member, text: &str) -> bool {
    let text = text.to_lowercase();
    let host = &member.host;
    let inventory = &member.inventory;
    let mut texts = vec![
        member.name(),
        host.id.to_string(),
        member.model(),
        member.serial().to_owned(),
        inventory.bmc_address.clone(),
        host.node_labels.clone(),
        host.status_info.clone().unwrap_or_default(),
    ];
    for interface in &inventory.interfaces {
        texts.push(interface.mac_address.clone());
        texts.extend(
            interface
                .ipv4_addresses
                .iter()
                .chain(&interface.ipv6_addresses)
                .cloned(),
        );
    }
    texts.iter().any(|one| one.to_lowercase().contains(&text))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::host::rows::tests::member;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        filter: FilterArgs,
    }

    fn takes(arguments: &[&str]) -> bool {
        let filter = Cli::try_parse_from([&["x"], arguments].concat()).unwrap().filter;
        filter.takes(&member(7))
    }

    #[test]
    fn hosts_are_found_by_what_stands_on_the_machine() {
        for good in [
            &["--serial", "sn-0007"][..],
            &["--serial", "disk-7"],
            &["--mac", "02-00-00-00-00-07"],
            &["--mac", "020000000007"],
            &["--state", "known"],
            &["--state", "installed,known-unbound"],
            &["--text", "PROLIANT"],
            &["--text", "198.51.100.7"],
            &["--label", "zone", "--label", "rack=r1"],
            &["--cluster", ""],
            &[],
        ] {
            assert!(takes(good), "{good:?}");
        }
        for wrong in [
            &["--serial", "SN-000"][..],
            &["--mac", "02:00:00:00:00:08"],
            &["--state", "insufficient"],
            &["--text", "nonsense"],
            &["--label", "rack=r2"],
            &["--cluster", "prod"],
        ] {
            assert!(!takes(wrong), "{wrong:?}");
        }
        assert!(Cli::try_parse_from(["x", "--state", "knwon"]).is_err());
    }

    #[test]
    fn words_mean_hosts_by_name_or_text() {
        let found = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(ToString::to_string).collect();
            let all = (1..=20).map(member).collect();
            let found = named(all, &words).map_err(|error| crate::cli::failure::text(&error))?;
            Ok::<_, String>(found.iter().map(Member::name).collect::<Vec<_>>())
        };
        // A name means that host only, although others begin with it.
        assert_eq!(found(&["host-1"]).unwrap(), ["host-1"]);
        assert_eq!(found(&["host-2", "host-1"]).unwrap(), ["host-1", "host-2"]);
        assert_eq!(
            found(&["00000000-0000-4000-8000-000000000003"]).unwrap(),
            ["host-3"]
        );
        assert_eq!(found(&["sn-0007"]).unwrap(), ["host-7"]);
        assert_eq!(found(&["ost-1"]).unwrap().len(), 11);
        assert_eq!(found(&[]).unwrap().len(), 20);
        let refused = found(&["host-1", "hots-7"]).unwrap_err();
        assert!(refused.contains("is it host-7"), "{refused}");
    }
}
