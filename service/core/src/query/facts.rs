//! What filters, counts and orders read of a host, in whichever form it is kept: as a summary, or as a row of a table.

use chrono::TimeDelta;
use muster_api::host::{HostRole, HostStage, HostStatus};
use muster_api::ids::{ClusterId, HostId, InfraEnvId};
use muster_api::time::Timestamp;
use strum::VariantArray;

use super::summary::{DriveType, Firmware, HardwareSummary, HostSummary};
use crate::record::CheckId;
use crate::rules::findings::FAILED_BEFORE;
use crate::rules::sleep::{DISCOVERY, Member, Power, RETRY_AFTER, WAKE_RETRY_AFTER, sleeps_in};

/// Values of which a host has any number, in the order in which a row has them: those that are counted are first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, VariantArray)]
pub enum Field {
    Name,
    Model,
    Vendor,
    Finding,
    /// The place of a check in [`CheckId::ALL`].
    Check,
    /// The n-th switch is that of the n-th port.
    Switch,
    Port,
    /// Of the machine.
    Serial,
    /// The n-th one is of the n-th disk, as sizes and types are; empty: not known.
    DiskSerial,
    Mac,
    Ip,
    BmcName,
    BmcAddress,
    /// Address of the BMC as the machine itself reports it.
    ReportedBmc,
    Power,
    GpuModel,
    GpuCount,
    DiskBytes,
    /// The place of a type in the list of [`DriveType`]s.
    DiskType,
    Vlan,
    /// The n-th key is that of the n-th value.
    LabelKey,
    LabelValue,
}

impl Field {
    /// True for texts in which words are searched.
    pub(super) fn is_searched(self) -> bool {
        match self {
            Self::Name
            | Self::Model
            | Self::Vendor
            | Self::Switch
            | Self::Port
            | Self::Serial
            | Self::DiskSerial
            | Self::Mac
            | Self::Ip
            | Self::BmcName
            | Self::BmcAddress
            | Self::ReportedBmc => true,
            Self::Finding
            | Self::Check
            | Self::Power
            | Self::GpuModel
            | Self::GpuCount
            | Self::DiskBytes
            | Self::DiskType
            | Self::Vlan
            | Self::LabelKey
            | Self::LabelValue => false,
        }
    }
}

/// Numbers and flags of an inventory; zero and `None`: not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    pub memory_bytes: u64,
    pub cpu_threads: u32,
    pub nic_speed_mbps: u32,
    pub firmware: Option<Firmware>,
    pub secure_boot: Option<bool>,
}

