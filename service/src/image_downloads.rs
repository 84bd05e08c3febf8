//! Downloads the CoreOS live ISOs that the operator's list names by URL, once, into their folder.
//!
//! An interrupted download continues where it stopped; if the server has another file by then, it starts over. A failure is retried at
//! growing intervals, of hours if bytes were downloaded in vain. The folder may be on the database's disk, so some room is left there.

use std::collections::BTreeSet;
use std::io::{self, SeekFrom};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use muster_operations::disk::{KEPT_FREE, Space};
use muster_operations::images::coreos::{CoreOsImages, Download, WantedImage};
use muster_operations::{Operations, chain, now};
use reqwest::header::{CONTENT_RANGE, ETAG, HeaderMap, IF_RANGE, LAST_MODIFIED, RANGE};
use reqwest::{Client, Response, StatusCode};
use tokio::fs::{File, OpenOptions};
use tokio::io::{AsyncSeekExt as _, AsyncWriteExt as _, BufWriter};
use tokio::task::JoinSet;

#[cfg(test)]
mod tests;

/// Between two lines of the log about one download.
const LOG_INTERVAL: Duration = Duration::from_secs(10);
/// A server that sends nothing for this long gets a new request.
const SILENCE: Duration = Duration::from_secs(60);
const FIRST_PAUSE: Duration = Duration::from_secs(5);
const LONGEST_PAUSE: Duration = Duration::from_secs(300);
/// The longest pause if each attempt downloads a file that is then removed.
const LONGEST_COSTLY_PAUSE: Duration = Duration::from_secs(6 * 3600);
/// Bytes after which the free space is checked again.
const ROOM_STEP: u64 = 64 << 20;

/// A failed attempt.
#[derive(Debug, PartialEq, Eq)]
enum Failure {
    /// There was no file. Texts hold no address, which may have a secret in its query.
    Unreachable(String),
    /// A part of it is here.
    Cut { done: u64, of: Option<u64>, why: String },
    /// There is a file, but it is not downloaded.
    Refused(String),
    /// It was downloaded, as a whole or in part, and cannot be used.
    Unusable(String),
}

impl Failure {
    fn why(&self) -> &str {
        match self {
            Self::Unreachable(why) | Self::Cut { why, .. } | Self::Refused(why) | Self::Unusable(why) => why,
        }
    }

    /// True if the next attempt cannot use the partial file.
    fn leaves_nothing(&self) -> bool {
        matches!(self, Self::Refused(_) | Self::Unusable(_))
    }

    fn pause_after(&self, pause: Duration) -> Duration {
        let longest = match self {
            Self::Unusable(_) => LONGEST_COSTLY_PAUSE,
            Self::Unreachable(_) | Self::Cut { .. } | Self::Refused(_) => LONGEST_PAUSE,
        };
        longest.min(pause * 2)
    }

    fn state(self, pause: Duration) -> Download {
        let again = now() + pause;
        match self {
            Self::Cut { done, of, why } => Download::Cut { done, of, why, again },
            Self::Unreachable(why) => Download::Failed {
                why,
                unreachable: true,
                again,
            },
            Self::Refused(why) | Self::Unusable(why) => Download::Failed {
                why,
                unreachable: false,
                again,
            },
        }
    }
}

impl From<reqwest::Error> for Failure {
    fn from(error: reqwest::Error) -> Self {
        Self::Unreachable(chain(&error.without_url()))
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Unusable(format!("it cannot be stored: {error}"))
    }
}

/// Bounds of a download, bytes.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    /// The longest file.
    largest: u64,
    /// Free space to keep on the disk.
    kept_free: u64,
}

impl Bounds {
    fn check_size(self, bytes: u64) -> Result<(), String> {
        if bytes <= self.largest {
            return Ok(());
        }
        Err(format!(
            "it has more than {} MiB; if that is right, raise --max-os-image-size",
            self.largest >> 20
        ))
    }

    /// Refuses `more` bytes if the folder's disk has no room for them.
    fn check_room(self, folder: &Path, more: u64) -> Result<(), String> {
        let free = Space::of(folder)
            .map_err(|error| format!("{}: {error}", folder.display()))?
            .free;
        if free >= more.saturating_add(self.kept_free) {
            return Ok(());
        }
        Err(format!(
            "{} has {} MiB free, and {} MiB are needed, with {} MiB that stay free: free some space, or name a folder of another disk \
             by --os-images-dir",
            folder.display(),
            free >> 20,
            more.saturating_add(self.kept_free) >> 20,
            self.kept_free >> 20
        ))
    }
}

