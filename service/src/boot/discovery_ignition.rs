//! `discovery.ign` for those who boot a CoreOS image by their own means.

use http::StatusCode;
use muster_core::ignition::{AgentSettings, discovery};
use muster_core::infra_env::InfraEnv;
use muster_core::secret::Secret;

use crate::app::App;
use crate::http::problem::Problem;

/// The JSON text.
pub fn render(app: &App, infra_env: &InfraEnv) -> Result<String, Problem> {
    let token = app.auth.infra_env_token(infra_env).map(Secret::new);
    let settings = AgentSettings {
        service_url: &app.urls.public,
        token: token.as_ref(),
        ca_pem: &app.service_ca,
    };
    discovery(infra_env, &settings).map_err(|error| Problem::Handler(StatusCode::CONFLICT, error.to_string()))
}
