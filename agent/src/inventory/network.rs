//! Reads links, addresses and routes through netlink.

use muster_api::inventory::Interface;
use netlink_packet_route::AddressFamily;

use super::interfaces::{self, Network};
use super::netlink;
use super::problems::{Problem, Problems};
use crate::root::Root;
use crate::view::problem::{NETWORK_PROBLEMS, Problem as NetworkProblem};

/// The interfaces of the inventory. Returns even if a disk hangs.
pub fn interfaces(root: &Root) -> Vec<Interface> {
    interfaces::interfaces(root, &network(root, &mut Problems::default()))
}

/// Links, addresses and routes, and the reasons for missing ones.
pub(crate) fn network_state(root: &Root) -> (Network, Vec<Problem>) {
    let mut problems = Problems::default();
    let network = network(root, &mut problems);
    (network, problems.into_list())
}

/// Notes the differences of the network from its configuration, if this agent configures it itself.
pub(super) fn note_problems(root: &Root, problems: &mut Problems) {
    let text = root.text(NETWORK_PROBLEMS).ok();
    let told: Vec<NetworkProblem> = text
        .and_then(|text| serde_json::from_str(&text).ok())
        .unwrap_or_default();
    for problem in told {
        problems.note(&problem.subject(), problem.reason());
    }
}

pub(super) fn network(root: &Root, problems: &mut Problems) -> Network {
    let links = problems.take("interfaces", netlink::links(root)).map(|links| {
        for (name, reason) in links.filled {
            problems.note(&format!("interfaces.{name}"), reason.to_string());
        }
        links.all
    });
    let mut network = Network {
        // A tree with only proc and sys still has names and MACs.
        links: links.unwrap_or_else(|| netlink::links_of_sysfs(root)),
        ..Network::default()
    };
    for (family, name) in [(AddressFamily::Inet, "ipv4"), (AddressFamily::Inet6, "ipv6")] {
        let addresses = problems.take(
            &format!("interfaces.{name}_addresses"),
            netlink::addresses(root, family),
        );
        network.addresses.extend(addresses.unwrap_or_default());
        let routes = problems.take(&format!("routes.{name}"), netlink::routes(root, family));
        network.routes.extend(routes.unwrap_or_default());
    }
    network
}
