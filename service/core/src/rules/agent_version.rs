//! Which agent runs on a host: ours, or one of another make.

/// How our own agents begin their version: `muster-agent/<version>`.
pub const OWN_PREFIX: &str = "muster-agent/";

/// Whether an agent of this version is ours.
pub fn is_own(reported: &str) -> bool {
    reported.starts_with(OWN_PREFIX)
}

/// Our agents are compatible when they are of the service's version, agents of another make always: they upgrade
/// themselves from an image that this service does not have.
pub fn is_compatible(reported: &str, wanted: &str) -> bool {
    !is_own(reported) || reported == wanted
}

/// The version that a registration tells the agent to be: the service's for our own agents. Other agents take the answer for the name
/// of a container image to run, so they are told `agent_image`, and where none is set what they said of themselves.
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
