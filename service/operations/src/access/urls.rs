//! Makes the URLs of the service.

use muster_api::boot::{BOOT_ORDER_SCRIPT, BOOT_SCRIPT, DISCOVERY_ISO, INITRD, KERNEL, ROOTFS};
use muster_api::ids::BmcId;
use muster_core::record::InfraEnv;
use url::form_urlencoded::Serializer;

/// The parts of a file's name below `/bmc`, which [`Urls::bmc_iso`] makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BmcFile<'a> {
    pub boot_id: &'a str,
    pub bmc_id: BmcId,
    /// The code in the name; valid if [`Auth::bmc_code`](crate::auth::Auth::bmc_code) makes the same for that BMC.
    pub code: &'a str,
    /// Tag of the image; `None`: the present one.
    pub tag: Option<&'a str>,
}

pub fn bmc_of_file(file: &str) -> Option<BmcFile<'_>> {
    let (boot_id, rest) = file.strip_suffix(".iso")?.split_once('-')?;
    let (named, tag) = match rest.split_once('-') {
        Some((named, tag)) => (named, Some(tag)),
        None => (rest, None),
    };
    let (id, code) = named.split_at_checked(32)?;
    Some(BmcFile {
        boot_id,
        bmc_id: id.parse().ok()?,
        code,
        tag,
    })
}

/// Base URLs, without trailing slash.
#[derive(Debug, Clone)]
pub struct Urls {
    /// The API, as hosts reach it.
    pub public: String,
    /// Boot artifacts, as firmware reaches them: always plain HTTP, for distribution iPXE has no TLS.
    pub boot: String,
}

impl Urls {
    /// Short, path-only, ends in `.iso`: suitable for BMCs and UEFI HTTP boot.
    pub fn iso(&self, infra_env: &InfraEnv) -> String {
        self.artifact(infra_env, DISCOVERY_ISO)
    }

    /// The same for one BMC, so that a request identifies the BMC; one folder deep, since some accept no more
    /// (docs/protocol/redfish.md#4). `code`: [`Auth::bmc_code`](crate::auth::Auth::bmc_code). `tag` names the image
    /// ([`Operations::medium_tag`](crate::Operations::medium_tag)).
    pub fn bmc_iso(&self, infra_env: &InfraEnv, (bmc_id, code): (BmcId, &str), tag: Option<&str>) -> String {
        let tag = tag.map(|tag| format!("-{tag}")).unwrap_or_default();
        format!(
            "{}/bmc/{}-{}{code}{tag}.iso",
            self.boot,
            infra_env.boot_id,
            bmc_id.0.simple()
        )
    }

    /// The kernel.
    pub fn kernel(&self, infra_env: &InfraEnv) -> String {
        self.artifact(infra_env, KERNEL)
    }

    /// The initramfs, followed by the InfraEnv's configuration.
    pub fn initrd(&self, infra_env: &InfraEnv) -> String {
        self.artifact(infra_env, INITRD)
    }

    /// The root file system of a CoreOS image, with upstream's name. The Muster live image needs none; the response is
    /// 404 with that reason then.
    pub fn rootfs(&self, infra_env: &InfraEnv) -> String {
        let query = Serializer::new(String::new())
            .append_pair("arch", infra_env.settings.cpu_architecture.name())
            .append_pair("version", &infra_env.settings.openshift_version)
            .finish();
        format!("{}/boot-artifacts/rootfs?{query}", self.boot)
    }

    /// The same, short enough for kernel lines, and without the characters that loaders interpret.
    pub fn short_rootfs(&self, infra_env: &InfraEnv) -> String {
        self.artifact(infra_env, ROOTFS)
    }

    /// The iPXE script that boots the live image, short enough for firmware: the boot file field of BOOTP holds 127
    /// characters, a DHCP option 255. With `boot_order_control` the script that requests another one with the machine's
    /// MAC.
    pub fn boot_script(&self, infra_env: &InfraEnv, boot_order_control: bool) -> String {
        let file = if boot_order_control {
            BOOT_ORDER_SCRIPT
        } else {
            BOOT_SCRIPT
        };
        self.artifact(infra_env, file)
    }

    /// Events about one thing: `filter` is `infra_env_id`, `cluster_id` or `host_id`.
    pub fn events(&self, filter: &str, id: impl std::fmt::Display, token: Option<&str>) -> String {
        let mut query = Serializer::new(String::new());
        if let Some(token) = token {
            query.append_pair("api_key", token);
        }
        query.append_pair(filter, &id.to_string());
        format!(
            "{}{}/events?{}",
            self.public,
            muster_api::BASE_PATH,
            query.finish()
        )
    }

    fn artifact(&self, infra_env: &InfraEnv, file: &str) -> String {
        format!("{}/boot/{}/{file}", self.boot, infra_env.boot_id)
    }

    /// `downloads/files?...` of an InfraEnv with its token, for clients that cannot send headers. The parameters are
    /// sorted by name and there is at least one, so that `&mac=` may be appended. Firmware uses it without TLS.
    pub fn signed_file(
        &self,
        infra_env: &InfraEnv,
        file_name: &str,
        ipxe_script_type: Option<&str>,
        token: Option<&str>,
    ) -> String {
        let mut query = Serializer::new(String::new());
        if let Some(token) = token {
            query.append_pair("api_key", token);
        }
        query.append_pair("file_name", file_name);
        if let Some(kind) = ipxe_script_type {
            query.append_pair("ipxe_script_type", kind);
        }
        let plain = self.public.starts_with("http://");
        let base = if plain || file_name != "ipxe-script" {
            &self.public
        } else {
            &self.boot
        };
        format!(
            "{base}{}/infra-envs/{}/downloads/files?{}",
            muster_api::BASE_PATH,
            infra_env.id,
            query.finish()
        )
    }
}

#[cfg(test)]
mod tests {
    use muster_api::ids::InfraEnvId;
    use muster_core::lifecycle::infra_env;
    use serde_json::json;

    use super::*;

    #[test]
    fn scripts_fit_into_the_boot_file_field_of_bootp() {
        let urls = Urls {
            public: "https://muster.provisioning.example.com".into(),
            boot: "http://muster.provisioning.example.com:8091".into(),
        };
        let params = json!({"name": "lab", "pull_secret": r#"{"auths":{"a":{"auth":"dTpw"}}}"#});
        let params = serde_json::from_value(params).unwrap();
        let at = "2026-11-22T12:00:00Z".parse().unwrap();
        let made = infra_env::create(params, InfraEnvId::random(), crate::random::boot_id(), at).unwrap();
        for boot_order_control in [false, true] {
            let url = urls.boot_script(&made, boot_order_control);
            assert!(url.len() <= 127, "{url}: {}", url.len());
            assert!(!url.contains(['?', '&']), "{url}");
        }
        let bmc_id = BmcId::random();
        for tag in [None, Some("0123abcd")] {
            let code = "abcdefg";
            assert_eq!(code.len(), crate::auth::BMC_CODE);
            let url = urls.bmc_iso(&made, (bmc_id, code), tag);
            assert!(url.len() < 128 && url.ends_with(".iso"), "{url}");
            let file = url.rsplit('/').next().unwrap();
            let boot_id = made.boot_id.as_str();
            assert_eq!(
                bmc_of_file(file),
                Some(BmcFile {
                    boot_id,
                    bmc_id,
                    code,
                    tag
                })
            );
        }
        for other in ["discovery.iso", "initrd.img", "a-zz.iso"] {
            assert_eq!(bmc_of_file(other), None);
        }
    }
}
