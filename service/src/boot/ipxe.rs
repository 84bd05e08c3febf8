//! iPXE scripts of an InfraEnv.

use muster_core::infra_env::InfraEnv;
use muster_ipxe::{BootScript, MacAddress, ScriptError, System, redirect_script as redirect};

use super::artifact::kernel_arguments;
use crate::app::App;
use crate::http::problem::Problem;

/// Boots the live image.
pub async fn boot_script(app: &App, infra_env: &InfraEnv) -> Result<String, Problem> {
    let live = app.live_images.current().await?;
    let script = BootScript {
        kernel_url: &app.urls.kernel(infra_env),
        initrd_url: &app.urls.initrd(infra_env),
        system: System::Muster {
            default_arguments: &live.image.kargs.default,
        },
        kernel_arguments: &kernel_arguments(infra_env),
    };
    script.render().map_err(unusable)
}

/// Boots the live image on the machine with this MAC. Every host of a pool may be discovered again.
pub async fn boot_script_for(app: &App, infra_env: &InfraEnv, mac: &str) -> Result<String, Problem> {
    let mac: MacAddress = mac
        .parse()
        .map_err(|error: muster_ipxe::MacError| Problem::bad_request(error.to_string()))?;
    tracing::debug!(infra_env.id = %infra_env.id, %mac, "a machine asks for its boot script");
    boot_script(app, infra_env).await
}

/// Comes back with the MAC of the machine.
pub fn redirect_script(app: &App, infra_env: &InfraEnv) -> Result<String, Problem> {
    let token = app.auth.url_token(infra_env, app.now()).token;
    redirect(
        &app.urls
            .signed_file(infra_env, "ipxe-script", None, token.as_deref()),
    )
    .map_err(unusable)
}

fn unusable(error: ScriptError) -> Problem {
    Problem::conflict(format!("no iPXE script can be made: {error}"))
}
