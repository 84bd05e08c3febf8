//! Paths of files: which of them Ignition can write.

use super::super::super::items::MAX_PATH;
use super::super::super::refused::Refused;
use super::super::node::Node;

/// Most folders that a file of a volatile place may lie in: each gets a line of its own.
const MOST_FOLDERS: usize = 16;

/// Empty at each boot; on CoreOS `/tmp` is, too.
const VOLATILE: [&str; 2] = ["/run", "/tmp"];

/// Part of the image, which is read-only on CoreOS.
const IMAGE: [&str; 5] = ["/usr", "/bin", "/sbin", "/lib", "/lib64"];

/// Made by the kernel.
const KERNEL: [&str; 3] = ["/dev", "/proc", "/sys"];

/// Where a file belongs.
pub(super) struct Place {
    pub(super) path: String,
    /// True: empty at each boot.
    pub(super) is_volatile: bool,
}

impl Place {
    /// The folders that a volatile file lies in, without the one that is always there.
    pub(super) fn folders(&self) -> Vec<String> {
        let slashes = self.path.match_indices('/').map(|(index, _)| index);
        slashes
            .skip(2)
            .filter_map(|index| self.path.get(..index).map(str::to_owned))
            .collect()
    }
}

pub(super) fn read(node: &Node<'_>) -> Result<Place, Refused> {
    let text = node.line()?;
    if !text.starts_with('/') || text.ends_with('/') {
        return Err(node.refuse("must be the absolute path of a file"));
    }
    if text.len() > MAX_PATH {
        return Err(node.refuse(format!("is longer than {MAX_PATH} bytes")));
    }
    let parts: Vec<&str> = text
        .split('/')
        .filter(|part| !matches!(*part, "" | "."))
        .collect();
    if parts.contains(&"..") {
        return Err(node.refuse("must not lead through .."));
    }
    let mut path = format!("/{}", parts.join("/"));
    if is_below(&path, "/var/run") {
        path = path.strip_prefix("/var").unwrap_or(&path).to_owned();
    }
    if path == "/" {
        return Err(node.refuse("must be the absolute path of a file"));
    }
    let is_below_one = |folders: &[&str]| folders.iter().any(|folder| is_below(&path, folder));
    if is_below_one(&KERNEL) {
        return Err(node.refuse("lies where the kernel makes the files"));
    }
    if is_below_one(&IMAGE) && !is_below(&path, "/usr/local") {
        return Err(
            node.refuse("lies in the read-only part of the image; write it to /usr/local, /etc or /var")
        );
    }
    let is_volatile = is_below_one(&VOLATILE);
    // Other characters would need quotes or escapes in tmpfiles.d.
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@:=,".contains(c);
    if is_volatile && !path.chars().all(is_plain) {
        return Err(node.refuse("may have letters, digits and /._-+@:=, only, for it is copied at each boot"));
    }
    if is_volatile && parts.len() > MOST_FOLDERS {
        return Err(node.refuse(format!(
            "lies in more than {MOST_FOLDERS} folders, which would be made at each boot"
        )));
    }
    Ok(Place { path, is_volatile })
}

fn is_below(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
