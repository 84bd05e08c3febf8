//! A host as a row: what every host has in fields, and the rest as entries, one byte for the field of each and a number in as few bytes as
//! it needs. The number of a text that hosts have in common is its place among [`SharedTexts`], that of another text is its length.

use muster_api::host::{HostRole, HostStage, HostStatus};
use muster_api::ids::{ClusterId, HostId, InfraEnvId};
use muster_api::search::{HostGpus, HostSwitchPort};
use muster_api::time::Timestamp;
use strum::VariantArray;

use super::texts::SharedTexts;
use crate::query::facts::{Facts, Field, Sizes, check_of, drive_type_of};
use crate::query::summary::{BmcSummary, DiskSummary, HardwareSummary, HostSummary, WaitSummary};
use crate::rules::sleep::Power;

/// A host. Texts of its fields are numbers of shared texts.
#[derive(Debug, Clone)]
pub(super) struct HostRow {
    id: HostId,
    infra_env_id: InfraEnvId,
    cluster_id: Option<ClusterId>,
    status: HostStatus,
    stage: Option<HostStage>,
    percentage: u8,
    role: HostRole,
    approved: Option<bool>,
    since: Timestamp,
    seen_at: Timestamp,
    registered_at: Timestamp,
    pool: u32,
    cluster: u32,
    reason: u32,
    agent_version: u32,
    sleep: Power,
    kept_awake: bool,
    bmc_wakes: bool,
    sleep_failed_at: Option<Timestamp>,
    celsius: Option<u8>,
    wait: Option<Wait>,
    hardware: Option<Sizes>,
    /// The texts that other hosts do not have, one after the other.
    own: Box<str>,
    entries: Box<[u8]>,
}

#[derive(Debug, Clone)]
struct Wait {
    what: u32,
    then: u32,
    what_to_do: u32,
    since: Timestamp,
    until: Option<Timestamp>,
}

/// Where the text of a field is.
enum Form {
    /// Its number is the length of the next text of the row's own.
    Own,
    Shared,
    /// It has a number alone.
    Number,
}

impl Field {
    fn form(self) -> Form {
        match self {
            Self::Name
            | Self::Serial
            | Self::DiskSerial
            | Self::Mac
            | Self::Ip
            | Self::BmcName
            | Self::BmcAddress
            | Self::ReportedBmc
            | Self::LabelValue => Form::Own,
            Self::Model
            | Self::Vendor
            | Self::Finding
            | Self::Switch
            | Self::Port
            | Self::Power
            | Self::GpuModel
            | Self::LabelKey => Form::Shared,
            Self::Check | Self::GpuCount | Self::DiskBytes | Self::DiskType | Self::Vlan => Form::Number,
        }
    }
}

impl HostRow {
    /// The row of a host, with its texts in `texts`.
    pub fn of(host: &HostSummary, texts: &mut SharedTexts) -> Self {
        let mut own = String::new();
        let mut entries = Vec::new();
        for field in Field::VARIANTS {
            match field.form() {
                Form::Own => host.each_text(*field, &mut |text| {
                    own.push_str(text);
                    push(&mut entries, *field, text.len() as u64);
                }),
                Form::Shared => host.each_text(*field, &mut |text| {
                    push(&mut entries, *field, texts.number(text).into());
                }),
                Form::Number => host.each_number(*field, &mut |number| push(&mut entries, *field, number)),
            }
        }
        Self {
            id: host.id,
            infra_env_id: host.infra_env_id,
            cluster_id: host.cluster_id,
            status: host.status,
            stage: host.stage,
            percentage: host.percentage,
            role: host.role,
            approved: host.approved,
            since: host.since,
            seen_at: host.seen_at,
            registered_at: host.registered_at,
            pool: texts.number(&host.pool),
            cluster: texts.number(&host.cluster),
            reason: texts.number(&host.reason),
            agent_version: texts.number(&host.agent_version),
            sleep: host.sleep,
            kept_awake: host.kept_awake,
            bmc_wakes: host.has_bmc_that_wakes(),
            sleep_failed_at: host.sleep_failed_at,
            celsius: host.celsius,
            wait: host.wait.as_ref().map(|wait| Wait {
                what: texts.number(&wait.what),
                then: texts.number(&wait.then),
                what_to_do: texts.number(&wait.what_to_do),
                since: wait.since,
                until: wait.until,
            }),
            hardware: host.hardware(),
            own: own.into(),
            entries: entries.into(),
        }
    }

    pub fn seen_at(&self) -> Timestamp {
        self.seen_at
    }

    pub fn set_seen_at(&mut self, at: Timestamp) {
        self.seen_at = at;
    }

    /// Bytes that it has on the heap, of each allocation.
    pub fn heap_sizes(&self) -> [usize; 2] {
        [self.own.len(), self.entries.len()]
    }
}

