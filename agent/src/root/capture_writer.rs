//! Writes a recording of this machine as a tree: files at their real places, and the links that lead there.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::capture::{CAPTURE_FILE, CaptureError, Recording};
use crate::config::live;

/// Parts of a kernel argument's name that make its value a secret.
const SECRET_NAMES: [&str; 7] = ["token", "secret", "passw", "auth", "credential", "key", "pull"];

/// The content of a tree, by path without the leading `/`.
#[derive(Debug, Default)]
struct Tree {
    files: BTreeMap<String, Vec<u8>>,
    directories: BTreeSet<String>,
    links: BTreeMap<String, String>,
}

impl Recording {
    /// Writes a folder, or a tar if the name ends in `.tar`, or a compressed one (`.tar.gz`, `.tgz`).
    /// Values of kernel arguments that look like secrets are replaced.
    ///
    /// # Errors
    /// Fails if the place cannot be written.
    pub fn write(&self, place: &Path) -> Result<(), CaptureError> {
        let name = place.to_string_lossy();
        let tree = self.tree();
        let written = if name.ends_with(".tar") {
            File::create(place)
                .and_then(|file| tree.write_tar(file))
                .map(drop)
        } else if name.ends_with(".tar.gz") || name.ends_with(".tgz") {
            File::create(place)
                .and_then(|file| tree.write_tar(GzEncoder::new(file, Compression::best())))
                .and_then(GzEncoder::finish)
                .map(drop)
        } else {
            tree.write_folder(place)
        };
        written.map_err(|source| CaptureError::Write {
            place: place.to_owned(),
            source,
        })
    }

    fn tree(&self) -> Tree {
        let mut tree = Tree::default();
        for (path, bytes) in &self.files {
            let place = tree.trace(path);
            let bytes = match path.as_str() {
                "/proc/cmdline" => without_secrets(&String::from_utf8_lossy(bytes)).into_bytes(),
                _ => bytes.clone(),
            };
            tree.files.insert(place, bytes);
        }
        for path in &self.directories {
            let folder = tree.trace(path);
            let names = std::fs::read_dir(format!("/{folder}"))
                .into_iter()
                .flatten()
                .flatten();
            for entry in names {
                tree.note_entry(&format!("{folder}/{}", entry.file_name().to_string_lossy()));
            }
            tree.directories.insert(folder);
        }
        for path in &self.paths {
            let place = tree.trace(path);
            tree.note_entry(&place);
        }
        let capture = serde_json::to_vec_pretty(&self.capture_file()).expect("texts and numbers make JSON");
        tree.files.insert(CAPTURE_FILE.to_owned(), capture);
        tree
    }
}

impl Tree {
    /// Notes the links on the way, and returns the real path without the leading `/`.
    fn trace(&mut self, path: &str) -> String {
        let mut todo: VecDeque<String> = path.split('/').map(str::to_owned).collect();
        let mut done: Vec<String> = Vec::new();
        while let Some(part) = todo.pop_front() {
            match part.as_str() {
                "" | "." => continue,
                ".." => {
                    done.pop();
                    continue;
                }
                _ => done.push(part),
            }
            let here = done.join("/");
            let Ok(target) = std::fs::read_link(format!("/{here}")) else {
                continue;
            };
            let target = target.to_string_lossy().into_owned();
            // Recorded before: a loop, or a link that another path went through.
            if self.links.len() > 100_000 {
                break;
            }
            self.links.insert(here, target.clone());
            if target.starts_with('/') {
                done.clear();
            } else {
                done.pop();
            }
            for part in target.split('/').rev() {
                todo.push_front(part.to_owned());
            }
        }
        done.join("/")
    }

    /// Records a folder or link when only its existence is known. Files that were not read are not kept.
    fn note_entry(&mut self, place: &str) {
        let Ok(metadata) = std::fs::symlink_metadata(format!("/{place}")) else {
            return;
        };
        if metadata.is_dir() {
            self.directories.insert(place.to_owned());
        } else if metadata.is_symlink()
            && let Ok(target) = std::fs::read_link(format!("/{place}"))
        {
            self.links
                .insert(place.to_owned(), target.to_string_lossy().into_owned());
        }
    }

