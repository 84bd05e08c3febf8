//! Kinds of findings, as they are shown.

/// A peer responds neither on its segment nor to pings.
pub const PEER_UNREACHABLE: &str = "peer-unreachable";
/// The host reaches a peer, and that does not reach the host.
pub const ONE_WAY_LINK: &str = "one-way-link";
/// An address of a peer in one of the host's networks does not respond; others of the peer do.
pub const ADDRESS_UNREACHABLE: &str = "address-unreachable";
/// A peer responds on the segment and not to pings.
pub const PING_UNANSWERED: &str = "ping-unanswered";
/// A peer in one of the host's networks responds to pings and not on the segment.
pub const NOT_ON_SEGMENT: &str = "not-on-segment";
/// Something that the host has awaited for more than a minute.
pub const WAITING: &str = "waiting";
/// The disk that a user chose to install to is not there.
pub const DISK_MISSING: &str = "installation-disk-missing";
/// The user's image is downloaded by plain HTTP, without a digest.
pub const IMAGE_UNVERIFIED: &str = "image-unverified";
/// An address is used by two machines.
pub const DUPLICATE_ADDRESS: &str = "duplicate-address";
/// Full-sized packets do not get through.
pub const MTU_TOO_LARGE: &str = "mtu-too-large-for-path";
/// The clock differs from the service's, or from those of other hosts.
pub const CLOCK_OFFSET: &str = "clock-offset";
/// Packets take longer than the role allows.
pub const LATENCY_ABOVE_LIMIT: &str = "latency-above-limit";
/// More packets are lost than the role allows.
pub const PACKET_LOSS_ABOVE_LIMIT: &str = "packet-loss-above-limit";
/// A switch port lacks a VLAN that the host's static network uses.
pub const VLAN_NOT_ON_SWITCH_PORT: &str = "vlan-not-on-switch-port";
/// An interface is not as the host's static network has it.
pub const NETWORK_NOT_AS_CONFIGURED: &str = "network-not-as-configured";
/// What the switch tells of a port does not reach the host, and VLANs of its static network are not checked.
pub const SWITCH_PORT_UNHEARD: &str = "switch-port-unheard";
/// A kernel argument about the network has a fault, or none of the effect that it seems to have.
pub const KERNEL_ARGUMENT: &str = "kernel-argument";
/// The host reports another name than it is installed with.
pub const NAME_CHANGED: &str = "name-changed";
/// An installation or its node failed on the host, and machines take others first.
pub const FAILED_BEFORE: &str = "failed-before";
/// Disks could not be erased after the host left a cluster, and it is in quarantine.
pub const CANNOT_BE_ERASED: &str = "cannot-be-erased";
/// A disk reports that it is failing.
pub const DISK_FAILING: &str = "disk-failing";
/// A sensor is at its limit or above.
pub const OVERHEATING: &str = "overheating";
/// The memory has errors.
pub const MEMORY_ERRORS: &str = "memory-errors";
/// A link runs below the speed of its card.
pub const LINK_SLOW: &str = "link-slow";
/// The machine has less hardware than when it was approved.
pub const SMALLER_THAN_APPROVED: &str = "smaller-than-approved";

/// The kinds above. Findings about identity have one more
/// ([`DUPLICATE_HOST_ID`](crate::rules::identity::DUPLICATE_HOST_ID)).
pub const KINDS: [&str; 25] = [
    PEER_UNREACHABLE,
    ONE_WAY_LINK,
    ADDRESS_UNREACHABLE,
    PING_UNANSWERED,
    NOT_ON_SEGMENT,
    WAITING,
    DISK_MISSING,
    IMAGE_UNVERIFIED,
    DUPLICATE_ADDRESS,
    MTU_TOO_LARGE,
    CLOCK_OFFSET,
    LATENCY_ABOVE_LIMIT,
    PACKET_LOSS_ABOVE_LIMIT,
    VLAN_NOT_ON_SWITCH_PORT,
    NETWORK_NOT_AS_CONFIGURED,
    SWITCH_PORT_UNHEARD,
    KERNEL_ARGUMENT,
    NAME_CHANGED,
    FAILED_BEFORE,
    CANNOT_BE_ERASED,
    DISK_FAILING,
    OVERHEATING,
    MEMORY_ERRORS,
    LINK_SLOW,
    SMALLER_THAN_APPROVED,
];

/// The kinds about the health of the hardware, in the order of their bits in the database; further ones are added at the end.
pub const OF_HEALTH: [&str; 5] = [
    DISK_FAILING,
    OVERHEATING,
    MEMORY_ERRORS,
    LINK_SLOW,
    SMALLER_THAN_APPROVED,
];

#[cfg(test)]
mod tests {
    use super::KINDS;

    #[test]
    fn the_list_has_every_kind() {
        let defined = include_str!("kinds.rs").lines().filter_map(|line| {
            let (_, value) = line.strip_prefix("pub const ")?.split_once(": &str = \"")?;
            value.strip_suffix("\";")
        });
        let defined: Vec<&str> = defined.collect();
        assert_eq!(defined, KINDS);
    }
}
