//! Parses the URL of a database, and names its file.

use std::error::Error as StdError;
use std::path::{Path, PathBuf};

use muster_sql::Kind;
use sqlx::any::AnyConnectOptions;

use crate::Result;
use crate::error::StoreError;

/// A parsed URL.
pub(crate) struct Address {
    pub(crate) kind: Kind,
    pub(crate) options: AnyConnectOptions,
    /// For messages: without password.
    pub(super) shown: String,
    /// SQLite's file.
    file: Option<PathBuf>,
}

impl Address {
    pub(crate) fn parse(url: &str) -> Result<Self> {
        let refused = |reason: &str| StoreError::Address {
            reason: reason.to_owned(),
        };
        let options = |url: &str| -> Result<AnyConnectOptions> {
            url.parse().map_err(|_| {
                refused("not a URL; sqlite:///PATH or postgres://USER:PASSWORD@SERVER/DATABASE is expected")
            })
        };
        if url.starts_with("postgres://") || url.starts_with("postgresql://") {
            let options = options(url)?;
            let mut shown = options.database_url.clone();
            // Fails only for URLs that cannot have a password.
            let _ = shown.set_password(None);
            shown.set_query(None);
            return Ok(Self {
                kind: Kind::Postgres,
                options,
                shown: shown.to_string(),
                file: None,
            });
        }
        let path = url
            .strip_prefix("sqlite://")
            .or_else(|| url.strip_prefix("sqlite:"))
            .ok_or_else(|| refused("it must begin with sqlite:// or postgres://"))?;
        if path.is_empty() || path.starts_with(":memory:") {
            return Err(refused(
                "Muster keeps its data in a file: name one, as in sqlite:///var/lib/muster/muster.db",
            ));
        }
        if path.contains('?') {
            return Err(refused("a SQLite URL takes no parameters; Muster chooses them"));
        }
        Self::of_file(Path::new(path), "rwc")
    }

    /// SQLite's file, opened in a mode of SQLite's: `ro` reads, `rwc` writes and makes the file where there is none.
    pub(crate) fn of_file(path: &Path, mode: &str) -> Result<Self> {
        let refused = |error: &dyn StdError| StoreError::Address {
            reason: error.to_string(),
        };
        let file = std::path::absolute(path).map_err(|error| refused(&error))?;
        let url = format!("sqlite://{}?mode={mode}", percent_encoded(&file));
        Ok(Self {
            kind: Kind::Sqlite,
            options: url.parse().map_err(|error: sqlx::Error| refused(&error))?,
            shown: format!("sqlite://{}", file.display()),
            file: Some(file),
        })
    }

    pub(crate) fn failed(&self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> StoreError {
        StoreError::Open {
            address: self.shown.clone(),
            source: source.into(),
        }
    }

    /// Makes SQLite's file before SQLite does: it holds keys and pull secrets, so it is for its owner only. SQLite gives its
    /// log files the same permissions.
    pub(super) fn prepare_file(&self) -> Result<()> {
        use std::os::unix::fs::OpenOptionsExt;
        let Some(file) = &self.file else { return Ok(()) };
        std::fs::OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o600)
            .open(file)
            .map(drop)
            .map_err(|error| self.failed(format!("cannot write {}: {error}", file.display())))
    }

    /// # Errors
    /// If SQLite's file does not exist.
    pub(crate) fn require_file(&self) -> Result<()> {
        match &self.file {
            Some(file) if !file.exists() => Err(self.failed("there is no such file")),
            _ => Ok(()),
        }
    }
}

fn percent_encoded(path: &Path) -> String {
    use std::os::unix::ffi::OsStrExt;
    let mut text = String::new();
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'/' | b'-' | b'_' | b'.' | b'~' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => {
                text.push(char::from(*byte))
            }
            other => text.push_str(&format!("%{other:02X}")),
        }
    }
    text
}
