//! Clusters that hosts are added to: one file an operation. What only the installation of a new cluster needs is refused by
//! [`day1`].

mod day1;
mod default_config;
mod delete;
mod get;
mod hosts;
mod ignored_validations;
mod import;
mod list;
mod update;

use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::state::Rest;

/// Operations of people.
pub fn user_routes() -> OpenApiRouter<Rest> {
    OpenApiRouter::new()
        .routes(routes!(import::import_cluster))
        .routes(routes!(list::list_clusters))
        .routes(routes!(update::update_cluster))
        .routes(routes!(delete::delete_cluster))
        .routes(routes!(default_config::get_default_config))
        .routes(routes!(ignored_validations::get_ignored_validations))
        .routes(routes!(ignored_validations::set_ignored_validations))
        .merge(day1::user_routes())
}

/// Operations of people and of hosts of the cluster.
pub fn shared_routes() -> OpenApiRouter<Rest> {
    OpenApiRouter::new()
        .routes(routes!(get::get_cluster))
        .routes(routes!(hosts::list_cluster_hosts))
        .merge(day1::shared_routes())
}

/// Operations of hosts.
pub fn agent_routes() -> OpenApiRouter<Rest> {
    day1::agent_routes()
}

/// Operations of everybody with any token.
pub fn open_routes() -> OpenApiRouter<Rest> {
    day1::open_routes()
}
