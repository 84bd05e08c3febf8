//! Overwrites the files with keys and seeds in the file systems of an installed node. docs/erasing.md lists them.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::gpt::Partition;
use crate::install::boot::mounted::Mounted;
use crate::install::boot::partition::FileSystem;
use crate::passthrough::checked;

/// Below each of [`ETC_AT`].
const ETC: [&str; 3] = ["kubernetes", "muster*", "ssh/ssh_host_*"];
const ETC_AT: [&str; 2] = ["etc", "ostree/deploy/*/deploy/*/etc"];
/// Below each of [`VAR_AT`].
const VAR: [&str; 5] = [
    "lib/kubelet/pki",
    "lib/kubelet/config.json",
    "lib/kubelet/*kubeconfig*",
    "lib/cloud",
    "lib/muster*",
];
/// The last one is for a partition that is mounted at `/var`.
const VAR_AT: [&str; 3] = ["var", "ostree/deploy/*/var", "."];
/// Below the file system.
const OTHERS: [&str; 2] = ["boot/ignition", "ignition"];

/// Files and folders that are visited. A node has some hundreds.
const MOST: usize = 200_000;
/// Folders in one another.
const DEEPEST: usize = 64;
/// Bytes of one file. Larger ones are no keys, and may be full of holes.
const LARGEST: u64 = 64 << 20;
/// Bytes of free space that are discarded by one request to the kernel.
const PIECE: u64 = 16 << 30;
/// Longest time of discarding the free space of one file system: SSDs need seconds. Below the service's limit for an erasure without
/// progress.
const DISCARDING: Duration = Duration::from_secs(3 * 60);

/// The files that were overwritten and removed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Swept {
    pub files: usize,
    pub bytes: u64,
    /// What may be left of files that were removed earlier; empty if nothing.
    pub left: String,
}

/// Mounts a partition of the disk with this node, overwrites and removes the files, and passes the free space of the file system to the
/// disk as discarded, so that files that were removed earlier go, too, where the disk does that.
///
/// # Errors
/// Fails if the kernel refuses the mount, or a file stays.
pub fn on_partition(node: &str, partition: &Partition, kind: FileSystem) -> io::Result<Swept> {
    let mounted = Mounted::new(node, partition, kind, false)?;
    let mut swept = sweep(mounted.place())?;
    let problem = if discards(node) {
        trim(mounted.place(), partition.size)
            .err()
            .map(|error| error.to_string())
    } else {
        Some("the disk does not discard".to_owned())
    };
    if let Some(problem) = problem {
        swept.left = format!("files that were removed earlier may be left in its free space ({problem})");
    }
    mounted.end()?;
    Ok(swept)
}

/// Overwrites and removes the files below a folder that has the file system. One that stays does not hold up the others.
///
/// # Errors
/// The first file that cannot be overwritten or removed, or is not of a kind that a node has.
pub fn sweep(root: &Path) -> io::Result<Swept> {
    let mut work = Work::default();
    for pattern in patterns() {
        match matching(root, &pattern) {
            Ok(paths) => {
                for path in paths {
                    work.clear(&path, 0);
                }
            }
            Err(error) => work.stays(error),
        }
    }
    match work.problem {
        None => Ok(work.swept),
        Some(error) => Err(error),
    }
}

fn patterns() -> Vec<String> {
    let below = |at: &[&str], names: &[&str]| -> Vec<String> {
        let pairs = at
            .iter()
            .flat_map(|at| names.iter().map(move |name| format!("{at}/{name}")));
        pairs.collect()
    };
    let mut all = below(&ETC_AT, &ETC);
    all.extend(below(&VAR_AT, &VAR));
    all.extend(OTHERS.map(str::to_owned));
    all
}

/// The paths that fit; `*` stands for any part of a name. Links are not followed: the file system is of the host's former owner.
fn matching(root: &Path, pattern: &str) -> io::Result<Vec<PathBuf>> {
    let mut found = vec![root.to_owned()];
    for part in pattern.split('/').filter(|part| *part != ".") {
        let mut next = Vec::new();
        for folder in found {
            if !kind(&folder)?.is_some_and(|kind| kind.is_dir()) {
                continue;
            }
            if part.contains('*') {
                for entry in std::fs::read_dir(&folder)? {
                    let entry = entry?;
                    if fits(&entry.file_name().to_string_lossy(), part) {
                        next.push(entry.path());
                    }
                }
            } else {
                next.push(folder.join(part));
            }
            if next.len() > MOST {
                return Err(too_many());
            }
        }
        found = next;
    }
    Ok(found)
}

