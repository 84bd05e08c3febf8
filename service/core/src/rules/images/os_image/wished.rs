//! Chooses an entry by what is requested for a host: a name, or a Kubernetes version.

use std::collections::BTreeSet;

use muster_api::host::OsImageChoice;
use muster_api::infra_env::CpuArchitecture;
use muster_api::steps::ImageConfiguration;

use super::choice::{NoImage, choose};
use super::list::OsImage;
use crate::record::ImageWish;

/// The entry for a host with this wish in a cluster of `version` on `architecture`, and the reason for the choice.
///
/// A name is that of an entry, else its build, else its version. Without a name, an entry must have exactly the Kubernetes version, if
/// any entry of the list declares one: kubeadm in the image installs its own version only (docs/protocol/capi-day1.md, section 3). Of several
/// the default is taken, else the first. Without a wish that counts, [`choose`] decides.
///
/// # Errors
/// If no entry fits.
pub fn choose_wished<'a>(
    images: &'a [OsImage],
    wish: &ImageWish,
    version: &str,
    architecture: CpuArchitecture,
) -> Result<(&'a OsImage, OsImageChoice), NoImage> {
    let architecture = architecture.normalized();
    if !wish.name.is_empty() {
        let image = named(images, wish, architecture)?;
        return Ok((image, OsImageChoice::Name));
    }
    if !counts(images, wish) {
        let by = if version.is_empty() {
            OsImageChoice::Default
        } else {
            OsImageChoice::ClusterVersion
        };
        return Ok((choose(images, version, architecture)?, by));
    }
    let wanted = Some(wish.kubernetes_version.as_str());
    let image = first_by_default(images, architecture, |image| {
        image.kubernetes_version.as_deref() == wanted
    });
    let image = image.ok_or_else(|| NoImage::OfKubernetes {
        version: wish.kubernetes_version.clone(),
        architecture: architecture.name(),
        known: known(images, architecture, |image| image.kubernetes_version.as_deref()),
    })?;
    Ok((image, OsImageChoice::KubernetesVersion))
}

/// True if the wish decides about the image: by its name, or by its Kubernetes version where the list declares any.
pub fn counts(images: &[OsImage], wish: &ImageWish) -> bool {
    let declares = |image: &OsImage| image.metal.is_some() && image.kubernetes_version.is_some();
    !wish.name.is_empty() || (!wish.kubernetes_version.is_empty() && images.iter().any(declares))
}

/// True if the list has an image for disks that this program configures.
pub fn has_image_by(images: &[OsImage], by: ImageConfiguration) -> bool {
    images.iter().any(|image| is_by(image, &[by]))
}

fn is_by(image: &OsImage, by: &[ImageConfiguration]) -> bool {
    let metal = image.metal.as_ref();
    metal.is_some_and(|metal| by.contains(&metal.configuration))
}

/// The architectures on which the wish can be met by an image that one of these programs configures; `None`: it does not
/// decide about the image, which Ignition may configure even if the list has none such.
///
/// # Errors
/// If it can be met on none.
pub fn architectures(
    images: &[OsImage],
    wish: &ImageWish,
    by: &[ImageConfiguration],
) -> Result<Option<Vec<CpuArchitecture>>, NoImage> {
    if !counts(images, wish) {
        let is_possible =
            by.contains(&ImageConfiguration::Ignition) || images.iter().any(|image| is_by(image, by));
        return if is_possible {
            Ok(None)
        } else {
            Err(NoImage::OtherConfiguration(ImageConfiguration::Ignition))
        };
    }
    let mut found = Vec::new();
    let mut refused = None;
    let mut unfit = None;
    for image in images.iter().filter(|image| image.metal.is_some()) {
        let architecture = image.cpu_architecture;
        if found.contains(&architecture) {
            continue;
        }
        match choose_wished(images, wish, "", architecture) {
            Ok((image, _)) if is_by(image, by) => found.push(architecture),
            Ok((image, _)) => unfit = image.metal.as_ref().map(|metal| metal.configuration),
            Err(why) => refused = refused.or(Some(why)),
        }
    }
    if !found.is_empty() {
        return Ok(Some(found));
    }
    // The list has no image for disks at all.
    let of_none = || NoImage::OfArchitecture(CpuArchitecture::default().name());
    let unfit = unfit.map(NoImage::OtherConfiguration);
    Err(unfit.or(refused).unwrap_or_else(of_none))
}

