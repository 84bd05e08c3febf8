//! Reads the mounts of process 1.

use crate::root::{ProbeError, Root};

/// A line of `/proc/1/mounts`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Mount {
    /// `/dev/sda1`, `tmpfs`, ...
    pub source: String,
    /// The mount point.
    pub target: String,
}

/// The mounts of process 1, or of this process if those cannot be read.
pub(super) fn mounts(root: &Root) -> Result<Vec<Mount>, ProbeError> {
    let text = root
        .text("/proc/1/mounts")
        .or_else(|_| root.text("/proc/mounts"))
        .map_err(ProbeError::reading("/proc/1/mounts"))?;
    Ok(text.lines().filter_map(parse).collect())
}

fn parse(line: &str) -> Option<Mount> {
    let mut fields = line.split(' ');
    Some(Mount {
        source: unescape(fields.next()?),
        target: unescape(fields.next()?),
    })
}

/// The kernel writes blanks, tabs, line ends and backslashes in octal (`\040`).
fn unescape(text: &str) -> String {
    text.replace("\\040", " ")
        .replace("\\011", "\t")
        .replace("\\012", "\n")
        .replace("\\134", "\\")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_in_mount_points_are_unescaped() {
        let mount = parse("/dev/sr0 /run/media/my\\040iso iso9660 ro 0 0").unwrap();
        assert_eq!(mount.target, "/run/media/my iso");
        assert_eq!(parse("lonely"), None);
    }
}