/// Adds an entry. Numbers are written seven bits a byte, the lowest first; the highest bit of a byte: another one follows.
fn push(entries: &mut Vec<u8>, field: Field, mut number: u64) {
    entries.push(field as u8);
    while number >= 0x80 {
        entries.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    entries.push(number as u8);
}

/// Takes the number that `bytes` begin with.
fn take_number(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..u64::BITS).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            break;
        }
    }
    Some(number)
}

/// A host of a table.
#[derive(Debug, Clone, Copy)]
pub struct HostView<'a> {
    row: &'a HostRow,
    texts: &'a SharedTexts,
}

/// An entry of a row.
enum Entry<'a> {
    Own(&'a str),
    Shared(&'a str),
    Number(u64),
}

/// The entries of a row, in the order of their fields.
struct Entries<'a> {
    bytes: &'a [u8],
    own: &'a str,
    texts: &'a SharedTexts,
}

impl<'a> Iterator for Entries<'a> {
    type Item = (Field, Entry<'a>);

    fn next(&mut self) -> Option<(Field, Entry<'a>)> {
        let (field, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        let field = *Field::VARIANTS.get(usize::from(*field))?;
        let number = take_number(&mut self.bytes)?;
        let entry = match field.form() {
            Form::Own => {
                let (text, rest) = self.own.split_at_checked(usize::try_from(number).ok()?)?;
                self.own = rest;
                Entry::Own(text)
            }
            Form::Shared => Entry::Shared(self.texts.text(u32::try_from(number).ok()?)),
            Form::Number => Entry::Number(number),
        };
        Some((field, entry))
    }
}

impl<'a> HostView<'a> {
    pub(super) fn new(row: &'a HostRow, texts: &'a SharedTexts) -> Self {
        Self { row, texts }
    }

    pub(super) fn key(self) -> (InfraEnvId, HostId) {
        (self.row.infra_env_id, self.row.id)
    }

    pub(super) fn bmc(self) -> Option<BmcSummary> {
        let text = |field| self.first_text(field).map(str::to_owned);
        Some(BmcSummary {
            name: text(Field::BmcName)?,
            address: text(Field::BmcAddress)?,
            power: text(Field::Power)?,
            wakes: self.row.bmc_wakes,
        })
    }

    /// The summary from which the row was made.
    pub fn summary(self) -> HostSummary {
        let row = self.row;
        let text = |number: u32| self.texts.text(number).to_owned();
        let mut checks = Vec::new();
        self.each_number(Field::Check, &mut |number| checks.extend(check_of(number)));
        HostSummary {
            id: row.id,
            infra_env_id: row.infra_env_id,
            pool: text(row.pool),
            cluster_id: row.cluster_id,
            cluster: text(row.cluster),
            name: self.name().to_owned(),
            status: row.status,
            stage: row.stage,
            percentage: row.percentage,
            role: row.role,
            approved: row.approved,
            labels: pairs(self.list(Field::LabelKey), self.list(Field::LabelValue)).collect(),
            findings: self.list(Field::Finding),
            failed_checks: checks,
            wait: row.wait.as_ref().map(|wait| WaitSummary {
                what: text(wait.what),
                since: wait.since,
                until: wait.until,
                then: text(wait.then).into(),
                what_to_do: text(wait.what_to_do).into(),
            }),
            reason: text(row.reason),
            since: row.since,
            seen_at: row.seen_at,
            registered_at: row.registered_at,
            agent_version: text(row.agent_version),
            sleep: row.sleep,
            kept_awake: row.kept_awake,
            sleep_failed_at: row.sleep_failed_at,
            celsius: row.celsius,
            bmc: self.bmc(),
            hardware: row.hardware.map(|sizes| self.hardware_summary(sizes)),
        }
    }

    fn hardware_summary(self, sizes: Sizes) -> HardwareSummary {
        let first = |field| self.first_text(field).unwrap_or_default().to_owned();
        let serials = self.list(Field::DiskSerial).into_iter();
        let kinds = pairs(self.numbers(Field::DiskBytes), self.numbers(Field::DiskType));
        let ports = pairs(self.list(Field::Switch), self.list(Field::Port));
        let gpus = pairs(self.list(Field::GpuModel), self.numbers(Field::GpuCount));
        HardwareSummary {
            vendor: first(Field::Vendor),
            model: first(Field::Model),
            serial: first(Field::Serial),
            cpu_threads: sizes.cpu_threads,
            memory_bytes: sizes.memory_bytes,
            disks: kinds
                .zip(serials)
                .map(|((bytes, kind), serial)| DiskSummary {
                    bytes,
                    drive_type: drive_type_of(kind),
                    serial,
                })
                .collect(),
            gpus: gpus
                .map(|(model, count)| HostGpus {
                    model,
                    count: u32::try_from(count).unwrap_or(u32::MAX),
                })
                .collect(),
            nic_speed_mbps: sizes.nic_speed_mbps,
            macs: self.list(Field::Mac),
            ips: self.list(Field::Ip),
            ports: ports
                .map(|(switch, port)| HostSwitchPort { switch, port })
                .collect(),
            vlans: self
                .numbers(Field::Vlan)
                .into_iter()
                .filter_map(|id| u16::try_from(id).ok())
                .collect(),
            bmc_address: first(Field::ReportedBmc),
            firmware: sizes.firmware,
            secure_boot: sizes.secure_boot,
        }
    }

    fn entries(self) -> Entries<'a> {
        Entries {
            bytes: &self.row.entries,
            own: &self.row.own,
            texts: self.texts,
        }
    }

    fn list(self, field: Field) -> Vec<String> {
        let mut list = Vec::new();
        self.each_text(field, &mut |text| list.push(text.to_owned()));
        list
    }

    fn numbers(self, field: Field) -> Vec<u64> {
        let mut numbers = Vec::new();
        self.each_number(field, &mut |number| numbers.push(number));
        numbers
    }

    /// Hands each entry of a field to `visit`.
    fn each_entry(self, field: Field, visit: &mut dyn FnMut(Entry<'a>)) {
        for (of, entry) in self.entries() {
            if of > field {
                return;
            }
            if of == field {
                visit(entry);
            }
        }
    }
}

fn pairs<A, B>(first: Vec<A>, second: Vec<B>) -> impl Iterator<Item = (A, B)> {
    first.into_iter().zip(second)
}

impl<'a> Facts<'a> for HostView<'a> {
    fn id(self) -> HostId {
        self.row.id
    }

    fn infra_env_id(self) -> InfraEnvId {
        self.row.infra_env_id
    }

    fn cluster_id(self) -> Option<ClusterId> {
        self.row.cluster_id
    }

    fn name(self) -> &'a str {
        self.first_text(Field::Name).unwrap_or_default()
    }