/// Downloads missing images, until the service stops and drops this. Files of more than `largest` bytes are refused.
pub async fn run(operations: Arc<Operations>, largest: u64) {
    let images = &operations.discovery.coreos;
    let mut by_path = BTreeSet::new();
    let wanted: Vec<WantedImage> = images
        .wanted()
        .filter(|wanted| wanted.url.is_some() && by_path.insert(wanted.path.clone()))
        .cloned()
        .collect();
    remove_others(&images.folder, &wanted);
    if wanted.is_empty() {
        return std::future::pending().await;
    }
    let made = std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&images.folder);
    if let Err(error) = made {
        tracing::error!(folder = %images.folder.display(), %error, "CoreOS images cannot be stored");
    }
    let client = match client() {
        Ok(client) => client,
        Err(error) => {
            tracing::error!(error = chain(&error), "CoreOS images cannot be downloaded");
            return std::future::pending().await;
        }
    };
    let bounds = Bounds {
        largest,
        kept_free: KEPT_FREE,
    };
    let mut downloads = JoinSet::new();
    for wanted in wanted {
        let (operations, client) = (operations.clone(), client.clone());
        downloads.spawn(async move { keep(&operations.discovery.coreos, &client, &wanted, bounds).await });
    }
    downloads.join_all().await;
}

fn client() -> reqwest::Result<Client> {
    Client::builder()
        .connect_timeout(Duration::from_secs(20))
        .read_timeout(SILENCE)
        .build()
}

/// Downloads one image when it is missing, also if the file is removed later.
async fn keep(images: &CoreOsImages, client: &Client, wanted: &WantedImage, bounds: Bounds) {
    let mut pause = FIRST_PAUSE;
    loop {
        if wanted.path.exists() {
            tokio::time::sleep(LOG_INTERVAL).await;
            continue;
        }
        match attempt(images, client, wanted, bounds).await {
            Ok(()) => pause = FIRST_PAUSE,
            Err(failure) => {
                tracing::warn!(
                    image = wanted.name,
                    why = failure.why(),
                    seconds = pause.as_secs(),
                    "a CoreOS image could not be downloaded; trying again"
                );
                let next = failure.pause_after(pause);
                images.report(&wanted.path, &failure.state(pause));
                tokio::time::sleep(pause).await;
                pause = next;
            }
        }
    }
}

/// Downloads the image. A partial file that the next attempt cannot continue is removed.
async fn attempt(
    images: &CoreOsImages,
    client: &Client,
    wanted: &WantedImage,
    bounds: Bounds,
) -> Result<(), Failure> {
    let outcome = download(images, client, wanted, bounds).await;
    if outcome.as_ref().is_err_and(Failure::leaves_nothing) {
        for path in [part_of(wanted), validator_file_of(wanted)] {
            match tokio::fs::remove_file(&path).await {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    tracing::warn!(path = %path.display(), %error, "it cannot be removed");
                }
                _ => {}
            }
        }
    }
    outcome
}

async fn download(
    images: &CoreOsImages,
    client: &Client,
    wanted: &WantedImage,
    bounds: Bounds,
) -> Result<(), Failure> {
    let (part, validator_file) = (part_of(wanted), validator_file_of(wanted));
    let begun = tokio::fs::metadata(&part)
        .await
        .map_or(0, |metadata| metadata.len());
    let validator = tokio::fs::read_to_string(&validator_file).await.ok();
    let mut request = client.get(wanted.url.as_deref().unwrap_or_default());
    if let Some(validator) = validator.filter(|_| begun > 0) {
        request = request
            .header(RANGE, format!("bytes={begun}-"))
            .header(IF_RANGE, validator);
    }
    let answer = request.send().await?;
    let status = answer.status();
    let from = match status {
        StatusCode::PARTIAL_CONTENT if starts_at(answer.headers(), begun) => begun,
        StatusCode::RANGE_NOT_SATISFIABLE => {
            // The partial file may already be complete; if not, the download starts over.
            return finish(images, wanted, &part, &validator_file).await;
        }
        status if status.is_success() && status != StatusCode::PARTIAL_CONTENT => 0,
        status => return Err(Failure::Unreachable(format!("the server answers {status}"))),
    };
    let rest = answer.content_length();
    let whole = rest.map(|rest| from.saturating_add(rest));
    bounds.check_size(whole.unwrap_or(0)).map_err(Failure::Refused)?;
    // A download that starts over replaces the partial file.
    let more = rest.unwrap_or(0).saturating_sub(begun - from);
    bounds
        .check_room(&images.folder, more)
        .map_err(Failure::Refused)?;
    if let Some(validator) = validator_of(answer.headers()) {
        tokio::fs::write(&validator_file, validator).await?;
    }
    tracing::info!(
        image = wanted.name,
        from,
        bytes = whole,
        "a CoreOS image is being downloaded"
    );
    let done = store(images, wanted, answer, (&part, from, whole), bounds).await?;
    if whole.is_some_and(|whole| done != whole) {
        let why = "the server ended early".to_owned();
        return Err(Failure::Cut { done, of: whole, why });
    }
    finish(images, wanted, &part, &validator_file).await
}

