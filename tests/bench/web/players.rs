//! Clients that do as a browser with the page open: each holds a stream of changes, and loads the page again when something
//! has changed, twice a second at most.

use std::io::{BufRead as _, BufReader};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::Duration;

use anyhow::{Result, anyhow, ensure};
use muster_tests::http::HttpClient;
use reqwest::blocking::Response;

const CHANGES: &str = "/api/muster/v1/changes";

/// As `service/web/static/live.js` has it.
const PAUSE: Duration = Duration::from_millis(500);

/// Opens so many streams, with each of the tokens in turn.
///
/// # Errors
/// If the service refuses one.
pub fn streams(client: &HttpClient, tokens: &[String], count: usize) -> Result<Vec<Response>> {
    let open = tokens.iter().cycle().take(count).map(|token| {
        let stream = accepting(&client.with_token(token)).open(CHANGES);
        let stream = stream.map_err(|why| anyhow!("{CHANGES}: {why}"))?;
        ensure!(stream.status().is_success(), "{CHANGES}: {}", stream.status());
        Ok(stream)
    });
    open.collect()
}

fn accepting(client: &HttpClient) -> HttpClient {
    client.with("accept", "text/event-stream")
}

/// Running players. A stream ends with the first event after the end.
pub struct Players {
    ended: Arc<AtomicBool>,
    loading: Vec<JoinHandle<u64>>,
}

impl Players {
    pub fn start(client: &HttpClient, tokens: &[String], count: usize) -> Self {
        let ended = Arc::new(AtomicBool::new(false));
        let play = |token: &String| play(client.with_token(token), &ended);
        let loading = tokens.iter().cycle().take(count).map(play).collect();
        Self { ended, loading }
    }

    /// Ends them; returns the number of pages that they loaded.
    ///
    /// # Panics
    /// If a player did.
    pub fn end(self) -> u64 {
        self.ended.store(true, Ordering::Relaxed);
        let loaded = self.loading.into_iter().map(JoinHandle::join);
        loaded.map(|pages| pages.expect("a player does not panic")).sum()
    }
}

fn play(client: HttpClient, ended: &Arc<AtomicBool>) -> JoinHandle<u64> {
    let stale = Arc::new(AtomicBool::new(true));
    {
        let (client, stale, ended) = (accepting(&client), Arc::clone(&stale), Arc::clone(ended));
        spawn(move || follow(&client, &stale, &ended));
    }
    let ended = Arc::clone(ended);
    let client = client.with("accept-encoding", "gzip");
    spawn(move || {
        let mut pages = 0;
        while !ended.load(Ordering::Relaxed) {
            if stale.swap(false, Ordering::Relaxed)
                && let Ok(page) = client.try_request("GET", "/ui/hosts", None)
            {
                pages += u64::from(page.status == 200);
            }
            sleep(PAUSE);
        }
        pages
    })
}

/// Notes each change of a record, until the end.
fn follow(client: &HttpClient, stale: &AtomicBool, ended: &AtomicBool) {
    let Ok(stream) = client.open(CHANGES) else { return };
    for line in BufReader::new(stream).lines().map_while(Result::ok) {
        if ended.load(Ordering::Relaxed) {
            return;
        }
        // Events without a name carry a record; those with one `{}`.
        if line.starts_with("data:") && line.contains("\"kind\"") {
            stale.store(true, Ordering::Relaxed);
        }
    }
}
