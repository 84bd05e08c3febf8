//! Finds the device of a path, and checks that nothing uses it.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};

use super::SpeedError;
use crate::root::Root;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Target {
    /// Kernel name.
    pub name: String,
    pub number: String,
    pub size: u64,
}

impl Target {
    fn folder(&self) -> String {
        format!("/sys/class/block/{}", self.name)
    }
}

/// Resolves `path` to its disk.
pub(super) fn find(root: &Root, path: &str) -> Result<Target, SpeedError> {
    let no_disk = |reason: String| SpeedError::NoDisk {
        path: path.to_owned(),
        reason,
    };
    if !path.starts_with("/dev/") {
        return Err(no_disk("a path under /dev is expected".to_owned()));
    }
    let node = root.resolve(path).map_err(|error| no_disk(error.to_string()))?;
    let name = node
        .strip_prefix("/dev/")
        .filter(|name| !name.contains('/'))
        .ok_or_else(|| no_disk(format!("it leads to {node}")))?;
    let folder = format!("/sys/class/block/{name}");
    let number = root
        .text(&format!("{folder}/dev"))
        .map_err(|_| no_disk("it is no block device".to_owned()))?;
    if root.exists(&format!("{folder}/partition")) {
        return Err(no_disk("it is a partition".to_owned()));
    }
    let sectors = root.text(&format!("{folder}/size")).ok();
    let size = sectors
        .and_then(|text| text.parse::<u64>().ok())
        .and_then(|sectors| sectors.checked_mul(512))
        .ok_or_else(|| no_disk("its size is not known".to_owned()))?;
    Ok(Target {
        name: name.to_owned(),
        number,
        size,
    })
}

/// The reason not to write to the disk; `None` without one.
pub(super) fn in_use(root: &Root, disk: &Target) -> Option<String> {
    let folder = disk.folder();
    let is_one = |file: &str| {
        root.text(&format!("{folder}/{file}"))
            .is_ok_and(|text| text == "1")
    };
    if disk.name.starts_with("sr") || is_one("removable") {
        return Some("it is a removable medium".to_owned());
    }
    if is_one("ro") {
        return Some("it is read-only".to_owned());
    }
    if is_one("hidden") {
        return Some("it is a path of another disk".to_owned());
    }
    let entries = match root.list(&folder) {
        Ok(entries) => entries,
        Err(error) => return Some(format!("nothing is known of it ({folder}: {error})")),
    };
    let partition = entries
        .iter()
        .find(|entry| root.exists(&format!("{folder}/{entry}/partition")));
    if let Some(partition) = partition {
        return Some(format!("it has partitions ({partition})"));
    }
    for (list, what) in [("holders", "is used by"), ("slaves", "is made of")] {
        let names = root.list(&format!("{folder}/{list}")).unwrap_or_default();
        if !names.is_empty() {
            return Some(format!("it {what} {}", names.join(", ")));
        }
    }
    mounted(root, disk).or_else(|| swap(root, disk))
}

fn mounted(root: &Root, disk: &Target) -> Option<String> {
    // Process 1 first: in a container, our own mounts are not the host's.
    for file in ["/proc/1/mountinfo", "/proc/self/mountinfo"] {
        // The file of process 1 may be unreadable; our own may not.
        let text = match root.text(file) {
            Ok(text) => text,
            Err(_) if file.starts_with("/proc/1/") => continue,
            Err(error) => return Some(format!("what is mounted is not known ({file}: {error})")),
        };
        let mount = text.lines().find_map(|line| {
            let mut fields = line.split(' ');
            let number = fields.nth(2)?;
            let target = fields.nth(1)?;
            (number == disk.number).then(|| target.to_owned())
        });
        if let Some(target) = mount {
            return Some(format!("it is mounted at {target}"));
        }
    }
    None
}

fn swap(root: &Root, disk: &Target) -> Option<String> {
    let text = root.text("/proc/swaps").unwrap_or_default();
    let used = text
        .lines()
        .skip(1)
        .filter_map(|line| line.split_whitespace().next())
        .filter_map(|place| root.resolve(place).ok())
        .any(|place| place == format!("/dev/{}", disk.name));
    used.then(|| "it is swap".to_owned())
}

/// Opens the disk for writing and claims it: while the file is open no other program can mount it or build
/// upon it, and the open fails if one has. The file is of the device that was checked, or an error.
pub(super) fn claim(disk: &Target) -> io::Result<File> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_EXCL | libc::O_CLOEXEC)
        .open(format!("/dev/{}", disk.name))?;
    let found = file.metadata()?;
    let number = format!(
        "{}:{}",
        nix::sys::stat::major(found.rdev()),
        nix::sys::stat::minor(found.rdev())
    );
    if !found.file_type().is_block_device() || number != disk.number {
        return Err(io::Error::other(format!(
            "/dev/{} is device {number}, and not {} as the kernel says",
            disk.name, disk.number
        )));
    }
    Ok(file)
}
