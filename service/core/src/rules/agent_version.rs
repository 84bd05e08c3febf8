//! Tells our agents from upstream ones by their version, and compatible ones from others.

use muster_api::agent::{OLDEST_PROTOCOL, PROTOCOL, protocol};

pub use muster_api::agent::{OWN_PREFIX, is_own};

/// Our agents are compatible when they speak a protocol that this service speaks, whatever their version. Agents of another make
/// always are: they upgrade themselves from an image that this service does not have.
pub fn is_compatible(reported: &str) -> bool {
    protocol(reported).is_none_or(|told| (OLDEST_PROTOCOL..=PROTOCOL).contains(&told))
}

/// True when an agent of ours of version `present` may become the program of version `offered`: not an older one, and one that this service
/// speaks with.
pub fn may_become(present: &str, offered: &str) -> bool {
    is_own(present) && is_own(offered) && is_compatible(offered) && numbers(offered) >= numbers(present)
}

/// Major, minor, patch.
fn numbers(version: &str) -> Vec<u64> {
    let version = version.strip_prefix(OWN_PREFIX).unwrap_or_default();
    let version = version.split(['+', '-']).next().unwrap_or_default();
    version.split('.').map(|part| part.parse().unwrap_or(0)).collect()
}

/// The version in the answer to a registration. Our own agents tell the answer in their polls from then on, so they get their own.
/// Other agents take it for the name of a container image to run, so they get `agent_image`, and where none is set the version
/// that they reported. Who reports none gets the service's.
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
