//! Refuses to start over where a database was: a new one would have other keys, and none of the hosts.

use std::path::Path;

use super::certificate::AUTHORITY_FILE;
use crate::authority::EARLIER_FILES;
use crate::builtin_api::KUBECONFIG;
use crate::cli::data::RESTORE_PART;
use crate::cli::failure::Failure;
use crate::settings::{default_database_url, sqlite_file};

/// Files that a service writes into its data dir once its database has tables.
const LATER_FILES: [&str; 2] = [KUBECONFIG, AUTHORITY_FILE];

/// Checks SQLite's file before it is opened.
///
/// # Errors
/// Fails if the file is empty and the data dir was in use, or if a restore into it did not end.
pub fn refuse_emptied(data_dir: &Path, url: &str) -> Result<(), Failure> {
    let Some(file) = sqlite_file(url) else {
        return Ok(());
    };
    let is_there = match file.metadata() {
        Ok(found) if found.len() > 0 => return Ok(()),
        found => found.is_ok(),
    };
    let part = data_dir.join(RESTORE_PART);
    if part.exists() && url == default_database_url(data_dir) {
        let words = format!(
            "a restore into {} was cut off: its database is not there",
            data_dir.display()
        );
        return Err(Failure::refused(words)
            .hint("run muster restore again")
            .hint(format!("or, to start over, delete {}", part.display())));
    }
    let later = LATER_FILES.iter().chain(&EARLIER_FILES);
    let used = later.map(|name| data_dir.join(name)).find(|path| path.exists());
    match used {
        Some(used) if is_there => {
            let words = format!(
                "the database {} is empty, and a service has used the data dir: {} is there",
                file.display(),
                used.display()
            );
            Err(Failure::refused(words)
                .hint("restore a backup into a new data dir: muster restore FILE --data-dir NEW")
                .hint(format!("or, to start over, delete {}", file.display())))
        }
        _ => Ok(()),
    }
}
