use std::collections::BTreeSet;
use std::sync::LazyLock;

use muster_api::infra_env::HostStaticNetworkConfig;
use regex::Regex;
use serde_json::Value;

use super::Invalid;

/// Longest YAML of one host, bytes.
const MAX_YAML: usize = 64 << 10;

static MAC: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\A(?:[0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}\z").expect("the pattern is constant")
});

/// Names that the kernel derives from the place of a card, so no MAC is needed.
static PREDICTABLE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\Aen[PsvxXbucaipod]").expect("the pattern is constant"));

/// True for a name that the kernel derives from the place of a card. Source: docs/protocol/static-network.md#3.
pub(crate) fn is_predictable(name: &str) -> bool {
    PREDICTABLE.is_match(name)
}

/// Checks the list and returns it in its canonical order, so that the same configuration in another order is equal. A
/// MAC may be in one host only, whatever its case: it selects the machine's configuration.
///
/// # Errors
/// The first host of the list that cannot be accepted.
pub fn static_network(list: &[HostStaticNetworkConfig]) -> Result<Vec<HostStaticNetworkConfig>, Invalid> {
    let mut macs = BTreeSet::new();
    for (index, host) in list.iter().enumerate() {
        let wrong = |what: &str, reason: String| {
            Err(Invalid::new(
                format!("static_network_config[{index}]{what}"),
                reason,
            ))
        };
        if host.mac_interface_map.is_empty() {
            return wrong(
                ".mac_interface_map",
                "must name at least one network card by its MAC address".into(),
            );
        }
        let mut names = BTreeSet::new();
        for card in &host.mac_interface_map {
            let mac = card.mac_address.as_deref().unwrap_or_default();
            if !MAC.is_match(mac) {
                return wrong(
                    ".mac_interface_map",
                    format!("{mac:?} is not a MAC address such as 02:00:00:aa:10:01"),
                );
            }
            if !macs.insert(mac.to_ascii_lowercase()) {
                return wrong(
                    ".mac_interface_map",
                    format!("the MAC address {mac} occurs twice in this InfraEnv"),
                );
            }
            let name = card.logical_nic_name.as_deref().unwrap_or_default();
            if name.is_empty() || name.chars().any(|c| c.is_whitespace() || c.is_control()) {
                return wrong(
                    ".mac_interface_map",
                    format!("the card {mac} needs a logical_nic_name, the one that network_yaml uses"),
                );
            }
            if !names.insert(name) {
                return wrong(".mac_interface_map", format!("the name {name:?} occurs twice"));
            }
        }
        if let Err(reason) = network_yaml(host.network_yaml.as_deref().unwrap_or_default(), &names) {
            return wrong(".network_yaml", reason);
        }
    }
    Ok(canonical(list))
}

fn canonical(list: &[HostStaticNetworkConfig]) -> Vec<HostStaticNetworkConfig> {
    let mut list = list.to_vec();
    for host in &mut list {
        host.mac_interface_map.sort_by(|a, b| {
            (&a.logical_nic_name, &a.mac_address).cmp(&(&b.logical_nic_name, &b.mac_address))
        });
    }
    list.sort_by_cached_key(|host| {
        let cards: Vec<_> = host
            .mac_interface_map
            .iter()
            .map(|card| (card.logical_nic_name.clone(), card.mac_address.clone()))
            .collect();
        (host.network_yaml.clone(), cards.len(), cards)
    });
    list
}

/// The rules of docs/protocol/static-network.md#3, except the one that needs the nmstate library.
fn network_yaml(text: &str, known: &BTreeSet<&str>) -> Result<(), String> {
    if text.trim().is_empty() {
        return Err("must not be empty: write the nmstate configuration of the host".into());
    }
    if text.len() > MAX_YAML {
        return Err(format!("has {} bytes; at most {MAX_YAML} are taken", text.len()));
    }
    let parsed: Value = serde_saphyr::from_str(text).map_err(|error| {
        let location = error
            .location()
            .map(|at| format!(" at line {}, column {}", at.line(), at.column()));
        format!("is not YAML{}", location.unwrap_or_default())
    })?;
    let Some(parsed) = parsed.as_object() else {
        return Err("must be an nmstate document: a mapping with interfaces, routes, dns-resolver".into());
    };
    let interfaces = match parsed.get("interfaces") {
        None | Some(Value::Null) => return Ok(()),
        Some(Value::Array(list)) => list,
        Some(_) => return Err("interfaces must be a list".into()),
    };
    for interface in interfaces {
        let Some(name) = interface
            .get("name")
            .and_then(Value::as_str)
            .filter(|n| !n.is_empty())
        else {
            return Err("every interface needs a name".into());
        };
        let by_mac = interface.get("identifier").and_then(Value::as_str) == Some("mac-address");
        let kind = interface.get("type").and_then(Value::as_str).unwrap_or_default();
        if matches!(kind, "ethernet" | "802-3-ethernet") && !by_mac {
            can_be_found(name, known)?;
        }
        let bond = interface.get("link-aggregation");
        let ports = bond.and_then(|bond| bond.get("port").or_else(|| bond.get("ports")));
        for port in ports.and_then(Value::as_array).into_iter().flatten() {
            can_be_found(port.as_str().unwrap_or_default(), known)?;
        }
    }
    Ok(())
}

fn can_be_found(name: &str, known: &BTreeSet<&str>) -> Result<(), String> {
    if known.contains(name) || is_predictable(name) {
        return Ok(());
    }
    Err(format!(
        "the interface {name:?} is not in mac_interface_map, so no machine would know which card is meant; add it there"
    ))
}
