//! Finds links that run below the speed of their cards.

use muster_api::steps::HealthLink;

use super::ethtool;
use crate::root::Root;

const CARDS: &str = "/sys/class/net";
/// Links that are reported.
const MAX_LINKS: usize = 32;

/// Links of physical cards that are up, and slower than the fastest mode that card and module support.
pub(super) fn slow_links(root: &Root) -> Vec<HealthLink> {
    let names = root.list(CARDS).unwrap_or_default();
    let slow = names.iter().filter_map(|name| slow_link(root, name));
    slow.take(MAX_LINKS).collect()
}

fn slow_link(root: &Root, name: &str) -> Option<HealthLink> {
    let folder = format!("{CARDS}/{name}");
    if !root.exists(&format!("{folder}/device")) || root.text(&format!("{folder}/operstate")).ok()? != "up" {
        return None;
    }
    // -1 where the driver has none.
    let speed: i64 = root.text(&format!("{folder}/speed")).ok()?.parse().ok()?;
    let speed_mbps = u32::try_from(speed).ok().filter(|speed| *speed > 0)?;
    let supported = root
        .probe(&format!("ethtool.{name}.supported"), || ethtool::supported(name))
        .ok()?;
    let card_mbps = ethtool::fastest(&supported)?;
    (speed_mbps < card_mbps).then(|| HealthLink {
        interface: name.to_owned(),
        speed_mbps,
        card_mbps,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::Machine;

    #[test]
    fn links_that_are_as_fast_as_their_cards_or_down_or_virtual_are_none() {
        let card = |state: &str, speed: &str, device: bool| {
            let mut machine = Machine::new()
                .nic("virtual/net/eth0", &[("speed", speed), ("operstate", state)])
                // 1000baseT/Full and 10000baseT/Full.
                .answer("ethtool.eth0.supported", json!([(1 << 5) | (1 << 12)]));
            if device {
                machine = machine.file("/sys/devices/virtual/net/eth0/device/vendor", "0x8086\n");
            }
            slow_links(&machine.root()).len()
        };
        assert_eq!(card("up", "1000", true), 1);
        assert_eq!(card("up", "10000", true), 0);
        assert_eq!(card("down", "1000", true), 0);
        assert_eq!(card("up", "1000", false), 0);
        assert_eq!(card("up", "-1", true), 0);
    }
}