/// A host as it is read by filters, counts and orders. Texts live as long as what holds the host (`'a`).
pub trait Facts<'a>: Copy {
    fn id(self) -> HostId;
    fn infra_env_id(self) -> InfraEnvId;
    fn cluster_id(self) -> Option<ClusterId>;
    fn name(self) -> &'a str;
    fn pool(self) -> &'a str;
    fn cluster(self) -> &'a str;
    fn reason(self) -> &'a str;
    fn agent_version(self) -> &'a str;
    fn status(self) -> HostStatus;
    fn stage(self) -> Option<HostStage>;
    fn role(self) -> HostRole;
    fn approved(self) -> Option<bool>;
    fn since(self) -> Timestamp;
    fn seen_at(self) -> Timestamp;
    /// Beginning and end of its wait; without an end it has no limit. `None`: it does not wait.
    fn wait(self) -> Option<(Timestamp, Option<Timestamp>)>;
    fn sleep(self) -> Power;
    /// True while a person or a claim keeps it awake.
    fn is_kept_awake(self) -> bool;
    /// Time of the last attempt to put it to sleep, if that failed.
    fn sleep_failed_at(self) -> Option<Timestamp>;
    /// True if its BMC has booted it, and can be used.
    fn has_bmc_that_wakes(self) -> bool;
    /// Of its hottest sensor, °C; `None`: not known.
    fn celsius(self) -> Option<u8>;
    /// `None` before the first inventory.
    fn hardware(self) -> Option<Sizes>;
    /// Hands each text of a field to `visit`, empty ones too; a field of numbers has none.
    fn each_text(self, field: Field, visit: &mut dyn FnMut(&'a str));
    /// Hands each number of a field to `visit`; a field of texts has none.
    fn each_number(self, field: Field, visit: &mut dyn FnMut(u64));
    /// Hands key and value of each label to `visit`.
    fn each_label(self, visit: &mut dyn FnMut(&'a str, &'a str));

    /// True if a text in which words are searched passes. A text must pass if a part of it does.
    fn has_searched(self, passes: &dyn Fn(&str) -> bool) -> bool {
        let mut found = passes(self.reason());
        for field in Field::VARIANTS.iter().filter(|field| field.is_searched()) {
            self.each_text(*field, &mut |text| found = found || passes(text));
        }
        found
    }

    /// The first text of a field.
    fn first_text(self, field: Field) -> Option<&'a str> {
        let mut first = None;
        self.each_text(field, &mut |text| first = first.or(Some(text)));
        first
    }

    /// The sum of the numbers of a field.
    fn sum(self, field: Field) -> u64 {
        let mut sum = 0_u64;
        self.each_number(field, &mut |number| sum = sum.saturating_add(number));
        sum
    }

    /// The host as its pool sees it at the time `now`; `None`: it is in a cluster.
    fn member_of_pool(self, now: Timestamp) -> Option<Member> {
        if self.cluster_id().is_some() {
            return None;
        }
        let mut may_be_taken = self.approved() != Some(false);
        if may_be_taken {
            self.each_text(Field::Finding, &mut |kind| {
                may_be_taken = may_be_taken && kind != FAILED_BEFORE;
            });
        }
        let is_new = self.status() == HostStatus::DiscoveringUnbound && now < self.since() + DISCOVERY;
        let has_failed_for = |time: TimeDelta| self.sleep_failed_at().is_some_and(|at| now < at + time);
        Some(Member {
            id: self.id(),
            power: self.sleep(),
            is_ready: may_be_taken && sleeps_in(self.status()),
            is_coming: may_be_taken && is_new,
            may_sleep: !self.is_kept_awake() && !has_failed_for(RETRY_AFTER) && self.has_bmc_that_wakes(),
            may_wake: !has_failed_for(WAKE_RETRY_AFTER),
            idle_since: self.since(),
        })
    }

    /// The number of the numbers of a field.
    fn count(self, field: Field) -> u64 {
        let mut count = 0;
        self.each_number(field, &mut |_| count += 1);
        count
    }
}

/// The check with this number of [`Field::Check`].
pub(super) fn check_of(number: u64) -> Option<CheckId> {
    CheckId::ALL.get(usize::try_from(number).ok()?).copied()
}

/// The type with this number of [`Field::DiskType`].
pub(super) fn drive_type_of(number: u64) -> DriveType {
    let place = usize::try_from(number).unwrap_or(usize::MAX);
    DriveType::VARIANTS.get(place).copied().unwrap_or_default()
}

