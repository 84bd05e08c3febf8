//! Checks the agent on the host.

use super::context::CheckContext;
use super::verdict::Verdict;
use crate::rules::agent_version;

/// `compatible-agent`: our agent must use a protocol that the service supports; an agent of another make always passes.
pub(super) fn compatible(context: &CheckContext<'_>) -> Verdict {
    let reported = &context.host.data.discovery_agent_version;
    if agent_version::is_compatible(reported) {
        Verdict::Success("The agent speaks this service's protocol".into())
    } else {
        Verdict::Failure(format!(
            "The agent is {reported} and speaks another protocol than the service ({}); boot the host from the present image",
            context.facts.agent_version
        ))
    }
}
