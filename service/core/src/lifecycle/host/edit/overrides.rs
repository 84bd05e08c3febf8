//! Sets installer arguments and ignition of one host. Source: docs/protocol/rest-behaviour.md#5.

use std::sync::LazyLock;

use muster_api::steps::ImageConfiguration;
use muster_api::time::Timestamp;
use regex::Regex;

use crate::lifecycle::host::events;
use crate::lifecycle::host::step::Rejection;
use crate::record::{CheckId, Host, ImageWish, NewEvent, Secret};
use crate::rules::facts::HostFacts;
use crate::rules::ignition::{check_bootstrap, check_bootstrap_form, check_known, check_override};
use crate::rules::input::image_url;
use crate::rules::os_image::{MAX_NAME, has_image_by};

/// Flags of coreos-installer that users may give.
const FLAGS: [&str; 9] = [
    "--append-karg",
    "--delete-karg",
    "-n",
    "--copy-network",
    "--network-dir",
    "--save-partlabel",
    "--save-partindex",
    "--image-url",
    "--image-file",
];

/// Most arguments, and the longest one, bytes.
const MAX_ARGUMENTS: usize = 256;
const MAX_ARGUMENT: usize = 4096;
/// Longest ignition, bytes: the limit of discovery images.
const MAX_IGNITION: usize = 256 << 10;

static VALUE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"\A[A-Za-z0-9@!#$%*()_+\-=/.,";':{}\[\]]+\z"#).expect("the pattern is constant")
});

/// Sets the user's arguments of coreos-installer, which are added to ours. Not limited by the host's state.
pub(in crate::lifecycle::host) fn set_installer_args(
    host: &mut Host,
    args: &[String],
    now: Timestamp,
    events: &mut Vec<NewEvent>,
) -> Result<(), Rejection> {
    check_args(args).map_err(Rejection::bad_input)?;
    args.clone_into(&mut host.data.installer_args);
    events.push(events::host_installer_args_applied(host, now));
    Ok(())
}

fn check_args(args: &[String]) -> Result<(), String> {
    if args.len() > MAX_ARGUMENTS || args.iter().any(|argument| argument.len() > MAX_ARGUMENT) {
        return Err(format!(
            "at most {MAX_ARGUMENTS} words of at most {MAX_ARGUMENT} bytes are taken"
        ));
    }
    for argument in args {
        if argument.starts_with('-') && !FLAGS.contains(&argument.as_str()) {
            return Err(format!(
                "{argument:?} is not among the words that are taken: {}. A value is a word of its own (no --flag=value)",
                FLAGS.join(" ")
            ));
        }
        if !VALUE.is_match(argument) {
            return Err(format!("{argument:?} holds characters that are not taken"));
        }
    }
    image_url::check(args)
}

/// Sets the ignition that is merged into the one the host is installed with.
pub(in crate::lifecycle::host) fn set_ignition(
    host: &mut Host,
    ignition: &Secret,
    facts: &HostFacts<'_>,
    now: Timestamp,
    events: &mut Vec<NewEvent>,
) -> Result<(), Rejection> {
    let text = ignition.reveal();
    let version = facts
        .cluster
        .map_or("", |cluster| &cluster.cluster.data.openshift_version);
    let checked = if text.len() > MAX_IGNITION {
        Err(format!(
            "has {} bytes; at most {MAX_IGNITION} are taken",
            text.len()
        ))
    } else if text.is_empty() {
        Ok(())
    } else {
        check_override(text).and_then(|config| check_known(&config, version))
    };
    checked.map_err(|why| Rejection::bad_input(format!("the configuration {why}")))?;
    host.data.ignition_config_overrides = ignition.clone();
    events.push(events::host_discovery_ignition_config_applied(host, now));
    Ok(())
}

