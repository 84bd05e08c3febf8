//! Which agent runs on a host: ours, or one of another make.

/// How our own agents begin their version: `muster-agent/<version>`.
pub const OWN_PREFIX: &str = "muster-agent/";

/// Our agents are compatible when they are of the service's version, agents of another make always: they upgrade
/// themselves from an image that this service does not have.
pub fn is_compatible(reported: &str, wanted: &str) -> bool {
    !reported.starts_with(OWN_PREFIX) || reported == wanted
}

/// The version that a registration tells the agent to be: the service's for our own agents. Other agents are told what
/// they said of themselves, for they would take the answer for the name of a container image to run.
pub fn told_agent_version<'a>(reported: &'a str, wanted: &'a str) -> &'a str {
    if reported.is_empty() || reported.starts_with(OWN_PREFIX) {
        wanted
    } else {
        reported
    }
}
