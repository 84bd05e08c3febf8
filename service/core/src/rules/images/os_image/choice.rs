//! Chooses an entry by the cluster's version and the host's architecture.

use std::collections::BTreeSet;

use muster_api::infra_env::CpuArchitecture;
use muster_api::steps::ImageConfiguration;
use thiserror::Error;

use super::list::OsImage;
use crate::rules::input::Invalid;
use crate::rules::role::minor_version;

/// No entry fits. The text holds the remedy.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NoImage {
    #[error(
        "the service has no OS image for version {version} on {architecture}; add an entry with openshift_version {version} and metal_url to --os-images (OS_IMAGES)"
    )]
    OfVersion {
        version: String,
        architecture: &'static str,
    },
    #[error("the service has no OS image for {0}; add an entry with metal_url to --os-images (OS_IMAGES)")]
    OfArchitecture(&'static str),
    #[error(
        "the cluster names no version, and of several OS images for {0} none is the default; mark one with default: true in --os-images (OS_IMAGES)"
    )]
    NoDefault(&'static str),
    #[error(
        "the service has no OS image {name:?} for {architecture}; its list (--os-images, OS_IMAGES) has {known}"
    )]
    OfName {
        name: String,
        architecture: &'static str,
        /// The names that it has.
        known: String,
    },
    #[error(
        "the service has no OS image with Kubernetes {version} for {architecture}; its list (--os-images, OS_IMAGES) has {known}"
    )]
    OfKubernetes {
        version: String,
        architecture: &'static str,
        /// The versions that it has.
        known: String,
    },
    #[error(
        "the OS image {name:?} has Kubernetes {found}, and the Machine wants {wanted}; name an image with that version, or none"
    )]
    OtherKubernetes {
        name: String,
        found: String,
        wanted: String,
    },
    #[error("{0} configures the OS image, and cannot apply the bootstrap data")]
    OtherConfiguration(ImageConfiguration),
}

/// The entry for a cluster of `version` (empty: not known) on `architecture`: of exactly this version, else of the same
/// minor version (an entry for the minor version itself before others, then the newest). A cluster without a version
/// gets the default entry, or the only one.
///
/// # Errors
/// If no entry fits, or several do.
pub fn choose<'a>(
    images: &'a [OsImage],
    version: &str,
    architecture: CpuArchitecture,
) -> Result<&'a OsImage, NoImage> {
    best(images, version, architecture, |image| image.metal.is_some())
}

/// The entry that hosts of an InfraEnv are discovered with; `None`: the Muster live image. Chosen as in [`choose`],
/// among the entries that have a live ISO.
pub fn choose_live<'a>(
    images: &'a [OsImage],
    version: &str,
    architecture: CpuArchitecture,
) -> Option<&'a OsImage> {
    best(images, version, architecture, |image| image.live.is_some()).ok()
}

/// The same for an address of upstream's form, whose version may also be the build of the system. Source:
/// docs/protocol/image-service.md#2.
pub fn choose_live_by_name<'a>(
    images: &'a [OsImage],
    version: &str,
    architecture: CpuArchitecture,
) -> Option<&'a OsImage> {
    let of_build = images.iter().find(|image| {
        image.live.is_some()
            && image.version == version
            && image.cpu_architecture == architecture.normalized()
    });
    of_build.or_else(|| choose_live(images, version, architecture))
}

fn best<'a>(
    images: &'a [OsImage],
    version: &str,
    architecture: CpuArchitecture,
    is_wanted: impl Fn(&OsImage) -> bool,
) -> Result<&'a OsImage, NoImage> {
    let architecture = architecture.normalized();
    let of_architecture: Vec<&OsImage> = images
        .iter()
        .filter(|image| is_wanted(image) && image.cpu_architecture == architecture)
        .collect();
    if of_architecture.is_empty() {
        return Err(NoImage::OfArchitecture(architecture.name()));
    }
    if version.is_empty() {
        let default = of_architecture.iter().copied().find(|image| image.is_default);
        return match (default, of_architecture.as_slice()) {
            (Some(default), _) => Ok(default),
            (None, [only]) => Ok(*only),
            (None, _) => Err(NoImage::NoDefault(architecture.name())),
        };
    }
    // Entries without a name are for versions alone.
    let exact = of_architecture
        .iter()
        .copied()
        .filter(|image| image.openshift_version == version)
        .min_by_key(|image| image.name.is_some());
    if let Some(exact) = exact {
        return Ok(exact);
    }
    let minor = minor_version(version);
    of_architecture
        .into_iter()
        .filter(|image| minor.is_some() && minor_version(&image.openshift_version) == minor)
        .max_by_key(|image| (precedence(&image.openshift_version), image.name.is_none()))
        .ok_or_else(|| NoImage::OfVersion {
            version: version.to_owned(),
            architecture: architecture.name(),
        })
}

