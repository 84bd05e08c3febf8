//! Checks the files of the operator's OS images against their digests, and opens them for hosts.
//!
//! A file is offered only after it was read as a whole and matches its digest; it is read again when it changes.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use muster_core::rules::os_image::{Availability, MetalImage, OsImage, Source};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::error::OperationError;
use crate::images::base_file::{BaseFile, FileStamp};

mod check;

use check::{Checked, check};

/// Time until files are checked again: they may have been added or replaced.
const LOOK_INTERVAL: Duration = Duration::from_secs(10);

/// Entries differ in these: version, name, architecture.
type Key = (String, Option<String>, &'static str);

/// The operator's list, with the state of its files.
pub struct OsImages {
    /// As given.
    given: Vec<OsImage>,
    /// With the files' present availability.
    shown: RwLock<Arc<Vec<OsImage>>>,
    files: Mutex<HashMap<Key, Known>>,
    look: Notify,
}

/// The outcome of the last check of a file.
struct Known {
    stamp: FileStamp,
    open: Option<Arc<OpenOsImage>>,
}

/// A checked file.
#[derive(Debug)]
pub struct OpenOsImage {
    pub base: Arc<BaseFile>,
    /// SHA-256 of the file, hexadecimal.
    pub sha256: String,
    /// Bytes.
    pub size: u64,
    /// Time of the last write.
    pub modified: SystemTime,
    /// Offered name.
    pub file_name: String,
}

/// A host cannot have an image from this service.
#[derive(Debug, thiserror::Error)]
pub enum NoOsImage {
    /// The text holds the remedy.
    #[error("{0}")]
    Conflict(String),
    /// The image will be available soon.
    #[error("{0}")]
    Later(String),
    #[error(transparent)]
    Failed(#[from] OperationError),
}

impl OsImages {
    /// The images of `list`; files are unknown until [`watch`](Self::watch) has read them.
    pub fn new(list: Vec<OsImage>) -> Self {
        Self {
            shown: RwLock::new(Arc::new(list.clone())),
            given: list,
            files: Mutex::default(),
            look: Notify::new(),
        }
    }

    /// The list, with the present availability of its files.
    pub fn list(&self) -> Arc<Vec<OsImage>> {
        self.shown.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The file of an entry, for reading.
    ///
    /// # Errors
    /// If it is not checked (any more).
    pub fn open(&self, image: &OsImage) -> Result<Arc<OpenOsImage>, NoOsImage> {
        let open = self.files().get(&key(image)).and_then(|known| known.open.clone());
        match open {
            Some(open) if open.base.check_unchanged().is_ok() => Ok(open),
            Some(_) | None => {
                self.look.notify_one();
                Err(NoOsImage::Later(
                    "the OS image is being checked against its digest; try again in some seconds".into(),
                ))
            }
        }
    }

    /// Checks the files, now and whenever they change, until `stop`.
    pub async fn watch(&self, stop: &CancellationToken) {
        let with_files: Vec<(&OsImage, &MetalImage, &str)> = self
            .given
            .iter()
            .filter_map(|image| {
                let metal = image.metal.as_ref()?;
                match &metal.source {
                    Source::Path(path) => Some((image, metal, path.as_str())),
                    Source::Url(_) => None,
                }
            })
            .collect();
        loop {
            for (image, metal, path) in &with_files {
                self.look_at(image, metal, path, stop).await;
            }
            tokio::select! {
                () = tokio::time::sleep(LOOK_INTERVAL) => {}
                () = self.look.notified() => {}
                () = stop.cancelled() => return,
            }
        }
    }

    async fn look_at(&self, image: &OsImage, metal: &MetalImage, path: &str, stop: &CancellationToken) {
        let stamp = match std::fs::metadata(path) {
            Ok(metadata) => FileStamp::from(&metadata),
            Err(error) => {
                if self.files().remove(&key(image)).is_some() || self.is_checking(image) {
                    tracing::warn!(path, %error, "an OS image cannot be read; hosts of its version are not installed until it is there");
                }
                let why = format!("{error}; put the file there, it is looked for again every few seconds");
                self.show(image, metal.sha256.clone(), Availability::Unusable(why));
                return;
            }
        };
        let unchanged = |known: &Known| known.stamp == stamp;
        if self.files().get(&key(image)).is_some_and(unchanged) {
            return;
        }
        self.files().remove(&key(image));
        self.show(image, metal.sha256.clone(), Availability::Checking);
        tracing::info!(path, "an OS image is checked against its digest");
        let (wanted, owned, stop) = (metal.clone(), path.to_owned(), stop.clone());
        let outcome = tokio::task::spawn_blocking(move || check(&owned, &wanted, &stop)).await;
        let outcome = outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()));
        let (open, sha256, availability) = match outcome {
            Ok(Checked { open, sha256 }) => {
                tracing::info!(
                    path,
                    bytes = open.size,
                    sha256 = sha256.as_str(),
                    "an OS image is ready"
                );
                let size = Some(open.size);
                (Some(Arc::new(open)), Some(sha256), Availability::Ready { size })
            }
            Err(error) => {
                let why = error.to_string();
                tracing::error!(path, why, "an OS image is not served");
                (None, metal.sha256.clone(), Availability::Unusable(why))
            }
        };
        self.files().insert(key(image), Known { stamp, open });
        self.show(image, sha256, availability);
    }

    fn is_checking(&self, image: &OsImage) -> bool {
        let list = self.list();
        let shown = list.iter().find(|shown| key(shown) == key(image));
        shown
            .and_then(|shown| shown.metal.as_ref())
            .is_some_and(|metal| metal.availability == Availability::Checking)
    }

    fn show(
        &self,
        image: &OsImage,
        sha256: Option<muster_core::rules::os_image::Digest>,
        availability: Availability,
    ) {
        let mut shown = self.shown.write().unwrap_or_else(PoisonError::into_inner);
        let mut list = shown.as_ref().clone();
        let entry = list.iter_mut().find(|shown| key(shown) == key(image));
        if let Some(metal) = entry.and_then(|entry| entry.metal.as_mut()) {
            metal.sha256 = sha256;
            metal.availability = availability;
        }
        if list != **shown {
            *shown = Arc::new(list);
        }
    }

    fn files(&self) -> MutexGuard<'_, HashMap<Key, Known>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn key(image: &OsImage) -> Key {
    (
        image.openshift_version.clone(),
        image.name.clone(),
        image.cpu_architecture.name(),
    )
}

impl OpenOsImage {
    fn new(file: File, path: &str, sha256: String) -> io::Result<Self> {
        let metadata = file.metadata()?;
        let file_name = path.rsplit('/').next().unwrap_or_default().to_owned();
        Ok(Self {
            size: metadata.len(),
            modified: metadata.modified()?,
            base: Arc::new(BaseFile::new(file)?),
            sha256,
            file_name,
        })
    }
}

#[cfg(test)]
mod tests;
