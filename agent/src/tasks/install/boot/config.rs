//! Puts ignition, network configuration and kernel arguments on the boot partition. Source: docs/protocol/install-flow.md#6.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::entries;

/// Below the boot partition.
pub const IGNITION: &str = "ignition/config.ign";
const ENTRIES: &str = "loader/entries";
const NETWORK: &str = "coreos-firstboot-network";

/// The content for the boot partition.
#[derive(Debug, Clone, Default)]
pub struct BootConfig {
    pub ignition: Vec<u8>,
    pub append_kargs: Vec<String>,
    pub delete_kargs: Vec<String>,
    /// Files by name.
    pub network: Vec<(String, Vec<u8>)>,
}

/// The files that were written: their paths below the boot partition, and their content.
#[derive(Debug)]
pub struct WrittenFiles(Vec<(PathBuf, Vec<u8>)>);

impl BootConfig {
    /// Writes everything below `boot`. Running it again changes nothing but arguments that are appended twice.
    ///
    /// # Errors
    /// The path, and the reason.
    pub fn write(&self, boot: &Path) -> io::Result<WrittenFiles> {
        let mut written = vec![(PathBuf::from(IGNITION), self.ignition.clone())];
        let network = self.network.iter();
        written.extend(network.map(|(name, content)| (Path::new(NETWORK).join(name), content.clone())));
        written.extend(self.entries(boot)?);
        for (path, content) in &written {
            put(boot, &boot.join(path), content)?;
        }
        Ok(WrittenFiles(written))
    }

    /// The boot loader's entries with their arguments changed; none when there is nothing to change.
    fn entries(&self, boot: &Path) -> io::Result<Vec<(PathBuf, Vec<u8>)>> {
        if self.append_kargs.is_empty() && self.delete_kargs.is_empty() {
            return Ok(Vec::new());
        }
        let folder = inside(boot, &boot.join(ENTRIES))?;
        let mut edited = Vec::new();
        for path in files(&folder)? {
            if path.extension().is_none_or(|extension| extension != "conf") {
                continue;
            }
            let text = std::fs::read_to_string(&path).map_err(at(&path))?;
            let text = entries::edited(&text, &self.delete_kargs, &self.append_kargs);
            let path = Path::new(ENTRIES).join(path.file_name().unwrap_or_default());
            edited.push((path, text.into_bytes()));
        }
        if edited.is_empty() {
            return Err(io::Error::new(
                io::ErrorKind::NotFound,
                format!("kernel arguments are to be changed, and the image has no entry in {ENTRIES}"),
            ));
        }
        Ok(edited)
    }
}

