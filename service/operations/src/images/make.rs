//! Makes the images and boot artifacts of InfraEnvs.

use std::sync::Arc;
use std::time::SystemTime;

use muster_core::record::InfraEnv;
use muster_core::rules::ignition::{AgentProgram, DiscoveryError, NETWORK_UNIT, network_files, network_unit};
use muster_core::rules::input::Invalid;
use muster_image::{
    CoreOsCustomisation, CoreOsCustomiseError, CoreOsImage, Customisation, CustomiseError, ImageBytes,
    InitrdContent, InitrdFile,
};

use crate::Operations;
use crate::images::boot_scripts::IgnitionPart;
use crate::images::cache::{ImageForm, Made};
use crate::images::discovery::DiscoveryImage;
use crate::images::live::OpenLiveImage;

/// No image can be made for an InfraEnv. The texts hold the remedy.
#[derive(Debug, thiserror::Error)]
pub enum Unmakable {
    #[error(transparent)]
    Muster(#[from] CustomiseError),
    #[error(transparent)]
    CoreOs(#[from] CoreOsCustomiseError),
    #[error(transparent)]
    Ignition(#[from] DiscoveryError),
}

impl Operations {
    /// The InfraEnv's image in this form.
    pub fn made_image(
        &self,
        infra_env: &InfraEnv,
        image: &DiscoveryImage,
        form: ImageForm,
    ) -> Result<ImageBytes, Unmakable> {
        let agents = match image {
            DiscoveryImage::Muster(_) => Vec::new(),
            DiscoveryImage::CoreOs(_) => self.agent_programs(),
        };
        let made = Made {
            infra_env: infra_env.id,
            version: infra_env.version,
            options_since: self.image_options.since(),
            base: image.digest(),
            agents,
            form,
        };
        if let Some(kept) = self.made_images.0.get(&made) {
            return Ok(kept);
        }
        let bytes = match image {
            DiscoveryImage::Muster(live) => {
                let config = self.live_config(infra_env);
                match form {
                    ImageForm::Initrd => live.image.initrd(&config)?,
                    ImageForm::FullIso | ImageForm::MinimalIso => live.image.iso(&Customisation {
                        config,
                        kernel_arguments: infra_env.kernel_arguments(),
                    })?,
                }
            }
            DiscoveryImage::CoreOs(open) => self.made_coreos(infra_env, &open.image, form)?,
        };
        self.made_images.0.insert(made, bytes.clone());
        Ok(bytes)
    }

    /// The last change of the parts of the InfraEnv's image, except its base: of the InfraEnv, of the service's
    /// options, which may have changed at its start, and of the agent that CoreOS downloads.
    pub fn made_image_changed_at(&self, infra_env: &InfraEnv, image: &DiscoveryImage) -> SystemTime {
        let changed = SystemTime::from(infra_env.updated_at.max(self.image_options.since()));
        let agent = match image {
            DiscoveryImage::Muster(_) => None,
            DiscoveryImage::CoreOs(_) => self.live_images.opened().map(|live| live.modified).max(),
        };
        agent.map_or(changed, |agent| changed.max(agent))
    }

    /// Checks that all forms of the InfraEnv's image can be made, as far as its image is known by now.
    ///
    /// # Errors
    /// Names the setting, its size and the available space.
    pub fn check_image(&self, infra_env: &InfraEnv) -> Result<(), Invalid> {
        let Some(open) = self.discovery.opened_coreos(infra_env) else {
            return Ok(());
        };
        for form in [ImageForm::iso_of(infra_env), ImageForm::Initrd] {
            let made = self.made_coreos(infra_env, &open.image, form);
            made.map_err(|error| Invalid::new(field_of(&error), error.to_string()))?;
        }
        Ok(())
    }

    fn made_coreos(
        &self,
        infra_env: &InfraEnv,
        image: &CoreOsImage,
        form: ImageForm,
    ) -> Result<ImageBytes, Unmakable> {
        let in_ignition = form == ImageForm::FullIso;
        let part = IgnitionPart {
            pull_secret: false,
            overrides: true,
            networks: in_ignition,
        };
        let wanted = CoreOsCustomisation {
            ignition: self.discovery_ignition(infra_env, part)?,
            initrd_files: if in_ignition {
                Vec::new()
            } else {
                initrd_files(infra_env)
            },
            kernel_arguments: infra_env.kernel_arguments(),
        };
        Ok(match form {
            ImageForm::FullIso => image.full_iso(&wanted)?,
            ImageForm::MinimalIso => image.minimal_iso(&wanted, &self.urls.short_rootfs(infra_env))?,
            ImageForm::Initrd => image.pxe_initrd(&wanted)?,
        })
    }

    /// The digests of the agents that hosts can fetch.
    pub(crate) fn agent_programs(&self) -> Vec<AgentProgram> {
        let program = |live: Arc<OpenLiveImage>| {
            let agent = live.image.agent.as_ref()?;
            Some(AgentProgram {
                machine: live.machine,
                sha256: agent.sha256.clone(),
            })
        };
        self.live_images.opened().filter_map(program).collect()
    }
}

/// The files that the initramfs needs to download the root file system: the networks, and the proxy.
fn initrd_files(infra_env: &InfraEnv) -> Vec<InitrdFile> {
    let settings = &infra_env.settings;
    let file = |path: &str, permissions: u32, text: String| InitrdFile {
        path: path.trim_start_matches('/').to_owned(),
        content: InitrdContent::File { permissions, text },
    };
    let mut files: Vec<InitrdFile> = network_files(settings)
        .into_iter()
        .map(|one| file(&one.path, one.permissions, one.text))
        .collect();
    if !files.is_empty() {
        let unit = format!("/etc/systemd/system/{NETWORK_UNIT}");
        files.push(file(&unit, 0o644, network_unit(true)));
        files.push(InitrdFile {
            path: format!("etc/systemd/system/initrd.target.wants/{NETWORK_UNIT}"),
            content: InitrdContent::Link(format!("../{NETWORK_UNIT}")),
        });
    }
    let proxy = &settings.proxy;
    let variables: String = [
        ("HTTP_PROXY", "http_proxy", &proxy.http_proxy),
        ("HTTPS_PROXY", "https_proxy", &proxy.https_proxy),
        ("NO_PROXY", "no_proxy", &proxy.no_proxy),
    ]
    .into_iter()
    .filter_map(|(upper, lower, value)| {
        // systemd expands text after a percent sign.
        let value = value
            .as_deref()
            .filter(|text| !text.is_empty())?
            .replace('%', "%%");
        Some(format!("Environment=\"{upper}={value}\" \"{lower}={value}\"\n"))
    })
    .collect();
    if !variables.is_empty() {
        let path = "/etc/systemd/system/coreos-livepxe-rootfs.service.d/10-proxy.conf";
        files.push(file(path, 0o644, format!("[Service]\n{variables}")));
    }
    files
}

fn field_of(error: &Unmakable) -> &'static str {
    match error {
        Unmakable::CoreOs(
            CoreOsCustomiseError::KernelArguments(_) | CoreOsCustomiseError::NoKernelArguments,
        ) => "kernel_arguments",
        Unmakable::CoreOs(CoreOsCustomiseError::NoMinimal(_)) => "image_type",
        Unmakable::CoreOs(
            CoreOsCustomiseError::IgnitionTooBig { .. } | CoreOsCustomiseError::OutOfImage(_),
        )
        | Unmakable::Muster(_)
        | Unmakable::Ignition(_) => "ignition_config_override",
    }
}

#[cfg(test)]
mod tests {
    use muster_api::ids::InfraEnvId;
    use muster_api::infra_env::{HostStaticNetworkConfig, MacInterface};
    use muster_core::lifecycle::infra_env::create;
    use serde_json::json;

    use super::*;
    use crate::now;
    use crate::random::boot_id;

    fn text<'a>(files: &'a [InitrdFile], path: &str) -> &'a str {
        let file = files.iter().find(|file| file.path == path);
        match &file.unwrap_or_else(|| panic!("no {path}")).content {
            InitrdContent::File { text, .. } => text,
            InitrdContent::Link(target) => target,
        }
    }

