//! Chooses the image that the hosts of an InfraEnv are discovered with: the CoreOS live ISO of its version, where the operator's list
//! names one, else the Muster live image.

use std::sync::Arc;
use std::time::SystemTime;

use muster_api::infra_env::CpuArchitecture;
use muster_core::record::InfraEnv;
use muster_core::rules::os_image::{OsImage, choose_live, choose_live_by_name};
use muster_image::ImageBytes;

use crate::images::base_file::BaseFile;
use crate::images::coreos::{CoreOsImages, CoreOsUnavailable, OpenCoreOsImage};
use crate::images::live::{LiveImageUnavailable, LiveImages, OpenLiveImage};
use crate::images::os::OsImages;

/// The images, and the list that assigns them to versions.
pub struct DiscoveryImages {
    live: Arc<LiveImages>,
    pub coreos: CoreOsImages,
    list: Arc<OsImages>,
}

/// An open image.
#[derive(Debug, Clone)]
pub enum DiscoveryImage {
    Muster(Arc<OpenLiveImage>),
    CoreOs(Arc<OpenCoreOsImage>),
}

/// There is no image to discover hosts with.
#[derive(Debug, thiserror::Error)]
pub enum DiscoveryImageUnavailable {
    #[error(transparent)]
    Muster(#[from] LiveImageUnavailable),
    #[error(transparent)]
    CoreOs(#[from] CoreOsUnavailable),
    /// Neither the operator's list nor a Muster live image serves it.
    #[error(
        "there is no discovery image for {architecture} with version {version:?}: this service has no Muster live image for it (--live-image-aarch64 for arm64); give one, or add an entry with url, a CoreOS live ISO, to --os-images (OS_IMAGES)"
    )]
    NoArchitecture {
        architecture: &'static str,
        version: String,
    },
}

impl DiscoveryImages {
    pub(crate) fn new(live: Arc<LiveImages>, coreos: CoreOsImages, list: Arc<OsImages>) -> Self {
        Self { live, coreos, list }
    }

    /// The image of an InfraEnv.
    pub async fn of(&self, infra_env: &InfraEnv) -> Result<DiscoveryImage, DiscoveryImageUnavailable> {
        let settings = &infra_env.settings;
        let list = self.list.list();
        let entry = choose_live(&list, &settings.openshift_version, settings.cpu_architecture);
        self.open(entry, &settings.openshift_version, settings.cpu_architecture)
            .await
    }

    /// The image that an address of upstream's form names.
    pub async fn named(
        &self,
        version: &str,
        architecture: CpuArchitecture,
    ) -> Result<DiscoveryImage, DiscoveryImageUnavailable> {
        let list = self.list.list();
        let entry = choose_live_by_name(&list, version, architecture);
        self.open(entry, version, architecture).await
    }

    /// The CoreOS image of an InfraEnv, if it has one that is open already.
    pub(crate) fn opened_coreos(&self, infra_env: &InfraEnv) -> Option<Arc<OpenCoreOsImage>> {
        let settings = &infra_env.settings;
        let list = self.list.list();
        let entry = choose_live(&list, &settings.openshift_version, settings.cpu_architecture)?;
        self.coreos.opened(entry)
    }

    async fn open(
        &self,
        entry: Option<&OsImage>,
        version: &str,
        architecture: CpuArchitecture,
    ) -> Result<DiscoveryImage, DiscoveryImageUnavailable> {
        let own = self.live.of(architecture);
        if let Some(entry) = entry {
            match self.coreos.current(entry).await {
                Ok(open) => {
                    // They hold the agents, whose digests are in the made images; without digests machines download any
                    // agent of the service.
                    let _ = self.live.all().await;
                    return Ok(DiscoveryImage::CoreOs(open));
                }
                // Hosts are discovered nevertheless: a site that cannot reach that server loses nothing else.
                Err(CoreOsUnavailable::Unreachable { .. }) if own.is_some() => {}
                Err(error) => return Err(error.into()),
            }
        }
        let own = own.ok_or_else(|| DiscoveryImageUnavailable::NoArchitecture {
            architecture: architecture.name(),
            version: version.to_owned(),
        })?;
        Ok(DiscoveryImage::Muster(own.current().await?))
    }
}

impl DiscoveryImage {
    /// SHA-256 of the base.
    pub fn digest(&self) -> [u8; 32] {
        match self {
            Self::Muster(live) => live.image.digest,
            Self::CoreOs(open) => open.image.digest,
        }
    }

    /// The file that plans refer to.
    pub fn base(&self) -> &Arc<BaseFile> {
        match self {
            Self::Muster(live) => live.base(),
            Self::CoreOs(open) => &open.base,
        }
    }

    /// Time of the last write of that file.
    pub fn modified(&self) -> SystemTime {
        match self {
            Self::Muster(live) => live.modified,
            Self::CoreOs(open) => open.modified,
        }
    }

    /// The kernel, the same for every InfraEnv.
    pub fn kernel(&self) -> ImageBytes {
        match self {
            Self::Muster(live) => live.image.kernel(),
            Self::CoreOs(open) => open.image.pxe_kernel(),
        }
    }

    /// The root file system, the same for every InfraEnv; `None`: there is only the initramfs.
    pub fn rootfs(&self) -> Option<ImageBytes> {
        match self {
            Self::Muster(_) => None,
            Self::CoreOs(open) => Some(open.image.pxe_rootfs()),
        }
    }

    /// The list by which s390x machines load kernel and initramfs, the same for every InfraEnv; `None`: for other machines.
    pub fn generic_ins(&self) -> Option<ImageBytes> {
        match self {
            Self::Muster(_) => None,
            Self::CoreOs(open) => open.image.generic_ins(),
        }
    }

    /// The file with address and length of `initrd` for s390x machines; `None`: for other machines.
    pub fn initrd_addrsize(&self, initrd: &ImageBytes) -> Option<ImageBytes> {
        match self {
            Self::Muster(_) => None,
            Self::CoreOs(open) => open.image.initrd_addrsize(initrd),
        }
    }

    /// The kernel line of a machine that starts kernel and initramfs without firmware: the image's own arguments, then the user's.
    pub fn kernel_line(&self, infra_env: &InfraEnv, rootfs_url: &str) -> Vec<String> {
        let arguments = infra_env.kernel_arguments();
        let mut line: Vec<String> = match self {
            Self::Muster(live) => {
                let own = live.image.kargs.default_arguments_before(&arguments);
                own.split_whitespace().map(str::to_owned).collect()
            }
            Self::CoreOs(open) => open.image.netboot_arguments(rootfs_url),
        };
        line.extend(arguments);
        line
    }
}
