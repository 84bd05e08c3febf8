//! Versions of Muster's own agents and of their protocol.

/// Before the version of our agents: `muster-agent/0.1.0`.
pub const OWN_PREFIX: &str = "muster-agent/";

/// Name of the header of a poll with the SHA-256 of the agent's program, hexadecimal, from agents that can become another program in place.
pub const AGENT_BUILD_HEADER: &str = "x-muster-agent-build";

/// Between version and protocol, from protocol 2 on: `muster-agent/0.4.0+protocol.2`.
const PROTOCOL_MARK: &str = "+protocol.";

/// Version of the protocol between our agents and service. It rises only when one side no longer understands the other, not for additions
/// that the other side may ignore. A service accepts a new number one release before agents send it.
pub const PROTOCOL: u32 = 1;

/// The oldest protocol that the service still supports. It rises no sooner than a year after the last agent that sent it.
pub const OLDEST_PROTOCOL: u32 = 1;

/// True for the version of an agent of ours.
pub fn is_own(version: &str) -> bool {
    version.starts_with(OWN_PREFIX)
}

/// The protocol of an agent of ours by its version; 0 when its number cannot be parsed. `None`: another make.
pub fn protocol(version: &str) -> Option<u32> {
    let version = version.strip_prefix(OWN_PREFIX)?;
    let told = version.split_once(PROTOCOL_MARK);
    Some(told.map_or(1, |(_, number)| number.parse().unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_without_a_protocol_speaks_the_first() {
        assert_eq!(protocol("muster-agent/0.1.0"), Some(1));
        assert_eq!(protocol("muster-agent/0.4.0+protocol.2"), Some(2));
        assert_eq!(protocol("muster-agent/0.4.0+protocol.x"), Some(0));
        assert_eq!(protocol("quay.io/other/agent:1"), None);
    }
}
