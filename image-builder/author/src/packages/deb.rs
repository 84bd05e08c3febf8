//! Reads a `.deb` file without dpkg: an `ar` archive with the files in its member `data.tar.*`.

use std::fs::{self, File};
use std::io::{BufReader, Read};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Component, Path};

use anyhow::{Context, Result, bail, ensure};

/// One file of a package.
pub struct Member<'a> {
    /// Path in the installed system, without a leading slash.
    pub path: String,
    pub kind: Kind<'a>,
}

pub enum Kind<'a> {
    /// A regular file: its permissions and its bytes.
    File {
        mode: u32,
        /// The bytes, to be read once.
        content: &'a mut dyn Read,
    },
    /// A symbolic link and its target.
    Symlink(String),
    Directory,
}

/// Calls `visit` with every member of the package, in the package's order.
///
/// # Errors
/// When the package cannot be read (the error names it), or `visit` fails.
pub fn read(deb: &Path, visit: impl FnMut(Member<'_>) -> Result<()>) -> Result<()> {
    read_members(deb, visit).with_context(|| format!("while unpacking {}", deb.display()))
}

fn read_members(deb: &Path, mut visit: impl FnMut(Member<'_>) -> Result<()>) -> Result<()> {
    let mut archive = ar::Archive::new(BufReader::new(File::open(deb)?));
    while let Some(entry) = archive.next_entry() {
        let entry = entry?;
        let name = String::from_utf8_lossy(entry.header().identifier()).into_owned();
        let data: Box<dyn Read + '_> = match name.as_str() {
            "data.tar" => Box::new(entry),
            "data.tar.xz" => Box::new(liblzma::read::XzDecoder::new_multi_decoder(entry)),
            "data.tar.zst" => Box::new(zstd::Decoder::new(entry)?),
            "data.tar.gz" => Box::new(flate2::read::MultiGzDecoder::new(entry)),
            other if other.starts_with("data.tar") => {
                bail!("its files are compressed as {other}, which is not known here")
            }
            _ => continue,
        };
        return read_tar(data, &mut visit);
    }
    bail!("it has no data.tar: not a Debian package, or a truncated one")
}

fn read_tar(data: impl Read, visit: &mut impl FnMut(Member<'_>) -> Result<()>) -> Result<()> {
    for entry in tar::Archive::new(data).entries()? {
        let mut entry = entry?;
        let path = entry.path()?.into_owned();
        let path = path.strip_prefix(".").unwrap_or(&path);
        ensure!(
            path.components().all(|part| matches!(part, Component::Normal(_))),
            "a member leaves the root: {}",
            path.display()
        );
        let path = path.to_str().context("a member's name is not UTF-8")?.to_owned();
        let mode = entry.header().mode()? & 0o777;
        let link = entry
            .link_name()?
            .map(|target| target.to_string_lossy().into_owned());
        let kind = match (entry.header().entry_type(), link) {
            (tar::EntryType::Regular, _) => Kind::File {
                mode,
                content: &mut entry,
            },
            (tar::EntryType::Symlink, Some(target)) => Kind::Symlink(target),
            (tar::EntryType::Directory, _) => Kind::Directory,
            // Hard links and devices: no package that is used has one that the image needs.
            _ => continue,
        };
        visit(Member { path, kind })?;
    }
    Ok(())
}

/// Unpacks the members below `target` for which `wanted` returns true; it is called with the path.
///
/// # Errors
/// As [`read`], and when `target` cannot be written.
pub fn unpack(deb: &Path, target: &Path, wanted: impl Fn(&str) -> bool) -> Result<()> {
    read(deb, |member| {
        if !wanted(&member.path) {
            return Ok(());
        }
        let place = target.join(&member.path);
        match member.kind {
            Kind::Directory => fs::create_dir_all(&place)?,
            Kind::Symlink(link) => {
                create_parent(&place)?;
                symlink(link, &place)?;
            }
            Kind::File { mode, content } => {
                create_parent(&place)?;
                let mut file = File::create(&place)?;
                std::io::copy(content, &mut file)?;
                file.set_permissions(fs::Permissions::from_mode(mode))?;
            }
        }
        Ok(())
    })
}

fn create_parent(place: &Path) -> Result<()> {
    if let Some(parent) = place.parent() {
        fs::create_dir_all(parent)?;
    }
    Ok(())
}

/// A path of a package as if `bin`, `lib` and `sbin` were not below `usr`, as they are since Debian 13.
#[must_use]
pub fn without_usr(path: &str) -> &str {
    match path.strip_prefix("usr/") {
        Some(rest)
            if ["bin/", "lib/", "sbin/"]
                .iter()
                .any(|folder| rest.starts_with(folder)) =>
        {
            rest
        }
        _ => path,
    }
}

/// Reads one file of a package, whether its folder is below `usr` or not.
///
/// # Errors
/// When the package does not hold it.
pub fn read_file(deb: &Path, path: &str) -> Result<Vec<u8>> {
    let mut found = None;
    read(deb, |member| {
        if without_usr(&member.path) == without_usr(path)
            && let Kind::File { content, .. } = member.kind
        {
            let mut bytes = Vec::new();
            content.read_to_end(&mut bytes)?;
            found = Some(bytes);
        }
        Ok(())
    })?;
    found.with_context(|| format!("{} holds no file {path}", deb.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(member: &str, data: &[u8]) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut builder = ar::Builder::new(file.reopen().unwrap());
        let version = b"2.0\n";
        for (name, bytes) in [("debian-binary", version.as_slice()), (member, data)] {
            let header = ar::Header::new(name.as_bytes().to_vec(), bytes.len() as u64);
            builder.append(&header, bytes).unwrap();
        }
        file
    }

    fn tarball(path: &str, content: &[u8]) -> Vec<u8> {
        let mut builder = tar::Builder::new(Vec::new());
        let mut header = tar::Header::new_ustar();
        header.as_ustar_mut().unwrap().name[..path.len()].copy_from_slice(path.as_bytes());
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        header.set_cksum();
        builder.append(&header, content).unwrap();
        builder.into_inner().unwrap()
    }

    #[test]
    fn every_compression_that_debian_used_is_read() {
        let tar = tarball("./usr/share/x", b"content");
        let mut xz = Vec::new();
        liblzma::read::XzEncoder::new(tar.as_slice(), 1)
            .read_to_end(&mut xz)
            .unwrap();
        let zstd = zstd::encode_all(tar.as_slice(), 1).unwrap();
        for (name, data) in [("data.tar", &tar), ("data.tar.xz", &xz), ("data.tar.zst", &zstd)] {
            let deb = package(name, data);
            assert_eq!(
                read_file(deb.path(), "usr/share/x").unwrap(),
                b"content",
                "{name}"
            );
        }
    }

    #[test]
    fn a_file_is_found_before_and_after_debian_moved_it() {
        for place in ["./bin/busybox", "./usr/bin/busybox"] {
            let deb = package("data.tar", &tarball(place, b"content"));
            assert_eq!(read_file(deb.path(), "bin/busybox").unwrap(), b"content");
        }
        assert_eq!(without_usr("usr/share/x"), "usr/share/x");
    }

    #[test]
    fn a_member_that_leaves_the_root_is_refused() {
        let deb = package("data.tar", &tarball("./../etc/passwd", b"x"));
        let error = read(deb.path(), |_| Ok(())).expect_err("refused");
        assert!(format!("{error:#}").contains("leaves the root"), "{error:#}");
    }

    #[test]
    fn a_truncated_package_is_an_error_that_names_it() {
        let deb = package("data.tar.xz", b"\xfd7zXZ\0\0");
        let error = read(deb.path(), |_| Ok(())).expect_err("refused");
        assert!(
            error.to_string().contains(deb.path().to_str().unwrap()),
            "{error:#}"
        );
    }
}