    fn pool(self) -> &'a str {
        self.texts.text(self.row.pool)
    }

    fn cluster(self) -> &'a str {
        self.texts.text(self.row.cluster)
    }

    fn reason(self) -> &'a str {
        self.texts.text(self.row.reason)
    }

    fn agent_version(self) -> &'a str {
        self.texts.text(self.row.agent_version)
    }

    fn status(self) -> HostStatus {
        self.row.status
    }

    fn stage(self) -> Option<HostStage> {
        self.row.stage
    }

    fn role(self) -> HostRole {
        self.row.role
    }

    fn approved(self) -> Option<bool> {
        self.row.approved
    }

    fn since(self) -> Timestamp {
        self.row.since
    }

    fn seen_at(self) -> Timestamp {
        self.row.seen_at
    }

    fn wait(self) -> Option<(Timestamp, Option<Timestamp>)> {
        self.row.wait.as_ref().map(|wait| (wait.since, wait.until))
    }

    fn sleep(self) -> Power {
        self.row.sleep
    }

    fn is_kept_awake(self) -> bool {
        self.row.kept_awake
    }

    fn sleep_failed_at(self) -> Option<Timestamp> {
        self.row.sleep_failed_at
    }

    fn has_bmc_that_wakes(self) -> bool {
        self.row.bmc_wakes
    }

    fn celsius(self) -> Option<u8> {
        self.row.celsius
    }

    fn hardware(self) -> Option<Sizes> {
        self.row.hardware
    }

    fn each_text(self, field: Field, visit: &mut dyn FnMut(&'a str)) {
        self.each_entry(field, &mut |entry| {
            if let Entry::Own(text) | Entry::Shared(text) = entry {
                visit(text);
            }
        });
    }

    fn each_number(self, field: Field, visit: &mut dyn FnMut(u64)) {
        self.each_entry(field, &mut |entry| {
            if let Entry::Number(number) = entry {
                visit(number);
            }
        });
    }

    fn each_label(self, visit: &mut dyn FnMut(&'a str, &'a str)) {
        let mut keys = Vec::new();
        self.each_text(Field::LabelKey, &mut |key| keys.push(key));
        let mut keys = keys.into_iter();
        self.each_text(Field::LabelValue, &mut |value| {
            if let Some(key) = keys.next() {
                visit(key, value);
            }
        });
    }

    /// Most hosts have a word in none of their texts: all own texts are searched as one before each of them is.
    fn has_searched(self, passes: &dyn Fn(&str) -> bool) -> bool {
        if passes(self.reason()) {
            return true;
        }
        let is_in_own = passes(&self.row.own);
        self.entries().any(|(field, entry)| match entry {
            Entry::Own(text) => is_in_own && field.is_searched() && passes(text),
            Entry::Shared(text) => field.is_searched() && passes(text),
            Entry::Number(_) => false,
        })
    }
}
