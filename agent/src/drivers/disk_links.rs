//! Keeps the links under `/dev/disk`, as udev does on other systems.

use std::path::Path;

use tracing::warn;

use crate::inventory::disks::links;
use crate::root::Root;

/// Makes links that are missing or point elsewhere, and removes links of disks that are gone.
pub(super) fn update() {
    let plan = links::plan(&Root::live());
    for folder in ["/dev/disk/by-id", "/dev/disk/by-path"] {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let target = std::fs::read_link(&path).unwrap_or_default();
            let wanted = plan
                .links
                .iter()
                .any(|(link, to)| Path::new(link) == path && Path::new(to) == target);
            if !wanted && !plan.is_silent(&target.to_string_lossy()) {
                let _ = std::fs::remove_file(&path);
            }
        }
    }
    for (link, target) in plan.links {
        let link = Path::new(&link);
        if link.is_symlink() {
            continue;
        }
        let made = link
            .parent()
            .map_or(Ok(()), std::fs::create_dir_all)
            .and_then(|()| std::os::unix::fs::symlink(&target, link));
        if let Err(error) = made {
            warn!(link = %link.display(), "the link was not made: {error}");
        }
    }
}
