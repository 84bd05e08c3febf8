//! iPXE scripts of an InfraEnv.

use muster_api::host::HostStatus;
use muster_core::host::stages::has_agent;
use muster_core::infra_env::InfraEnv;
use muster_ipxe::{BootScript, MacAddress, ScriptError, System, redirect_script as redirect};

use muster_store::HostBrief;

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

/// Boots the live image on the machine with this MAC, unless it is installed: then there is no script (404), and its firmware goes on
/// to the next boot device, its disk. Source: docs/protocol/rest-behaviour.md#4.2.
pub async fn boot_script_for(app: &App, infra_env: &InfraEnv, mac: &str) -> Result<String, Problem> {
    let mac: MacAddress = mac
        .parse()
        .map_err(|error: muster_ipxe::MacError| Problem::bad_request(error.to_string()))?;
    let hosts = app
        .store
        .find_hosts_by_mac(infra_env.id, &mac.to_string())
        .await?;
    match hosts.as_slice() {
        [] => {}
        [host] if is_installed(host) => {
            return Err(Problem::not_found(format!(
                "host {} ({mac}) is installed and boots from its disk; unbind it to discover it again. A script for it",
                host.id
            )));
        }
        [_] => {}
        several => {
            let ids: Vec<String> = several.iter().map(|host| host.id.to_string()).collect();
            return Err(Problem::conflict(format!(
                "several hosts have a card with the address {mac}, so nobody knows which of them asks: {}. Delete those that are gone",
                ids.join(", ")
            )));
        }
    }
    tracing::debug!(infra_env.id = %infra_env.id, %mac, "a machine asks for its boot script");
    boot_script(app, infra_env).await
}

/// Its disk holds what it is to run.
fn is_installed(host: &HostBrief) -> bool {
    match host.state.status() {
        HostStatus::AddedToExistingCluster | HostStatus::Installed => true,
        HostStatus::InstallingInProgress => !has_agent(&host.data),
        _ => false,
    }
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
