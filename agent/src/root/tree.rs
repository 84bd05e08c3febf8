//! Resolves paths inside a captured tree: links are followed as if the tree's folder were `/`.

use std::collections::VecDeque;
use std::io;
use std::path::Path;

/// As in the kernel (`MAXSYMLINKS`).
const MAX_LINKS: usize = 40;

/// The absolute path inside the tree that `path` leads to, which exists.
pub(super) fn resolve(dir: &Path, path: &str) -> io::Result<String> {
    let mut todo: VecDeque<String> = path.split('/').map(str::to_owned).collect();
    let mut done: Vec<String> = Vec::new();
    let mut links = 0;
    while let Some(part) = todo.pop_front() {
        match part.as_str() {
            "" | "." => continue,
            ".." => {
                done.pop();
                continue;
            }
            _ => done.push(part),
        }
        let place = dir.join(done.join("/"));
        let metadata = std::fs::symlink_metadata(&place)?;
        if !metadata.file_type().is_symlink() {
            continue;
        }
        links += 1;
        if links > MAX_LINKS {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "too many symbolic links",
            ));
        }
        let target = std::fs::read_link(&place)?.to_string_lossy().into_owned();
        if target.starts_with('/') {
            done.clear();
        } else {
            done.pop();
        }
        for part in target.split('/').rev() {
            todo.push_front(part.to_owned());
        }
    }
    Ok(format!("/{}", done.join("/")))
}

/// The path with its folder resolved and its last part unchanged.
pub(super) fn parent(dir: &Path, path: &str) -> io::Result<String> {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let folder = resolve(dir, folder)?;
    if name == ".." {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    Ok(format!("{}/{name}", folder.trim_end_matches('/')))
}
