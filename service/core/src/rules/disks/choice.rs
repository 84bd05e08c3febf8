//! Chooses the installation disk.

use muster_api::inventory::Disk;

/// The disk that stays or becomes the installation disk: `current` (an id) while it is eligible, else the first eligible one by
/// [`Disk::installation_order`].
pub fn choose<'a>(disks: &'a [Disk], current: &str) -> Option<&'a Disk> {
    let mut eligible: Vec<&Disk> = disks
        .iter()
        .filter(|disk| disk.installation_eligibility.eligible)
        .collect();
    // Sorted first, so that of several disks that claim one id the same one is taken each time.
    eligible.sort_by(|a, b| a.installation_order().cmp(&b.installation_order()));
    let kept = eligible
        .iter()
        .find(|disk| !current.is_empty() && disk.id == current);
    kept.or(eligible.first()).copied()
}

/// The disks to suggest to a user who named none of them: those that can be installed to; all if there is none.
pub fn suggested(disks: &[Disk]) -> Vec<&Disk> {
    let is_eligible = |disk: &&Disk| disk.installation_eligibility.eligible;
    let eligible: Vec<&Disk> = disks.iter().filter(is_eligible).collect();
    if eligible.is_empty() {
        return disks.iter().collect();
    }
    eligible
}

/// The disk that a user means by its id, its by-path name or its `/dev` name.
pub fn find<'a>(disks: &'a [Disk], name: &str) -> Option<&'a Disk> {
    if name.is_empty() {
        return None;
    }
    disks
        .iter()
        .find(|disk| disk.id == name)
        .or_else(|| disks.iter().find(|disk| disk.by_path == name))
        .or_else(|| {
            disks
                .iter()
                .find(|disk| name.strip_prefix("/dev/") == Some(disk.name.as_str()))
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_api::inventory::Eligibility;

    fn disk(name: &str, drive_type: &str) -> Disk {
        let installation_eligibility = Eligibility {
            eligible: true,
            not_eligible_reasons: Vec::new(),
        };
        Disk {
            id: "same".into(),
            name: name.into(),
            drive_type: drive_type.into(),
            installation_eligibility,
            ..Disk::default()
        }
    }

    #[test]
    fn of_disks_with_one_id_the_same_is_chosen_again() {
        let disks = [disk("dm-0", "SSD"), disk("sda", "FC")];
        let first = choose(&disks, "").expect("a disk");
        assert_eq!(choose(&disks, &first.id), Some(first));
    }
}
