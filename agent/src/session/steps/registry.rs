//! The registry of steps by name.

use std::collections::HashMap;
use std::sync::Arc;

use super::{
    api_vip, boot_artifacts, connectivity, domains, erase, health, install, inventory, logs, ntp, reboot,
    reboot_node, tang, upgrade,
};
use crate::erase::erasures::Erasures;
use crate::foreign::steps::{disk_speed, free_addresses, images, vips};
use crate::install::control::Control;
use crate::step::{Dependencies, StepHandler, StepType};

pub struct Registry {
    handlers: HashMap<StepType, Arc<dyn StepHandler>>,
}

impl Registry {
    pub fn new(handlers: Vec<Arc<dyn StepHandler>>) -> Self {
        Self {
            handlers: handlers
                .into_iter()
                .map(|handler| (handler.step_type(), handler))
                .collect(),
        }
    }

    /// Every step that this agent can run.
    pub fn standard(dependencies: &Dependencies) -> Self {
        let control = Arc::<Control>::default();
        let erasures = Arc::new(Erasures::new(
            Arc::new(crate::erase::of_machine),
            dependencies.erasure.clone(),
        ));
        let install = install::Install::of_machine(dependencies, Arc::clone(&control));
        let (erasing, installing) = (Arc::clone(&erasures), Arc::clone(&control));
        let is_busy = Box::new(move || erasing.is_running() || installing.is_running());
        Self::new(vec![
            Arc::new(inventory::InventoryStep::new(dependencies.devices.clone())),
            Arc::new(health::HealthStep::new(is_busy)),
            Arc::new(ntp::NtpSynchronizer::new(dependencies.time.clone())),
            Arc::new(connectivity::ConnectivityCheck),
            Arc::new(free_addresses::FreeNetworkAddresses),
            Arc::new(vips::VerifyVips),
            Arc::new(domains::DomainResolution::new(dependencies.names.clone())),
            Arc::new(api_vip::ApiVipConnectivityCheck::new(dependencies.names.clone())),
            Arc::new(disk_speed::DiskSpeedCheck),
            Arc::new(images::ImageAvailability::new(dependencies)),
            Arc::new(tang::TangConnectivity::new(dependencies)),
            Arc::new(logs::LogsGather::new(dependencies)),
            Arc::new(upgrade::UpgradeAgent::new(dependencies)),
            Arc::new(install.after(Arc::clone(&erasures))),
            Arc::new(install::StopInstallation::new(control)),
            Arc::new(boot_artifacts::DownloadBootArtifacts::new(dependencies)),
            Arc::new(reboot::RebootForReclaim::default()),
            Arc::new(erase::EraseDisks::new(dependencies.devices.clone(), erasures)),
        ])
    }

    /// The steps of an installed node: the steps that bring it back into discovery, its reboot, and its logs. Never one that
    /// erases disks.
    pub fn of_node(dependencies: &Dependencies) -> Self {
        Self::new(vec![
            Arc::new(boot_artifacts::DownloadBootArtifacts::new(dependencies).at_root()),
            Arc::new(reboot::RebootForReclaim::at_root()),
            Arc::new(reboot_node::RebootNode),
            Arc::new(logs::LogsGather::new(dependencies)),
        ])
    }

    /// Ends what steps left running in the background.
    pub fn end(&self) {
        for handler in self.handlers.values() {
            handler.end();
        }
    }

    pub fn get(&self, name: &str) -> Option<(StepType, Arc<dyn StepHandler>)> {
        self.handlers
            .iter()
            .find(|(step, _)| step.name() == name)
            .map(|(step, handler)| (*step, Arc::clone(handler)))
    }
}