/// True if the name fits the pattern, in which every `*` stands for any text.
fn fits(name: &str, pattern: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else {
        return name == pattern;
    };
    let Some(name) = name.strip_prefix(first) else {
        return false;
    };
    let mut ends = (0..=name.len()).filter(|at| name.is_char_boundary(*at));
    ends.any(|at| fits(&name[at..], rest))
}

/// None if nothing is there.
fn kind(path: &Path) -> io::Result<Option<Metadata>> {
    match std::fs::symlink_metadata(path) {
        Ok(metadata) => Ok(Some(metadata)),
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            Ok(None)
        }
        Err(error) => Err(at(path)(error)),
    }
}

#[derive(Default)]
struct Work {
    swept: Swept,
    visited: usize,
    /// Of the first file that stays.
    problem: Option<io::Error>,
}

impl Work {
    fn stays(&mut self, error: io::Error) {
        if self.problem.is_none() {
            self.problem = Some(error);
        }
    }

    fn clear(&mut self, path: &Path, depth: usize) {
        if let Err(error) = self.try_clear(path, depth) {
            self.stays(error);
        }
    }

    fn try_clear(&mut self, path: &Path, depth: usize) -> io::Result<()> {
        self.visited += 1;
        if self.visited > MOST || depth > DEEPEST {
            return Err(too_many());
        }
        let Some(metadata) = kind(path)? else {
            return Ok(());
        };
        if metadata.is_dir() {
            for entry in std::fs::read_dir(path).map_err(at(path))? {
                if self.visited > MOST {
                    return Err(too_many());
                }
                self.clear(&entry.map_err(at(path))?.path(), depth + 1);
            }
        } else if metadata.is_file() {
            overwrite(path, metadata.size()).map_err(at(path))?;
            self.swept.files += 1;
            self.swept.bytes += metadata.size();
        }
        Ok(())
    }
}

/// Writes zeros over a file, waits until the disk has them, and removes it.
fn overwrite(path: &Path, size: u64) -> io::Result<()> {
    if size > LARGEST {
        return Err(io::Error::other(format!("has {size} bytes, which no key has")));
    }
    let mut file = OpenOptions::new()
        .write(true)
        .custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC)
        .open(path)?;
    let zeros = [0_u8; 64 << 10];
    let mut left = usize::try_from(size).map_err(io::Error::other)?;
    while left > 0 {
        let length = left.min(zeros.len());
        file.write_all(&zeros[..length])?;
        left -= length;
    }
    file.sync_all()?;
    std::fs::remove_file(path)
}

fn too_many() -> io::Error {
    io::Error::other("the places of keys hold more files than a node has")
}

fn at(path: &Path) -> impl Fn(io::Error) -> io::Error + '_ {
    move |error| io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// `<linux/fs.h>`: `_IOWR('X', 121, struct fstrim_range)`
const FITRIM: libc::c_ulong = 0xc018_5879;

/// True if the disk itself discards. For one that does not, but has a command that writes zeros, the kernel would write them over all free space:
/// hours on a disk with moving heads.
fn discards(node: &str) -> bool {
    // A file in place of a disk: the kernel makes holes in it.
    let Some(name) = node.strip_prefix("/dev/") else {
        return true;
    };
    let most = std::fs::read_to_string(format!("/sys/class/block/{name}/queue/discard_max_bytes"));
    most.is_ok_and(|most| most.trim() != "0")
}

/// Discards the free space of a file system of at most `size` bytes.
fn trim(root: &Path, size: u64) -> io::Result<()> {
    let folder = File::open(root)?;
    let began = Instant::now();
    let mut at = 0;
    while at < size {
        if began.elapsed() >= DISCARDING {
            return Err(io::Error::other(format!(
                "discarding was stopped after {} s, at {} of {} GiB",
                DISCARDING.as_secs(),
                at >> 30,
                size >> 30
            )));
        }
        match trim_piece(&folder, at, PIECE.min(size - at)) {
            Ok(()) => {}
            // The file system ends before its partition does.
            Err(error) if at > 0 && error.raw_os_error() == Some(libc::EINVAL) => return Ok(()),
            Err(error) => return Err(error),
        }
        at += PIECE;
    }
    Ok(())
}

