//! Opens the CoreOS live ISOs of the operator's list: files in place, and those that were downloaded into the data directory.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use muster_api::time::Timestamp;
use muster_core::rules::os_image::{Digest, OsImage, Source};
use muster_image::CoreOsImage;
use sha2::{Digest as _, Sha256};

use crate::images::ImageError;
use crate::images::base_file::{BaseFile, FileStamp};

/// Entries of the list differ in these.
type Key = (String, &'static str);

/// The live ISOs of the list.
pub struct CoreOsImages {
    /// Folder of downloads.
    pub folder: PathBuf,
    places: HashMap<Key, Place>,
}

struct Place {
    wanted: WantedImage,
    state: Mutex<State>,
    /// Held while a file is read as a whole, so that it is read once.
    opening: tokio::sync::Mutex<()>,
}

/// A live ISO of the list, and its place here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WantedImage {
    /// Product version and architecture, for the log and for users.
    pub name: String,
    /// `None`: the operator places the file at `path`.
    pub url: Option<String>,
    pub path: PathBuf,
    pub sha256: Option<Digest>,
}

#[derive(Default)]
struct State {
    open: Option<Arc<OpenCoreOsImage>>,
    /// The state of the file when it was refused, and the reason.
    refused: Option<(FileStamp, String)>,
    download: Download,
}

/// Progress of a download.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Download {
    #[default]
    NotBegun,
    /// Bytes that are here, and the total, if the server reports it.
    Running { done: u64, of: Option<u64> },
    /// The download was interrupted after so many bytes; it continues at `again`.
    Cut {
        done: u64,
        of: Option<u64>,
        why: String,
        again: Timestamp,
    },
    /// The last attempt failed; another follows at `again`. `unreachable`: there was no image to check.
    Failed {
        why: String,
        unreachable: bool,
        again: Timestamp,
    },
}

impl Download {
    /// The progress as text.
    fn progress(done: u64, of: Option<u64>) -> String {
        match of {
            Some(of) => format!("{} % of {} MB", done * 100 / of.max(1), of / 1_000_000),
            None => format!("{} MB so far", done / 1_000_000),
        }
    }
}

/// An opened live ISO.
#[derive(Debug)]
pub struct OpenCoreOsImage {
    pub image: CoreOsImage,
    pub base: Arc<BaseFile>,
    /// Time of the last write.
    pub modified: SystemTime,
}

/// A live ISO cannot be served now. The texts are for operators and users.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CoreOsUnavailable {
    /// It will be available without a user's help.
    #[error("the CoreOS image {name} is being downloaded: {progress}; try again later")]
    Downloading { name: String, progress: String },
    /// Its server does not respond, or has no such file; the download is retried.
    #[error("the CoreOS image {name} cannot be downloaded: {why}")]
    Unreachable { name: String, why: String },
    /// An operator has to act.
    #[error("the CoreOS image {name} cannot be used: {why}")]
    Unusable { name: String, why: String },
}

impl CoreOsImages {
    /// The images of `list`; `folder` holds downloads.
    pub fn new(list: &[OsImage], folder: PathBuf) -> Self {
        let places = list.iter().filter_map(|image| {
            let wanted = wanted(image, &folder)?;
            let place = Place {
                wanted,
                state: Mutex::default(),
                opening: tokio::sync::Mutex::default(),
            };
            Some((key(image), place))
        });
        Self {
            places: places.collect(),
            folder,
        }
    }

    /// All of them.
    pub fn wanted(&self) -> impl Iterator<Item = &WantedImage> {
        self.places.values().map(|place| &place.wanted)
    }

    /// The image of an entry that has one, as it is on disk now. Costs one `stat` while the file stays the same, and reads it as a
    /// whole when it is new.
    pub async fn current(&self, image: &OsImage) -> Result<Arc<OpenCoreOsImage>, CoreOsUnavailable> {
        match self.places.get(&key(image)) {
            Some(place) => place.current().await,
            None => Err(CoreOsUnavailable::Unusable {
                name: name(image),
                why: "the list names no live ISO".into(),
            }),
        }
    }

    /// The image of an entry, if it is open already.
    pub fn opened(&self, image: &OsImage) -> Option<Arc<OpenCoreOsImage>> {
        self.places.get(&key(image))?.state().open.clone()
    }

    /// Reports the progress of the download to `path`, for all entries that share the file.
    pub fn report(&self, path: &Path, download: &Download) {
        let sharing = self.places.values().filter(|place| place.wanted.path == path);
        for place in sharing {
            place.state().download = download.clone();
        }
    }

    /// Checks a finished download, and moves it to its place.
    ///
    /// # Errors
    /// [`ImageError`]; the file stays in place.
    pub async fn accept(&self, wanted: &WantedImage, part: &Path) -> Result<(), ImageError> {
        let (from, to, sha256) = (part.to_owned(), wanted.path.clone(), wanted.sha256.clone());
        let moved = move || {
            open(&from, sha256.as_ref())?;
            std::fs::rename(&from, &to).map_err(ImageError::NotRenamed)
        };
        let moved = tokio::task::spawn_blocking(moved).await;
        moved.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()))?;
        self.report(&wanted.path, &Download::NotBegun);
        Ok(())
    }

    /// Opens new files on disk, so that booting machines do not wait for it.
    pub async fn open_all(&self) {
        for place in self.places.values() {
            // A request for it returns the error.
            let _ = place.current().await;
        }
    }

    /// The state of each image by its name: the build, or the problem.
    pub fn states(&self) -> BTreeMap<&str, String> {
        let state = |place: &Place| match place.known() {
            Ok(Some(open)) => open.image.volume_id.clone(),
            Ok(None) => "it is being checked".to_owned(),
            Err(error) => error.to_string(),
        };
        let places = self.places.values();
        places
            .map(|place| (place.wanted.name.as_str(), state(place)))
            .collect()
    }
}

