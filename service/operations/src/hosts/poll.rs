//! Responds to polls of hosts with their next steps.

use muster_api::ids::{HostId, InfraEnvId};
use muster_api::steps::{StepType, Steps};
use muster_core::lifecycle::host;
use muster_core::lifecycle::host::HostEvent;
use muster_store::HostBrief;

use super::Hosts;
use crate::hosts::check_ins::Seen;
use crate::{OperationError, Result, random};

impl Hosts {
    /// The next steps of a host that polls. A poll without a change writes nothing, and reads at most one row, or two
    /// if the host is bound. `build`: SHA-256 of the agent's program, for an agent that can replace itself.
    pub async fn poll(
        &self,
        infra_env_id: InfraEnvId,
        id: HostId,
        seen: Seen,
        build: Option<&str>,
    ) -> Result<Steps> {
        let missing = || {
            self.check_ins.forget((infra_env_id, id));
            OperationError::missing_host(infra_env_id, id)
        };
        // Before the query, since the database may be unavailable: the host is not silent.
        self.check_ins.note_known((infra_env_id, id), seen.clone());
        let Some(brief) = self.store.polled_host(infra_env_id, id).await? else {
            return Err(missing());
        };
        let Some(infra_env) = self.infra_envs.find(infra_env_id).await? else {
            return Err(missing());
        };
        self.check_ins.note((infra_env_id, id), seen);
        let polled = if brief.state.waits_for_poll() || host::node_may_be_back(&brief.state, &brief.data) {
            self.apply(infra_env_id, id, HostEvent::CheckedIn).await?
        } else if host::instructions::needs_inventory(&brief.state) {
            self.get(infra_env_id, id).await?
        } else {
            HostBrief::clone(&brief).into_host()
        };
        let environment = self.environment_of(&infra_env, &polled).await?;
        let facts = self.facts(&environment);
        if let Some(image) = host::instructions::upgrade(&polled, &facts) {
            // The limits of events store it once an hour, however often it is due.
            let started = host::events::upgrade_agent_started(&polled, image, self.now());
            self.store.insert_events(&[started]).await?;
        }
        let mut step_id = |step: StepType| format!("{}-{}", step.name(), random::step_suffix());
        let mut steps = host::instructions(&polled, &facts, &mut step_id);
        if let Some(build) = build
            && let Some(step) = self.handover(&polled, build).await
        {
            steps.instructions.get_or_insert_default().push(step);
        }
        Ok(steps)
    }
}
