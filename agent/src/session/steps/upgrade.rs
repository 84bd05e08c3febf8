//! `upgrade-agent`: replaces this program by another one of the agent that the service offers; a container image is declined, since this
//! agent is no container. Source: docs/protocol/agent-protocol.md#6: the exit code is always 0.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use muster_api::steps::{AgentProgram, UpgradeAgentRequest, UpgradeAgentResponse, UpgradeAgentResult};

use crate::client::Client;
use crate::config::{PROGRAM_VERSION, Settings};
use crate::handover::plan::Handover;
use crate::handover::prepare::prepare;
use crate::step::{Dependencies, Running, StepHandler, StepOutput, StepType, one_argument, reply};

const NAME: StepType = StepType::UpgradeAgent;
/// A download over a slow line.
const DEADLINE: Duration = Duration::from_secs(15 * 60);

pub struct UpgradeAgent {
    client: Client,
    settings: Arc<Settings>,
    handover: Option<Arc<Handover>>,
}

impl UpgradeAgent {
    pub fn new(dependencies: &Dependencies) -> Self {
        Self {
            client: dependencies.client.clone(),
            settings: Arc::clone(&dependencies.settings),
            handover: dependencies.handover.clone(),
        }
    }
}

impl StepHandler for UpgradeAgent {
    fn step_type(&self) -> StepType {
        NAME
    }

    fn deadline(&self) -> Duration {
        DEADLINE
    }

    fn run(&self, args: Vec<String>, running: Arc<Running>) -> BoxFuture<'static, StepOutput> {
        let (client, settings, handover) = (
            self.client.clone(),
            Arc::clone(&self.settings),
            self.handover.clone(),
        );
        reply(running, async move {
            let request: UpgradeAgentRequest = one_argument(NAME, &args)?;
            let done = match (&request.program, &handover) {
                (Some(program), Some(handover)) if handover.proposed().is_some() => {
                    tracing::debug!(program.sha256, "a newer program waits for the end of steps");
                    Ok(None)
                }
                (Some(program), Some(handover)) => {
                    let name = &request.agent_image;
                    become_program(&client, &settings, handover, program, name)
                        .await
                        .map(|()| Some(UpgradeAgentResult::Success))
                }
                _ => Err(format!(
                    "muster-agent {PROGRAM_VERSION} runs no containers and cannot become `{}`; boot the host from a newer image",
                    request.agent_image
                )),
            };
            let (result, reason) = match done {
                Ok(result) => (result, String::new()),
                Err(reason) => (Some(UpgradeAgentResult::Failure), reason),
            };
            if !reason.is_empty() {
                tracing::warn!("{reason}");
            }
            let answer = StepOutput::json(&UpgradeAgentResponse {
                agent_image: request.agent_image,
                result,
                reason: reason.clone(),
            });
            Ok(answer.ending(0, reason))
        })
    }
}

async fn become_program(
    client: &Client,
    settings: &Settings,
    handover: &Handover,
    program: &AgentProgram,
    name: &str,
) -> Result<(), String> {
    if let Some(objection) = handover.objection(&program.sha256) {
        return Err(objection);
    }
    let host = handover.host().ok_or("the host is not registered")?;
    match prepare(client, settings, host, program, name).await {
        Ok(successor) => {
            handover.propose(successor);
            Ok(())
        }
        Err(error) => {
            let reason = error.to_string();
            if !error.may_pass() {
                handover.give_up(&program.sha256, reason.clone());
            }
            Err(reason)
        }
    }
}