/// Appends the body to the first `from` bytes; returns the new length.
async fn store(
    images: &CoreOsImages,
    wanted: &WantedImage,
    mut answer: Response,
    (part, from, whole): (&Path, u64, Option<u64>),
    bounds: Bounds,
) -> Result<u64, Failure> {
    let mut file = open(part, from).await?;
    let (mut done, mut logged, mut looked) = (from, Instant::now(), from);
    let report = |done| images.report(&wanted.path, &Download::Running { done, of: whole });
    report(done);
    loop {
        let chunk = match answer.chunk().await {
            Ok(Some(chunk)) => chunk,
            Ok(None) => break,
            Err(error) => {
                // The next attempt continues from here.
                file.flush().await?;
                let why = chain(&error.without_url());
                return Err(Failure::Cut { done, of: whole, why });
            }
        };
        done += chunk.len() as u64;
        bounds.check_size(done).map_err(Failure::Unusable)?;
        if done - looked >= ROOM_STEP {
            looked = done;
            bounds.check_room(&images.folder, 0).map_err(Failure::Unusable)?;
        }
        file.write_all(&chunk).await?;
        report(done);
        if logged.elapsed() >= LOG_INTERVAL {
            logged = Instant::now();
            let percent = whole.map(|whole| done * 100 / whole.max(1));
            tracing::info!(
                image = wanted.name,
                bytes = done,
                percent,
                "a CoreOS image is being downloaded"
            );
        }
    }
    file.flush().await?;
    file.get_ref().sync_all().await?;
    Ok(done)
}

async fn finish(
    images: &CoreOsImages,
    wanted: &WantedImage,
    part: &Path,
    validator: &Path,
) -> Result<(), Failure> {
    let accepted = images.accept(wanted, part).await;
    accepted.map_err(|error| Failure::Unusable(error.to_string()))?;
    let _ = tokio::fs::remove_file(validator).await;
    Ok(())
}

async fn open(part: &Path, from: u64) -> io::Result<BufWriter<File>> {
    let mut file = OpenOptions::new()
        .create(true)
        .write(true)
        .truncate(from == 0)
        .open(part)
        .await?;
    file.seek(SeekFrom::Start(from)).await?;
    Ok(BufWriter::with_capacity(1 << 20, file))
}

fn starts_at(headers: &HeaderMap, offset: u64) -> bool {
    let range = headers.get(CONTENT_RANGE).and_then(|range| range.to_str().ok());
    range.is_some_and(|range| range.starts_with(&format!("bytes {offset}-")))
}

/// The validator with which a later request gets the rest of the same file only.
fn validator_of(headers: &HeaderMap) -> Option<String> {
    let text = |name| headers.get(name)?.to_str().ok().map(str::to_owned);
    let strong = text(ETAG).filter(|tag| tag.starts_with('"'));
    strong.or_else(|| text(LAST_MODIFIED))
}

fn part_of(wanted: &WantedImage) -> PathBuf {
    with_ending(&wanted.path, "part")
}

fn validator_file_of(wanted: &WantedImage) -> PathBuf {
    with_ending(&wanted.path, "validator")
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(ending);
    name.into()
}

/// Removes the images that the list does not name any more.
fn remove_others(folder: &Path, wanted: &[WantedImage]) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    for path in entries.flatten().map(|entry| entry.path()) {
        let name = path
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default();
        let is_wanted = wanted.iter().any(|wanted| {
            let own = wanted.path.file_name().and_then(|name| name.to_str());
            own.is_some_and(|own| name.starts_with(own))
        });
        if !is_wanted && name.starts_with("coreos-") {
            tracing::info!(path = %path.display(), "a CoreOS image that the list does not name any more is removed");
            if let Err(error) = std::fs::remove_file(&path) {
                tracing::warn!(path = %path.display(), %error, "it cannot be removed");
            }
        }
    }
}
