//! Reads the operator's settings of installations: images, limits of stages.

use std::path::PathBuf;

use anyhow::{Context, Result};
use chrono::Duration;
use clap::{ArgAction, Args};
use muster_api::host::HostStage;
use muster_core::rules::limits::WaitLimits;
use muster_core::rules::os_image;
use muster_core::rules::os_image::OsImage;
use muster_core::text::duration;

/// Options for the installation of hosts.
#[derive(Debug, Clone, Args)]
pub struct InstallationArgs {
    /// Images of operating systems: JSON or YAML, or the path of such a file. A list of {openshift_version,
    /// cpu_architecture, version, name, kubernetes_version, default, url, sha256, metal_url, metal_sha256 or
    /// metal_uncompressed_sha256}. name and kubernetes_version are what Machines of Cluster API choose by. metal_url
    /// is written to disks: a URL or an absolute path that ends in .raw, .img, .gz, .xz or .zst. url is a CoreOS live
    /// ISO with which hosts are discovered: an absolute path, or a URL that is downloaded once; without it they boot
    /// the Muster live image
    #[arg(
        long,
        env = "OS_IMAGES",
        value_name = "LIST",
        default_value = "",
        hide_env_values = true,
        allow_hyphen_values = true
    )]
    os_images: String,

    /// Folder of the CoreOS live ISOs that are downloaded, best on another disk than the database's [default: os-images in the data dir]
    #[arg(long, env = "MUSTER_OS_IMAGES_DIR", value_name = "DIR")]
    pub os_images_dir: Option<PathBuf>,

    /// MiB of a CoreOS live ISO that is downloaded; a larger one is refused
    #[arg(long, env = "MUSTER_MAX_OS_IMAGE_SIZE", value_name = "MIB", default_value_t = 16384, value_parser = clap::value_parser!(u32).range(1..))]
    max_os_image_size: u32,

    /// Put the agent onto installed nodes, so that a node that leaves its cluster returns to its InfraEnv by itself
    #[arg(
        long,
        env = "MUSTER_NODE_AGENT",
        value_name = "BOOL",
        action = ArgAction::Set,
        default_value_t = true,
        default_missing_value = "true",
        num_args = 0..=1,
        require_equals = true
    )]
    pub node_agent: bool,

    /// Container image with which agents that are not ours install [default: upstream's]
    #[arg(long, env = "INSTALLER_IMAGE", value_name = "IMAGE")]
    pub installer_image: Option<String>,

    /// Container image of the controller that these put into new clusters [default: upstream's]
    #[arg(long, env = "CONTROLLER_IMAGE", value_name = "IMAGE")]
    pub controller_image: Option<String>,

    /// A host that has not polled for this long is disconnected, and its installation has failed. Agents poll once a minute
    #[arg(
        long,
        env = "HOST_MAX_DISCONNECTION_TIME",
        value_name = "DURATION",
        default_value = "3m",
        value_parser = limit
    )]
    host_max_disconnection_time: Duration,

    /// A host that sleeps must have registered so long after its BMC began to boot it, or goes into quarantine
    #[arg(
        long,
        env = "HOST_WAKE_TIMEOUT",
        value_name = "DURATION",
        default_value = "20m",
        value_parser = limit
    )]
    host_wake_timeout: Duration,

    #[command(flatten)]
    stages: StageArgs,
}

macro_rules! stage_limits {
    ($($field:ident $long:literal $env:literal $stage:ident $usual:literal;)*) => {
        /// The longest times of stages without news; after that the installation has failed, or (rebooting) needs an operator.
        #[derive(Debug, Clone, Default, Args)]
        #[command(next_help_heading = "Limits of installation stages without news")]
        struct StageArgs {
            $(
                #[doc = concat!("[default: ", $usual, "]")]
                #[arg(long = $long, env = $env, value_name = "DURATION", value_parser = limit)]
                $field: Option<Duration>,
            )*
        }

        impl StageArgs {
            fn set(&self) -> Vec<(HostStage, Duration)> {
                let all = [$((HostStage::$stage, self.$field)),*];
                all.into_iter()
                    .filter_map(|(stage, limit)| Some((stage, limit?)))
                    .collect()
            }
        }
    };
}

