//! Writes a static network as connections of NetworkManager, which an installation takes along for the installed system
//! (`--copy-network`).

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;

use muster_api::live::network::{StaticNetwork, keyfiles};

/// Makes the folder, and a file for each interface of the network in it. `names`: the names of cards by their addresses.
///
/// # Errors
/// Fails if the folder or a file cannot be written.
pub fn write(folder: &Path, network: &StaticNetwork, names: &BTreeMap<String, String>) -> io::Result<()> {
    make_folder(folder)?;
    for connection in keyfiles(network, names) {
        let mut options = std::fs::OpenOptions::new();
        let mut file = options
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(folder.join(&connection.name))?;
        file.write_all(connection.to_string().as_bytes())?;
    }
    Ok(())
}

/// Makes the folder, which an installation expects to be there, even if it is to copy nothing.
///
/// # Errors
/// Fails if the folder cannot be made.
pub fn make_folder(folder: &Path) -> io::Result<()> {
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
}