#[expect(unsafe_code, reason = "an ioctl that no crate of ours offers")]
fn trim_piece(folder: &File, at: u64, length: u64) -> io::Result<()> {
    // Start, length, least length.
    let mut range = [at, length, 0];
    // SAFETY: the kernel reads and writes three numbers of 64 bits, which outlive the call.
    let result = unsafe { libc::ioctl(folder.as_raw_fd(), FITRIM as _, range.as_mut_ptr()) };
    checked(result).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(root: &Path, path: &str) {
        let place = root.join(path);
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        std::fs::write(place, "secret").unwrap();
    }

    #[test]
    fn the_files_of_the_list_go_and_others_stay() {
        let root = tempfile::tempdir().unwrap();
        let gone = [
            "etc/kubernetes/kubelet.conf",
            "etc/kubernetes/pki/deep/ca.key",
            "etc/ssh/ssh_host_ed25519_key",
            "etc/muster/host-key",
            "ostree/deploy/fedora/deploy/abc.0/etc/kubernetes/kubeconfig",
            "ostree/deploy/fedora/var/lib/kubelet/pki/kubelet.pem",
            "var/lib/kubelet/pki/kubelet-client.pem",
            "var/lib/kubelet/bootstrap-kubeconfig",
            "var/lib/kubelet/config.json",
            "var/lib/cloud/seed/nocloud/user-data",
            "var/lib/muster-agent/state",
            "lib/cloud/instance/user-data.txt",
            "boot/ignition/config.ign",
            "ignition/config.ign",
        ];
        let stays = [
            "etc/ssh/sshd_config",
            "etc/kubernetes-notes",
            "var/lib/kubelet/pods/a/volume",
            "var/lib/etcd/data",
            "home/core/file",
        ];
        for path in gone.iter().chain(&stays) {
            put(root.path(), path);
        }
        let swept = sweep(root.path()).unwrap();
        assert_eq!((swept.files, swept.bytes), (gone.len(), 6 * gone.len() as u64));
        for path in gone {
            assert!(!root.path().join(path).exists(), "{path}");
        }
        for path in stays {
            assert!(root.path().join(path).exists(), "{path}");
        }
        assert_eq!(sweep(root.path()).unwrap().files, 0);
    }

    /// Another name of a file shows what its sectors hold.
    #[test]
    fn a_file_is_overwritten_before_it_is_removed() {
        let root = tempfile::tempdir().unwrap();
        put(root.path(), "etc/kubernetes/key");
        let other = root.path().join("other-name");
        std::fs::hard_link(root.path().join("etc/kubernetes/key"), &other).unwrap();
        sweep(root.path()).unwrap();
        assert_eq!(std::fs::read(other).unwrap(), [0; 6]);
    }

    #[test]
    fn links_lead_nowhere_and_what_no_node_has_is_refused() {
        let (root, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        put(outside.path(), "kubernetes/key");
        std::os::unix::fs::symlink(outside.path(), root.path().join("etc")).unwrap();
        std::fs::create_dir_all(root.path().join("var/lib")).unwrap();
        let link = root.path().join("var/lib/cloud");
        std::os::unix::fs::symlink(outside.path(), link).unwrap();
        assert_eq!(sweep(root.path()).unwrap().files, 0);
        assert!(outside.path().join("kubernetes/key").exists());
        let large = root.path().join("var/lib/kubelet/pki");
        std::fs::create_dir_all(large.parent().unwrap()).unwrap();
        File::create(&large).unwrap().set_len(LARGEST + 1).unwrap();
        put(root.path(), "ignition/config.ign");
        let text = sweep(root.path()).unwrap_err().to_string();
        assert!(text.contains("which no key has"), "{text}");
        assert!(
            !root.path().join("ignition/config.ign").exists(),
            "what stays does not hold up the rest"
        );
    }

    #[test]
    fn free_space_is_discarded_on_disks_that_do_that_alone() {
        assert!(discards("/tmp/disk.img"), "a file has holes");
        assert!(!discards("/dev/no-such-disk"));
    }

    #[test]
    fn patterns_are_of_names() {
        for (name, pattern, expected) in [
            ("muster", "muster*", true),
            ("muster-agent", "muster*", true),
            ("must", "muster*", false),
            ("bootstrap-kubeconfig", "*kubeconfig*", true),
            ("kubeconfig.old", "*kubeconfig*", true),
            ("config", "*kubeconfig*", false),
            ("pki", "pki", true),
            ("äb", "*b", true),
        ] {
            assert_eq!(fits(name, pattern), expected, "{name} {pattern}");
        }
    }

    #[test]
    fn the_page_lists_every_place() {
        let page = include_str!("../../../../docs/erasing.md");
        let of_etc = ETC.iter().map(|name| format!("`/etc/{name}`"));
        let of_var = VAR.iter().map(|name| format!("`/var/{name}`"));
        let others = OTHERS.iter().map(|name| format!("`/{name}`"));
        for place in of_etc.chain(of_var).chain(others) {
            assert!(page.contains(&place), "{place}");
        }
    }
}
