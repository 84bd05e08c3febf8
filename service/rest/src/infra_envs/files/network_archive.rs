//! Packs the static networks in the form that CoreOS takes. Source: docs/protocol/static-network.md#4.

use muster_api::time::Timestamp;
use muster_core::rules::ignition::GuestFile;

use muster_http::Problem;

/// An uncompressed tar with entries of absolute paths; empty if there are no files.
pub fn pack(files: &[GuestFile], modified: Timestamp) -> Result<Vec<u8>, Problem> {
    if files.is_empty() {
        return Ok(Vec::new());
    }
    let mut archive = tar::Builder::new(Vec::new());
    for file in files {
        let header = header(file, modified)?;
        archive
            .append(&header, file.text.as_bytes())
            .map_err(|error| refused(&file.path, error))?;
    }
    archive
        .into_inner()
        .map_err(|error| refused("the archive", error))
}

fn header(file: &GuestFile, modified: Timestamp) -> Result<tar::Header, Problem> {
    let mut header = tar::Header::new_ustar();
    // `set_path` refuses absolute paths; the longest used here is that of a card with a name of 15 characters, Linux's limit.
    let name = &mut header.as_old_mut().name;
    let place = name.get_mut(..file.path.len());
    place
        .ok_or_else(|| refused(&file.path, "its path is too long"))?
        .copy_from_slice(file.path.as_bytes());
    header.set_size(file.text.len() as u64);
    header.set_mode(file.permissions);
    header.set_mtime(u64::try_from(modified.timestamp()).unwrap_or_default());
    header.set_cksum();
    Ok(header)
}

fn refused(what: &str, why: impl std::fmt::Display) -> Problem {
    Problem::conflict(format!("the static networks cannot be packed: {what}: {why}"))
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    fn file(path: &str) -> GuestFile {
        GuestFile {
            path: path.into(),
            permissions: 0o600,
            text: "[connection]\n".into(),
        }
    }

    #[test]
    fn entries_have_the_paths_of_the_host_and_their_permissions() {
        let path = "/etc/assisted/network/host0/eth0.nmconnection";
        let packed = pack(&[file(path)], Timestamp::default()).unwrap();
        let mut archive = tar::Archive::new(packed.as_slice());
        let mut entry = archive.entries().unwrap().next().unwrap().unwrap();
        assert_eq!(&*entry.path_bytes(), path.as_bytes());
        assert_eq!(entry.header().mode().unwrap(), 0o600);
        let mut text = String::new();
        entry.read_to_string(&mut text).unwrap();
        assert_eq!(text, "[connection]\n");
    }

    #[test]
    fn a_path_that_no_entry_can_have_is_refused() {
        assert!(pack(&[file(&"/x".repeat(51))], Timestamp::default()).is_err());
    }
}
