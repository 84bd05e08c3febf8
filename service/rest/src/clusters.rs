//! Clusters that hosts are added to: one file an operation. Operations that serve only the installation of a new cluster are refused by
//! [`day1`].

mod day1;
mod default_config;
mod delete;
mod get;
mod hosts;
mod ignored_validations;
mod import;
mod list;
mod regenerate_signing_key;
mod ui_settings;
mod update;

use muster_http::Allowed;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::state::Rest;

/// The operations of these callers.
pub fn routes(allowed: Allowed) -> OpenApiRouter<Rest> {
    let routes = day1::routes(allowed);
    match allowed {
        Allowed::User => routes
            .routes(routes!(import::import_cluster))
            .routes(routes!(list::list_clusters))
            .routes(routes!(update::update_cluster))
            .routes(routes!(delete::delete_cluster))
            .routes(routes!(regenerate_signing_key::regenerate_cluster_signing_key))
            .routes(routes!(default_config::get_default_config))
            .routes(routes!(ignored_validations::get_ignored_validations))
            .routes(routes!(ignored_validations::set_ignored_validations))
            .routes(routes!(ui_settings::get_ui_settings))
            .routes(routes!(ui_settings::update_ui_settings)),
        Allowed::UserOrAgent => routes
            .routes(routes!(get::get_cluster))
            .routes(routes!(hosts::list_cluster_hosts)),
        Allowed::Scoped | Allowed::Session | Allowed::Agent | Allowed::UserOrUrl | Allowed::All => routes,
    }
}
