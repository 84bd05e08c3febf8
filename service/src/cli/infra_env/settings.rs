//! Defines the settings of an InfraEnv that are given when it is made and changed later, and the URLs of its image.

use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;
use muster_api::boot::{BOOT_ORDER_SCRIPT, BOOT_SCRIPT, beside};
use muster_api::infra_env::{
    Cleaning, CleaningDepth, HostStaticNetworkConfig, ImageType, InfraEnv, KernelArgument,
    KernelArgumentOperation, Proxy,
};
use url::{Host, Url};

use super::static_network;
use crate::cli::arguments::openshift_version;
use crate::cli::service::{Client, ready};

/// The settings that may be given and changed.
#[derive(Debug, Args)]
pub struct SettingsArgs {
    /// File with the pull secret (JSON with "auths"), - for standard input. Muster itself pulls nothing with it
    #[arg(long, value_name = "FILE")]
    pub pull_secret: Option<PathBuf>,

    /// File with SSH public keys, for the rescue shell and installed nodes
    #[arg(long, value_name = "FILE")]
    ssh_key: Option<PathBuf>,

    /// Time sources in addition to those of DHCP, comma-separated
    #[arg(long, value_name = "LIST")]
    pub ntp_sources: Option<String>,

    /// Proxy of hosts for http:// and https://
    #[arg(long, value_name = "URL")]
    proxy: Option<String>,

    /// Proxy of hosts for http://, in place of --proxy
    #[arg(long, value_name = "URL")]
    http_proxy: Option<String>,

    /// Proxy of hosts for https://, in place of --proxy
    #[arg(long, value_name = "URL")]
    https_proxy: Option<String>,

    /// Domains, addresses and networks that hosts reach without it, comma-separated
    #[arg(long, value_name = "LIST")]
    no_proxy: Option<String>,

    /// OpenShift version, e.g. 4.20
    #[arg(long, value_name = "VERSION", value_parser = openshift_version::parse)]
    pub openshift_version: Option<String>,

    /// Kind of image: full-iso or minimal-iso
    #[arg(long, value_name = "KIND", value_parser = image_type)]
    pub image_type: Option<ImageType>,

    /// Erasure of the disks of hosts that leave a cluster: metadata, full or none; with ,overwrite (after full: zeros are written over all
    /// sectors) and ,all-disks (disks that were not installed to, too)
    #[arg(long, value_name = "DEPTH[,overwrite][,all-disks]", value_parser = cleaning)]
    pub cleaning: Option<Cleaning>,

    /// Argument that is appended to the command line of the kernel; may be given more than once
    #[arg(long, value_name = "ARGUMENT", allow_hyphen_values = true)]
    kernel_argument: Vec<String>,

    /// PEM file with certificates that hosts trust, too
    #[arg(long, value_name = "FILE")]
    trust_bundle: Option<PathBuf>,

    /// File with an Ignition configuration (JSON) that is merged over that of CoreOS images
    #[arg(long, value_name = "FILE")]
    ignition_config_override: Option<PathBuf>,

    /// Switch hosts off by their BMCs when no machine takes them for so long, such as 30m; "" for never
    #[arg(long, value_name = "TIME")]
    pub idle_after: Option<String>,

    /// Hosts that are kept awake for machines to come; with --idle-after
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(i64).range(0..))]
    pub warm_spares: Option<i64>,

    /// Part of each day, UTC, without warm spares, such as 20:00-06:00; "" for none
    #[arg(long, value_name = "FROM-TO")]
    pub quiet_hours: Option<String>,

    /// YAML or JSON file with static networks: a list of {network_yaml, mac_interface_map: [{mac_address, logical_nic_name}]}, or one
    /// nmstate document that names a card by `identifier: mac-address`
    #[arg(long, value_name = "FILE")]
    static_network: Option<PathBuf>,
}

impl SettingsArgs {
    /// The SSH keys.
    pub fn ssh_keys(&self) -> Result<Option<String>> {
        text_of(self.ssh_key.as_deref(), "--ssh-key")
    }

    /// The pull secret.
    pub fn pull_secret(&self) -> Result<Option<String>> {
        text_of(self.pull_secret.as_deref(), "--pull-secret")
    }

    /// The certificates.
    pub fn trust_bundle(&self) -> Result<Option<String>> {
        text_of(self.trust_bundle.as_deref(), "--trust-bundle")
    }

    /// The Ignition configuration.
    pub fn ignition_config_override(&self) -> Result<Option<String>> {
        text_of(
            self.ignition_config_override.as_deref(),
            "--ignition-config-override",
        )
    }

    /// The proxies, completed by the present ones.
    pub fn proxy(&self, before: Option<&Proxy>) -> Option<Proxy> {
        let given = [&self.proxy, &self.http_proxy, &self.https_proxy, &self.no_proxy];
        if given.iter().all(|one| one.is_none()) {
            return None;
        }
        let before = before.cloned().unwrap_or_default();
        let of = |own: &Option<String>, before: Option<String>| {
            own.clone().or_else(|| self.proxy.clone()).or(before)
        };
        Some(Proxy {
            http_proxy: of(&self.http_proxy, before.http_proxy),
            https_proxy: of(&self.https_proxy, before.https_proxy),
            no_proxy: self.no_proxy.clone().or(before.no_proxy),
        })
    }

