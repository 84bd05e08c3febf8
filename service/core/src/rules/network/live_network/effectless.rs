//! Removes the parts of a network that have no effect: by their effect and not by their name. The remaining parts have
//! to be understood.

use serde_json::{Map, Value};

use super::document::text;
use super::scalars::truth;

/// A member, and a function that returns true if it has no effect with this value.
type Effectless = (&'static str, fn(&Value) -> bool);

const DOCUMENT: &[Effectless] = &[
    ("description", always),
    ("route-rules", is_empty),
    ("ovs-db", is_empty),
    ("ovn", is_empty),
    ("hostname", |value| has_only(value, "running")),
];

const INTERFACE: &[Effectless] = &[
    ("description", always),
    ("profile-name", always),
    ("driver", always),
    ("permanent-mac-address", always),
    ("min-mtu", always),
    ("max-mtu", always),
    ("wait-ip", always),
    ("lldp", always),
    ("controller", is_empty),
    ("accept-all-mac-addresses", is_off),
    ("ethernet", negotiates),
    ("ethtool", is_empty),
    ("mptcp", is_empty),
    ("ovs-db", is_empty),
    ("alt-names", is_empty),
    ("dispatch", is_empty),
];

const ADDRESSING: &[Effectless] = &[
    ("allow-extra-address", always),
    ("auto-route-table-id", is_main_table),
    ("dhcp-client-id", |value| is_one_of(value, &["mac", "ll"])),
    ("dhcp-duid", |value| is_one_of(value, &["ll"])),
    // The name is not sent, so it does not change the network.
    ("dhcp-send-hostname", always),
    ("dhcp-custom-hostname", is_empty),
    ("forwarding", is_off),
    ("prefix-route-metric", is_default_metric),
    ("auto-route-metric", is_default_metric),
    ("addr-gen-mode", |value| is_one_of(value, &["eui64", "0"])),
    ("token", |value| is_one_of(value, &["", "::"])),
];

const BOND: &[Effectless] = &[("ports-config", is_empty)];

const VLAN: &[Effectless] = &[
    ("protocol", |value| is_one_of(value, &["802.1q"])),
    ("registration-protocol", |value| is_one_of(value, &["none"])),
    ("reorder-headers", is_on),
    ("loose-binding", is_off),
];

const BRIDGE_OPTIONS: &[Effectless] = &[
    ("group-forward-mask", |value| is_one_of(value, &["0"])),
    ("group-fwd-mask", |value| is_one_of(value, &["0"])),
    ("hash-max", always),
    ("mac-ageing-time", |value| is_one_of(value, &["300"])),
    ("multicast-router", |value| is_one_of(value, &["auto", "1"])),
    ("multicast-snooping", is_on),
    ("multicast-querier", is_off),
    ("vlan-protocol", |value| is_one_of(value, &["802.1q"])),
    ("vlan-default-pvid", |value| is_one_of(value, &["1"])),
];

const BRIDGE_PORT: &[Effectless] = &[
    ("stp-hairpin-mode", is_off),
    ("stp-path-cost", |value| is_one_of(value, &["100"])),
    ("stp-priority", |value| is_one_of(value, &["32"])),
    ("vlan", is_empty),
];

/// Members of a bridge that have no effect while its spanning tree protocol is off.
const STP: [&str; 4] = ["forward-delay", "hello-time", "max-age", "priority"];

const ADDRESS: &[Effectless] = &[("mptcp-flags", always), ("protocol", always)];

const DNS: &[Effectless] = &[("options", is_empty), ("priority", always)];

fn always(_: &Value) -> bool {
    true
}

/// True for `null`, `""`, `[]`, `{}`, and values that hold only these.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.iter().all(is_empty),
        Value::Object(members) => members.values().all(is_empty),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

fn is_off(value: &Value) -> bool {
    truth(value) == Some(false)
}

fn is_on(value: &Value) -> bool {
    truth(value) == Some(true)
}

fn is_one_of(value: &Value, values: &[&str]) -> bool {
    values.contains(&text(value).as_str())
}

fn is_main_table(value: &Value) -> bool {
    is_one_of(value, &["0", "254"])
}

fn is_default_metric(value: &Value) -> bool {
    is_one_of(value, &["-1"])
}

fn has_only(value: &Value, member: &str) -> bool {
    let mut members = value.as_object().into_iter().flatten();
    members.all(|(name, value)| name == member || is_empty(value))
}

/// True if the card negotiates speed and duplex and no virtual functions are created.
fn negotiates(value: &Value) -> bool {
    let Some(members) = value.as_object() else {
        return value.is_null();
    };
    let negotiates = members.get("auto-negotiation").is_some_and(is_on);
    members.iter().all(|(name, value)| match name.as_str() {
        "auto-negotiation" => negotiates,
        "speed" | "duplex" => negotiates || is_empty(value),
        "sr-iov" => {
            let mut members = value.as_object().into_iter().flatten();
            members.all(|(name, value)| is_empty(value) || name == "total-vfs" && text(value) == "0")
        }
        _ => is_empty(value),
    })
}

/// Removes members without an effect from the whole document.
pub(super) fn strip(document: &mut Value) {
    strip_nulls(document);
    let Some(document) = document.as_object_mut() else {
        return;
    };
    take_away(document, DOCUMENT);
    if let Some(dns) = member(document, "dns-resolver").and_then(|dns| member(dns, "config")) {
        take_away(dns, DNS);
    }
    let Some(Value::Array(interfaces)) = document.get_mut("interfaces") else {
        return;
    };
    interfaces.retain(|interface| !is_not_configured(interface));
    for interface in interfaces.iter_mut().filter_map(Value::as_object_mut) {
        take_away(interface, INTERFACE);
        for family in ["ipv4", "ipv6"] {
            if let Some(addressing) = member(interface, family) {
                strip_addressing(addressing);
            }
        }
        if let Some(bond) = member(interface, "link-aggregation") {
            take_away(bond, BOND);
        }
        if let Some(vlan) = member(interface, "vlan") {
            take_away(vlan, VLAN);
        }
        if let Some(bridge) = member(interface, "bridge") {
            strip_bridge(bridge);
        }
    }
}

/// True for an interface that is absent or ignored.
fn is_not_configured(interface: &Value) -> bool {
    let is = |member: &str, value: &str| interface.get(member).and_then(Value::as_str) == Some(value);
    // No other device can use such a device as its base.
    let is_unused = is("type", "dummy") && is("state", "down");
    is("state", "absent") || is("state", "ignore") || is_unused
}

fn strip_addressing(addressing: &mut Map<String, Value>) {
    take_away(addressing, ADDRESSING);
    let has = |name: &str| addressing.get(name).is_some_and(is_on);
    let automatic = has("dhcp") || has("autoconf");
    if !automatic || addressing.get("enabled").is_some_and(is_off) {
        // These members concern the automatic configuration.
        for name in [
            "addr-gen-mode",
            "token",
            "auto-dns",
            "auto-gateway",
            "auto-routes",
            "auto-route-metric",
            "auto-route-table-id",
            "dhcp-client-id",
            "dhcp-duid",
            "dhcp-custom-hostname",
        ] {
            addressing.remove(name);
        }
    }
    let Some(Value::Array(addresses)) = addressing.get_mut("address") else {
        return;
    };
    // An address with a lifetime is from DHCP or advertisements, and a link-local one exists anyway.
    let is_own = |address: &Value| {
        let lives_on = |name: &str| address.get(name).is_none_or(|time| is_one_of(time, &["forever"]));
        let ip = address.get("ip").and_then(Value::as_str).unwrap_or_default();
        let is_link_local = ip
            .parse::<std::net::Ipv6Addr>()
            .is_ok_and(|ip| ip.is_unicast_link_local());
        lives_on("valid-life-time") && lives_on("preferred-life-time") && !is_link_local
    };
    addresses.retain(is_own);
    for address in addresses.iter_mut().filter_map(Value::as_object_mut) {
        take_away(address, ADDRESS);
        address.remove("valid-life-time");
        address.remove("preferred-life-time");
    }
}

fn strip_bridge(bridge: &mut Map<String, Value>) {
    if let Some(options) = member(bridge, "options") {
        take_away(options, BRIDGE_OPTIONS);
        if let Some(stp) = member(options, "stp")
            && !stp.get("enabled").is_some_and(is_on)
        {
            stp.retain(|name, _| !STP.contains(&name.as_str()));
        }
    }
    for name in ["port", "ports"] {
        if let Some(Value::Array(ports)) = bridge.get_mut(name) {
            for port in ports.iter_mut().filter_map(Value::as_object_mut) {
                take_away(port, BRIDGE_PORT);
            }
        }
    }
}

fn member<'a>(of: &'a mut Map<String, Value>, name: &str) -> Option<&'a mut Map<String, Value>> {
    of.get_mut(name).and_then(Value::as_object_mut)
}

fn take_away(from: &mut Map<String, Value>, table: &[Effectless]) {
    for (name, changes_nothing) in table {
        if from.get(*name).is_some_and(changes_nothing) {
            from.remove(*name);
        }
    }
}

/// Treats a member without a value as absent.
fn strip_nulls(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|_, value| !value.is_null());
            members.values_mut().for_each(strip_nulls);
        }
        Value::Array(list) => list.iter_mut().for_each(strip_nulls),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