impl Place {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn current(&self) -> Result<Arc<OpenCoreOsImage>, CoreOsUnavailable> {
        if let Some(known) = self.known()? {
            return Ok(known);
        }
        let _opening = self.opening.lock().await;
        if let Some(known) = self.known()? {
            return Ok(known);
        }
        let (path, sha256) = (self.wanted.path.clone(), self.wanted.sha256.clone());
        tracing::info!(image = self.wanted.name, path = %path.display(), "a CoreOS image is checked");
        let opened = tokio::task::spawn_blocking(move || {
            let stamp = std::fs::metadata(&path).map(|metadata| FileStamp::from(&metadata));
            (stamp, open(&path, sha256.as_ref()))
        });
        let opened = opened.await;
        let (stamp, opened) = opened.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()));
        let mut state = self.state();
        match opened {
            Ok(open) => {
                tracing::info!(
                    image = self.wanted.name,
                    build = open.image.volume_id,
                    "a CoreOS image is ready"
                );
                let open = Arc::new(open);
                state.open = Some(open.clone());
                Ok(open)
            }
            Err(error) => {
                let why = error.to_string();
                tracing::error!(image = self.wanted.name, why, "a CoreOS image is not served");
                state.open = None;
                if let Ok(stamp) = stamp {
                    state.refused = Some((stamp, why.clone()));
                }
                Err(self.unusable(why))
            }
        }
    }

    /// The known state of the present file; `None`: it has to be read.
    fn known(&self) -> Result<Option<Arc<OpenCoreOsImage>>, CoreOsUnavailable> {
        let found = std::fs::metadata(&self.wanted.path);
        let state = self.state();
        let metadata = match found {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(self.missing(&state)),
            Err(error) => return Err(self.unusable(format!("{}: {error}", self.wanted.path.display()))),
        };
        let stamp = FileStamp::from(&metadata);
        match &state.refused {
            Some((refused, why)) if *refused == stamp => return Err(self.unusable(why.clone())),
            _ => {}
        }
        let open = state.open.as_ref().filter(|open| open.base.stamp() == stamp);
        Ok(open.cloned())
    }

    fn missing(&self, state: &State) -> CoreOsUnavailable {
        let name = self.wanted.name.clone();
        let progress = match (&self.wanted.url, &state.download) {
            (None, _) => {
                return self.unusable(format!("put the file at {}", self.wanted.path.display()));
            }
            (Some(_), Download::NotBegun) => "it begins in a moment".to_owned(),
            (Some(_), Download::Running { done, of }) => Download::progress(*done, *of),
            (Some(_), Download::Cut { done, of, why, again }) => {
                let progress = Download::progress(*done, *of);
                format!("{progress}, then {why}; it goes on at {}", at(*again))
            }
            (
                Some(_),
                Download::Failed {
                    why,
                    unreachable,
                    again,
                },
            ) => {
                let why = format!("{why}; it is tried again at {}", at(*again));
                return if *unreachable {
                    CoreOsUnavailable::Unreachable { name, why }
                } else {
                    self.unusable(why)
                };
            }
        };
        CoreOsUnavailable::Downloading { name, progress }
    }

    fn unusable(&self, why: String) -> CoreOsUnavailable {
        CoreOsUnavailable::Unusable {
            name: self.wanted.name.clone(),
            why,
        }
    }
}

/// Opens and reads the whole file; blocks.
fn open(path: &Path, sha256: Option<&Digest>) -> Result<OpenCoreOsImage, ImageError> {
    let opened = File::open(path).and_then(|file| {
        let modified = file.metadata()?.modified()?;
        Ok((BaseFile::new(file)?, modified))
    });
    let (base, modified) = opened.map_err(|source| ImageError::Unopened {
        path: path.to_owned(),
        source,
    })?;
    let image = CoreOsImage::open(base.file()).map_err(ImageError::NotCoreOs)?;
    let found = hex::encode(image.digest);
    match sha256 {
        Some(wanted) if wanted.as_str() != found => {
            return Err(ImageError::OtherDigest {
                what: "it",
                found,
                wanted: wanted.as_str().to_owned(),
            });
        }
        _ => {}
    }
    Ok(OpenCoreOsImage {
        image,
        base: Arc::new(base),
        modified,
    })
}

fn at(time: Timestamp) -> String {
    time.format("%Y-%m-%d %H:%M:%S UTC").to_string()
}

fn key(image: &OsImage) -> Key {
    (image.openshift_version.clone(), image.cpu_architecture.name())
}

fn name(image: &OsImage) -> String {
    format!("{} ({})", image.openshift_version, image.cpu_architecture.name())
}

/// A download's name is derived from its address, so that another address is another file, and versions with one image
/// share it.
fn wanted(image: &OsImage, folder: &Path) -> Option<WantedImage> {
    let live = image.live.as_ref()?;
    let (url, path) = match &live.source {
        Source::Path(path) => (None, PathBuf::from(path)),
        Source::Url(url) => {
            let address = hex::encode(&Sha256::digest(url)[..8]);
            let architecture = image.cpu_architecture.name();
            let path = folder.join(format!("coreos-{architecture}-{address}.iso"));
            (Some(url.clone()), path)
        }
    };
    Some(WantedImage {
        name: name(image),
        url,
        path,
        sha256: live.sha256.clone(),
    })
}
