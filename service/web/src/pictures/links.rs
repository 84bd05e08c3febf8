//! Switches with the hosts at their ports, as LLDP shows them: one picture a switch, and the same as a table.

use askama::Template;
use axum::response::Response;
use muster_api::MUSTER_PATH;
use muster_api::links::{LinkedHost, LinkedSwitch, Links, MOST_VLANS};

use super::LINKS;
use crate::hosts;
use crate::html::{Frame, answer, hosts_with};
use crate::rest::{Refusal, Visitor};
use crate::sign_in::frame;
use crate::words;

/// Height of a cable in the picture, and of what stands above all of them.
const ROW: u32 = 26;
const TOP: u32 = 6;

/// Cables in the picture of one switch; the table has all.
const DRAWN: usize = 64;

/// Longest texts in the picture, letters.
const LONGEST: usize = 40;

#[derive(Template)]
#[template(path = "pictures/links.html")]
struct LinksPage {
    frame: Frame,
    switches: Vec<Switch>,
    total: usize,
    without_switch: usize,
    /// The list of hosts without a switch.
    unknown: String,
    /// The address of the next switches.
    more: Option<String>,
    at: String,
}

struct Switch {
    name: String,
    /// The list of its hosts; `None`: no filter finds them.
    hosts: Option<String>,
    cables: Vec<Cable>,
    /// Cables that no table has.
    left_out: usize,
    /// Those that are drawn.
    drawn: usize,
    height: u32,
    /// The middle of the switch.
    middle: u32,
}

/// A port with one of its hosts.
struct Cable {
    port: String,
    /// The same, cut.
    port_text: String,
    host: String,
    host_text: String,
    address: String,
    /// Hosts at the same port.
    is_shared: bool,
    /// True if all cables of the host lead to this switch.
    is_single: bool,
    vlans: String,
    y: u32,
    text_y: u32,
    middle: u32,
    is_drawn: bool,
}

pub async fn show(visitor: Visitor) -> Result<Response, Refusal> {
    let frame = frame(&visitor).await?;
    let [after] = visitor.parameters(["after"]);
    let after = after.parse::<u32>().map_or(0, |after| after as usize);
    let links: Links = visitor.get(&format!("{MUSTER_PATH}/links?after={after}")).await?;
    let next = after.saturating_add(links.switches.len());
    let page = LinksPage {
        frame,
        more: (!links.switches.is_empty() && next < links.total).then(|| format!("{LINKS}?after={next}")),
        switches: links.switches.iter().map(Switch::of).collect(),
        total: links.total,
        without_switch: links.without_switch,
        unknown: hosts_with("-switch:*"),
        at: links.at,
    };
    Ok(answer(&page))
}

impl Switch {
    fn of(switch: &LinkedSwitch) -> Self {
        let cables = switch.ports.iter().flat_map(|port| {
            let is_shared = port.hosts.len() > 1;
            port.hosts
                .iter()
                .map(move |host| (port.port.as_str(), host, is_shared))
        });
        let cables: Vec<Cable> = cables
            .zip(0_u32..)
            .map(|((port, host, is_shared), place)| Cable::of(port, host, is_shared, place))
            .collect();
        let drawn = cables.len().min(DRAWN);
        let height = u32::try_from(drawn).unwrap_or_default() * ROW + 2 * TOP;
        Self {
            name: match switch.switch.is_empty() {
                true => "a switch without a name".to_owned(),
                false => switch.switch.clone(),
            },
            hosts: (!switch.query.is_empty()).then(|| hosts_with(&switch.query)),
            left_out: switch.cables_left_out,
            cables,
            drawn,
            height,
            middle: height / 2,
        }
    }
}

impl Cable {
    fn of(port: &str, host: &LinkedHost, is_shared: bool, place: u32) -> Self {
        let top = TOP + place.saturating_mul(ROW);
        let mut vlans: Vec<String> = host.vlans.iter().map(u16::to_string).collect();
        vlans.extend((vlans.len() >= MOST_VLANS).then(|| "…".to_owned()));
        Self {
            port: port.to_owned(),
            port_text: words::beginning(port, LONGEST / 2),
            host: host.name.clone(),
            host_text: words::beginning(&host.name, LONGEST),
            address: hosts::address(host.infra_env_id, host.id),
            is_shared,
            is_single: host.switches < 2,
            vlans: vlans.join(", "),
            y: top,
            text_y: top + 16,
            middle: top + (ROW - 4) / 2,
            is_drawn: usize::try_from(place).is_ok_and(|place| place < DRAWN),
        }
    }
}

#[cfg(test)]
mod tests {
    use muster_api::ids::{HostId, InfraEnvId};
    use muster_api::links::LinkedPort;

    use super::*;

    fn host(name: &str, switches: usize) -> LinkedHost {
        LinkedHost {
            id: HostId::random(),
            infra_env_id: InfraEnvId::random(),
            name: name.into(),
            switches,
            vlans: vec![1, 20],
        }
    }

    fn port(name: &str, hosts: Vec<LinkedHost>) -> LinkedPort {
        LinkedPort {
            port: name.into(),
            hosts,
        }
    }

    #[test]
    fn cables_lie_below_each_other_and_are_marked() {
        let shown = Switch::of(&LinkedSwitch {
            switch: "sw1".into(),
            query: "switch:sw1".into(),
            cables_left_out: 3,
            ports: vec![
                port("Gi1", vec![host("a", 2)]),
                port("Gi2", vec![host("b", 1), host("c", 2)]),
            ],
        });
        let marks: Vec<_> = shown
            .cables
            .iter()
            .map(|cable| (cable.host.as_str(), cable.is_shared, cable.is_single, cable.y))
            .collect();
        assert_eq!(
            marks,
            [
                ("a", false, false, TOP),
                ("b", true, true, TOP + ROW),
                ("c", true, false, TOP + 2 * ROW)
            ]
        );
        assert_eq!((shown.height, shown.drawn), (3 * ROW + 2 * TOP, 3));
        assert_eq!(
            (shown.hosts.as_deref(), shown.left_out),
            (Some("/ui/hosts?q=switch%3Asw1"), 3)
        );
        assert_eq!(shown.cables[0].vlans, "1, 20");
        let last = &shown.cables[2];
        assert!(last.y + ROW <= shown.height && last.middle < last.y + ROW);
        let nameless = Switch::of(&LinkedSwitch {
            switch: String::new(),
            query: String::new(),
            ports: Vec::new(),
            cables_left_out: 0,
        });
        assert_eq!(
            (nameless.name.as_str(), nameless.hosts),
            ("a switch without a name", None)
        );
    }
}
