//! Hosts: one file an operation.

mod agents;
mod approve;
mod bind;
mod delete;
mod get;
mod history;
mod ignition;
mod install;
mod installer_args;
mod list;
mod quarantine;
mod reset;
mod reset_validation;
mod search;
mod settle_identity;
mod sleep;
mod unbind;
mod update;

use axum::extract::DefaultBodyLimit;
use muster_http::Allowed;
use muster_http::body::REPLY_LIMIT;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::state::Rest;

use self::agents::{agent_program, instructions, logs_progress, progress, register, reply};

pub use self::agents::turn;

/// The operations outside the protocol, for operators.
pub fn additions() -> OpenApiRouter<Rest> {
    OpenApiRouter::new()
        .routes(routes!(approve::approve_host))
        .routes(routes!(approve::revoke_approval))
        .routes(routes!(quarantine::forget_failures))
        .routes(routes!(quarantine::retry_erasure))
        .routes(routes!(quarantine::skip_erasure))
        .routes(routes!(sleep::sleep_host))
        .routes(routes!(sleep::wake_host))
}

/// The operations outside the protocol, for users of any scope.
pub fn scoped_additions() -> OpenApiRouter<Rest> {
    OpenApiRouter::new().routes(routes!(search::search_hosts))
}

/// The operations of these callers.
pub fn routes(allowed: Allowed) -> OpenApiRouter<Rest> {
    let routes = OpenApiRouter::new();
    match allowed {
        Allowed::User => routes
            .routes(routes!(get::get_host))
            .routes(routes!(history::list_host_history))
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
            .routes(routes!(settle_identity::settle_identity)),
        Allowed::Agent => {
            let replies = OpenApiRouter::new()
                .routes(routes!(reply::post_step_reply))
                .layer(DefaultBodyLimit::max(REPLY_LIMIT));
            routes
                .routes(routes!(register::register_host))
                .routes(routes!(instructions::get_next_steps))
                .routes(routes!(agent_program::download_agent_program))
                .routes(routes!(logs_progress::update_host_logs_progress))
                .routes(routes!(progress::update_progress))
                .merge(replies)
        }
        Allowed::UserOrAgent => routes
            .routes(routes!(list::list_hosts))
            .routes(routes!(ignition::download_host_ignition)),
        Allowed::Scoped | Allowed::Session | Allowed::UserOrUrl | Allowed::All => routes,
    }
}
