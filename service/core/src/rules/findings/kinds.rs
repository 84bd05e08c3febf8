//! Kinds of findings, as they are shown.

/// A peer answers neither on its segment nor to pings.
pub const PEER_UNREACHABLE: &str = "peer-unreachable";
/// The host reaches a peer, and that does not reach the host.
pub const ONE_WAY_LINK: &str = "one-way-link";
/// A peer has an address in a network of the host's, and that one does not answer; others of it do.
pub const ADDRESS_UNREACHABLE: &str = "address-unreachable";
/// A peer answers on the segment and not to pings.
pub const PING_UNANSWERED: &str = "ping-unanswered";
/// A peer in a network of the host's answers to pings and not on the segment.
pub const NOT_ON_SEGMENT: &str = "not-on-segment";
/// Something is waited for that has not come within a minute.
pub const WAITING: &str = "waiting";
/// The disk that a user chose to install to is not there.
pub const DISK_MISSING: &str = "installation-disk-missing";
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
