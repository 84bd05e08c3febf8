//! The live image on disk: found, opened once, opened anew when somebody replaces the file.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, RwLock};
use std::time::{Duration, SystemTime};

use muster_api::live::LiveConfig;
use muster_image::{Customisation, CustomiseError, ImageBytes, LiveImage, LiveImageError};
use tokio::sync::Mutex;

use super::download::{BaseFile, Download, FileStamp, Meta};

/// UEFI HTTP boot takes this for a CD whatever the URL ends in (docs/protocol/ipxe.md#5).
const ISO_TYPE: &str = "application/vnd.efi-iso";
const BINARY_TYPE: &str = "application/octet-stream";

/// Why there is no live image to send. The texts are for the operator; the service maps all to "not now".
#[derive(Debug, thiserror::Error)]
pub enum LiveImageUnavailable {
    /// No file at any of the places.
    #[error(
        "there is no live image: put one at {} or give --live-image; `make image` or `muster-image live build` makes one",
        list(searched)
    )]
    Missing {
        /// Where it was looked for.
        searched: Vec<PathBuf>,
    },
    /// The file cannot be opened.
    #[error("cannot open the live image {}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file is not a live image that this program can use.
    #[error("cannot use the live image {}", path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: LiveImageError,
    },
}

fn list(paths: &[PathBuf]) -> String {
    let texts: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    texts.join(" or ")
}

/// The places where a live image may be, and the one in use.
#[derive(Debug)]
pub struct LiveImages {
    searched: Vec<PathBuf>,
    current: RwLock<Option<Arc<OpenLiveImage>>>,
    /// Held while a file is opened and hashed, so that it happens once.
    opening: Mutex<()>,
}

/// An opened live image.
#[derive(Debug)]
pub struct OpenLiveImage {
    /// Where it was found.
    pub path: PathBuf,
    /// What is in it.
    pub image: LiveImage,
    /// When the file was last written.
    pub modified: SystemTime,
    base: Arc<BaseFile>,
}

impl LiveImages {
    /// Looks at these paths, the first that exists wins. Nothing is opened yet.
    pub fn new(searched: impl IntoIterator<Item = PathBuf>) -> Self {
        Self {
            searched: searched.into_iter().collect(),
            current: RwLock::default(),
            opening: Mutex::default(),
        }
    }

    /// The image as it is on disk now. Costs one `stat` while the file stays the same.
    pub async fn current(&self) -> Result<Arc<OpenLiveImage>, LiveImageUnavailable> {
        let (path, stamp) = self.find()?;
        if let Some(open) = self.unchanged(path, stamp) {
            return Ok(open);
        }
        let _opening = self.opening.lock().await;
        let (path, stamp) = self.find()?;
        if let Some(open) = self.unchanged(path, stamp) {
            return Ok(open);
        }
        let owned = path.to_owned();
        let outcome = tokio::task::spawn_blocking(move || OpenLiveImage::open(owned)).await;
        let open = Arc::new(outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()))?);
        tracing::info!(path = %open.path.display(), agent = open.image.agent_version, "live image opened");
        *self
            .current
            .write()
            .expect("no code panics while holding the lock") = Some(open.clone());
        Ok(open)
    }

    fn find(&self) -> Result<(&Path, FileStamp), LiveImageUnavailable> {
        for path in &self.searched {
            match std::fs::metadata(path) {
                Ok(metadata) => return Ok((path, FileStamp::from(&metadata))),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(source) => {
                    return Err(LiveImageUnavailable::Open {
                        path: path.clone(),
                        source,
                    });
                }
            }
        }
        Err(LiveImageUnavailable::Missing {
            searched: self.searched.clone(),
        })
    }

    fn unchanged(&self, path: &Path, stamp: FileStamp) -> Option<Arc<OpenLiveImage>> {
        let current = self
            .current
            .read()
            .expect("no code panics while holding the lock");
        current
            .as_ref()
            .filter(|open| open.path == path && open.base.stamp() == stamp)
            .cloned()
    }
}

impl OpenLiveImage {
    /// Opens and reads the whole file once; blocks.
    pub fn open(path: PathBuf) -> Result<Self, LiveImageUnavailable> {
        let opened = File::open(&path).and_then(|file| {
            let metadata = file.metadata()?;
            // An image that was moved here is new here, whenever it was made.
            let arrived = SystemTime::UNIX_EPOCH + Duration::from_secs(metadata.ctime().unsigned_abs());
            let modified = metadata.modified()?.max(arrived);
            Ok((BaseFile::new(file)?, modified))
        });
        let (base, modified) = match opened {
            Ok(opened) => opened,
            Err(source) => return Err(LiveImageUnavailable::Open { path, source }),
        };
        let image = match LiveImage::open(base.file()) {
            Ok(image) => image,
            Err(source) => return Err(LiveImageUnavailable::Unusable { path, source }),
        };
        Ok(Self {
            path,
            image,
            modified,
            base: Arc::new(base),
        })
    }

    /// The ISO for one InfraEnv, which last changed at `updated_at`.
    pub fn iso(
        &self,
        wanted: &Customisation,
        updated_at: SystemTime,
        file_name: impl Into<String>,
    ) -> Result<Download, CustomiseError> {
        Ok(self.download(self.image.iso(wanted)?, updated_at, ISO_TYPE, file_name))
    }

    /// The initramfs with the InfraEnv's configuration behind it, for iPXE.
    pub fn initrd(
        &self,
        config: &LiveConfig,
        updated_at: SystemTime,
        file_name: impl Into<String>,
    ) -> Result<Download, CustomiseError> {
        Ok(self.download(self.image.initrd(config)?, updated_at, BINARY_TYPE, file_name))
    }

    /// The kernel.
    pub fn kernel(&self) -> Download {
        self.download(self.image.kernel(), self.modified, BINARY_TYPE, "vmlinuz")
    }

    fn download(
        &self,
        bytes: ImageBytes,
        updated_at: SystemTime,
        content_type: &'static str,
        file_name: impl Into<String>,
    ) -> Download {
        let last_modified = whole_seconds(updated_at.max(self.modified));
        let meta = Meta {
            etag: bytes.etag,
            last_modified,
            content_type,
            file_name: file_name.into(),
        };
        Download {
            plan: bytes.plan,
            base: self.base.clone(),
            meta,
        }
    }
}

/// HTTP dates have no fractions; with them `If-Modified-Since` would never be met.
fn whole_seconds(time: SystemTime) -> SystemTime {
    let since_epoch = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    SystemTime::UNIX_EPOCH + Duration::from_secs(since_epoch.as_secs())
}