impl<'a> Facts<'a> for &'a HostSummary {
    fn id(self) -> HostId {
        self.id
    }

    fn infra_env_id(self) -> InfraEnvId {
        self.infra_env_id
    }

    fn cluster_id(self) -> Option<ClusterId> {
        self.cluster_id
    }

    fn name(self) -> &'a str {
        &self.name
    }

    fn pool(self) -> &'a str {
        &self.pool
    }

    fn cluster(self) -> &'a str {
        &self.cluster
    }

    fn reason(self) -> &'a str {
        &self.reason
    }

    fn agent_version(self) -> &'a str {
        &self.agent_version
    }

    fn status(self) -> HostStatus {
        self.status
    }

    fn stage(self) -> Option<HostStage> {
        self.stage
    }

    fn role(self) -> HostRole {
        self.role
    }

    fn approved(self) -> Option<bool> {
        self.approved
    }

    fn since(self) -> Timestamp {
        self.since
    }

    fn seen_at(self) -> Timestamp {
        self.seen_at
    }

    fn wait(self) -> Option<(Timestamp, Option<Timestamp>)> {
        self.wait.as_ref().map(|wait| (wait.since, wait.until))
    }

    fn sleep(self) -> Power {
        self.sleep
    }

    fn is_kept_awake(self) -> bool {
        self.kept_awake
    }

    fn sleep_failed_at(self) -> Option<Timestamp> {
        self.sleep_failed_at
    }

    fn has_bmc_that_wakes(self) -> bool {
        self.bmc.as_ref().is_some_and(|bmc| bmc.wakes)
    }

    fn celsius(self) -> Option<u8> {
        self.celsius
    }

    fn hardware(self) -> Option<Sizes> {
        self.hardware.as_ref().map(|hardware| Sizes {
            memory_bytes: hardware.memory_bytes,
            cpu_threads: hardware.cpu_threads,
            nic_speed_mbps: hardware.nic_speed_mbps,
            firmware: hardware.firmware,
            secure_boot: hardware.secure_boot,
        })
    }

    fn each_text(self, field: Field, visit: &mut dyn FnMut(&'a str)) {
        match field {
            Field::Name => visit(&self.name),
            Field::Finding => self.findings.iter().for_each(|kind| visit(kind)),
            Field::BmcName => self.bmc.iter().for_each(|bmc| visit(&bmc.name)),
            Field::BmcAddress => self.bmc.iter().for_each(|bmc| visit(&bmc.address)),
            Field::Power => self.bmc.iter().for_each(|bmc| visit(&bmc.power)),
            Field::LabelKey => self.labels.iter().for_each(|(key, _)| visit(key)),
            Field::LabelValue => self.labels.iter().for_each(|(_, value)| visit(value)),
            _ => {
                if let Some(hardware) = &self.hardware {
                    each_text_of_hardware(hardware, field, visit);
                }
            }
        }
    }

    fn each_number(self, field: Field, visit: &mut dyn FnMut(u64)) {
        if field == Field::Check {
            self.failed_checks.iter().for_each(|check| visit(*check as u64));
        }
        let Some(hardware) = &self.hardware else { return };
        match field {
            Field::GpuCount => hardware.gpus.iter().for_each(|gpu| visit(gpu.count.into())),
            Field::DiskBytes => hardware.disks.iter().for_each(|disk| visit(disk.bytes)),
            Field::DiskType => hardware
                .disks
                .iter()
                .for_each(|disk| visit(disk.drive_type as u64)),
            Field::Vlan => hardware.vlans.iter().for_each(|id| visit((*id).into())),
            _ => {}
        }
    }

    fn each_label(self, visit: &mut dyn FnMut(&'a str, &'a str)) {
        self.labels.iter().for_each(|(key, value)| visit(key, value));
    }
}

fn each_text_of_hardware<'a>(hardware: &'a HardwareSummary, field: Field, visit: &mut dyn FnMut(&'a str)) {
    match field {
        Field::Model => visit(&hardware.model),
        Field::Vendor => visit(&hardware.vendor),
        Field::Serial => visit(&hardware.serial),
        Field::ReportedBmc => visit(&hardware.bmc_address),
        Field::Switch => hardware.ports.iter().for_each(|port| visit(&port.switch)),
        Field::Port => hardware.ports.iter().for_each(|port| visit(&port.port)),
        Field::DiskSerial => hardware.disks.iter().for_each(|disk| visit(&disk.serial)),
        Field::Mac => hardware.macs.iter().for_each(|mac| visit(mac)),
        Field::Ip => hardware.ips.iter().for_each(|ip| visit(ip)),
        Field::GpuModel => hardware.gpus.iter().for_each(|gpu| visit(&gpu.model)),
        _ => {}
    }
}
