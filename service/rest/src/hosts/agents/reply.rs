use std::sync::Arc;

use axum::extract::State;
use http::StatusCode;
use muster_api::error::ApiError;
use muster_api::ids::{HostId, InfraEnvId};
use muster_api::steps::{StepReply, StepType};
use muster_core::lifecycle::host::reply::{Limits, ignored_because, interpret, step_of};
use muster_http::Problem;
use muster_http::body::{Body, Path, in_turn};
use muster_operations::OperationError;
use muster_operations::hosts::Hosts;

use super::turn::turn;

/// Report the result of a step
#[utoipa::path(
    post, path = "/infra-envs/{infra_env_id}/hosts/{host_id}/instructions", operation_id = "v2PostStepReply", tag = "installer",
    params(
        ("infra_env_id" = InfraEnvId, Path), ("host_id" = HostId, Path),
        ("discovery_agent_version" = Option<String>, Header),
    ),
    request_body = StepReply,
    responses(
        (status = 204),
        (status = 400, body = ApiError, description = "The output is too large, for itself or with what the InfraEnv stores, or not what this step answers"),
        (status = 404, body = ApiError),
        (status = 409, body = ApiError, description = "The host is in a state that takes no such reply"),
    )
)]
pub async fn post_step_reply(
    State(hosts): State<Arc<Hosts>>,
    Path((infra_env_id, host_id)): Path<(InfraEnvId, HostId)>,
    Body(reply): Body<StepReply>,
) -> Result<StatusCode, Problem> {
    if let Some(reason) = step_of(&reply).and_then(|step| ignored_because(step, reply.exit_code)) {
        tracing::debug!(host.id = %host_id, step.id = reply.step_id, exit_code = reply.exit_code, error = reply.error, "reply without effect: {reason}");
    }
    let size = reply.output.len();
    if reply.step_type == Some(StepType::Inventory) {
        let taken = hosts.inventory_quota().take(infra_env_id, size);
        taken.map_err(|error| Problem::invalid(error.to_string()))?;
    }
    let taking_over = async {
        let _turn = turn(infra_env_id).await?;
        // Boxed, so that thousands of waiting replies do not take the memory of running ones.
        Box::pin(take_over(&hosts, infra_env_id, host_id, &reply)).await
    };
    in_turn(size, taking_over).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Applies the events of a reply to the host.
async fn take_over(
    hosts: &Hosts,
    infra_env_id: InfraEnvId,
    host_id: HostId,
    reply: &StepReply,
) -> Result<(), Problem> {
    let read = interpret(reply, &Limits::default());
    let has_effect = read.as_ref().is_ok_and(|events| !events.is_empty());
    // An unknown host gets a 404 even if its reply cannot be read. Applying an event looks the host up anyway.
    if !has_effect && !hosts.exists(infra_env_id, host_id).await? {
        return Err(OperationError::missing_host(infra_env_id, host_id).into());
    }
    for event in read.map_err(|bad| Problem::invalid(bad.to_string()))? {
        hosts.apply(infra_env_id, host_id, event).await?;
    }
    Ok(())
}
