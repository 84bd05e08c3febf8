//! Reads the file of `--static-network`: a list as REST takes it, or what means the same.

use anyhow::Result;
use muster_api::infra_env::{HostStaticNetworkConfig, MacInterface};
use serde_json::Value;

use crate::cli::failure::Failure;

/// Members by which a document of nmstate is known. Source: nmstate 2.2.62 (`NetworkState`).
const OF_NMSTATE: [&str; 7] = [
    "interfaces",
    "routes",
    "route-rules",
    "dns-resolver",
    "hostname",
    "ovs-db",
    "ovn",
];

/// The networks: a list of entries; one entry; documents of nmstate whose cards have `identifier: mac-address`, by which their machine
/// is known. `network_yaml` may be a mapping in place of a text.
///
/// # Errors
/// It is nothing of these: where, and what to write instead.
pub fn parse(text: &str) -> Result<Vec<HostStaticNetworkConfig>> {
    // Of a list that is wrong this error has line and column.
    let error = match serde_saphyr::from_str(text) {
        Ok(list) => return Ok(list),
        Err(error) => error,
    };
    let read: Option<Value> = serde_saphyr::from_str(text).ok();
    let is_document = read.as_ref().is_some_and(is_nmstate);
    let entries = match read {
        Some(Value::Array(entries)) => entries,
        Some(entry @ Value::Object(_)) => vec![entry],
        _ => Vec::new(),
    };
    let mut networks = Vec::new();
    for entry in &entries {
        let read = match is_nmstate(entry) {
            // With its comments, where it is the file.
            true if is_document => Some(of_document(entry, text.to_owned())?),
            true => Some(of_document(entry, serde_saphyr::to_string(entry)?)?),
            false => of_entry(entry),
        };
        networks.extend(read);
    }
    if entries.is_empty() || networks.len() < entries.len() {
        let failure = Failure::usage(format!("--static-network is no list of networks: {error}"))
            .hint("write a list with an entry for each machine:");
        return Err(with_example(failure, &["NAME".to_owned()]).into());
    }
    Ok(networks)
}

fn is_nmstate(value: &Value) -> bool {
    value.get("network_yaml").is_none() && OF_NMSTATE.iter().any(|member| value.get(member).is_some())
}

/// `None`: it is no entry.
fn of_entry(entry: &Value) -> Option<HostStaticNetworkConfig> {
    let mut entry = entry.clone();
    if let Some(document) = entry
        .get_mut("network_yaml")
        .filter(|document| document.is_object())
    {
        *document = serde_saphyr::to_string(document).ok()?.into();
    }
    serde_json::from_value(entry).ok()
}

/// # Errors
/// No card of it is known by its address.
fn of_document(document: &Value, text: String) -> Result<HostStaticNetworkConfig, Failure> {
    let interfaces = document["interfaces"].as_array();
    let interfaces = || interfaces.into_iter().flatten();
    let of = |interface: &Value, member: &str| interface[member].as_str().map(str::to_owned);
    let cards: Vec<MacInterface> = interfaces()
        .filter(|one| one["identifier"] == "mac-address")
        .map(|one| MacInterface {
            mac_address: of(one, "mac-address"),
            logical_nic_name: of(one, "name"),
        })
        .collect();
    if cards.is_empty() {
        let names: Vec<String> = interfaces()
            .filter(|one| one["type"] == "ethernet")
            .filter_map(|one| of(one, "name"))
            .collect();
        let failure = Failure::usage(
            "--static-network is a document of nmstate, which does not name the machine that it is for",
        )
        .hint("write it under network_yaml of an entry of a list, with the MAC addresses of the machine's cards:");
        return Err(with_example(failure, &names)
            .hint("or have it name a card by `identifier: mac-address` and `mac-address: MAC`"));
    }
    Ok(HostStaticNetworkConfig {
        network_yaml: Some(text),
        mac_interface_map: cards,
    })
}

/// Adds an entry of the list for a machine with cards of these names.
fn with_example(failure: Failure, names: &[String]) -> Failure {
    let card = |name: &String| format!("  - {{mac_address: \"MAC of {name}\", logical_nic_name: {name}}}");
    let cards = names.iter().map(card);
    let lines = ["- mac_interface_map:".to_owned()].into_iter().chain(cards);
    let lines = lines.chain(["  network_yaml: |".to_owned(), "    interfaces: ...".to_owned()]);
    lines.fold(failure, Failure::hint)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::failure;

    const ENTRY: &str = "mac_interface_map: [{mac_address: \"52:54:00:dd:00:02\", logical_nic_name: left}]";

    fn expected(text: &str) -> HostStaticNetworkConfig {
        HostStaticNetworkConfig {
            network_yaml: Some(text.to_owned()),
            mac_interface_map: vec![MacInterface {
                mac_address: Some("52:54:00:dd:00:02".into()),
                logical_nic_name: Some("left".into()),
            }],
        }
    }

    #[test]
    fn a_list_an_entry_and_a_document_that_names_its_machine_are_taken() {
        let document = "# of rack 1\ninterfaces:\n- name: left\n  type: ethernet\n";
        let indented = document.replace('\n', "\n    ");
        for text in [
            format!("- {ENTRY}\n  network_yaml: |\n    {indented}"),
            format!("{ENTRY}\nnetwork_yaml: |\n    {indented}"),
        ] {
            let read = parse(&text).unwrap();
            assert_eq!(read.len(), 1);
            let yaml = read[0].network_yaml.as_deref().unwrap().trim_end();
            assert_eq!(yaml, document.trim_end(), "{text}");
            assert_eq!(read[0].mac_interface_map, expected("").mac_interface_map);
        }
        // A bar was forgotten.
        let mapping = format!("- {ENTRY}\n  network_yaml:\n    {indented}");
        let read = parse(&mapping).unwrap();
        let yaml: Value = serde_saphyr::from_str(read[0].network_yaml.as_deref().unwrap()).unwrap();
        assert_eq!(
            yaml,
            serde_json::json!({"interfaces": [{"name": "left", "type": "ethernet"}]})
        );
        let document = format!("{document}  identifier: mac-address\n  mac-address: 52:54:00:dd:00:02\n");
        assert_eq!(parse(&document).unwrap(), [expected(&document)]);
    }

    #[test]
    fn a_document_that_names_no_machine_is_refused_with_what_to_write() {
        let document = "interfaces:\n- {name: eth0, type: ethernet, ipv4: {enabled: true, dhcp: true}}\n";
        let error = parse(document).unwrap_err();
        assert_eq!(
            failure::text(&error),
            "error: --static-network is a document of nmstate, which does not name the machine that it is for
  write it under network_yaml of an entry of a list, with the MAC addresses of the machine's cards:
  - mac_interface_map:
    - {mac_address: \"MAC of eth0\", logical_nic_name: eth0}
    network_yaml: |
      interfaces: ...
  or have it name a card by `identifier: mac-address` and `mac-address: MAC`
"
        );
        assert_eq!(failure::kind_of(&error), failure::Kind::Usage);
    }

    #[test]
    fn what_is_neither_is_refused_with_its_place_and_an_example() {
        for text in [
            "- {network: x}\n",
            "left\n",
            "[\n",
            "- mac_interface_map: []\n  network_yaml: [1]\n",
        ] {
            let words = failure::text(&parse(text).unwrap_err());
            assert!(words.contains("is no list of networks: "), "{words}");
            assert!(words.contains("\n    network_yaml: |\n"), "{words}");
        }
        assert_eq!(parse("[]").unwrap(), []);
    }
}
