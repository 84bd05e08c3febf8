//! Checks the request of the `install` step, before anything is done. Source: docs/protocol/install-flow.md#1.

use muster_api::live::LiveProxy;
use muster_api::steps::{ImageConfiguration, InstallRequest, OsImage};
use uuid::Uuid;

use super::arguments::{ArgumentsError, InstallerArguments};
use super::disk::choose::Wishes;

/// A request that this agent cannot carry out. The texts have the wrong member, and the remedy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    #[error("{name} is no UUID: `{text}`")]
    NoUuid { name: &'static str, text: String },
    #[error("boot_device is missing: choose an installation disk for this host")]
    NoBootDevice,
    #[error(
        "coreos_image requests an installation into the system that runs here, which this agent cannot do; boot the host \
         from a discovery image and not from its disk"
    )]
    CoreOsImage,
    #[error(transparent)]
    Arguments(#[from] ArgumentsError),
    #[error(
        "the role bootstrap runs a temporary control plane in containers, which this agent cannot; boot this host from a \
         discovery image of the cluster's own service"
    )]
    Bootstrap,
    #[error("role is `{0}`; known are worker, master and arbiter")]
    UnknownRole(String),
    #[error(
        "installer_args change kernel arguments or copy connections, and the image is configured by cloud-init, which takes \
         neither; leave them out"
    )]
    NotForCloudInit,
}

/// A request that can be carried out.
#[derive(Debug, Clone)]
pub struct Plan {
    pub infra_env: Uuid,
    pub cluster: Uuid,
    pub host: Uuid,
    pub role: Role,
    pub disks: Wishes,
    pub arguments: InstallerArguments,
    pub image: Image,
    /// The old content of the disk must stay.
    pub keeps_content: bool,
    pub node_agent: bool,
    /// The host joins a running cluster.
    pub joins_existing: bool,
    /// The cluster's proxy, for images that are not on the service.
    pub proxy: Option<LiveProxy>,
}

/// The image to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Image {
    /// Named by the service.
    Named(OsImage),
    /// `--image-url`
    Url(String),
    /// `--image-file`
    File(String),
    /// The image that coreos-installer brings.
    OfLiveSystem,
}

impl Image {
    /// The program that configures it at its first boot.
    pub fn configuration(&self) -> ImageConfiguration {
        match self {
            Self::Named(image) => image.configuration,
            Self::Url(_) | Self::File(_) | Self::OfLiveSystem => ImageConfiguration::Ignition,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Worker,
    Master,
    Arbiter,
}

impl Role {
    /// The name in the first reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Worker => "worker",
            Self::Master => "master",
            Self::Arbiter => "arbiter",
        }
    }
}

impl Plan {
    /// # Errors
    /// [`RequestError`]
    pub fn of(request: InstallRequest) -> Result<Self, RequestError> {
        let id = |name: &'static str, text: &str| {
            text.parse::<Uuid>().map_err(|_| RequestError::NoUuid {
                name,
                text: text.to_owned(),
            })
        };
        let infra_env = match request.infra_env_id.as_str() {
            // Old services leave it out if it is the cluster's.
            "" => id("cluster_id", &request.cluster_id)?,
            text => id("infra_env_id", text)?,
        };
        if request.boot_device.is_empty() {
            return Err(RequestError::NoBootDevice);
        }
        if !request.coreos_image.is_empty() {
            return Err(RequestError::CoreOsImage);
        }
        let arguments = InstallerArguments::parse(&request.installer_args)?;
        let image = match (request.os_image, &arguments.image_url, &arguments.image_file) {
            (Some(image), None, None) => Image::Named(image),
            // The user's URL wins over the service's list, as with coreos-installer.
            (_, Some(url), _) => Image::Url(url.clone()),
            (_, None, Some(file)) => Image::File(file.clone()),
            (None, None, None) => Image::OfLiveSystem,
        };
        let changes_system = !arguments.append_kargs.is_empty()
            || !arguments.delete_kargs.is_empty()
            || arguments.copy_network.is_some();
        if image.configuration() == ImageConfiguration::CloudInit && changes_system {
            return Err(RequestError::NotForCloudInit);
        }
        Ok(Self {
            infra_env,
            cluster: id("cluster_id", &request.cluster_id)?,
            host: id("host_id", &request.host_id)?,
            role: role(&request.role)?,
            disks: Wishes {
                boot_device: request.boot_device,
                disks_to_format: request.disks_to_format,
                skipped: request.skip_formatting_disks,
            },
            keeps_content: request.skip_installation_disk_cleanup || arguments.saves_partitions,
            arguments,
            image,
            node_agent: request.node_agent,
            joins_existing: request.mco_image.is_empty() && request.must_gather_image.is_empty(),
            proxy: request.proxy.map(|proxy| LiveProxy {
                http_proxy: proxy.http_proxy,
                https_proxy: proxy.https_proxy,
                no_proxy: proxy.no_proxy,
            }),
        })
    }
}

