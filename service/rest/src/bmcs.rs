//! BMCs through which machines are discovered. They are no part of the v2 protocol, so they have a path of their own.

mod all;
mod change;
mod create;
mod discovery;
mod import;
mod power;
mod read;

use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::state::Rest;

/// The operation of operators with any scope.
pub fn scoped_routes() -> OpenApiRouter<Rest> {
    OpenApiRouter::new().routes(routes!(all::list_all_bmcs))
}

/// The other operations, for operators only.
pub fn routes() -> OpenApiRouter<Rest> {
    OpenApiRouter::new()
        .routes(routes!(create::create_bmc, read::list_bmcs))
        .routes(routes!(import::import_bmcs))
        .routes(routes!(read::get_bmc, change::update_bmc, change::delete_bmc))
        .routes(routes!(discovery::discover_bmc))
        .routes(routes!(discovery::stop_bmc))
        .routes(routes!(power::power_bmc))
}
