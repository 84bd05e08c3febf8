//! Holds the state of handlers, part by part.

use std::sync::Arc;

use axum::extract::FromRef;
use metrics_exporter_prometheus::PrometheusHandle;
use muster_http::SessionCookie;
use muster_operations::Operations;
use muster_operations::audit::Audit;
use muster_operations::auth::{Auth, OperatorTokens, Sessions};
use muster_operations::bmcs::Bmcs;
use muster_operations::clusters::Clusters;
use muster_operations::events::Events;
use muster_operations::hosts::Hosts;
use muster_operations::infra_envs::InfraEnvs;
use muster_operations::urls::Urls;

use crate::scopes::Scopes;

/// The state of the router. A handler names the parts that it uses: `State(hosts): State<Arc<Hosts>>`.
#[derive(Clone)]
pub struct Rest {
    /// All operations.
    pub operations: Arc<Operations>,
    /// Renders `/metrics`.
    pub metrics: PrometheusHandle,
    /// The path of the page for browsers, if there is one.
    pub page: Option<&'static str>,
}

macro_rules! part {
    ($part:ty, $rest:ident => $value:expr) => {
        impl FromRef<Rest> for $part {
            fn from_ref($rest: &Rest) -> Self {
                $value
            }
        }
    };
}

part!(Arc<Operations>, rest => rest.operations.clone());
part!(Arc<Hosts>, rest => rest.operations.hosts.clone());
part!(Arc<InfraEnvs>, rest => rest.operations.infra_envs.clone());
part!(Arc<Bmcs>, rest => rest.operations.bmcs.clone());
part!(Arc<Clusters>, rest => rest.operations.clusters.clone());
part!(Arc<Auth>, rest => rest.operations.auth.clone());
part!(Arc<Urls>, rest => rest.operations.urls.clone());
part!(Events, rest => rest.operations.events.clone());
part!(Arc<Audit>, rest => rest.operations.audit.clone());
part!(OperatorTokens, rest => rest.operations.operator_tokens.clone());
part!(Sessions, rest => rest.operations.sessions.clone());
part!(SessionCookie, rest => SessionCookie::of(&rest.operations.urls));
part!(Scopes, rest => Scopes::of(&rest.operations));
part!(PrometheusHandle, rest => rest.metrics.clone());
