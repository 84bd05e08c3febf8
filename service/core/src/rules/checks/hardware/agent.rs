//! Checks the agent on the host.

use crate::rules::agent_version;
use crate::rules::checks::context::CheckContext;
use crate::rules::checks::verdict::Verdict;

/// `compatible-agent`: our agent must use a protocol that the service supports; an agent of another make always passes.
pub(in crate::rules::checks) fn compatible(context: &CheckContext<'_>) -> Verdict {
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
