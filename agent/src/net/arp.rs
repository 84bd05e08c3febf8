//! The kernel's settings for ARP on a machine with several cards in one network.

use std::path::Path;

use tracing::warn;

/// Kernel documentation, networking/ip-sysctl: 1 replies only on the card that has the address.
const ARP_IGNORE: &str = "1";
/// Likewise: 2 always takes an address of the card that sends the request.
const ARP_ANNOUNCE: &str = "2";

/// Makes cards reply for their own addresses only, including addresses that appear later. By default each replies for all addresses
/// of the machine, so that other hosts see two owners of one address, and a cable in the wrong port goes unnoticed.
pub fn answer_strictly() {
    for (name, value) in [("arp_ignore", ARP_IGNORE), ("arp_announce", ARP_ANNOUNCE)] {
        let file = Path::new("/proc/sys/net/ipv4/conf/all").join(name);
        if let Err(error) = std::fs::write(&file, value) {
            warn!(file = %file.display(), "not set: {error}");
        }
    }
}
