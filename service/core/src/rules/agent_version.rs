//! Tells our agents from upstream ones by their version.

/// Prefix of our agents' version: `muster-agent/<version>`.
pub const OWN_PREFIX: &str = "muster-agent/";

pub fn is_own(reported: &str) -> bool {
    reported.starts_with(OWN_PREFIX)
}

/// Our agents are compatible when they are of the service's version, agents of another make always: they upgrade
/// themselves from an image that this service does not have.
pub fn is_compatible(reported: &str, wanted: &str) -> bool {
    !is_own(reported) || reported == wanted
}

/// The version in the answer to a registration: the service's for our own agents. Other agents take the answer for the name
/// of a container image to run, so they get `agent_image`, and where none is set the version that they reported.
pub fn answered_agent_version<'a>(
    reported: &'a str,
    wanted: &'a str,
    agent_image: Option<&'a str>,
) -> &'a str {
    if reported.is_empty() || is_own(reported) {
        wanted
    } else {
        agent_image.unwrap_or(reported)
    }
}
