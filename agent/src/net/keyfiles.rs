//! Writes a static network as connections of NetworkManager, which an installation takes along for the installed system
//! (`--copy-network`).

use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;

use muster_api::live::network::{StaticNetwork, keyfiles};

/// Makes the folder, and a file for each interface of the network in it.
///
/// # Errors
/// From the file system.
pub fn write(folder: &Path, network: &StaticNetwork) -> io::Result<()> {
    make_folder(folder)?;
    for (name, text) in keyfiles(network) {
        let mut options = std::fs::OpenOptions::new();
        let mut file = options
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(folder.join(name))?;
        file.write_all(text.as_bytes())?;
    }
    Ok(())
}

/// Makes the folder, which an installation expects to be there, if it is to copy nothing, too.
///
/// # Errors
/// From the file system.
pub fn make_folder(folder: &Path) -> io::Result<()> {
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
}
