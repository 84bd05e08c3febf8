//! Customises the live image for one InfraEnv, as byte plans.

use std::io;

use bytes::Bytes;
use muster_api::live::LiveConfig;

use crate::config_archive::config_archive;
use crate::etag::etag;
use crate::kargs::{KargsAreas, KargsError};
use crate::live::LiveImage;
use crate::overlay::{OutOfImage, Piece, Plan};
use crate::read_at::{Planned, ReadAt, digest};

/// Settings of an InfraEnv that its images hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Customisation {
    pub config: LiveConfig,
    /// Arguments after the image's own, unescaped.
    pub kernel_arguments: Vec<String>,
}

/// A finished image or boot artifact: its bytes as a plan over the base file, and their tag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageBytes {
    pub plan: Plan,
    /// Strong entity tag, quoted.
    pub etag: String,
}

/// An image cannot be made for an InfraEnv. The user can act on each.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CustomiseError {
    /// The configuration is larger than its area.
    #[error(
        "the configuration needs {needed} bytes, the image reserves {limit}: shorten certificates, static networks, proxy or NTP sources of the InfraEnv"
    )]
    ConfigTooBig { needed: u64, limit: u64 },
    /// The arguments do not fit or are malformed.
    #[error(transparent)]
    KernelArguments(#[from] KargsError),
    /// Areas were checked when the image was opened, so this is a defect of the image's description.
    #[error(transparent)]
    OutOfImage(#[from] OutOfImage),
}

impl ImageBytes {
    /// SHA-256 of the whole, over its base file.
    ///
    /// # Errors
    /// If `base` cannot be read.
    pub fn sha256<R: ReadAt + ?Sized>(&self, base: &R) -> io::Result<[u8; 32]> {
        let view = Planned {
            base,
            plan: &self.plan,
        };
        digest(&view, self.plan.length())
    }

    /// The same image with one more kernel argument, in areas that were written when it was made: nothing else of it is rebuilt.
    pub(crate) fn with_argument(&self, kargs: &KargsAreas, argument: &str) -> Option<Self> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'=');
        if !argument.bytes().all(is_plain) {
            return None;
        }
        let plan = kargs.appended(&self.plan, argument)?;
        // The argument is all that differs.
        let etag = format!("\"{}-{argument}\"", self.etag.trim_matches('"'));
        Some(Self { plan, etag })
    }
}

impl LiveImage {
    /// An ISO of [`Self::iso`] with one more kernel argument of letters, digits, `.`, `-` and `=`; `None`: there is no room.
    pub fn iso_with_argument(&self, made: &ImageBytes, argument: &str) -> Option<ImageBytes> {
        made.with_argument(&self.kargs, argument)
    }

    /// The ISO: the base with the configuration and kernel-argument areas written.
    pub fn iso(&self, wanted: &Customisation) -> Result<ImageBytes, CustomiseError> {
        let archive = self.checked_archive(&wanted.config)?;
        let own = self.kargs.default_arguments_before(&wanted.kernel_arguments);
        let arguments = self.kargs.with_default(own).written(&wanted.kernel_arguments)?;
        let whole = crate::iso9660::Extent {
            offset: 0,
            length: self.length,
        };
        let mut plan = Plan::of_base(whole).filled(self.config, archive)?;
        for (offset, area) in arguments {
            plan = plan.overlaid(offset, Piece::Bytes(area))?;
        }
        Ok(self.tagged(plan))
    }

    /// The initramfs for iPXE: the base's and the configuration archive.
    pub fn initrd(&self, config: &LiveConfig) -> Result<ImageBytes, CustomiseError> {
        let archive = self.checked_archive(config)?;
        Ok(self.tagged(Plan::initrd_with(self.initrd, archive)))
    }

    /// The kernel, the same for every InfraEnv.
    pub fn kernel(&self) -> ImageBytes {
        self.tagged(Plan::of_base(self.kernel))
    }

    /// An InfraEnv that fits one form fits the other, so the limit is the same for both.
    fn checked_archive(&self, config: &LiveConfig) -> Result<Bytes, CustomiseError> {
        let archive = config_archive(config);
        let needed = archive.len() as u64;
        if needed > self.config.length {
            return Err(CustomiseError::ConfigTooBig {
                needed,
                limit: self.config.length,
            });
        }
        Ok(archive.into())
    }

    fn tagged(&self, plan: Plan) -> ImageBytes {
        ImageBytes {
            etag: etag(&self.digest, &plan),
            plan,
        }
    }
}

#[cfg(test)]
pub(crate) fn test_config(name: &str) -> LiveConfig {
    LiveConfig {
        version: muster_api::live::CONFIG_VERSION,
        service_url: "http://muster.example:8090".into(),
        infra_env_id: muster_api::ids::InfraEnvId(uuid::uuid!("0b6f7a52-1111-4222-8333-444455556666")),
        infra_env_name: name.into(),
        token: Some("token-of-this-pool".into()),
        ca_certificates: String::new(),
        proxy: Default::default(),
        ntp_sources: vec!["ntp.example".into()],
        networks: Vec::new(),
        ssh_authorized_keys: Vec::new(),
        created_at: None,
    }
}
