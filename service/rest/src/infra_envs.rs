//! InfraEnvs: one file an operation.

mod booting;
mod connectivity;
mod create;
mod delete;
mod files;
mod get;
mod image_url;
mod list;
mod minimal_initrd;
mod presigned;
mod regenerate_agent_token;
mod regenerate_signing_key;
mod update;

use muster_http::Allowed;
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouter};
use utoipa_axum::routes;

use crate::state::Rest;

/// The operations outside the protocol, for users.
pub fn additions() -> OpenApiRouter<Rest> {
    OpenApiRouter::new().routes(routes!(connectivity::get_connectivity))
}

/// The operations of these callers.
pub fn routes(allowed: Allowed) -> OpenApiRouter<Rest> {
    let routes = OpenApiRouter::new();
    match allowed {
        Allowed::User => routes
            .routes(routes!(create::create_infra_env))
            .routes(routes!(list::list_infra_envs))
            .routes(routes!(booting::list_booting_machines))
            .routes(routes!(update::update_infra_env))
            .routes(routes!(delete::delete_infra_env))
            .routes(routes!(image_url::get_image_url))
            .routes(routes!(presigned::get_presigned_file_url))
            .routes(routes!(regenerate_signing_key::regenerate_signing_key))
            .routes(routes!(regenerate_agent_token::regenerate_agent_token)),
        Allowed::UserOrUrl => routes.routes(routes!(minimal_initrd::download_minimal_initrd)),
        Allowed::All => routes.routes(routes!(get::get_infra_env)).routes(files_route()),
        Allowed::Scoped | Allowed::Session | Allowed::Agent | Allowed::UserOrAgent => routes,
    }
}

/// `downloads/files`, which the boot listener serves as well.
pub fn files_route() -> UtoipaMethodRouter<Rest> {
    routes!(files::download_file)
}