fn role(text: &str) -> Result<Role, RequestError> {
    match text {
        "worker" => Ok(Role::Worker),
        "master" => Ok(Role::Master),
        "arbiter" => Ok(Role::Arbiter),
        "bootstrap" => Err(RequestError::Bootstrap),
        other => Err(RequestError::UnknownRole(other.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use muster_api::steps::ImageFormat;

    use super::*;

    const ID: &str = "bbf2dead-3746-54cb-b32a-917afd236656";

    fn request() -> InstallRequest {
        InstallRequest {
            infra_env_id: ID.into(),
            cluster_id: ID.into(),
            host_id: ID.into(),
            role: "worker".into(),
            boot_device: "/dev/disk/by-id/wwn-0x5".into(),
            ..InstallRequest::default()
        }
    }

    #[test]
    fn the_users_image_counts_more_than_the_services() {
        let named = OsImage {
            url: "/os".into(),
            format: ImageFormat::Zst,
            ..OsImage::default()
        };
        let of = |os_image: Option<&OsImage>, args: &str| {
            let request = InstallRequest {
                os_image: os_image.cloned(),
                installer_args: args.into(),
                ..request()
            };
            Plan::of(request).unwrap().image
        };
        assert_eq!(of(Some(&named), ""), Image::Named(named.clone()));
        assert_eq!(
            of(Some(&named), r#"["--image-url","http://a/b"]"#),
            Image::Url("http://a/b".into())
        );
        assert_eq!(of(None, r#"["--image-file","/a"]"#), Image::File("/a".into()));
        assert_eq!(of(None, ""), Image::OfLiveSystem);
    }

    #[test]
    fn what_this_agent_cannot_do_is_said_at_once() {
        type Edit = fn(&mut InstallRequest);
        let cases: [(Edit, &str); 6] = [
            (|request| request.role = "bootstrap".into(), "bootstrap"),
            (|request| request.role = String::new(), "role is ``"),
            (
                |request| request.boot_device.clear(),
                "choose an installation disk",
            ),
            (|request| request.host_id = "x".into(), "host_id is no UUID"),
            (
                |request| request.coreos_image = "quay.io/x".into(),
                "discovery image",
            ),
            (|request| request.installer_args = "[1]".into(), "installer_args"),
        ];
        for (spoil, word) in cases {
            let mut request = request();
            spoil(&mut request);
            let error = Plan::of(request).unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
        }
    }

    #[test]
    fn a_cloud_image_takes_no_arguments_of_coreos() {
        let of = |configuration: ImageConfiguration, args: &str| {
            let os_image = OsImage {
                url: "/os".into(),
                configuration,
                ..OsImage::default()
            };
            Plan::of(InstallRequest {
                os_image: Some(os_image),
                installer_args: args.into(),
                ..request()
            })
        };
        let plan = of(ImageConfiguration::CloudInit, "").unwrap();
        assert_eq!(plan.image.configuration(), ImageConfiguration::CloudInit);
        for args in [r#"["--append-karg","quiet"]"#, r#"["--copy-network"]"#] {
            let error = of(ImageConfiguration::CloudInit, args).unwrap_err();
            assert_eq!(error, RequestError::NotForCloudInit);
            let plan = of(ImageConfiguration::Ignition, args).unwrap();
            assert_eq!(plan.image.configuration(), ImageConfiguration::Ignition);
        }
    }

    #[test]
    fn partitions_to_keep_are_noticed_in_either_place() {
        let of = |skip: bool, args: &str| {
            let request = InstallRequest {
                skip_installation_disk_cleanup: skip,
                installer_args: args.into(),
                ..request()
            };
            Plan::of(request).unwrap().keeps_content
        };
        assert!(!of(false, ""));
        assert!(of(true, ""));
        assert!(of(false, r#"["--save-partlabel","data"]"#));
    }
}
