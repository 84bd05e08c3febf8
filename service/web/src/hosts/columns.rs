//! The columns of the list: one table, of which headings, cells and the choice of columns are made. The name is before all of them.

use muster_api::host::HostStage;
use muster_api::search::{FoundHost, HostHardware};

use super::row::Row;
use crate::words;

/// A column.
pub struct Column {
    /// In addresses.
    pub name: &'static str,
    pub heading: &'static str,
    /// The key of the order by it; empty: it has none.
    pub sort: &'static str,
    /// The columns of REST's table, separated by commas.
    pub csv: &'static str,
    /// Shown unless the visitor chooses.
    is_usual: bool,
    fill: Fill,
}

/// Takes the host and the time of the answer.
type Fill = fn(&FoundHost, &Row, &str) -> Content;

/// What a cell shows.
pub enum Content {
    /// The state, with its reason.
    State,
    Text(String),
    Number(String),
    /// A time, RFC 3339, and its distance from now.
    Time(String, String),
}

/// A cell of a row.
pub struct Cell {
    pub heading: &'static str,
    pub content: Content,
}

impl Column {
    pub fn cell(&self, host: &FoundHost, row: &Row, now: &str) -> Cell {
        Cell {
            heading: self.heading,
            content: (self.fill)(host, row, now),
        }
    }

    fn named(name: &str) -> Option<&'static Self> {
        COLUMNS.iter().find(|column| column.name == name)
    }
}

const fn usual(
    name: &'static str,
    heading: &'static str,
    sort: &'static str,
    csv: &'static str,
    fill: Fill,
) -> Column {
    Column {
        name,
        heading,
        sort,
        csv,
        is_usual: true,
        fill,
    }
}

const fn further(
    name: &'static str,
    heading: &'static str,
    sort: &'static str,
    csv: &'static str,
    fill: Fill,
) -> Column {
    Column {
        is_usual: false,
        ..usual(name, heading, sort, csv, fill)
    }
}

pub static COLUMNS: [Column; 27] = [
    usual(
        "state",
        "State",
        "state",
        "state,reason,approved,waits_for,waits_until",
        |_, _, _| Content::State,
    ),
    usual("pool", "Pool", "pool", "infra_env", |_, row, _| {
        Content::Text(row.infra_env.clone())
    }),
    usual("cluster", "Cluster", "cluster", "cluster", |_, row, _| {
        Content::Text(row.cluster.clone())
    }),
    usual("role", "Role", "", "role", |_, row, _| {
        Content::Text(row.role.to_owned())
    }),
    usual("cpu", "CPU", "cpu", "cpu_threads", |_, row, _| {
        Content::Number(row.cpu.clone())
    }),
    usual("memory", "Memory", "memory", "memory_bytes", |_, row, _| {
        Content::Number(row.memory.clone())
    }),
    usual("disks", "Disks", "disk", "disks,disk_bytes", |_, row, _| {
        Content::Text(row.disks.clone())
    }),
    usual("gpus", "GPUs", "", "gpus", |_, row, _| {
        Content::Number(row.gpus.clone())
    }),
    usual("model", "Model", "model", "vendor,model", |_, row, _| {
        Content::Text(row.model.clone())
    }),
    usual("serial", "Serial", "serial", "serial", |_, row, _| {
        Content::Text(row.serial.clone())
    }),
    usual("ip", "Address", "", "ips", |_, row, _| {
        Content::Text(row.ip.clone())
    }),
    usual("port", "Switch port", "switch", "switch_ports", |_, row, _| {
        Content::Text(row.port.clone())
    }),
    usual("seen", "Seen", "seen", "seen_at", |_, row, _| {
        Content::Time(row.seen_at.clone(), row.seen.clone())
    }),
    further("since", "State since", "since", "since", |host, _, now| {
        Content::Time(host.since.clone(), words::relative(&host.since, now))
    }),
    further("stage", "Stage", "", "stage,percentage", |host, _, _| {
        Content::Text(stage(host))
    }),
    further("findings", "Findings", "", "findings", |host, _, _| {
        Content::Text(several(&host.findings))
    }),
    further("checks", "Failed checks", "", "failed_checks", |host, _, _| {
        Content::Text(several(&host.failed_checks))
    }),
    further("labels", "Labels", "", "labels", |host, _, _| {
        let labels = host.labels.iter();
        let labels: Vec<String> = labels.map(|(key, value)| format!("{key}={value}")).collect();
        Content::Text(several(&labels))
    }),
    further("vendor", "Maker", "", "vendor", |host, _, _| {
        of_hardware(host, |hardware| hardware.vendor.clone())
    }),
    further("bmc", "BMC", "", "bmc,power", |host, _, _| {
        Content::Text(bmc(host))
    }),
    further("mac", "MAC", "", "macs", |host, _, _| {
        of_hardware(host, |hardware| several(&hardware.macs))
    }),
    further("nic-speed", "Card", "", "nic_speed_mbps", |host, _, _| {
        of_hardware(host, |hardware| words::speed(hardware.nic_speed_mbps.into()))
    }),
    further("vlan", "VLANs", "", "vlans", |host, _, _| {
        of_hardware(host, |hardware| {
            let vlans: Vec<String> = hardware.vlans.iter().map(ToString::to_string).collect();
            several(&vlans)
        })
    }),
    further("firmware", "Firmware", "", "firmware", |host, _, _| {
        of_hardware(host, |hardware| hardware.firmware.clone().unwrap_or_default())
    }),
    further("agent", "Agent", "agent", "agent", |host, _, _| {
        Content::Text(host.agent_version.clone())
    }),
    further("registered", "Registered", "", "registered_at", |host, _, now| {
        let words = words::relative(&host.registered_at, now);
        Content::Time(host.registered_at.clone(), words)
    }),
    further("id", "Id", "", "id", |host, _, _| {
        Content::Text(host.id.to_string())
    }),
];

