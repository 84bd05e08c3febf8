//! Sessions of operators in browsers: how they begin and end. They are no part of the v2 protocol, so they have paths of their own.

mod begin;
mod current;
mod link;
mod visitor;

use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::state::Rest;

/// The operation that needs no credential but a link.
pub fn sign_in_route() -> OpenApiRouter<Rest> {
    OpenApiRouter::new().routes(routes!(begin::begin_session))
}

/// The operations of operators with any scope.
pub fn routes() -> OpenApiRouter<Rest> {
    OpenApiRouter::new()
        .routes(routes!(current::get_session, current::end_session))
        .routes(routes!(link::add_session_link))
}
