//! Selects hosts of a list. The service searches; the options are terms of its queries (docs/search.md).

use std::collections::{HashMap, HashSet};

use anyhow::Result;
use clap::Args;
use muster_api::MUSTER_PATH;
use muster_api::host::HostStatus;
use muster_api::ids::InfraEnvId;
use muster_api::search::{FoundHosts, TermRemoval};
use muster_core::query::{Key, Query, QueryErrors, quoted};
use url::form_urlencoded::Serializer;

use crate::cli::arguments::names;
use crate::cli::fleet::{HostKey, Member};
use crate::cli::service::Client;

/// Hosts in one answer.
const AT_ONCE: &str = "1000";

/// Filters of hosts. Each option leaves out more.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Filters")]
pub struct FilterArgs {
    /// Only those that fit all terms of this query, e.g. 'cpu:>32 -finding:* switch:sw1'; docs/search.md has its keys
    #[arg(long, short, value_name = "QUERY", allow_hyphen_values = true)]
    query: Option<String>,

    /// Only those of this InfraEnv: name, id, or beginning of the id
    #[arg(long, value_name = "INFRA_ENV")]
    pub infra_env: Option<String>,

    /// Only those of this cluster: name, id, or beginning of the id; "" for those of none
    #[arg(long, value_name = "CLUSTER")]
    cluster: Option<String>,

    /// Only those with this text in name, id, model, serial numbers, addresses, switch port or reason, in any case
    #[arg(long, value_name = "TEXT", value_parser = text)]
    text: Option<String>,

    /// Only the machine with this serial number (or a disk of it)
    #[arg(long, value_name = "NUMBER")]
    serial: Option<String>,

    /// Only the machine with this MAC address; with colons, dashes, dots or nothing
    #[arg(long, value_name = "ADDRESS", value_parser = mac)]
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

fn mac(written: &str) -> std::result::Result<String, String> {
    match Query::parse(&format!("{}:{}", Key::Mac, quoted(written))) {
        Ok(_) if !written.is_empty() => Ok(written.to_owned()),
        _ => Err(
            "it is no MAC address: write 12 hexadecimal digits, with colons, dashes, dots or nothing".into(),
        ),
    }
}

fn text(written: &str) -> std::result::Result<String, String> {
    match Query::parse(&quoted(written)) {
        Ok(_) => Ok(written.to_owned()),
        Err(QueryErrors(faults)) => {
            let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
            Err(faults.join("; "))
        }
    }
}

impl FilterArgs {
    /// Finds the cluster of the option, and replaces its name by its id.
    pub async fn resolve(&mut self, client: &Client) -> Result<()> {
        if let Some(wanted) = self.cluster.as_mut().filter(|wanted| !wanted.is_empty()) {
            *wanted = names::cluster(client, wanted).await?.id.to_string();
        }
        Ok(())
    }