/// Checks that an InfraEnv of this version (empty: any) can lead to an installation: the list has an image of this or
/// the same minor version, or the version is among those `offered` to clients. With a list without versions every version is
/// accepted: the live image boots for all of them. Source: docs/protocol/rest-behaviour.md#4.
///
/// # Errors
/// If no image is known; the reason names the known versions.
pub fn check_offered(images: &[OsImage], offered: &[String], version: &str) -> Result<(), Invalid> {
    let versions = || {
        let versions = images.iter().map(|image| &image.openshift_version);
        versions.filter(|version| !version.is_empty())
    };
    let known = || versions().chain(offered);
    let minor = minor_version(version);
    let fits = |known: &String| known == version || (minor.is_some() && minor_version(known) == minor);
    if version.is_empty() || versions().next().is_none() || known().any(fits) {
        return Ok(());
    }
    let known: BTreeSet<&str> = known().map(String::as_str).collect();
    Err(Invalid::new(
        "openshift_version",
        format!(
            "No OS image for {version}: the service knows {}; add an entry to --os-images (OS_IMAGES), or the version to \
             --openshift-versions",
            known.into_iter().collect::<Vec<_>>().join(", ")
        ),
    ))
}

/// Larger is better: the minor version alone, then patch releases by number, then releases before candidates.
fn precedence(version: &str) -> (bool, u32, bool) {
    let (numbers, candidate) = match version.split_once('-') {
        Some((numbers, _)) => (numbers, true),
        None => (version, false),
    };
    let patch = numbers.split('.').nth(2);
    let number = patch.and_then(|patch| patch.parse().ok()).unwrap_or(0);
    (patch.is_none(), number, !candidate)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::os_image::parse;

    const X86: CpuArchitecture = CpuArchitecture::X86_64;

    fn list(entries: &[(&str, &str, bool)]) -> Vec<OsImage> {
        let entries: Vec<String> = entries
            .iter()
            .map(|(version, architecture, default)| {
                format!(
                    r#"{{"openshift_version":"{version}","cpu_architecture":"{architecture}","version":"of-{version}","metal_url":"http://x/a.raw","metal_sha256":"{}","default":{default}}}"#,
                    "0".repeat(64)
                )
            })
            .collect();
        parse(&format!("[{}]", entries.join(","))).unwrap()
    }

    #[test]
    fn the_exact_version_wins_then_the_minor_one_then_the_newest_patch() {
        let images = list(&[
            ("4.19.1", "x86_64", false),
            ("4.19.10", "x86_64", false),
            ("4.19.9", "x86_64", false),
            ("4.20", "x86_64", true),
            ("4.20.7", "x86_64", false),
            ("4.19.4", "aarch64", false),
        ]);
        for (version, architecture, wanted) in [
            ("4.19.9", X86, Some("of-4.19.9")),
            ("4.19.3", X86, Some("of-4.19.10")),
            ("4.19.0-ec.1", X86, Some("of-4.19.10")),
            ("4.20.7", X86, Some("of-4.20.7")),
            ("4.20.1", X86, Some("of-4.20")),
            ("4.18.1", X86, None),
            ("", X86, Some("of-4.20")),
            ("", CpuArchitecture::Aarch64, Some("of-4.19.4")),
            ("4.19.1", CpuArchitecture::Arm64, Some("of-4.19.4")),
            ("4.20.1", CpuArchitecture::Arm64, None),
            ("4.19.1", CpuArchitecture::S390x, None),
            ("nonsense", X86, None),
        ] {
            let found = choose(&images, version, architecture).ok();
            assert_eq!(
                found.map(|image| image.version.as_str()),
                wanted,
                "{version} {architecture:?}"
            );
        }
    }

    #[test]
    fn what_is_missing_is_said_with_what_to_do() {
        let words = |images: &[OsImage], version: &str| choose(images, version, X86).unwrap_err().to_string();
        assert!(words(&[], "4.19.1").contains("no OS image for x86_64; add an entry"));
        let two = list(&[("4.19", "x86_64", false), ("4.20", "x86_64", false)]);
        assert!(words(&two, "").contains("default: true"));
        assert!(words(&two, "4.21.0").contains("openshift_version 4.21.0"));
        assert!(choose(&two[..1], "", X86).is_ok());
    }

    #[test]
    fn versions_of_infra_envs_are_those_with_an_image_or_offered() {
        let images = list(&[("4.19.1", "x86_64", false)]);
        let offered = ["4.21".to_owned()];
        for version in ["4.19.1", "4.19", "4.19.7", "4.21.3", "4.21", ""] {
            assert!(check_offered(&images, &offered, version).is_ok(), "{version}");
        }
        let refused = check_offered(&images, &offered, "4.17").unwrap_err().to_string();
        assert!(
            refused.contains("No OS image for 4.17: the service knows 4.19.1, 4.21;"),
            "{refused}"
        );
        assert!(
            check_offered(&[], &offered, "4.17").is_ok(),
            "the live image boots for every version"
        );
    }

    #[test]
    fn an_entry_without_an_image_for_disks_does_not_count() {
        let live = parse(
            r#"[{"openshift_version":"4.19","cpu_architecture":"x86_64","version":"1","url":"http://x/live.iso"}]"#,
        )
        .unwrap();
        assert!(choose(&live, "4.19", X86).is_err());
        let chosen = |version: &str| choose_live(&live, version, X86).is_some();
        assert!(chosen("4.19.3") && chosen("") && !chosen("4.20"));
        let by_name = |version: &str| choose_live_by_name(&live, version, X86).is_some();
        assert!(by_name("1") && by_name("4.19") && !by_name("2"));
        assert!(choose_live(&list(&[("4.19", "x86_64", true)]), "4.19", X86).is_none());
    }
}
