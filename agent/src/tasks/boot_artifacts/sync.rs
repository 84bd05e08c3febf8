//! Makes a rename durable.

use std::fs::File;
use std::io;
use std::path::Path;

/// Syncs the folder: without this a crash may undo a rename.
pub(super) fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path.parent().unwrap_or(Path::new("/")))?.sync_all()
}
