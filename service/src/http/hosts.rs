//! Hosts: one file an operation.

mod bind;
mod delete;
mod get;
mod ignition;
mod install;
mod installer_args;
mod instructions;
mod list;
mod logs_progress;
mod progress;
mod register;
mod reply;
mod reset;
mod reset_validation;
mod settle_identity;
mod unbind;
mod update;

use std::sync::Arc;

use axum::extract::DefaultBodyLimit;
use muster_api::host::Host as HostView;
use muster_api::ids::{HostId, InfraEnvId};
use muster_core::host::{self, Host, Shown};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::body::REPLY_LIMIT;
use super::problem::Problem;
use crate::app::App;

/// The owner's name in every answer: there is one operator.
pub const USER: &str = "admin";

/// Operations of people.
pub fn user_routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(get::get_host))
        .routes(routes!(update::update_host))
        .routes(routes!(delete::delete_host))
        .routes(routes!(installer_args::update_installer_args))
        .routes(routes!(
            ignition::update_host_ignition,
            ignition::get_host_ignition
        ))
        .routes(routes!(reset_validation::reset_host_validation))
        .routes(routes!(bind::bind_host))
        .routes(routes!(unbind::unbind_host))
        .routes(routes!(install::install_host))
        .routes(routes!(reset::reset_host))
        .routes(routes!(settle_identity::settle_identity))
}

/// Operations of people and of the InfraEnv's hosts.
pub fn shared_routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(list::list_hosts))
        .routes(routes!(ignition::download_host_ignition))
}

/// Operations of hosts.
pub fn agent_routes() -> OpenApiRouter<Arc<App>> {
    let replies = OpenApiRouter::new()
        .routes(routes!(reply::post_step_reply))
        .layer(DefaultBodyLimit::max(REPLY_LIMIT));
    OpenApiRouter::new()
        .routes(routes!(register::register_host))
        .routes(routes!(instructions::get_next_steps))
        .routes(routes!(logs_progress::update_host_logs_progress))
        .routes(routes!(progress::update_progress))
        .merge(replies)
}

/// The host as `GET` answers it.
pub async fn view(app: &App, found: &Host) -> Result<HostView, Problem> {
    let kube = app.infra_envs.belongs_to_kube(found.infra_env_id).await?;
    let seen = app.check_ins.last((found.infra_env_id, found.id));
    Ok(host::view(
        found,
        Shown {
            last_seen: seen.as_ref().map(|seen| seen.at),
            host_clock: seen.as_ref().and_then(|seen| seen.host_clock),
            user: USER,
            kube,
        },
    ))
}

/// The host as actions answer it: the protocol's first implementation does not work out its stages there.
async fn acted_on(app: &App, found: &Host) -> Result<HostView, Problem> {
    Ok(HostView {
        progress_stages: None,
        ..view(app, found).await?
    })
}

fn unknown(infra_env_id: InfraEnvId, host_id: HostId) -> Problem {
    Problem::not_found(format!("host {host_id} in infra_env {infra_env_id}"))
}
