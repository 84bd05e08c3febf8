//! Finds the installation disk of one of many hosts by a rule.

use muster_api::inventory::Disk;
use muster_api::jobs::DiskRule;
use muster_api::words::si_size;

use super::choice::find;

/// The disk that the rule names, among those that can be installed to.
///
/// # Errors
/// The reason why there is none, for users.
pub fn by_rule<'a>(disks: &'a [Disk], rule: &DiskRule) -> Result<&'a Disk, String> {
    match rule {
        DiskRule::SmallestSsdAbove { bytes } => smallest_ssd(disks, *bytes),
        DiskRule::Path { path } => allowed(by_path(disks, path), path),
        DiskRule::Wwn { wwn } => allowed(by_wwn(disks, wwn), wwn),
        // Its disks are found by their names, of each host.
        DiskRule::List { .. } => {
            Err("the list has no disk for it, by its id or its serial number".to_owned())
        }
    }
}

/// The disk with this id, path or World Wide Name, if it can be installed to.
///
/// # Errors
/// As [`by_rule`].
pub fn by_name<'a>(disks: &'a [Disk], name: &str) -> Result<&'a Disk, String> {
    allowed(by_path(disks, name).or_else(|| by_wwn(disks, name)), name)
}

fn by_path<'a>(disks: &'a [Disk], path: &str) -> Option<&'a Disk> {
    let has_it = |disk: &&Disk| disk.paths.iter().any(|one| one == path);
    find(disks, path).or_else(|| disks.iter().find(has_it))
}

fn by_wwn<'a>(disks: &'a [Disk], wwn: &str) -> Option<&'a Disk> {
    let is_it = |disk: &&Disk| !wwn.is_empty() && disk.wwn.eq_ignore_ascii_case(wwn);
    disks.iter().find(is_it)
}

fn smallest_ssd(disks: &[Disk], bytes: u64) -> Result<&Disk, String> {
    let above = |disk: &&Disk| u64::try_from(disk.size_bytes).is_ok_and(|size| size > bytes);
    let allowed = disks
        .iter()
        .filter(|disk| disk.installation_eligibility.eligible && disk.drive_type == "SSD");
    // Of equal ones always the same.
    let smallest = allowed
        .filter(above)
        .min_by(|a, b| (a.size_bytes, &a.id).cmp(&(b.size_bytes, &b.id)));
    smallest.ok_or_else(|| {
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
        format!("it has no SSD above {} that can be installed to", si_size(bytes))
    })
}

fn allowed<'a>(found: Option<&'a Disk>, name: &str) -> Result<&'a Disk, String> {
    let disk = found.ok_or_else(|| format!("it has no disk {name:?}"))?;
    if disk.installation_eligibility.eligible {
        return Ok(disk);
    }
    let why = disk.installation_eligibility.not_eligible_reasons.join("; ");
    Err(format!("its disk {name:?} cannot be installed to: {why}"))
}

#[cfg(test)]
mod tests {
    use muster_api::inventory::Eligibility;

    use super::*;

    const GB: i64 = 1_000_000_000;

    fn disk(name: &str, drive_type: &str, gigabytes: i64, eligible: bool) -> Disk {
        let not_eligible_reasons = match eligible {
            true => Vec::new(),
            false => vec!["Too small".to_owned()],
        };
        Disk {
            id: format!("/dev/disk/by-id/{name}"),
            name: name.into(),
            by_path: format!("/dev/disk/by-path/{name}"),
            wwn: format!("0x{name}"),
            drive_type: drive_type.into(),
            size_bytes: gigabytes * GB,
            installation_eligibility: Eligibility {
                eligible,
                not_eligible_reasons,
            },
            ..Disk::default()
        }
    }

    fn name(disks: &[Disk], rule: &DiskRule) -> Result<String, String> {
        by_rule(disks, rule).map(|disk| disk.name.clone())
    }

    #[test]
    fn the_smallest_ssd_above_a_size_is_found() {
        let disks = [
            disk("sda", "HDD", 200, true),
            disk("sdb", "SSD", 960, true),
            disk("nvme0n1", "SSD", 480, true),
            disk("sdc", "SSD", 240, false),
            disk("sdd", "SSD", 100, true),
        ];
        let above = |gigabytes: u64| DiskRule::SmallestSsdAbove {
            bytes: gigabytes * 1_000_000_000,
        };
        assert_eq!(name(&disks, &above(99)), Ok("sdd".into()));
        assert_eq!(name(&disks, &above(100)), Ok("nvme0n1".into()));
        assert_eq!(name(&disks, &above(500)), Ok("sdb".into()));
        assert!(name(&disks, &above(960)).unwrap_err().contains("no SSD above"));
    }

    #[test]
    fn a_disk_is_found_by_path_and_wwn_if_it_is_allowed() {
        let disks = [disk("sda", "HDD", 200, true), disk("sdb", "SSD", 10, false)];
        let path = |path: &str| DiskRule::Path { path: path.into() };
        let wwn = |wwn: &str| DiskRule::Wwn { wwn: wwn.into() };
        assert_eq!(name(&disks, &path("/dev/sda")), Ok("sda".into()));
        assert_eq!(name(&disks, &path("/dev/disk/by-path/sda")), Ok("sda".into()));
        assert_eq!(name(&disks, &wwn("0XSDA")), Ok("sda".into()));
        let refused = name(&disks, &path("/dev/sdb")).unwrap_err();
        assert!(refused.contains("Too small"), "{refused}");
        assert!(name(&disks, &path("/dev/sdz")).is_err());
        assert!(name(&disks, &wwn("")).is_err());
        for text in ["/dev/disk/by-id/sda", "/dev/sda", "0xsda"] {
            assert_eq!(
                by_name(&disks, text).map(|disk| disk.name.as_str()),
                Ok("sda"),
                "{text}"
            );
        }
        assert!(by_name(&disks, "0xsdb").unwrap_err().contains("Too small"));
        assert!(by_name(&disks, "").is_err());
    }
}