    fn write_tar<W: Write>(&self, writer: W) -> io::Result<W> {
        let mut tar = tar::Builder::new(writer);
        let header = |kind: tar::EntryType, mode: u32, size: u64| {
            let mut header = tar::Header::new_gnu();
            header.set_entry_type(kind);
            header.set_mode(mode);
            header.set_size(size);
            header.set_mtime(0);
            header
        };
        for path in &self.directories {
            tar.append_data(
                &mut header(tar::EntryType::Directory, 0o755, 0),
                path,
                io::empty(),
            )?;
        }
        for (path, target) in &self.links {
            tar.append_link(&mut header(tar::EntryType::Symlink, 0o777, 0), path, target)?;
        }
        for (path, bytes) in &self.files {
            let mut header = header(tar::EntryType::Regular, 0o644, bytes.len() as u64);
            tar.append_data(&mut header, path, bytes.as_slice())?;
        }
        tar.into_inner()
    }

    fn write_folder(&self, place: &Path) -> io::Result<()> {
        std::fs::create_dir_all(place)?;
        for path in &self.directories {
            std::fs::create_dir_all(place.join(path))?;
        }
        for (path, bytes) in &self.files {
            let file = place.join(path);
            std::fs::create_dir_all(file.parent().unwrap_or(place))?;
            std::fs::write(file, bytes)?;
        }
        for (path, target) in &self.links {
            let link = place.join(path);
            std::fs::create_dir_all(link.parent().unwrap_or(place))?;
            match std::os::unix::fs::symlink(target, link) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                other => other?,
            }
        }
        Ok(())
    }
}

/// The kernel's arguments with the values of secrets, and logins and queries in URLs, replaced by `REMOVED`.
fn without_secrets(command_line: &str) -> String {
    let command_line = live::without_token(command_line);
    let replaced = live::parts(&command_line).map(|(argument, separator)| {
        let Some((name, value)) = argument.split_once('=') else {
            return format!("{argument}{separator}");
        };
        // Several words in quotes may be arguments of their own, or follow a quote that was never closed.
        let several = value.contains(char::is_whitespace);
        let lower = if several { argument } else { name }.to_lowercase();
        if several && lower.contains("://") || SECRET_NAMES.iter().any(|secret| lower.contains(secret)) {
            return format!("{name}=REMOVED{separator}");
        }
        format!("{name}={}{separator}", without_login(value))
    });
    replaced.collect()
}

fn without_login(value: &str) -> String {
    let Some((scheme, rest)) = value.split_once("://") else {
        return value.to_owned();
    };
    let rest = rest
        .split_once('?')
        .map_or_else(|| rest.to_owned(), |(before, _)| format!("{before}?REMOVED"));
    let (host, path) = rest
        .split_once('/')
        .map_or((rest.as_str(), None), |(host, path)| (host, Some(path)));
    let host = host
        .rsplit_once('@')
        .map_or_else(|| host.to_owned(), |(_, host)| format!("REMOVED@{host}"));
    match path {
        Some(path) => format!("{scheme}://{host}/{path}"),
        None => format!("{scheme}://{host}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_among_the_kernel_arguments_are_removed_and_the_rest_stays() {
        let line =
            "quiet muster.token=abc muster.url=https://u:p@h:8090/x?api_key=1 rd.luks.key=k BOOTIF=01-52\n";
        assert_eq!(
            without_secrets(line),
            "quiet muster.token=REMOVED muster.url=https://REMOVED@h:8090/x?REMOVED rd.luks.key=REMOVED BOOTIF=01-52\n"
        );
        assert_eq!(without_secrets("a=1 x.secret=2\n"), "a=1 x.secret=REMOVED\n");
        assert_eq!(
            without_secrets("a=1 muster.token=\"b c\" x.secret=\"d e\"\n"),
            "a=1 muster.token=REMOVED x.secret=REMOVED\n"
        );
        assert_eq!(
            without_secrets("dyndbg=\"file a.c +p\" a=\"b https://u:p@h\" x=\"y rd.luks.key=k\n"),
            "dyndbg=\"file a.c +p\" a=REMOVED x=REMOVED\n"
        );
    }
}
