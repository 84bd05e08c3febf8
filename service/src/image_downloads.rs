//! Downloads the CoreOS live ISOs that the operator's list names by URL, once, into the data directory.
//!
//! What was interrupted goes on where it was; a server that has another file by then starts over. A failure is tried again, for ever,
//! at growing intervals.

use std::collections::BTreeSet;
use std::io::{self, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use muster_operations::coreos_images::{Download, WantedImage};
use muster_operations::{Operations, chain};
use reqwest::header::{CONTENT_RANGE, ETAG, HeaderMap, IF_RANGE, LAST_MODIFIED, RANGE};
use reqwest::{Client, Response, StatusCode};
use tokio::fs::{File, OpenOptions};
use tokio::io::{AsyncSeekExt as _, AsyncWriteExt as _, BufWriter};
use tokio::task::JoinSet;

/// Between two lines of the log about one download.
const LOG_INTERVAL: Duration = Duration::from_secs(10);
/// A server that sends nothing for this long is asked again.
const SILENCE: Duration = Duration::from_secs(60);
const FIRST_PAUSE: Duration = Duration::from_secs(5);
const LONGEST_PAUSE: Duration = Duration::from_secs(300);

/// A failed attempt.
enum Failure {
    /// There was no file to look at. Texts hold no address, which may have a secret in its query.
    Unreachable(String),
    /// A part of it is here.
    Interrupted(String),
    /// There is one, and it is not to be used.
    Unusable(String),
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

/// Downloads what is missing, until the service stops and drops it.
pub async fn run(operations: Arc<Operations>) {
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
    if let Err(error) = std::fs::create_dir_all(&images.folder) {
        tracing::error!(folder = %images.folder.display(), %error, "CoreOS images cannot be stored");
    }
    let client = Client::builder()
        .connect_timeout(Duration::from_secs(20))
        .read_timeout(SILENCE);
    let client = match client.build() {
        Ok(client) => client,
        Err(error) => {
            tracing::error!(error = chain(&error), "CoreOS images cannot be downloaded");
            return std::future::pending().await;
        }
    };
    let mut downloads = JoinSet::new();
    for wanted in wanted {
        downloads.spawn(keep(operations.clone(), client.clone(), wanted));
    }
    downloads.join_all().await;
}

/// Downloads one image when it is missing, and again when somebody removes it.
async fn keep(operations: Arc<Operations>, client: Client, wanted: WantedImage) {
    let mut pause = FIRST_PAUSE;
    loop {
        if wanted.path.exists() {
            tokio::time::sleep(LOG_INTERVAL).await;
            continue;
        }
        match download(&operations, &client, &wanted).await {
            Ok(()) => pause = FIRST_PAUSE,
            Err(failure) => {
                let (why, unreachable) = match failure {
                    Failure::Unreachable(why) => (why, Some(true)),
                    Failure::Interrupted(why) => (why, None),
                    Failure::Unusable(why) => (why, Some(false)),
                };
                tracing::warn!(
                    image = wanted.name,
                    why,
                    seconds = pause.as_secs(),
                    "a CoreOS image could not be downloaded; trying again"
                );
                if let Some(unreachable) = unreachable {
                    let failed = Download::Failed { why, unreachable };
                    operations.discovery.coreos.report(&wanted.path, &failed);
                }
                tokio::time::sleep(pause).await;
                pause = LONGEST_PAUSE.min(pause * 2);
            }
        }
    }
}

async fn download(operations: &Operations, client: &Client, wanted: &WantedImage) -> Result<(), Failure> {
    let part = with_ending(&wanted.path, "part");
    let validator_file = with_ending(&wanted.path, "validator");
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
            // All of it may be here already; else it begins anew.
            return finish(operations, wanted, &part, &validator_file).await;
        }
        status if status.is_success() && status != StatusCode::PARTIAL_CONTENT => 0,
        status => return Err(Failure::Unreachable(format!("the server answers {status}"))),
    };
    if let Some(validator) = validator_of(answer.headers()) {
        tokio::fs::write(&validator_file, validator).await?;
    }
    let whole = answer.content_length().map(|rest| from + rest);
    tracing::info!(
        image = wanted.name,
        from,
        bytes = whole,
        "a CoreOS image is being downloaded"
    );
    let done = store(operations, wanted, answer, (&part, from, whole)).await?;
    if whole.is_some_and(|whole| done != whole) {
        return Err(Failure::Interrupted("the server ended early".into()));
    }
    finish(operations, wanted, &part, &validator_file).await
}

/// Writes the body behind the first `from` bytes; returns how many there are then.
async fn store(
    operations: &Operations,
    wanted: &WantedImage,
    mut answer: Response,
    (part, from, whole): (&Path, u64, Option<u64>),
) -> Result<u64, Failure> {
    let mut file = open(part, from).await?;
    let (mut done, mut logged) = (from, Instant::now());
    let report = |done| {
        let running = Download::Running { done, of: whole };
        operations.discovery.coreos.report(&wanted.path, &running);
    };
    report(done);
    loop {
        let chunk = match answer.chunk().await {
            Ok(Some(chunk)) => chunk,
            Ok(None) => break,
            Err(error) => {
                // The next attempt goes on from here.
                file.flush().await?;
                return Err(Failure::Interrupted(chain(&error.without_url())));
            }
        };
        file.write_all(&chunk).await?;
        done += chunk.len() as u64;
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
    operations: &Operations,
    wanted: &WantedImage,
    part: &Path,
    validator: &Path,
) -> Result<(), Failure> {
    let accepted = operations.discovery.coreos.accept(wanted, part).await;
    let _ = tokio::fs::remove_file(validator).await;
    if accepted.is_err() {
        tokio::fs::remove_file(part).await?;
    }
    accepted.map_err(Failure::Unusable)
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

/// What a later request can say to get the rest of the same file only.
fn validator_of(headers: &HeaderMap) -> Option<String> {
    let text = |name| headers.get(name)?.to_str().ok().map(str::to_owned);
    let strong = text(ETAG).filter(|tag| tag.starts_with('"'));
    strong.or_else(|| text(LAST_MODIFIED))
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
