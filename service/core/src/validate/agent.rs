//! The agent on the host.

use super::Verdict;
use super::look::View;
use crate::host::agent_version;

/// `compatible-agent`: an agent of ours must be of the service's version; an agent of another make always passes.
pub(super) fn compatible(look: &View<'_>) -> Verdict {
    let reported = &look.host.data.discovery_agent_version;
    if agent_version::is_compatible(reported, look.facts.agent_version) {
        Verdict::Success("The agent speaks this service's protocol".into())
    } else {
        Verdict::Failure(format!(
            "The agent is {reported} and the service wants {}; boot the host from the present image",
            look.facts.agent_version
        ))
    }
}
