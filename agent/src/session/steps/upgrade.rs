//! `upgrade-agent`: declined, since this agent is a program of the live image and no container that could be
//! replaced. Source: docs/protocol/agent-protocol.md#6: the exit code is always 0.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use muster_api::steps::{UpgradeAgentRequest, UpgradeAgentResponse, UpgradeAgentResult};

use super::{Running, StepHandler, StepOutput, StepType, one_argument, reply};
use crate::config::PROGRAM_VERSION;

const NAME: StepType = StepType::UpgradeAgent;

pub struct UpgradeAgent;

impl StepHandler for UpgradeAgent {
    fn step_type(&self) -> StepType {
        NAME
    }

    fn deadline(&self) -> Duration {
        Duration::from_secs(10)
    }

    fn run(&self, args: Vec<String>, running: Arc<Running>) -> BoxFuture<'static, StepOutput> {
        reply(running, async move {
            let request: UpgradeAgentRequest = one_argument(NAME, &args)?;
            let reason = format!(
                "muster-agent {PROGRAM_VERSION} runs no containers and cannot become `{}`; boot the host from a newer image",
                request.agent_image
            );
            tracing::warn!("{reason}");
            let answer = StepOutput::json(&UpgradeAgentResponse {
                agent_image: request.agent_image,
                result: Some(UpgradeAgentResult::Failure),
            });
            Ok(answer.ending(0, reason))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn it_declines_and_says_what_to_do() {
        let args = vec![r#"{"agent_image":"quay.io/a:2"}"#.to_owned()];
        let reply = UpgradeAgent.run(args, Arc::new(Running)).await;
        assert_eq!(
            (reply.exit_code, reply.output.as_str()),
            (0, r#"{"agent_image":"quay.io/a:2","result":"failure"}"#)
        );
        assert!(reply.error.contains("newer image"), "{}", reply.error);
    }
}
