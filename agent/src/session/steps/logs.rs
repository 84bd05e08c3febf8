//! `logs-gather`: sends the logs of this host. Source: docs/protocol/agent-protocol.md#8. Muster's service requests the logs of hosts
//! without a cluster, too; these are kept with the host, and no progress is reported: the upload suffices.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use muster_api::steps::LogsGatherRequest;
use uuid::Uuid;

use crate::client::Client;
use crate::logs::Redactor;
use crate::logs::upload::{self, Destination};
use crate::step::{Dependencies, Running, StepError, StepHandler, StepOutput, StepType, one_argument, reply};

const NAME: StepType = StepType::LogsGather;

pub struct LogsGather {
    client: Client,
    redactor: Redactor,
}

impl LogsGather {
    /// Uses the agent's client, and removes the secrets in its settings.
    pub fn new(dependencies: &Dependencies) -> Self {
        Self {
            client: dependencies.client.clone(),
            redactor: Redactor::of(&dependencies.settings),
        }
    }
}

impl StepHandler for LogsGather {
    fn step_type(&self) -> StepType {
        NAME
    }

    fn deadline(&self) -> Duration {
        Duration::from_secs(15 * 60)
    }

    fn run(&self, args: Vec<String>, running: Arc<Running>) -> BoxFuture<'static, StepOutput> {
        let (client, redactor) = (self.client.clone(), self.redactor.clone());
        let in_thread = Arc::clone(&running);
        reply(running, async move {
            let destination = destination(&one_argument(NAME, &args)?)?;
            upload::send(&client, destination, redactor, in_thread).await?;
            Ok(StepOutput::good(String::new()))
        })
    }
}

fn destination(request: &LogsGatherRequest) -> Result<Destination, StepError> {
    let id = |name: &str, text: &str| {
        text.parse::<Uuid>()
            .map_err(|_| StepError::of(NAME, format!("{name} is no UUID: `{text}`")))
    };
    Ok(Destination {
        cluster: match request.cluster_id.as_str() {
            "" => None,
            cluster => Some(id("cluster_id", cluster)?),
        },
        host: id("host_id", &request.host_id)?,
        infra_env: id("infra_env_id", &request.infra_env_id)?,
    })
}