/// Sets the data of a bootstrap provider, Ignition or cloud-config, with which the host is installed in place of the cluster's own. Accepted
/// until the installation begins.
///
/// A cloud-config that Ignition cannot express is stored if the service has any image for it: nothing is installed then with
/// an image of another kind ([`obstacle`](crate::lifecycle::host::obstacle)).
pub(in crate::lifecycle::host) fn set_bootstrap(
    host: &mut Host,
    ignition: &Secret,
    facts: &HostFacts<'_>,
) -> Result<(), Rejection> {
    if !host.state.takes_settings() {
        return Err(Rejection::conflict(
            "bootstrap data counts only before the installation begins",
        ));
    }
    if host.cluster_id.is_none() && !ignition.is_empty() {
        return Err(Rejection::conflict(
            "it belongs to no cluster; bind it to the one that the bootstrap data is for",
        ));
    }
    if !ignition.is_empty() {
        let check = if has_image_by(facts.os_images, ImageConfiguration::CloudInit) {
            check_bootstrap_form
        } else {
            check_bootstrap
        };
        check(ignition.reveal()).map_err(|why| Rejection::bad_input(format!("the bootstrap data {why}")))?;
    }
    host.data.has_bootstrap_ignition = !ignition.is_empty();
    host.bootstrap_ignition = ignition.clone();
    Ok(())
}

/// Stores which image of the operator's list is requested for the disk. One that the list does not have is stored, too: nothing is
/// installed then ([`obstacle`](crate::lifecycle::host::obstacle)). Accepted until the installation begins.
pub(in crate::lifecycle::host) fn request_image(host: &mut Host, wish: &ImageWish) -> Result<(), Rejection> {
    if !host.state.takes_settings() {
        return Err(Rejection::conflict(
            "an image for its disk counts only before the installation begins",
        ));
    }
    if host.cluster_id.is_none() && !wish.is_empty() {
        return Err(Rejection::conflict(
            "it belongs to no cluster; bind it to the one that the image is for",
        ));
    }
    for (what, text) in [
        ("name", &wish.name),
        ("Kubernetes version", &wish.kubernetes_version),
    ] {
        if text.len() > MAX_NAME || text.chars().any(|c| c.is_control() || c.is_whitespace()) {
            return Err(Rejection::bad_input(format!(
                "the {what} of an OS image is one word of at most {MAX_NAME} bytes"
            )));
        }
    }
    host.data.image_wish = wish.clone();
    Ok(())
}

/// Deletes the measurements of a check, so that they are repeated.
pub(in crate::lifecycle::host) fn reset_validation(host: &mut Host, id: &str) -> Result<(), Rejection> {
    let check = match CheckId::from_id(id) {
        Some(check @ (CheckId::SufficientInstallationDiskSpeed | CheckId::ContainerImagesAvailable)) => check,
        Some(_) | None => {
            return Err(Rejection::bad_input(
                "only sufficient-installation-disk-speed and container-images-available can be reset; the others follow what the host is and reports",
            ));
        }
    };
    if host.cluster_id.is_none() {
        return Err(Rejection::conflict(
            "it belongs to no cluster, and nothing is measured for these checks before",
        ));
    }
    if check == CheckId::ContainerImagesAvailable {
        host.data.images_status.clear();
    } else {
        host.data.disks_info.remove(&host.data.installation_disk_id);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::check_args;

    fn arguments(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn words_of_coreos_installer_are_taken_and_others_are_not() {
        for good in [
            "--append-karg quiet",
            "-n",
            "--save-partlabel data",
            "--append-karg ip=ens3:dhcp",
            "--image-url https://mirror.example.test/metal.raw",
        ] {
            assert_eq!(check_args(&arguments(good)), Ok(()), "{good}");
        }
        assert_eq!(check_args(&[]), Ok(()));
        for bad in [
            "--append-karg=quiet",
            "--insecure",
            "--append-karg a\nb",
            "--append-karg `x`",
            "--image-url http://mirror.example.test/metal.raw",
            "",
        ] {
            assert!(check_args(&arguments(bad)).is_err(), "{bad}");
        }
        assert!(check_args(&vec!["a".to_owned(); 257]).is_err());
    }
}
