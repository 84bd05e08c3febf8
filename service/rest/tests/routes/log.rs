//! The log of all services of this process.

use std::io::{Result, Write};
use std::sync::{Arc, Mutex, OnceLock};

static LOG: OnceLock<Log> = OnceLock::new();

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

/// Starts logging for the life of the process, before the first service: earlier lines would be lost.
pub fn start() {
    LOG.get_or_init(|| {
        let log = Log::default();
        let writer = log.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_ansi(false)
            .with_writer(move || writer.clone())
            .finish();
        tracing::subscriber::set_global_default(subscriber).unwrap();
        log
    });
}

/// Everything that was logged so far, by other tests as well.
pub fn text() -> String {
    let log = LOG.get().expect("a service was started");
    String::from_utf8(log.0.lock().unwrap().clone()).unwrap()
}

/// The line that holds all of `words`.
#[track_caller]
pub fn line(words: &[&str]) -> String {
    let text = text();
    let found = text
        .lines()
        .find(|line| words.iter().all(|word| line.contains(word)));
    found
        .unwrap_or_else(|| panic!("no line with {words:?} in:\n{text}"))
        .to_owned()
}