fn named<'a>(
    images: &'a [OsImage],
    wish: &ImageWish,
    architecture: CpuArchitecture,
) -> Result<&'a OsImage, NoImage> {
    let name = wish.name.as_str();
    let by = |is: fn(&OsImage, &str) -> bool| first_by_default(images, architecture, |image| is(image, name));
    let image = by(|image, name| image.name.as_deref() == Some(name))
        .or_else(|| by(|image, name| image.version == name))
        .or_else(|| by(|image, name| image.openshift_version == name))
        .ok_or_else(|| NoImage::OfName {
            name: name.to_owned(),
            architecture: architecture.name(),
            known: known(images, architecture, |image| {
                Some(image.name.as_deref().unwrap_or(&image.version))
            }),
        })?;
    match &image.kubernetes_version {
        Some(found) if !wish.kubernetes_version.is_empty() && *found != wish.kubernetes_version => {
            Err(NoImage::OtherKubernetes {
                name: name.to_owned(),
                found: found.clone(),
                wanted: wish.kubernetes_version.clone(),
            })
        }
        _ => Ok(image),
    }
}

/// The first image for disks that is wanted; the default is before others.
fn first_by_default(
    images: &[OsImage],
    architecture: CpuArchitecture,
    is_wanted: impl Fn(&OsImage) -> bool,
) -> Option<&OsImage> {
    let of_architecture = |image: &&OsImage| image.metal.is_some() && image.cpu_architecture == architecture;
    let wanted = images
        .iter()
        .filter(of_architecture)
        .filter(|image| is_wanted(image));
    wanted.min_by_key(|image| !image.is_default)
}