    /// The query for the hosts that pass the filters, of the InfraEnv `only` if one is given; empty: all.
    pub fn query(&self, only: Option<InfraEnvId>) -> String {
        let term = |key: Key, value: &str| format!("{key}:{}", quoted(value));
        let states: Vec<&str> = self.state.iter().map(|state| state.name()).collect();
        let mut terms: Vec<String> = self.query.iter().cloned().collect();
        terms.extend(only.map(|id| term(Key::Pool, &id.to_string())));
        terms.extend(self.cluster.as_deref().map(|wanted| term(Key::Cluster, wanted)));
        terms.extend(self.serial.as_deref().map(|wanted| term(Key::Serial, wanted)));
        terms.extend(self.mac.as_deref().map(|wanted| term(Key::Mac, wanted)));
        terms.extend((!states.is_empty()).then(|| format!("{}:{}", Key::State, states.join(","))));
        terms.extend(self.label.iter().map(|label| term(Key::Label, label)));
        terms.extend(self.text.as_deref().map(quoted));
        terms.join(" ")
    }
}

/// The path of at most `limit` hosts that fit a query.
pub fn search_path(query: &str, sort: &str, after: &str, limit: &str) -> String {
    let mut parameters = Serializer::new(String::new());
    parameters.extend_pairs([("q", query), ("sort", sort), ("after", after), ("limit", limit)]);
    format!("{MUSTER_PATH}/hosts?{}", parameters.finish())
}

/// The hosts that fit a query, in the order `sort`; if none fits, the reasons.
pub async fn search(client: &Client, query: &str, sort: &str) -> Result<(Vec<HostKey>, Vec<TermRemoval>)> {
    let mut keys = Vec::new();
    let mut after = String::new();
    loop {
        let path = search_path(query, sort, &after, AT_ONCE);
        let found: FoundHosts = client.get(&path).await?;
        keys.extend(found.hosts.iter().map(|host| (host.infra_env_id, host.id)));
        match found.next {
            Some(next) => after = next,
            None => return Ok((keys, found.removals)),
        }
    }
}

/// The terms that find the hosts that a word means, in the order in which they are tried: those of the first list that finds any count.
fn meanings(word: &str) -> [Vec<String>; 3] {
    let word = quoted(word);
    let whole = |key: Key| format!("{key}:{word}");
    let part = |key: Key| format!("{key}:*{word}*");
    let named = [Key::Id, Key::Serial, Key::Mac, Key::Ip].map(whole);
    let like = [part(Key::Name), part(Key::Serial), format!("{}:{word}*", Key::Id)];
    // Most words are no address.
    let readable = |terms: &[String]| {
        let terms = terms.iter().filter(|term| Query::parse(term).is_ok());
        terms.cloned().collect::<Vec<_>>()
    };
    [readable(&[whole(Key::Name)]), readable(&named), readable(&like)]
}

/// The hosts among those of `query` that `words` mean: by name, else by another mark of theirs, else by a part of one. Words that mean none
/// are returned, too.
pub async fn search_words(
    client: &Client,
    query: &str,
    words: &[String],
) -> Result<(HashSet<HostKey>, Vec<String>)> {
    let (mut meant, mut unknown) = (HashSet::new(), Vec::new());
    for word in words {
        let found = search_word(client, query, word).await?;
        if found.is_empty() {
            unknown.push(word.clone());
        }
        meant.extend(found);
    }
    Ok((meant, unknown))
}

async fn search_word(client: &Client, query: &str, word: &str) -> Result<Vec<HostKey>> {
    // A part of nothing is in every name.
    if word.is_empty() {
        return Ok(Vec::new());
    }
    for terms in meanings(word) {
        let mut found = Vec::new();
        for term in terms {
            found.extend(search(client, &format!("{query} {term}"), "").await?.0);
        }
        if !found.is_empty() {
            return Ok(found);
        }
    }
    Ok(Vec::new())
}

/// The hosts of `all` with these keys, in the order of the keys.
pub fn ordered(all: Vec<Member>, keys: &[HostKey]) -> Vec<Member> {
    let mut all: HashMap<HostKey, Member> = all.into_iter().map(|member| (member.key(), member)).collect();
    keys.iter().filter_map(|key| all.remove(key)).collect()
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Cli {
        #[command(flatten)]
        filter: FilterArgs,
    }

    #[test]
    fn options_are_terms_of_a_query() {
        for (arguments, query) in [
            (&["--serial", "sn-0007"][..], "serial:sn-0007"),
            (&["--mac", "02-00-00-00-00-07"], "mac:02-00-00-00-00-07"),
            (&["--mac", "02:00:00:00:00:07"], r#"mac:"02:00:00:00:00:07""#),
            (&["--state", "known"], "state:known"),
            (&["--state", "installed,error"], "state:installed,error"),
            (&["--text", "ProLiant DL360"], r#""ProLiant DL360""#),
            (
                &["--label", "zone", "--label", "rack=r1"],
                "label:zone label:rack=r1",
            ),
            (&["--cluster", ""], r#"cluster:"""#),
            (
                &["--query", "cpu:>32 -finding:*", "--text=-x"],
                r#"cpu:>32 -finding:* "-x""#,
            ),
            (&[], ""),
        ] {
            let filter = Cli::try_parse_from([&["x"], arguments].concat()).unwrap().filter;
            assert_eq!(filter.query(None), query, "{arguments:?}");
            Query::parse(query).unwrap();
        }
        for (option, wrong, words) in [
            ("--state", "knwon", "it is the name of no state"),
            ("--mac", "02:00:zz", "it is no MAC address: write 12"),
            ("--mac", "02:00*", "it is no MAC address"),
            ("--mac", "", "it is no MAC address"),
            ("--text", "", "there is no text to search for"),
        ] {
            let refused = Cli::try_parse_from(["x", option, wrong]).unwrap_err().to_string();
            assert!(refused.contains(option) && refused.contains(words), "{refused}");
        }
    }

    #[test]
    fn a_word_means_a_name_or_another_mark_before_a_part_of_one() {
        assert_eq!(
            meanings("sn-3"),
            [
                vec!["name:sn-3"],
                vec!["id:sn-3", "serial:sn-3"],
                vec!["name:*sn-3*", "serial:*sn-3*", "id:sn-3*"],
            ]
        );
        let mac = meanings("02:00:00:00:00:07");
        assert!(
            mac[1].contains(&r#"mac:"02:00:00:00:00:07""#.to_owned()),
            "{mac:?}"
        );
        let ip = meanings("198.51.100.7");
        assert!(ip[1].contains(&"ip:198.51.100.7".to_owned()), "{ip:?}");
    }
}