    /// The kernel's arguments.
    pub fn kernel_arguments(&self) -> Option<Vec<KernelArgument>> {
        let all = self.kernel_argument.iter().map(|value| KernelArgument {
            operation: KernelArgumentOperation::Append,
            value: value.clone(),
        });
        (!self.kernel_argument.is_empty()).then(|| all.collect())
    }

    /// The networks.
    pub fn static_networks(&self) -> Result<Option<Vec<HostStaticNetworkConfig>>> {
        let Some(text) = text_of(self.static_network.as_deref(), "--static-network")? else {
            return Ok(None);
        };
        static_network::parse(&text).map(Some)
    }
}

fn text_of(path: Option<&Path>, flag: &str) -> Result<Option<String>> {
    let Some(path) = path else {
        return Ok(None);
    };
    let read = || -> std::io::Result<String> {
        if path == Path::new("-") {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text)?;
            return Ok(text);
        }
        std::fs::read_to_string(path)
    };
    let text = read().with_context(|| format!("{flag} {} cannot be read", path.display()))?;
    Ok(Some(text.trim().to_owned()))
}

fn cleaning(text: &str) -> Result<Cleaning, String> {
    let mut words = text.split(',').map(str::trim);
    let depth = words.next().unwrap_or_default().parse::<CleaningDepth>();
    let mut read = Cleaning {
        depth: depth.map_err(|_| "write metadata, full or none first".to_owned())?,
        ..Cleaning::default()
    };
    for word in words {
        match word {
            "overwrite" => read.overwrite = true,
            "all-disks" => read.all_disks = true,
            other => return Err(format!("{other:?} is neither overwrite nor all-disks")),
        }
    }
    Ok(read)
}

fn image_type(text: &str) -> Result<ImageType, String> {
    match text {
        "full-iso" => Ok(ImageType::FullIso),
        "minimal-iso" => Ok(ImageType::MinimalIso),
        _ => Err("write full-iso or minimal-iso".into()),
    }
}

/// The iPXE script of an InfraEnv: short enough for the boot file field of a DHCP response, which holds 127 characters.
pub fn ipxe_script(image_url: &str) -> String {
    beside(image_url, BOOT_SCRIPT)
}

/// The script that sends installed hosts to their disks.
pub fn boot_order_script(image_url: &str) -> String {
    beside(image_url, BOOT_ORDER_SCRIPT)
}

/// Warns on standard error of what keeps machines from booting: URLs that only this computer reaches, or a missing image.
pub async fn warn_about_image(client: &Client, infra_env: &InfraEnv) {
    if is_loopback(&infra_env.download_url) {
        eprintln!(
            "note: only this computer reaches {}. For machines elsewhere start the service with
      --listen 0.0.0.0, or with --public-url https://ADDRESS{} --boot-url http://ADDRESS{} as they reach it",
            origin(&infra_env.download_url),
            port(client.base()),
            port(&infra_env.download_url)
        );
    }
    if let Ok(ready) = ready::read(client).await
        && !ready.has_image()
    {
        eprintln!("note: no machine can boot yet: {}", ready.live_image);
    }
}

fn is_loopback(url: &str) -> bool {
    match Url::parse(url).as_ref().map(Url::host) {
        Ok(Some(Host::Domain(name))) => name == "localhost",
        Ok(Some(Host::Ipv4(ip))) => ip.is_loopback(),
        Ok(Some(Host::Ipv6(ip))) => ip.is_loopback(),
        Ok(None) | Err(_) => false,
    }
}

fn origin(url: &str) -> String {
    Url::parse(url).map_or_else(|_| url.to_owned(), |url| url.origin().ascii_serialization())
}

/// The port of a URL, with its colon; empty: the usual one.
fn port(url: &str) -> String {
    let port = Url::parse(url).ok().and_then(|url| url.port());
    port.map_or_else(String::new, |port| format!(":{port}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_erasure_is_a_depth_with_what_it_is_combined_with() {
        let read = cleaning("full,overwrite,all-disks").unwrap();
        assert_eq!(read.depth, CleaningDepth::Full);
        assert!(read.overwrite && read.all_disks);
        assert_eq!(cleaning("metadata").unwrap(), Cleaning::default());
        for (text, words) in [("", "metadata"), ("deep", "metadata"), ("full,twice", "twice")] {
            let refused = cleaning(text).unwrap_err();
            assert!(refused.contains(words), "{refused}");
        }
    }

    #[test]
    fn loopback_is_told_apart() {
        assert!(is_loopback("http://127.0.0.1:8091/boot/x") && is_loopback("http://[::1]/"));
        assert!(!is_loopback("http://192.0.2.1:8091/boot/x") && !is_loopback("nonsense"));
    }
}
