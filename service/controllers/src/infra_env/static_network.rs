//! NMStateConfigs of an InfraEnv. Source: docs/protocol/static-network.md#2 and §3,
//! docs/protocol/kube-controllers.md#2.

use std::collections::BTreeMap;

use kube::ResourceExt;
use muster_api::infra_env::{HostStaticNetworkConfig, MacInterface};
use muster_core::rules::input::static_network;
use muster_core::rules::live_network::{cards_by_place, live_network};
use muster_resources::NMStateConfig;

/// The NMStateConfigs that an InfraEnv selects, validated.
#[derive(Debug, Default, PartialEq)]
pub struct Networks {
    /// The configurations that can be stored.
    pub accepted: Vec<HostStaticNetworkConfig>,
    /// Names of the stored configurations that the live image cannot apply, and the parts that it cannot.
    pub unapplied: Vec<(String, String)>,
    /// The names of those that name cards by their place in the machine, and these cards.
    pub by_place: Vec<(String, String)>,
    /// The names of the others, and what is wrong with each.
    pub refused: Vec<(String, String)>,
}

impl Networks {
    /// The number of NMStateConfigs that match.
    pub fn len(&self) -> usize {
        self.accepted.len() + self.refused.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Selects the NMStateConfigs that can be stored. The others do not prevent that; of two with the same
/// MAC address, the first by name is taken.
pub fn sorted_out(mut configs: Vec<NMStateConfig>) -> Networks {
    configs.sort_by_key(ResourceExt::name_any);
    let mut taken: BTreeMap<String, String> = BTreeMap::new();
    let mut networks = Networks::default();
    for config in &configs {
        let name = config.name_any();
        match accepted(config, &taken) {
            Ok(host) => {
                let macs = host
                    .mac_interface_map
                    .iter()
                    .filter_map(|card| card.mac_address.as_deref());
                taken.extend(macs.map(|mac| (mac.to_ascii_lowercase(), name.clone())));
                match live_network(&host)
                    .map(|network| cards_by_place(&network).collect::<Vec<_>>().join(", "))
                {
                    Err(why) => networks.unapplied.push((name, why)),
                    Ok(cards) if cards.is_empty() => {}
                    Ok(cards) => networks.by_place.push((name, cards)),
                }
                networks.accepted.push(host);
            }
            Err(reason) => networks.refused.push((name, reason)),
        }
    }
    networks
}

fn accepted(
    config: &NMStateConfig,
    taken: &BTreeMap<String, String>,
) -> Result<HostStaticNetworkConfig, String> {
    let host = host(config);
    let mut checked = static_network(std::slice::from_ref(&host)).map_err(|invalid| {
        let field = invalid.field.trim_start_matches("static_network_config[0]");
        let field = match field {
            ".network_yaml" => "spec.config",
            _ => "spec.interfaces",
        };
        format!("{field}: {}", invalid.reason)
    })?;
    for card in &host.mac_interface_map {
        let mac = card.mac_address.as_deref().unwrap_or_default();
        if let Some(other) = taken.get(&mac.to_ascii_lowercase()) {
            return Err(format!(
                "spec.interfaces: the MAC address {mac} is also in the NMStateConfig {other}, which is taken"
            ));
        }
    }
    Ok(checked.pop().expect("a list of one stays one"))
}

fn host(config: &NMStateConfig) -> HostStaticNetworkConfig {
    // JSON is YAML, too. The keys are sorted, so that the same configuration is the same text.
    let document = config.spec.config.as_ref();
    let text = document.map(|document| serde_json::to_string(document).expect("a JSON object is JSON"));
    HostStaticNetworkConfig {
        network_yaml: text,
        mac_interface_map: config
            .spec
            .interfaces
            .iter()
            .map(|card| MacInterface {
                mac_address: Some(card.mac_address.clone()),
                logical_nic_name: Some(card.name.clone()),
            })
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn config(name: &str, interfaces: Value, document: Value) -> NMStateConfig {
        serde_json::from_value(json!({
            "apiVersion": "agent-install.openshift.io/v1beta1", "kind": "NMStateConfig",
            "metadata": {"name": name, "namespace": "lab"},
            "spec": {"interfaces": interfaces, "config": document},
        }))
        .unwrap()
    }

    fn nic(mac: &str) -> Value {
        json!([{"macAddress": mac, "name": "nic-a"}])
    }

    fn document() -> Value {
        json!({"interfaces": [{"name": "nic-a", "type": "ethernet", "state": "up"}]})
    }

    #[test]
    fn a_configuration_becomes_what_rest_would_have_been_sent() {
        let found = sorted_out(vec![config("a", nic("02:00:00:AA:10:01"), document())]);
        assert_eq!(found.refused, []);
        assert_eq!(
            serde_json::to_value(&found.accepted).unwrap(),
            json!([{
                "network_yaml": r#"{"interfaces":[{"name":"nic-a","state":"up","type":"ethernet"}]}"#,
                "mac_interface_map": [{"mac_address": "02:00:00:AA:10:01", "logical_nic_name": "nic-a"}],
            }])
        );
    }

    #[test]
    fn one_that_is_wrong_is_named_and_the_others_are_taken() {
        let found = sorted_out(vec![
            config(
                "c",
                nic("02:00:00:aa:10:03"),
                json!({"interfaces": [{"type": "ethernet"}]}),
            ),
            config("b", nic("02:00:00:aa:10:02"), document()),
            config("d", nic("02:00:00:aa:10:04"), json!(null)),
        ]);
        assert_eq!(found.accepted.len(), 1);
        assert_eq!(found.len(), 3);
        assert_eq!(found.refused[0].0, "c");
        assert_eq!(found.refused[0].1, "spec.config: every interface needs a name");
        assert_eq!(found.refused[1].0, "d");
        assert!(found.refused[1].1.starts_with("spec.config: must not be empty"));
    }

    #[test]
    fn two_that_claim_a_card_are_told_apart_by_name_whatever_the_case() {
        let found = sorted_out(vec![
            config("second", nic("02:00:00:aa:10:01"), document()),
            config("first", nic("02:00:00:AA:10:01"), document()),
        ]);
        assert_eq!(found.accepted.len(), 1);
        assert_eq!(found.refused.len(), 1);
        assert_eq!(found.refused[0].0, "second");
        assert!(found.refused[0].1.contains("NMStateConfig first"));
    }

    #[test]
    fn cards_that_are_named_by_their_place_are_told() {
        let place = json!({"interfaces": [
            {"name": "bond0", "type": "bond", "link-aggregation": {"mode": "active-backup", "port": ["nic-a", "eno3"]}},
        ]});
        let found = sorted_out(vec![
            config("first", nic("02:00:00:aa:10:01"), document()),
            config("second", nic("02:00:00:aa:10:02"), place),
        ]);
        assert_eq!((found.accepted.len(), found.unapplied.len()), (2, 0));
        assert_eq!(found.by_place, [("second".to_owned(), "eno3".to_owned())]);
    }
}
