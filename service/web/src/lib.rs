//! The web page: HTML of what REST answers to the same visitor.
//!
//! Each page sends its own requests to the router of REST, in this process, with the visitor's cookie: so gate, scopes and audit hold as for
//! every other client, and the page can do nothing that its visitor cannot. All reading and all single actions work without JavaScript.

mod bmcs;
mod clusters;
mod events;
mod files;
mod headers;
mod host;
mod hosts;
mod html;
mod jobs;
mod logs;
mod notice;
mod overview;
mod pictures;
mod pools;
mod rest;
mod search;
mod service;
mod sign_in;
mod words;

use axum::Router;
use axum::middleware;
use axum::response::Redirect;
use axum::routing::{any, get, post};
use tower_http::CompressionLevel;
use tower_http::compression::CompressionLayer;

pub use bmcs::{BmcTable, ReadBmcs};
use html::OVERVIEW;
pub use html::{OVERVIEW as PAGE, SIGN_IN};
use notice::NoticeCookie;
use rest::{Page, Rest, shown};

/// The routes of the page, below `/ui`. `api`: the routes of REST, with their gate; `is_https`: the scheme of the service's URL; `read_bmcs`: reads
/// tables of BMCs that are pasted.
pub fn pages(api: Router, is_https: bool, read_bmcs: ReadBmcs) -> Router {
    let cookie = match is_https {
        true => NoticeCookie::Https,
        false => NoticeCookie::Http,
    };
    let to_overview = || async { Redirect::to(OVERVIEW) };
    Router::new()
        .route("/ui", get(to_overview))
        .route(OVERVIEW, get(Page(|visitor| shown(overview::show(visitor)))))
        .route("/ui/hosts", get(Page(|visitor| shown(hosts::list(visitor)))))
        .route("/ui/hosts/{infra_env_id}/{host_id}", get(host::show))
        .route("/ui/hosts/{infra_env_id}/{host_id}/{action}", post(host::act))
        .route(
            bmcs::BMCS,
            get(Page(|visitor| shown(bmcs::list(visitor)))).post(bmcs::add),
        )
        .route("/ui/bmcs/{infra_env_id}/{bmc_id}", get(bmcs::show))
        .route("/ui/bmcs/{infra_env_id}/{bmc_id}/{action}", post(bmcs::act))
        .route(events::ADDRESS, get(Page(|visitor| shown(events::list(visitor)))))
        .route(html::JOBS, get(Page(|visitor| shown(jobs::list(visitor)))))
        .route(
            "/ui/jobs/plan",
            get(Page(|visitor| shown(jobs::begin(visitor)))).post(jobs::plan),
        )
        .route("/ui/jobs/{job_id}", get(jobs::show))
        .route("/ui/jobs/{job_id}/{action}", post(jobs::act))
        .route(
            html::POOLS,
            get(Page(|visitor| shown(pools::list(visitor)))).post(pools::add),
        )
        .route("/ui/pools/{infra_env_id}", get(pools::show))
        .route("/ui/pools/{infra_env_id}/qr.svg", get(pools::qr))
        .route("/ui/pools/{infra_env_id}/{action}", post(pools::act))
        .route("/ui/matrix/{infra_env_id}", get(pictures::matrix::show))
        .route(
            pictures::LINKS,
            get(Page(|visitor| shown(pictures::links::show(visitor)))),
        )
        .route(
            "/ui/timeline/{infra_env_id}/{host_id}",
            get(pictures::timeline::show),
        )
        .route(
            html::CLUSTERS,
            get(Page(|visitor| shown(clusters::list(visitor)))).post(clusters::add),
        )
        .route("/ui/clusters/{cluster_id}", get(clusters::show))
        .route("/ui/node-pools/{namespace}/{name}", get(clusters::show_pool))
        .route(
            service::ADDRESS,
            get(Page(|visitor| shown(service::show(visitor)))),
        )
        .route("/ui/service/{action}", post(service::act))
        .route("/ui/logs/{infra_env_id}/{host_id}", get(logs::show))
        .route("/ui/search", get(Page(|visitor| shown(search::page(visitor)))))
        .route("/ui/search/hits", get(search::hits))
        .route(SIGN_IN, get(sign_in::form).post(sign_in::sign_in))
        .route(
            "/ui/sign-out",
            post(Page(|visitor| shown(sign_in::sign_out(visitor)))),
        )
        .route("/ui/static/{file}", get(files::file))
        .route("/ui/{*path}", any(html::not_found))
        .with_state(Rest::new(api, cookie, read_bmcs))
        .layer(middleware::map_response(headers::secure))
        // A list of a hundred hosts is written for each key in its filter: speed before size.
        .layer(CompressionLayer::new().quality(CompressionLevel::Fastest))
}
