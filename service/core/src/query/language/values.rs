//! The values that a host has for the keys of filters.

use chrono::TimeDelta;
use muster_api::time::Timestamp;
use uuid::Uuid;

use super::key::{Key, other_word, stage_word};
use super::quantity::Unit;
use crate::query::facts::{Facts, Field, check_of, drive_type_of};
use crate::query::summary::Firmware;
use crate::rules::agent_version::OWN_PREFIX;

/// Hands each text that a host has for a key to `visit`, as it is shown. Numbers, times and labels are no texts.
pub(super) fn each_value<'a>(key: Key, host: impl Facts<'a>, visit: &mut dyn FnMut(&str)) {
    match key {
        Key::Id => with_id(host.id().0, visit),
        Key::Stage => {
            if let Some(stage) = host.stage() {
                visit(&stage_word(stage));
            }
        }
        // The cluster's id where its name is not known.
        Key::Cluster => match host.cluster_id() {
            Some(id) if host.cluster().is_empty() => with_id(id.0, visit),
            _ => each_kept(key, host, &mut |text| visit(text)),
        },
        _ => each_kept(key, host, &mut |text| visit(text)),
    }
}

/// Hands each text that a host has for a key to `visit`, of those that are kept as they are shown: all but ids and stages.
pub(in crate::query) fn each_kept<'a>(key: Key, host: impl Facts<'a>, visit: &mut dyn FnMut(&'a str)) {
    let mut text = |text: &'a str| {
        if !text.is_empty() {
            visit(text);
        }
    };
    match key {
        Key::Name => text(host.name()),
        Key::Pool => text(host.pool()),
        Key::Cluster => text(host.cluster()),
        Key::State => text(host.status().name()),
        Key::Role => text(host.role().name()),
        Key::Approved => text(flag(host.approved())),
        Key::Finding => host.each_text(Field::Finding, &mut text),
        Key::Check => host.each_number(Field::Check, &mut |number| {
            if let Some(check) = check_of(number) {
                text(check.id());
            }
        }),
        Key::Bmc => {
            for field in [Field::BmcName, Field::BmcAddress, Field::ReportedBmc] {
                host.each_text(field, &mut text);
            }
        }
        Key::Power => host.each_text(Field::Power, &mut text),
        Key::Agent => text(host.agent_version()),
        Key::Disk => host.each_number(Field::DiskType, &mut |number| text(drive_type_of(number).name())),
        Key::Gpu => host.each_text(Field::GpuModel, &mut text),
        Key::Mac => host.each_text(Field::Mac, &mut text),
        Key::Ip => host.each_text(Field::Ip, &mut text),
        Key::Serial => {
            host.each_text(Field::Serial, &mut text);
            host.each_text(Field::DiskSerial, &mut text);
        }
        Key::Vendor => host.each_text(Field::Vendor, &mut text),
        Key::Model => host.each_text(Field::Model, &mut text),
        Key::Switch => host.each_text(Field::Switch, &mut text),
        Key::Port => host.each_text(Field::Port, &mut text),
        Key::Firmware => {
            let firmware = host.hardware().and_then(|sizes| sizes.firmware);
            text(firmware.map_or("", Firmware::name));
        }
        Key::SecureBoot => text(flag(host.hardware().and_then(|sizes| sizes.secure_boot))),
        Key::Id
        | Key::Stage
        | Key::Label
        | Key::Wait
        | Key::Seen
        | Key::Since
        | Key::Cpu
        | Key::Memory
        | Key::NicSpeed
        | Key::Vlan
        | Key::Temp => {}
    }
}

/// Hands the text of an id to `visit`. Searches write that of each host, so it is written where nothing is allocated.
pub(super) fn with_id(id: Uuid, visit: &mut dyn FnMut(&str)) {
    visit(id.hyphenated().encode_lower(&mut Uuid::encode_buffer()));
}

/// Hands further texts, which mean the same and are not shown, to `visit`.
pub(super) fn each_alias<'a>(key: Key, host: impl Facts<'a>, visit: &mut dyn FnMut(&str)) {
    match key {
        Key::Pool => with_id(host.infra_env_id().0, visit),
        Key::State => {
            other_word(host.status()).into_iter().for_each(&mut *visit);
            let sleep = host.sleep().word();
            if !sleep.is_empty() {
                visit(sleep);
            }
        }
        Key::Cluster => {
            if let Some(id) = host.cluster_id() {
                with_id(id.0, visit);
            }
        }
        Key::Agent => host
            .agent_version()
            .strip_prefix(OWN_PREFIX)
            .into_iter()
            .for_each(visit),
        _ => {}
    }
}

/// Hands each number that a host has for a key to `visit`: bytes, Mbit/s, °C, or how many; none if they are not known.
pub(super) fn each_number<'a>(key: Key, unit: Unit, host: impl Facts<'a>, visit: &mut dyn FnMut(u64)) {
    if key == Key::Temp {
        host.celsius().map(u64::from).into_iter().for_each(visit);
        return;
    }
    let Some(sizes) = host.hardware() else { return };
    let known = match key {
        Key::Cpu => u64::from(sizes.cpu_threads),
        Key::Memory => sizes.memory_bytes,
        Key::NicSpeed => u64::from(sizes.nic_speed_mbps),
        _ => 0,
    };
    match key {
        Key::Disk if unit == Unit::One => visit(host.count(Field::DiskBytes)),
        Key::Disk => host.each_number(Field::DiskBytes, visit),
        Key::Gpu => visit(host.sum(Field::GpuCount)),
        Key::Vlan => host.each_number(Field::Vlan, visit),
        _ if known > 0 => visit(known),
        _ => {}
    }
}

/// Time that a host has for a key, never negative; `None`: it has none.
pub(super) fn age<'a>(key: Key, host: impl Facts<'a>, now: Timestamp) -> Option<TimeDelta> {
    let since = match key {
        Key::Wait => host.wait()?.0,
        Key::Seen => host.seen_at(),
        Key::Since => host.since(),
        _ => return None,
    };
    Some((now - since).max(TimeDelta::zero()))
}

/// True if a host has any value of a key.
pub(super) fn is_known<'a>(key: Key, host: impl Facts<'a>) -> bool {
    let mut is_known = false;
    match key {
        Key::Label => host.each_label(&mut |_, _| is_known = true),
        Key::Wait => is_known = host.wait().is_some(),
        Key::Seen | Key::Since => is_known = true,
        Key::Cpu | Key::Memory | Key::NicSpeed | Key::Vlan | Key::Temp => {
            each_number(key, Unit::One, host, &mut |_| is_known = true);
        }
        Key::Disk => is_known = host.count(Field::DiskBytes) > 0,
        _ => each_value(key, host, &mut |_| is_known = true),
    }
    is_known
}

fn flag(flag: Option<bool>) -> &'static str {
    match flag {
        Some(true) => "yes",
        Some(false) => "no",
        None => "",
    }
}
