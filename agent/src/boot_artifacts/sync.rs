//! Makes a rename last.

use std::fs::File;
use std::io;
use std::path::Path;

/// Without this a crash may undo a rename.
pub(super) fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path.parent().unwrap_or(Path::new("/")))?.sync_all()
}
