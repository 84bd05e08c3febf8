//! Chooses the ways to erase all sectors of a disk, the best one first.

use super::commands::{Commands, Kind};
use super::methods::ata::{self, Security};
use super::methods::nvme::{self, Action, Controller};

/// A way to erase all sectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attempt {
    Sanitize(Action),
    /// Namespace, and 10th word of the command.
    Format(u32, u32),
    Ata(Security),
    Discard,
    Overwrite,
}

/// The attempts, of which the first that succeeds is the last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    pub attempts: Vec<Attempt>,
    /// Why better ways are not possible.
    pub notes: Vec<String>,
}

impl Plan {
    /// The plan for a disk. `overwrite`: zeros are to be written, whatever the disk can do itself.
    pub fn of(disk: &mut dyn Commands, overwrite: bool) -> Self {
        let mut plan = Self {
            attempts: Vec::new(),
            notes: Vec::new(),
        };
        if !overwrite {
            match disk.kind() {
                Kind::Nvme(namespace) => match nvme::controller(disk, namespace) {
                    Ok(controller) => plan.add_nvme(namespace, &controller),
                    Err(refusal) => plan.notes.push(format!("NVMe Identify: {refusal}")),
                },
                Kind::Ata => match ata::security(disk) {
                    Ok(security) => plan.add_ata(security),
                    Err(refusal) => plan.notes.push(format!("ATA IDENTIFY DEVICE: {refusal}")),
                },
                Kind::Plain => {}
            }
            plan.attempts.push(Attempt::Discard);
        }
        plan.attempts.push(Attempt::Overwrite);
        plan
    }

    fn add_nvme(&mut self, namespace: u32, controller: &Controller) {
        match controller.sanitize {
            None => self
                .notes
                .push("NVMe Sanitize: the controller erases neither keys nor blocks".to_owned()),
            Some(_) if !controller.alone => self
                .notes
                .push("NVMe Sanitize: it would erase the controller's other namespaces, too".to_owned()),
            Some(action) => self.attempts.push(Attempt::Sanitize(action)),
        }
        match controller.format {
            None => self
                .notes
                .push("NVMe Format: the controller does not have it".to_owned()),
            Some(_) if controller.formats_all && !controller.alone => self
                .notes
                .push("NVMe Format: it would erase the controller's other namespaces, too".to_owned()),
            Some(word) => self.attempts.push(Attempt::Format(namespace, word)),
        }
    }

    fn add_ata(&mut self, security: Security) {
        match security.obstacle() {
            None => self.attempts.push(Attempt::Ata(security)),
            Some(reason) => self.notes.push(format!("ATA secure erase: {reason}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::played::Played;
    use super::*;

    const MIB: u64 = 1 << 20;

    fn of(disk: &mut Played) -> (Vec<Attempt>, String) {
        let plan = Plan::of(disk, false);
        (plan.attempts, plan.notes.join("; "))
    }

    #[test]
    fn a_controller_does_what_it_can_unless_others_would_lose_their_data() {
        let mut disk = Played::nvme(MIB);
        let (attempts, notes) = of(&mut disk);
        let format = Attempt::Format(1, 2 << 9);
        assert_eq!(
            attempts,
            [
                Attempt::Sanitize(Action::Crypto),
                format,
                Attempt::Discard,
                Attempt::Overwrite
            ]
        );
        assert_eq!(notes, "");
        disk.nvme.sanitizes = 2;
        assert_eq!(of(&mut disk).0[0], Attempt::Sanitize(Action::Block));
        disk.nvme.namespaces = vec![1, 2];
        let (attempts, notes) = of(&mut disk);
        assert_eq!(attempts, [format, Attempt::Discard, Attempt::Overwrite]);
        assert!(notes.contains("Sanitize: it would erase"), "{notes}");
        disk.nvme.attributes = 0b111;
        let (attempts, notes) = of(&mut disk);
        assert_eq!(attempts, [Attempt::Discard, Attempt::Overwrite]);
        assert!(notes.contains("Format: it would erase"), "{notes}");
    }

    #[test]
    fn a_frozen_disk_has_a_note() {
        let mut disk = Played::ata(MIB);
        assert!(matches!(of(&mut disk).0[0], Attempt::Ata(security) if security.enhanced));
        disk.ata.frozen = true;
        let (attempts, notes) = of(&mut disk);
        assert_eq!(attempts, [Attempt::Discard, Attempt::Overwrite]);
        assert!(notes.contains("frozen"), "{notes}");
    }

    #[test]
    fn zeros_are_written_where_they_are_wanted_and_disks_without_commands_are_discarded_first() {
        assert_eq!(
            Plan::of(&mut Played::nvme(MIB), true).attempts,
            [Attempt::Overwrite]
        );
        assert_eq!(
            of(&mut Played::plain(MIB)).0,
            [Attempt::Discard, Attempt::Overwrite]
        );
    }
}