    #[test]
    fn the_initramfs_is_given_the_proxy_and_each_machines_network() {
        let params = json!({"name": "lab", "pull_secret": r#"{"auths":{"a":{"auth":"dTpw"}}}"#});
        let params = serde_json::from_value(params).unwrap();
        let made = create(params, InfraEnvId::random(), boot_id(), now());
        let mut infra_env = made.unwrap();
        assert!(initrd_files(&infra_env).is_empty());
        infra_env.settings.proxy.http_proxy = Some("http://user:p%20w@proxy.example:3128".into());
        infra_env.settings.static_network_config = vec![HostStaticNetworkConfig {
            network_yaml: Some("interfaces: [{name: nic, type: ethernet, state: up, ipv4: {enabled: true, address: [{ip: 192.0.2.1, prefix-length: 24}]}}]".into()),
            mac_interface_map: vec![MacInterface {
                mac_address: Some("52:54:00:AA:00:01".into()),
                logical_nic_name: Some("nic".into()),
            }],
        }];
        let files = initrd_files(&infra_env);
        let proxy = text(
            &files,
            "etc/systemd/system/coreos-livepxe-rootfs.service.d/10-proxy.conf",
        );
        assert_eq!(
            proxy,
            "[Service]\nEnvironment=\"HTTP_PROXY=http://user:p%%20w@proxy.example:3128\" \"http_proxy=http://user:p%%20w@proxy.example:3128\"\n"
        );
        assert_eq!(
            text(&files, "etc/assisted/network/host0/mac_interface.ini"),
            "52:54:00:AA:00:01=nic"
        );
        let connection = text(&files, "etc/assisted/network/host0/nic.nmconnection");
        assert!(
            connection.contains("mac-address=52:54:00:AA:00:01\n"),
            "{connection}"
        );
        assert!(connection.contains("address1=192.0.2.1/24\n"), "{connection}");
        assert_eq!(
            text(
                &files,
                "etc/systemd/system/initrd.target.wants/pre-network-manager-config.service"
            ),
            "../pre-network-manager-config.service"
        );
    }
}
