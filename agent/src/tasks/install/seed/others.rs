//! Finds seeds of earlier installations on other disks: cloud-init takes the first that it finds, which may be of
//! another host, or for another cluster.

use std::collections::BTreeSet;

use super::place::NAME;
use crate::install::disk::family;
use crate::install::image::error::ImageError;
use crate::root::Root;

/// Checks that no disk but `disk`, which has the other paths `twins`, has a partition for a seed.
///
/// # Errors
/// [`ImageError::Unfit`]: the partition.
pub fn check(root: &Root, disk: &str, twins: &[String]) -> Result<(), ImageError> {
    let own = std::iter::once(disk).chain(twins.iter().map(String::as_str));
    let own: BTreeSet<String> = own
        .flat_map(|disk| family::of(root, disk))
        .map(|member| member.name)
        .collect();
    let devices = root.list("/sys/class/block").unwrap_or_default();
    let mut others = devices.into_iter().filter(|device| !own.contains(device));
    match others.find(|device| has_seed(root, device)) {
        None => Ok(()),
        Some(other) => Err(ImageError::Unfit(format!(
            "the partition {other} of another disk is a seed for cloud-init ({NAME}), which would take either; delete the partition, \
             or install to that disk"
        ))),
    }
}

/// True for a partition of the name, as the kernel reads it from the table.
fn has_seed(root: &Root, device: &str) -> bool {
    let text = root.text(&format!("/sys/class/block/{device}/uevent"));
    let text = text.unwrap_or_default();
    let mut names = text.lines().filter_map(|line| line.strip_prefix("PARTNAME="));
    names.any(|name| name.eq_ignore_ascii_case(NAME))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::install::disk::family::tests::machine;

    #[test]
    fn a_seed_on_another_disk_is_refused_and_one_on_the_disk_itself_is_not() {
        let seeded = |place: &str, name: &str| {
            let uevent = format!("DEVTYPE=partition\nPARTN=3\nPARTNAME={name}\n");
            machine().file(&format!("sys/devices/block/{place}/uevent"), &uevent)
        };
        let other = seeded("sdaa/sdaa1", "cidata");
        let why = check(&other.root(), "sda", &[]).unwrap_err().to_string();
        assert!(why.contains("partition sdaa1 of another disk"), "{why}");
        assert!(check(&other.root(), "sdaa", &[]).is_ok());
        assert!(check(&other.root(), "sda", &["sdaa".to_owned()]).is_ok());
        let root = seeded("sdaa/sdaa1", "root");
        assert!(check(&root.root(), "sda", &[]).is_ok());
    }
}
