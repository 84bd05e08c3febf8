//! Prints changes of Agents while a walk waits: one line a change.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::api::Api;

const INTERVAL: Duration = Duration::from_millis(700);

/// Progress output, which ends when this is dropped.
pub struct Story {
    began: Instant,
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Story {
    /// Starts the output about the Agents at `path`.
    pub fn of_agents(api: Api, path: String) -> Self {
        let (began, ends) = (Instant::now(), Arc::new(AtomicBool::new(false)));
        let seen_ends = Arc::clone(&ends);
        let thread = std::thread::spawn(move || {
            let mut told = BTreeMap::new();
            while !seen_ends.load(Ordering::Relaxed) {
                // There is nothing to report while the service restarts.
                for agent in api.list(&path).unwrap_or_default() {
                    let name = agent["metadata"]["name"].as_str().unwrap_or_default().to_owned();
                    let line = line_of(&agent);
                    if line.trim().is_empty() {
                        continue;
                    }
                    if told.insert(name, line.clone()).as_ref() != Some(&line) {
                        println!("{} {line}", stamp(began));
                    }
                }
                std::thread::park_timeout(INTERVAL);
            }
        });
        Self {
            began,
            ends,
            thread: Some(thread),
        }
    }

    /// Prints a further line.
    pub fn tell(&self, what: &str) {
        println!("{} {what}", stamp(self.began));
    }

    /// Time since its beginning.
    pub fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }
}

impl Drop for Story {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

fn stamp(began: Instant) -> String {
    let seconds = began.elapsed().as_secs();
    format!("[{:2}:{:02}]", seconds / 60, seconds % 60)
}

fn line_of(agent: &Value) -> String {
    let status = &agent["status"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let hostname = match text(&agent["spec"]["hostname"]) {
        name if name.is_empty() => text(&status["inventory"]["hostname"]),
        name => name,
    };
    if hostname.is_empty() {
        return hostname;
    }
    let mut line = format!("  {hostname:<8} {}", text(&status["debugInfo"]["state"]));
    let progress = &status["progress"];
    for part in [&progress["currentStage"], &progress["progressInfo"]] {
        match text(part) {
            part if part.is_empty() => {}
            part => line += &format!(", {part}"),
        }
    }
    line
}
