//! `reboot-for-reclaim`: restarts the machine into the artifacts of `download-boot-artifacts`. Source:
//! docs/protocol/agent-protocol.md#6 and #6.1.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use muster_api::steps::RebootForReclaimRequest;

use crate::boot_artifacts::Boot;
use crate::host::restart::Way;
use crate::step::{Running, StepError, StepHandler, StepOutput, StepType, one_argument, reply};

const NAME: StepType = StepType::RebootForReclaim;
/// Time for the reply to be sent.
const REPLY_FIRST: Duration = Duration::from_secs(2);

#[derive(Default)]
pub struct RebootForReclaim {
    at_root: bool,
}

impl RebootForReclaim {
    /// For an agent that runs on the node itself and not in a container of it.
    pub fn at_root() -> Self {
        Self { at_root: true }
    }
}

impl StepHandler for RebootForReclaim {
    fn step_type(&self) -> StepType {
        NAME
    }

    fn deadline(&self) -> Duration {
        Duration::from_secs(30)
    }

    fn run(&self, args: Vec<String>, running: Arc<Running>) -> BoxFuture<'static, StepOutput> {
        let until_reboot = Arc::clone(&running);
        let at_root = self.at_root;
        reply(running, async move {
            let mut request: RebootForReclaimRequest = one_argument(NAME, &args)?;
            if at_root {
                request.host_fs_mount_dir = "/".to_owned();
            }
            let comm = std::fs::read_to_string("/proc/1/comm").unwrap_or_default();
            let way = plan(&request, std::process::id() == 1, comm.trim())?;
            tracing::warn!(?way, "the service requests a reboot");
            go_after_reply(way, until_reboot);
            Ok(StepOutput::good(String::new()))
        })
    }
}

/// Restarts the machine when the reply was sent; the step runs until then.
pub(super) fn go_after_reply(way: Way, running: Arc<Running>) {
    tokio::spawn(async move {
        let _running = running;
        tokio::time::sleep(REPLY_FIRST).await;
        if let Err(error) = way.go() {
            tracing::error!("the reboot cannot be started: {error}");
        }
    });
}

fn plan(request: &RebootForReclaimRequest, process_one: bool, comm: &str) -> Result<Way, StepError> {
    if process_one {
        return Ok(Way::Ourselves);
    }
    let boot = Boot::of(&request.host_fs_mount_dir).map_err(|error| StepError(error.to_string()))?;
    if !boot.is_prepared() {
        return Err(StepError::of(
            NAME,
            "no boot artifacts are in place, so a reboot would start the installed system again; \
             let download-boot-artifacts succeed first",
        ));
    }
    Way::of(process_one, comm).map_err(|reason| StepError::of(NAME, reason))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(place: &str) -> RebootForReclaimRequest {
        RebootForReclaimRequest {
            host_fs_mount_dir: place.to_owned(),
        }
    }

    #[test]
    fn a_live_image_reboots_itself() {
        assert_eq!(plan(&request(""), true, "muster-agent"), Ok(Way::Ourselves));
    }

    #[test]
    fn an_installed_node_reboots_when_it_is_prepared_and_systemd_is_there() {
        let root = tempfile::tempdir().unwrap();
        let place = root.path().to_str().unwrap();
        assert!(plan(&request(place), false, "systemd").is_err());
        std::fs::create_dir(root.path().join("boot")).unwrap();
        let error = plan(&request(place), false, "systemd").unwrap_err().to_string();
        assert!(error.contains("download-boot-artifacts"), "{error}");
        let boot = Boot::of(place).unwrap();
        boot.open().unwrap();
        std::fs::write(boot.kernel(), "k").unwrap();
        std::fs::write(boot.initrd(), "i").unwrap();
        boot.write_entry("", &[]).unwrap();
        assert_eq!(plan(&request(place), false, "systemd"), Ok(Way::Systemd));
        let error = plan(&request(place), false, "pause").unwrap_err().to_string();
        assert!(error.contains("hostPID"), "{error}");
    }
}
