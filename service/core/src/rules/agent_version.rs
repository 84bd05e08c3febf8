//! Distinguishes our agents from upstream ones by their version, and compatible agents from others.

use muster_api::agent::{OLDEST_PROTOCOL, PROTOCOL, protocol};

pub use muster_api::agent::{OWN_PREFIX, is_own};

/// True if the service supports the protocol of our agent, whatever its version. Agents of another make are always
/// compatible: they upgrade themselves from an image that this service does not have.
pub fn is_compatible(reported: &str) -> bool {
    protocol(reported).is_none_or(|told| (OLDEST_PROTOCOL..=PROTOCOL).contains(&told))
}

/// True if our agent of version `present` may replace itself by the program of version `offered`: not an older one, and
/// one with a protocol that this service supports.
pub fn may_become(present: &str, offered: &str) -> bool {
    is_own(present) && is_own(offered) && is_compatible(offered) && numbers(offered) >= numbers(present)
}

/// Major, minor, patch.
fn numbers(version: &str) -> Vec<u64> {
    let version = version.strip_prefix(OWN_PREFIX).unwrap_or_default();
    let version = version.split(['+', '-']).next().unwrap_or_default();
    version.split('.').map(|part| part.parse().unwrap_or(0)).collect()
}

/// The version in the response to a registration. Our agents send the received version in all later polls, so they get
/// their own. Other agents run it as the name of a container image, so they get `agent_image` or, if none is set, the
/// version that they reported. Agents that report none get the service's.
pub fn answered_agent_version<'a>(
    reported: &'a str,
    of_service: &'a str,
    agent_image: Option<&'a str>,
) -> &'a str {
    if reported.is_empty() {
        of_service
    } else if is_own(reported) {
        reported
    } else {
        agent_image.unwrap_or(reported)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_becomes_no_older_one_and_none_that_cannot_be_spoken_with() {
        let may = |present: &str, offered: &str| {
            may_become(
                &format!("{OWN_PREFIX}{present}"),
                &format!("{OWN_PREFIX}{offered}"),
            )
        };
        assert!(may("0.1.0", "0.1.0") && may("0.9.0", "0.10.0") && may("0.9.9", "1.0.0"));
        assert!(may("0.9.0+protocol.1", "0.9.0"));
        assert!(!may("0.10.0", "0.9.0") && !may("1.0.0", "0.99.99"));
        assert!(!may("0.1.0", "9.0.0+protocol.4000000"));
        assert!(!may_become("quay.io/other/agent:1", "muster-agent/9.0.0"));
        assert!(!may_become("", "muster-agent/9.0.0"));
    }

    #[test]
    fn agents_of_every_version_that_speak_the_protocol_are_compatible() {
        for compatible in [
            "muster-agent/0.0.1",
            "muster-agent/0.1.0",
            "muster-agent/99.0.0",
            "quay.io/other/agent:1",
            "",
        ] {
            assert!(is_compatible(compatible), "{compatible}");
        }
        assert!(!is_compatible("muster-agent/9.0.0+protocol.4000000"));
        assert!(!is_compatible("muster-agent/9.0.0+protocol.x"));
    }
}
