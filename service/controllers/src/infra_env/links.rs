//! Builds the addresses in an InfraEnv's status. Those for firmware are short; the others are the same as in REST.

use muster_api::time::Timestamp;
use muster_core::record::InfraEnv;
use muster_operations::Operations;
use muster_resources::InfraEnvStatus;

/// Addresses of the artifacts of an InfraEnv.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Links {
    /// The discovery ISO.
    pub iso: String,
    /// Kernel of the live image.
    pub kernel: String,
    /// Initramfs with the InfraEnv's configuration.
    pub initrd: String,
    /// Root file system, for images that need it in addition to kernel and initramfs.
    pub rootfs: String,
    /// iPXE script, in the short form that DHCP can carry.
    pub ipxe_script: String,
    /// Discovery ignition.
    pub discovery_ignition: String,
    /// Events.
    pub events: String,
    /// Static network configuration as files.
    pub static_network: String,
}

/// Returns the present addresses. A token in the addresses of `before` is kept while it is valid for long enough: a new one
/// would look like a new image.
pub fn links(
    operations: &Operations,
    infra_env: &InfraEnv,
    boot_order_control: bool,
    before: Option<&InfraEnvStatus>,
    now: Timestamp,
) -> Links {
    let known = before.and_then(|status| status.debug_info.as_ref()?.events_url.as_deref());
    let token = operations.auth.kept_url_token(infra_env, known, now);
    let token = token.as_deref();
    let file = |name: &str| operations.urls.signed_file(infra_env, name, None, token);
    Links {
        iso: operations.urls.iso(infra_env),
        kernel: operations.urls.kernel(infra_env),
        initrd: operations.urls.initrd(infra_env),
        rootfs: operations.urls.rootfs(infra_env),
        ipxe_script: operations.urls.boot_script(infra_env, boot_order_control),
        discovery_ignition: file("discovery.ign"),
        events: operations.urls.events("infra_env_id", infra_env.id, token),
        static_network: file("static-network-config"),
    }
}