impl WrittenFiles {
    /// True if the files are below `boot` with this content.
    ///
    /// # Errors
    /// Fails if a file cannot be read.
    pub fn is_there(&self, boot: &Path) -> io::Result<bool> {
        for (path, content) in &self.0 {
            let path = boot.join(path);
            if std::fs::read(&path).map_err(at(&path))? != *content {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// The regular files of the folder that `--copy-network` names.
///
/// # Errors
/// Fails if the folder cannot be read.
pub fn network_files(folder: &Path) -> io::Result<Vec<(String, Vec<u8>)>> {
    let mut found = Vec::new();
    for path in files(folder)? {
        if !path.is_file() {
            continue;
        }
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        found.push((name, std::fs::read(&path).map_err(at(&path))?));
    }
    Ok(found)
}

fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).map_err(at(folder))?;
    let mut paths = entries
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

/// The folder with links followed, which must not lead out of the image.
fn inside(boot: &Path, folder: &Path) -> io::Result<PathBuf> {
    let found = folder.canonicalize().map_err(at(folder))?;
    if found.starts_with(boot.canonicalize()?) {
        Ok(found)
    } else {
        Err(io::Error::other(format!(
            "{} leads out of the image",
            folder.display()
        )))
    }
}

/// Writes a file with mode 0600 (or the one that it has), whole or not at all.
fn put(boot: &Path, path: &Path, content: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(boot);
    std::fs::create_dir_all(folder).map_err(at(folder))?;
    let folder = inside(boot, folder)?;
    let path = folder.join(path.file_name().unwrap_or_default());
    let mode = std::fs::metadata(&path).map_or(0o600, |found| found.permissions().mode() & 0o777);
    let mode = if path.ends_with(IGNITION) { 0o600 } else { mode };
    let part = folder.join(".muster.part");
    let mut file: File = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        // A link in the image would lead into this system.
        .custom_flags(libc::O_NOFOLLOW)
        .open(&part)
        .map_err(at(&part))?;
    file.write_all(content)
        .and_then(|()| file.set_permissions(Permissions::from_mode(mode)))
        .and_then(|()| file.sync_all())
        .and_then(|()| std::fs::rename(&part, &path))
        .and_then(|()| File::open(&folder)?.sync_all())
        .map_err(at(&path))
}

fn at(path: &Path) -> impl Fn(io::Error) -> io::Error {
    let path = path.display().to_string();
    move |error| io::Error::new(error.kind(), format!("{path}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> BootConfig {
        BootConfig {
            ignition: b"{}".to_vec(),
            append_kargs: vec!["a=b".into()],
            delete_kargs: vec!["quiet".into()],
            network: vec![("eth0.nmconnection".into(), b"[connection]".to_vec())],
        }
    }

    #[test]
    fn everything_is_where_the_target_reads_it() {
        let boot = tempfile::tempdir().unwrap();
        let real = boot.path().join("loader.0/entries");
        std::fs::create_dir_all(&real).unwrap();
        std::os::unix::fs::symlink("loader.0", boot.path().join("loader")).unwrap();
        std::fs::write(real.join("ostree-1.conf"), "title t\noptions quiet x\n").unwrap();
        std::fs::write(real.join("note"), "options quiet").unwrap();
        let config = config();
        let written = config.write(boot.path()).unwrap();
        assert!(written.is_there(boot.path()).unwrap());
        let ignition = boot.path().join(IGNITION);
        assert_eq!(
            std::fs::metadata(&ignition).unwrap().permissions().mode() & 0o777,
            0o600
        );
        let entry = std::fs::read_to_string(real.join("ostree-1.conf")).unwrap();
        assert_eq!(entry, "title t\noptions x a=b\n");
        assert_eq!(
            std::fs::read_to_string(real.join("note")).unwrap(),
            "options quiet"
        );
        let network = std::fs::read(boot.path().join("coreos-firstboot-network/eth0.nmconnection")).unwrap();
        assert_eq!(network, b"[connection]");
        assert!(!boot.path().join("ignition/.muster.part").exists());
        for path in [
            "coreos-firstboot-network/eth0.nmconnection",
            "loader/entries/ostree-1.conf",
        ] {
            let path = boot.path().join(path);
            let content = std::fs::read(&path).unwrap();
            std::fs::write(&path, "x").unwrap();
            assert!(!written.is_there(boot.path()).unwrap(), "{}", path.display());
            std::fs::write(&path, content).unwrap();
            assert!(written.is_there(boot.path()).unwrap());
        }
    }

    #[test]
    fn an_image_without_entries_or_with_links_out_of_it_is_an_error() {
        let boot = tempfile::tempdir().unwrap();
        assert!(
            config()
                .write(boot.path())
                .unwrap_err()
                .to_string()
                .contains("loader/entries")
        );
        let outside = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(outside.path(), boot.path().join("loader")).unwrap();
        std::fs::create_dir(outside.path().join("entries")).unwrap();
        let error = config().write(boot.path()).unwrap_err().to_string();
        assert!(error.contains("out of the image"), "{error}");
        std::fs::create_dir(boot.path().join("ignition")).unwrap();
        let part = boot.path().join("ignition/.muster.part");
        let victim = outside.path().join("victim");
        std::fs::write(&victim, "as it was").unwrap();
        std::os::unix::fs::symlink(&victim, &part).unwrap();
        let without_arguments = BootConfig {
            ignition: b"{}".to_vec(),
            ..BootConfig::default()
        };
        assert!(without_arguments.write(boot.path()).is_err());
        assert_eq!(std::fs::read(&victim).unwrap(), b"as it was");
    }

    #[test]
    fn a_folder_of_connections_is_read_without_its_folders() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("b"), "2").unwrap();
        std::fs::write(folder.path().join("a"), "1").unwrap();
        std::fs::create_dir(folder.path().join("c")).unwrap();
        let found = network_files(folder.path()).unwrap();
        assert_eq!(
            found,
            [("a".to_owned(), b"1".to_vec()), ("b".to_owned(), b"2".to_vec())]
        );
        assert!(network_files(&folder.path().join("none")).is_err());
    }
}
