//! Reports the present network of the kernel.

use std::fmt::Write;

use crate::inventory::network_state;
use crate::root::Root;

/// Links, addresses, routes, neighbours, counters, resolver.
pub(super) fn state(root: &Root) -> String {
    let (network, problems) = network_state(root);
    let mut text = String::new();
    // Writing to a text cannot fail, here and below.
    let mut put = |line: String| {
        let _ = writeln!(text, "{line}");
    };
    for problem in problems {
        put(format!("not known: {}: {}", problem.field, problem.reason));
    }
    for link in &network.links {
        put(format!(
            "{}: {} {} mtu {} {} {}",
            link.index,
            link.name,
            colons(&link.address),
            link.mtu,
            link.flags.join(","),
            link.kind.as_deref().unwrap_or_default(),
        ));
        for address in network
            .addresses
            .iter()
            .filter(|address| address.link == link.index)
        {
            put(format!("    {}/{}", address.ip, address.prefix));
        }
    }
    put("routes:".to_owned());
    for route in &network.routes {
        let via = route.gateway.map(|gateway| format!(" via {gateway}"));
        let link = network.links.iter().find(|link| Some(link.index) == route.link);
        put(format!(
            "    {}/{}{} dev {} metric {}",
            route.destination,
            route.prefix,
            via.unwrap_or_default(),
            link.map_or("-", |link| link.name.as_str()),
            route.metric
        ));
    }
    for file in ["/proc/net/dev", "/proc/net/arp", "/etc/resolv.conf", "/etc/hosts"] {
        if let Ok(content) = root.text(file) {
            put(format!("\n{file}:\n{content}"));
        }
    }
    text
}

fn colons(address: &[u8]) -> String {
    let octets: Vec<String> = address.iter().map(|octet| format!("{octet:02x}")).collect();
    octets.join(":")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machines_loopback_is_reported() {
        let text = state(&Root::live());
        assert!(text.contains(" lo "), "{text}");
        assert!(text.contains("    127.0.0.1/8"), "{text}");
        assert!(text.contains("routes:"));
    }
}