stage_limits! {
    starting_installation "host-stage-starting-installation-timeout" "HOST_STAGE_STARTING_INSTALLATION_TIMEOUT" StartingInstallation "30m";
    installing "host-stage-installing-timeout" "HOST_STAGE_INSTALLING_TIMEOUT" Installing "60m";
    writing "host-stage-writing-image-to-disk-timeout" "HOST_STAGE_WRITING_IMAGE_TO_DISK_TIMEOUT" WritingImageToDisk "30m";
    copying "host-stage-copying-registry-data-to-disk-timeout" "HOST_STAGE_COPYING_REGISTRY_DATA_TO_DISK_TIMEOUT" CopyingRegistryDataToDisk "90m";
    control_plane "host-stage-waiting-for-control-plane-timeout" "HOST_STAGE_WAITING_FOR_CONTROL_PLANE_TIMEOUT" WaitingForControlPlane "60m";
    bootkube "host-stage-waiting-for-bootkube-timeout" "HOST_STAGE_WAITING_FOR_BOOTKUBE_TIMEOUT" WaitingForBootkube "60m";
    controller "host-stage-waiting-for-controller-timeout" "HOST_STAGE_WAITING_FOR_CONTROLLER_TIMEOUT" WaitingForController "60m";
    rebooting "host-stage-rebooting-timeout" "HOST_STAGE_REBOOTING_TIMEOUT" Rebooting "40m";
    ignition "host-stage-waiting-for-ignition-timeout" "HOST_STAGE_WAITING_FOR_IGNITION_TIMEOUT" WaitingForIgnition "24h";
    configuring "host-stage-configuring-timeout" "HOST_STAGE_CONFIGURING_TIMEOUT" Configuring "60m";
    joined "host-stage-joined-timeout" "HOST_STAGE_JOINED_TIMEOUT" Joined "60m";
}

fn limit(text: &str) -> Result<Duration, String> {
    duration(text)
        .filter(|limit| *limit >= Duration::seconds(10))
        .ok_or_else(|| format!("{text:?} is no duration of at least 10 seconds; write 90s, 40m or 1h30m"))
}

impl InstallationArgs {
    /// The OS images.
    ///
    /// # Errors
    /// Fails if the file cannot be read, or an entry cannot be used.
    pub fn os_images(&self) -> Result<Vec<OsImage>> {
        let given = self.os_images.trim();
        if given.is_empty() || given.starts_with(['[', '{', '-']) || given.contains('\n') {
            return os_image::parse(given).context("--os-images (OS_IMAGES)");
        }
        let text = std::fs::read_to_string(given)
            .with_context(|| format!("--os-images {given} is neither a list nor a file that can be read"))?;
        os_image::parse(&text).with_context(|| format!("--os-images {given}"))
    }

    /// Bytes of the largest live ISO that is downloaded.
    pub fn largest_os_image(&self) -> u64 {
        u64::from(self.max_os_image_size) << 20
    }

    /// The longest waits for hosts.
    pub fn limits(&self) -> WaitLimits {
        WaitLimits::new(self.host_max_disconnection_time, self.stages.set()).with_wake(self.host_wake_timeout)
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        installation: InstallationArgs,
    }

    fn parse(args: &[&str]) -> Result<InstallationArgs, clap::Error> {
        Cli::try_parse_from([&["muster"], args].concat()).map(|cli| cli.installation)
    }

    const LIST: &str = r#"[{"openshift_version":"4.19","cpu_architecture":"x86_64","version":"1","metal_url":"/srv/a.raw","metal_sha256":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"}]"#;

    #[test]
    fn images_come_from_a_text_or_a_file() {
        let text = parse(&["--os-images", LIST]).unwrap().os_images().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("images.json");
        std::fs::write(&file, LIST).unwrap();
        let file = file.to_str().unwrap();
        assert_eq!(parse(&["--os-images", file]).unwrap().os_images().unwrap(), text);
        assert!(parse(&[]).unwrap().os_images().unwrap().is_empty());
        for (bad, words) in [
            ("/nonexistent.json", "nor a file"),
            ("[{}]", "--os-images (OS_IMAGES): a list of"),
            ("- version: x", "--os-images"),
        ] {
            let error = parse(&["--os-images", bad]).unwrap().os_images().unwrap_err();
            assert!(format!("{error:#}").contains(words), "{error:#}");
        }
    }

    #[test]
    fn limits_are_set_stage_by_stage_and_the_agent_is_put_onto_nodes() {
        let args = parse(&["--host-stage-rebooting-timeout", "1h30m"]).unwrap();
        assert!(args.node_agent);
        let limits = args.limits();
        assert_eq!(limits.of(HostStage::Rebooting), Duration::minutes(90));
        assert_eq!(limits.silence(), Duration::minutes(3));
        assert_eq!(limits.of(HostStage::Joined), Duration::minutes(60));
        assert!(parse(&["--host-stage-joined-timeout", "soon"]).is_err());
        assert!(parse(&["--host-stage-joined-timeout", "0s"]).is_err());
        assert!(!parse(&["--node-agent=false"]).unwrap().node_agent);
    }
}