/// What the images for disks of an architecture have, for messages.
fn known(images: &[OsImage], architecture: CpuArchitecture, of: impl Fn(&OsImage) -> Option<&str>) -> String {
    let images = images.iter();
    let images = images.filter(|image| image.metal.is_some() && image.cpu_architecture == architecture);
    let known: BTreeSet<&str> = images.filter_map(of).collect();
    if known.is_empty() {
        return "none".into();
    }
    known.into_iter().collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use strum::VariantArray;

    use super::*;
    use crate::rules::os_image::{check_offered, parse};

    const X86: CpuArchitecture = CpuArchitecture::X86_64;

    /// Entries as (name, build, version of clusters, Kubernetes version, architecture, default); empty: not given.
    fn wished_list(entries: &[(&str, &str, &str, &str, &str, bool)]) -> Vec<OsImage> {
        let entries: Vec<serde_json::Value> = entries
            .iter()
            .map(|(name, version, openshift, kubernetes, architecture, default)| {
                serde_json::json!({
                    "name": name, "version": version, "openshift_version": openshift, "kubernetes_version": kubernetes,
                    "cpu_architecture": architecture, "default": default,
                    "metal_url": "http://x/a.raw", "metal_sha256": "0".repeat(64),
                })
            })
            .collect();
        parse(&serde_json::Value::from(entries).to_string()).unwrap()
    }

    fn wish(name: &str, kubernetes_version: &str) -> ImageWish {
        ImageWish {
            name: name.into(),
            kubernetes_version: kubernetes_version.into(),
        }
    }

    fn mixed() -> Vec<OsImage> {
        wished_list(&[
            ("", "420.1", "4.20", "", "x86_64", true),
            ("old", "d1", "", "1.34.4", "x86_64", false),
            ("new", "d2", "", "1.35.1", "x86_64", false),
            ("flatcar", "f1", "", "1.35.1", "x86_64", false),
            ("old", "d1-arm", "", "1.34.4", "arm64", true),
            // The name of one is the build of another.
            ("d2", "d3", "", "", "x86_64", false),
            ("rhcos", "420.2", "4.20", "", "x86_64", false),
        ])
    }

    #[test]
    fn an_image_is_chosen_by_name_then_by_kubernetes_version_then_by_cluster() {
        use OsImageChoice::{ClusterVersion, Default, KubernetesVersion, Name};
        let images = mixed();
        for (name, kubernetes, version, architecture, wanted) in [
            ("old", "", "", X86, Some(("d1", Name))),
            ("old", "1.34.4", "", X86, Some(("d1", Name))),
            ("old", "1.35.1", "", X86, None),
            (
                "old",
                "",
                "4.20",
                CpuArchitecture::Aarch64,
                Some(("d1-arm", Name)),
            ),
            ("new", "", "", CpuArchitecture::Arm64, None),
            ("d2", "1.36.0", "", X86, Some(("d3", Name))),
            ("f1", "", "", X86, Some(("f1", Name))),
            ("4.20", "", "", X86, Some(("420.1", Name))),
            ("gone", "1.34.4", "4.20", X86, None),
            ("", "1.34.4", "4.20", X86, Some(("d1", KubernetesVersion))),
            ("", "1.35.1", "", X86, Some(("d2", KubernetesVersion))),
            ("", "1.34.5", "", X86, None),
            ("", "1.34", "", X86, None),
            ("", "1.35.1", "", CpuArchitecture::Arm64, None),
            ("", "", "4.20.3", X86, Some(("420.1", ClusterVersion))),
            ("", "", "", X86, Some(("420.1", Default))),
        ] {
            let found = choose_wished(&images, &wish(name, kubernetes), version, architecture);
            let found = found.ok().map(|(image, by)| (image.version.as_str(), by));
            assert_eq!(found, wanted, "{name} {kubernetes} {version} {architecture:?}");
        }
        // Without a declared Kubernetes version the wish for one decides nothing.
        let plain = wished_list(&[
            ("", "of-4.19", "4.19", "", "x86_64", true),
            ("", "of-4.20", "4.20", "", "x86_64", false),
        ]);
        for (version, wanted) in [
            ("", ("of-4.19", Default)),
            ("4.20.1", ("of-4.20", ClusterVersion)),
        ] {
            let (image, by) = choose_wished(&plain, &wish("", "1.34.4"), version, X86).unwrap();
            assert_eq!((image.version.as_str(), by), wanted);
        }
    }

    #[test]
    fn a_wish_that_cannot_be_met_is_refused_with_what_the_list_has() {
        let images = mixed();
        let words = |name: &str, kubernetes: &str| {
            choose_wished(&images, &wish(name, kubernetes), "", X86)
                .unwrap_err()
                .to_string()
        };
        let gone = words("gone", "");
        assert!(
            gone.contains("\"gone\" for x86_64") && gone.contains("has 420.1, d2, flatcar, new, old, rhcos"),
            "{gone}"
        );
        let version = words("", "1.36.0");
        assert!(
            version.contains("Kubernetes 1.36.0 for x86_64") && version.ends_with("has 1.34.4, 1.35.1"),
            "{version}"
        );
        let other = words("old", "1.35.1");
        assert!(
            other.contains("has Kubernetes 1.34.4, and the Machine wants 1.35.1"),
            "{other}"
        );
    }

    #[test]
    fn the_architectures_of_a_wish_are_those_that_meet_it() {
        let images = mixed();
        let any = ImageConfiguration::VARIANTS;
        let of = |name: &str, kubernetes: &str| architectures(&images, &wish(name, kubernetes), any);
        let both = vec![X86, CpuArchitecture::Arm64];
        assert_eq!(of("old", ""), Ok(Some(both.clone())));
        assert_eq!(of("", "1.34.4"), Ok(Some(both)));
        assert_eq!(of("new", ""), Ok(Some(vec![X86])));
        assert_eq!(of("", ""), Ok(None));
        assert!(matches!(of("gone", ""), Err(NoImage::OfName { .. })));
        assert!(matches!(of("", "1.40.0"), Err(NoImage::OfKubernetes { .. })));
        assert_eq!(architectures(&[], &wish("", "1.34.4"), any), Ok(None));
        assert!(architectures(&[], &wish("old", ""), any).is_err());
    }

    #[test]
    fn the_program_that_configures_an_image_counts() {
        use ImageConfiguration::{CloudInit, Ignition};
        let mut images = mixed();
        for (name, by, wanted) in [
            ("old", Ignition, Ok(Some(vec![X86, CpuArchitecture::Arm64]))),
            ("old", CloudInit, Err(NoImage::OtherConfiguration(Ignition))),
            ("", Ignition, Ok(None)),
            ("", CloudInit, Err(NoImage::OtherConfiguration(Ignition))),
        ] {
            assert_eq!(
                architectures(&images, &wish(name, ""), &[by]),
                wanted,
                "{name} {by}"
            );
        }
        images[1].metal.as_mut().unwrap().configuration = CloudInit;
        assert!(has_image_by(&images, CloudInit));
        for (name, by, wanted) in [
            ("old", Ignition, Ok(Some(vec![CpuArchitecture::Arm64]))),
            ("old", CloudInit, Ok(Some(vec![X86]))),
            ("d1", Ignition, Err(NoImage::OtherConfiguration(CloudInit))),
            // The image is not known: that of the cluster may be the one.
            ("", CloudInit, Ok(None)),
        ] {
            assert_eq!(
                architectures(&images, &wish(name, ""), &[by]),
                wanted,
                "{name} {by}"
            );
        }
    }

    #[test]
    fn versions_of_entries_without_one_are_not_offered() {
        let named = wished_list(&[("old", "d1", "", "1.34.4", "x86_64", true)]);
        assert!(check_offered(&named, &[], "4.17").is_ok());
        let refused = check_offered(&mixed(), &[], "4.17").unwrap_err().to_string();
        assert!(refused.contains("the service knows 4.20;"), "{refused}");
    }
}
