//! A machine as its BMC reports it.

use muster_api::bmc::BmcInventory;

use crate::words;

pub struct Nic {
    pub name: String,
    pub mac: String,
    pub speed: String,
    pub link: String,
}

pub struct Drive {
    pub name: String,
    pub size: String,
    pub kind: String,
    pub model: String,
    pub serial: String,
}

fn text(text: &Option<String>) -> String {
    text.clone().unwrap_or_default()
}

/// Nothing that was not reported.
pub fn facts(machine: &BmcInventory) -> Vec<(&'static str, String)> {
    let model = format!("{} {}", text(&machine.vendor), text(&machine.model));
    let processors: Vec<String> = machine.processors.iter().map(|one| text(&one.model)).collect();
    let memory = machine.memory.gib.map(|gib| format!("{gib:.0} GiB"));
    let secure_boot = machine.secure_boot.map(|on| if on { "on" } else { "off" });
    let all = [
        ("Machine", model.trim().to_owned()),
        ("Serial number", text(&machine.serial)),
        ("UUID", text(&machine.uuid)),
        ("Asset tag", text(&machine.asset_tag)),
        ("Name of its system", text(&machine.host_name)),
        ("Processors", processors.join(", ")),
        ("Memory", memory.unwrap_or_default()),
        ("BIOS", text(&machine.bios_version)),
        ("Firmware of the BMC", text(&machine.bmc_version)),
        ("Boot mode", text(&machine.boot_mode)),
        ("Secure Boot", secure_boot.unwrap_or_default().to_owned()),
        ("Health", text(&machine.health)),
    ];
    all.into_iter().filter(|(_, value)| !value.is_empty()).collect()
}

pub fn nics(machine: &BmcInventory) -> Vec<Nic> {
    let nics = machine.nics.iter();
    nics.map(|nic| Nic {
        name: nic.name.clone(),
        mac: nic.mac.clone(),
        speed: nic
            .speed_mbps
            .map(|mbps| words::speed(i64::from(mbps)))
            .unwrap_or_default(),
        link: text(&nic.link),
    })
    .collect()
}

pub fn drives(machine: &BmcInventory) -> Vec<Drive> {
    let drives = machine.drives.iter();
    drives
        .map(|drive| {
            let kind = format!("{} {}", text(&drive.media), text(&drive.protocol));
            Drive {
                name: drive.name.clone(),
                size: drive.bytes.map(words::disk).unwrap_or_default(),
                kind: kind.trim().to_owned(),
                model: text(&drive.model),
                serial: text(&drive.serial),
            }
        })
        .collect()
}