fn of_hardware(host: &FoundHost, text: impl Fn(&HostHardware) -> String) -> Content {
    Content::Text(host.hardware.as_ref().map(text).unwrap_or_default())
}

/// `Writing image to disk, 40 %`; empty: it is not being installed.
pub fn stage(host: &FoundHost) -> String {
    stage_text(host.stage, host.percentage)
}

/// A stage with its percentage; empty: there is none.
pub fn stage_text(stage: Option<HostStage>, percentage: u8) -> String {
    match (stage, percentage) {
        (None, _) => String::new(),
        (Some(stage), 0) => stage.name().to_owned(),
        (Some(stage), percentage) => format!("{}, {percentage} %", stage.name()),
    }
}

/// The BMC's record, else the address that the machine itself reports.
fn bmc(host: &FoundHost) -> String {
    match &host.bmc {
        Some(bmc) if bmc.power.is_empty() => format!("{} ({})", bmc.name, bmc.address),
        Some(bmc) => format!("{} ({}), {}", bmc.name, bmc.address, bmc.power),
        None => {
            let hardware = host.hardware.as_ref();
            hardware
                .map(|hardware| hardware.bmc_address.clone())
                .unwrap_or_default()
        }
    }
}

/// Most values of a list in a cell.
const MOST: usize = 3;

/// `a, b, c and 2 more`.
fn several(values: &[String]) -> String {
    let shown: Vec<&str> = values.iter().take(MOST).map(String::as_str).collect();
    let shown = shown.join(", ");
    match values.len().saturating_sub(MOST) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// The columns that are shown unless the visitor chooses.
pub fn usual_columns() -> Vec<&'static Column> {
    COLUMNS.iter().filter(|column| column.is_usual).collect()
}

/// The columns with these names, separated by commas, in their order and each once; the usual ones if no name is one.
pub fn chosen(names: &str) -> Vec<&'static Column> {
    let mut chosen: Vec<&'static Column> = Vec::new();
    for column in names.split(',').filter_map(Column::named) {
        if chosen.iter().all(|other| other.name != column.name) {
            chosen.push(column);
        }
    }
    match chosen.is_empty() {
        true => usual_columns(),
        false => chosen,
    }
}

/// Their names, separated by commas; empty for the usual ones in the usual order.
pub fn names(columns: &[&'static Column]) -> String {
    let joined = |columns: &[&'static Column]| {
        let names: Vec<&str> = columns.iter().map(|column| column.name).collect();
        names.join(",")
    };
    let names = joined(columns);
    match names == joined(&usual_columns()) {
        true => String::new(),
        false => names,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_column_has_a_name_and_a_heading_of_its_own() {
        let texts: [fn(&Column) -> &'static str; 2] = [|column| column.name, |column| column.heading];
        for of in texts {
            let distinct: BTreeSet<&str> = COLUMNS.iter().map(of).collect();
            assert_eq!(distinct.len(), COLUMNS.len());
        }
    }

    #[test]
    fn columns_are_chosen_by_name_in_their_order() {
        assert_eq!(names(&chosen("vlan,nonsense,cpu,vlan")), "vlan,cpu");
        assert_eq!(names(&chosen("")), "");
        assert_eq!(names(&usual_columns()), "");
        let turned: Vec<&str> = usual_columns().iter().rev().map(|column| column.name).collect();
        assert_eq!(names(&chosen(&turned.join(","))), turned.join(","));
    }

    #[test]
    fn long_lists_say_how_much_more_there_is() {
        let values = ["a", "b", "c", "d", "e"].map(str::to_owned);
        assert_eq!(several(&values), "a, b, c and 2 more");
        assert_eq!(several(&values[..2]), "a, b");
        assert_eq!(several(&[]), "");
    }
}
