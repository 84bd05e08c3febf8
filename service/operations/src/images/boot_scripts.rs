//! Makes the files with which machines boot: iPXE scripts, the discovery ignition and the configuration in an image.

use muster_api::ids::HostId;
use muster_api::live::LiveConfig;
use muster_api::node_agent::NodeAgentConfig;
use muster_core::record::{InfraEnv, Secret};
use muster_core::rules::ignition::{AgentSettings, DiscoveryError, discovery};
use muster_core::rules::live_config::{of_agent, of_live_image};
use muster_core::rules::stages::boots_from_disk;
use muster_ipxe::{BootScript, MacAddress, OnFailure, ScriptError, System, redirect_script};
use muster_store::StoreError;

use crate::chain;
use crate::images::discovery::{DiscoveryImage, DiscoveryImageUnavailable};
use crate::now;
use crate::operations::Operations;

/// There is no iPXE script for a machine.
#[derive(Debug, thiserror::Error)]
pub enum NoScript {
    /// An installed host boots from its disk.
    #[error(
        "host {host} ({mac}) is installed and boots from its disk; unbind it to discover it again. A script for it was not found"
    )]
    Installed {
        /// The host.
        host: HostId,
        /// Its network card.
        mac: MacAddress,
    },
    /// Several hosts have the card.
    #[error(
        "several hosts have a card with the address {mac}, so it is not known which of them sends the request: {}. Delete those that are gone",
        list(hosts)
    )]
    Ambiguous {
        /// These hosts.
        hosts: Vec<HostId>,
        /// Their network card.
        mac: MacAddress,
    },
    /// A setting of the InfraEnv that no script can hold.
    #[error("no iPXE script can be made: {0}")]
    Unusable(#[from] ScriptError),
    /// There is no image that the machine could boot.
    #[error("{}", chain(.0))]
    Unavailable(#[from] DiscoveryImageUnavailable),
    /// The database.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The parts of a discovery ignition that are not readable by all.
#[derive(Debug, Clone, Copy)]
pub struct IgnitionPart {
    /// The InfraEnv's credentials for registries. No machine that boots the live image needs them.
    pub pull_secret: bool,
    /// The users' override.
    pub overrides: bool,
    /// Static networks; for the minimal ISO and iPXE, the initramfs has them.
    pub networks: bool,
}

fn list(hosts: &[HostId]) -> String {
    let ids: Vec<String> = hosts.iter().map(HostId::to_string).collect();
    ids.join(", ")
}

impl Operations {
    /// The iPXE script that boots the discovery image.
    pub async fn boot_script(&self, infra_env: &InfraEnv, on_failure: OnFailure) -> Result<String, NoScript> {
        let image = self.discovery.of(infra_env).await?;
        let rootfs_url = self.urls.short_rootfs(infra_env);
        let arguments = infra_env.kernel_arguments();
        let own = match &image {
            DiscoveryImage::Muster(live) => live.image.kargs.default_arguments_before(&arguments),
            DiscoveryImage::CoreOs(_) => String::new(),
        };
        let script = BootScript {
            kernel_url: &self.urls.kernel(infra_env),
            initrd_url: &self.urls.initrd(infra_env),
            system: match &image {
                DiscoveryImage::Muster(_) => System::Muster {
                    default_arguments: &own,
                },
                DiscoveryImage::CoreOs(_) => System::CoreOs {
                    rootfs_url: &rootfs_url,
                },
            },
            kernel_arguments: &arguments,
            on_failure,
        };
        Ok(script.render()?)
    }

    /// Boots the discovery image on the machine with this MAC, unless it is installed: without a script its firmware
    /// continues with the next boot device, its disk. Source: docs/protocol/rest-behaviour.md#4.2.
    pub async fn boot_script_for(
        &self,
        infra_env: &InfraEnv,
        mac: MacAddress,
        on_failure: OnFailure,
    ) -> Result<String, NoScript> {
        let hosts = self
            .store
            .find_hosts_by_mac(Some(infra_env.id), &mac.to_string())
            .await?;
        match hosts.as_slice() {
            [host] if boots_from_disk(&host.state, &host.data) => {
                return Err(NoScript::Installed { host: host.id, mac });
            }
            [] | [_] => {}
            several => {
                let hosts = several.iter().map(|host| host.id).collect();
                return Err(NoScript::Ambiguous { hosts, mac });
            }
        }
        tracing::debug!(infra_env.id = %infra_env.id, %mac, "a machine requests its boot script");
        self.boot_script(infra_env, on_failure).await
    }

    /// The iPXE script that requests the script of the machine's MAC.
    pub fn redirect_script(&self, infra_env: &InfraEnv) -> Result<String, NoScript> {
        let token = self.auth.url_token(infra_env, now()).token;
        let url = self
            .urls
            .signed_file(infra_env, "ipxe-script", None, token.as_deref());
        Ok(redirect_script(&url, OnFailure::Leave)?)
    }

    /// The same below `/boot/ID`, for firmware: a short outage of the service does not make hosts boot from their
    /// disks.
    pub fn short_redirect_script(&self, infra_env: &InfraEnv) -> Result<String, NoScript> {
        Ok(redirect_script(
            &self.urls.boot_script(infra_env, false),
            OnFailure::Retry,
        )?)
    }

    /// The discovery ignition, for CoreOS.
    ///
    /// # Errors
    /// If the InfraEnv's override cannot be merged; the text holds the reason.
    pub fn discovery_ignition(
        &self,
        infra_env: &InfraEnv,
        part: IgnitionPart,
    ) -> Result<String, DiscoveryError> {
        let mut told = infra_env.clone();
        if !part.pull_secret {
            told.settings.pull_secret = Secret::default();
        }
        if !part.overrides {
            told.settings.ignition_config_override.clear();
        }
        let token = self.auth.infra_env_token(infra_env).map(Secret::new);
        let settings = AgentSettings {
            service_url: &self.urls.public,
            token: token.as_ref(),
            ca_pem: &self.image_options.service_ca(),
            programs: &self.agent_programs(),
            networks: part.networks,
        };
        discovery(&told, &settings)
    }

    /// The configuration of the agent on an installed node.
    pub fn node_agent_config(&self, infra_env: &InfraEnv, host_id: HostId) -> NodeAgentConfig {
        let live = self.configuration(infra_env, of_agent);
        NodeAgentConfig {
            service_url: live.service_url,
            infra_env_id: live.infra_env_id,
            host_id,
            token: live.token,
            ca_certificates: live.ca_certificates,
            proxy: live.proxy,
        }
    }

    /// The configuration in an InfraEnv's image.
    pub fn live_config(&self, infra_env: &InfraEnv) -> LiveConfig {
        self.configuration(infra_env, of_live_image)
    }

    fn configuration(
        &self,
        infra_env: &InfraEnv,
        of: fn(&InfraEnv, &str, Option<&str>, &str) -> LiveConfig,
    ) -> LiveConfig {
        let token = self.auth.infra_env_token(infra_env);
        let service_ca = self.image_options.service_ca();
        of(infra_env, &self.urls.public, token.as_deref(), &service_ca)
    }
}
