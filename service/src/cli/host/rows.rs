//! Makes rows of hosts for tables.

use chrono::{DateTime, Utc};
use muster_api::host::HostStatus;
use muster_api::words::{gib, in_largest_unit, si_size};

use crate::cli::fleet::Member;
use crate::cli::output::{Column, Fit};

/// Columns of a list of hosts.
pub const COLUMNS: &[Column] = &[
    Column("NAME", Fit::Always),
    Column("INFRAENV", Fit::Room(0)),
    Column("STATE", Fit::Always),
    Column("CPU", Fit::Room(2)),
    Column("MEMORY", Fit::Room(3)),
    Column("DISK", Fit::Room(1)),
    Column("MODEL", Fit::Wide),
    Column("SERIAL", Fit::Room(5)),
    Column("MAC", Fit::Wide),
    Column("ADDRESS", Fit::Room(4)),
    Column("BMC", Fit::Wide),
    Column("ROLE", Fit::Wide),
    Column("CLUSTER", Fit::Room(6)),
    Column("ID", Fit::Wide),
    Column("LAST SEEN", Fit::Room(7)),
    Column("WHY", Fit::Text),
];

/// The index of the column that changes all the time.
pub const LAST_SEEN: usize = 14;

/// The row of a host. `terse`: passed checks and the like are left out.
pub fn row(member: &Member, now: DateTime<Utc>, terse: bool) -> Vec<String> {
    let (host, inventory) = (&member.host, &member.inventory);
    let cpu = inventory.cpu.as_ref().map(|cpu| cpu.count.to_string());
    let memory = inventory.memory.as_ref().map(|memory| gib(memory.physical_bytes));
    let disk = member.main_disk().map(|disk| si_size(disk.size_bytes));
    vec![
        member.name(),
        member.pool.name.clone(),
        state(member),
        cpu.unwrap_or_default(),
        memory.unwrap_or_default(),
        disk.unwrap_or_default(),
        member.model(),
        member.serial().to_owned(),
        member.mac().to_owned(),
        member.address().to_owned(),
        real_address(&inventory.bmc_address).to_owned(),
        host.role.name().to_owned(),
        member.cluster.clone(),
        host.id.to_string(),
        last_seen(&host.checked_in_at, now),
        why(member, now, terse),
    ]
}

/// True if nothing has to be done about the host.
pub fn is_good(member: &Member) -> bool {
    matches!(
        member.host.status,
        Some(
            HostStatus::Known
                | HostStatus::KnownUnbound
                | HostStatus::Installed
                | HostStatus::AddedToExistingCluster
        )
    )
}

/// The name of the state, with the stage of its sleep.
pub fn state(member: &Member) -> String {
    match &member.host.sleep {
        None => member.state().to_owned(),
        Some(sleep) => format!("{} ({})", member.state(), sleep.stage),
    }
}

/// The reason of the state, without the name that the row begins with; of a host that sleeps the age of its inventory.
fn why(member: &Member, now: DateTime<Utc>, terse: bool) -> String {
    if let Some(sleep) = &member.host.sleep {
        return format!(
            "{}; inventory of {}",
            sleep.reason,
            last_seen(&sleep.inventory_of, now)
        );
    }
    if terse && is_good(member) {
        return String::new();
    }
    let info = member.host.status_info.clone().unwrap_or_default();
    let named = format!("{} is ", member.name());
    info.strip_prefix(&named).map_or(info.clone(), str::to_owned)
}

/// Machines without a BMC report placeholder addresses; for these, returns "".
pub fn real_address(address: &str) -> &str {
    match address {
        "0.0.0.0" | "::/0" | "::" => "",
        address => address,
    }
}

/// The time since `moment` (RFC 3339), in words.
pub fn last_seen(moment: &str, now: DateTime<Utc>) -> String {
    let Ok(at) = DateTime::parse_from_rfc3339(moment) else {
        return "-".into();
    };
    let seconds = (now - at.to_utc()).num_seconds();
    let length = in_largest_unit(u64::try_from(seconds).unwrap_or_default(), ["s", "m", "h", "d"]);
    format!("{length} ago")
}

#[cfg(test)]
pub mod tests {
    use muster_api::inventory::Inventory;
    use serde_json::json;

    use super::*;

    pub const NOW: &str = "2026-11-21T14:00:00Z";

    pub fn now() -> DateTime<Utc> {
        DateTime::parse_from_rfc3339(NOW).unwrap().to_utc()
    }

    /// The simulated host number `n`.
    pub fn member(n: u64) -> Member {
        let unfit = n.is_multiple_of(5);
        let bound = n.is_multiple_of(4);
        let (status, info) = match (unfit, bound) {
            (true, _) => (
                "insufficient-unbound",
                format!(
                    "host-{n} is not fit: it has 8.0 GiB of memory and 16 are needed; none of its 2 disks can be installed to: vda has 21 GB of 100 GB, sr0 is removable"
                ),
            ),
            (false, true) => ("installing-in-progress", "Writing image to disk: 40%".to_owned()),
            (false, false) => (
                "known-unbound",
                format!("host-{n} is fit and can be bound to a cluster"),
            ),
        };
        let inventory: Inventory = serde_json::from_value(json!({
            "hostname": format!("host-{n}"),
            "cpu": {"count": 8 * (1 + n % 3)},
            "memory": {"physical_bytes": (16_u64 << 30) * (1 + n % 4)},
            "disks": [
                {"id": "a", "name": "vda", "size_bytes": 480_103_981_056_u64, "serial": format!("DISK-{n}"),
                 "installation_eligibility": {"eligible": true}},
            ],
            "interfaces": [
                {"name": "lo", "ipv4_addresses": ["127.0.0.1/8"]},
                {"name": "eth0", "mac_address": format!("02:00:00:00:00:{n:02x}"),
                 "ipv4_addresses": [format!("198.51.100.{n}/24")]},
            ],
            "system_vendor": {"manufacturer": "HPE", "product_name": "ProLiant DL360", "serial_number": format!("SN-{n:04}")},
        }))
        .unwrap();
        let host = json!({
            "kind": "Host", "id": format!("00000000-0000-4000-8000-{n:012x}"), "href": "",
            "infra_env_id": "00000000-0000-4000-9000-000000000001", "status": status, "status_info": info,
            "status_updated_at": NOW, "logs_collected_at": "", "logs_started_at": "", "progress_stages": null,
            "stage_started_at": "", "stage_updated_at": "", "role": "worker", "checked_in_at": "2026-11-21T13:59:18.000Z",
            "registered_at": NOW, "created_at": NOW, "updated_at": NOW, "deleted_at": null, "user_name": "admin",
            "node_labels": "{\"rack\":\"r1\",\"zone\":\"\"}", "inventory": serde_json::to_string(&inventory).unwrap(),
        });
        let pool = json!({
            "kind": "InfraEnv", "id": "00000000-0000-4000-9000-000000000001", "href": "", "name": "lab", "type": "full-iso",
            "cpu_architecture": "x86_64", "user_name": "admin", "email_domain": "", "proxy": {}, "pull_secret_set": true,
            "created_at": NOW, "updated_at": NOW, "expires_at": NOW,
        });
        Member {
            pool: serde_json::from_value(pool).unwrap(),
            host: serde_json::from_value(host).unwrap(),
            inventory,
            cluster: if bound && !unfit {
                "prod".into()
            } else {
                String::new()
            },
        }
    }

    #[test]
    fn times_and_memory_are_told_as_people_tell_them() {
        assert_eq!(last_seen("2026-11-21T13:59:18.000Z", now()), "42s ago");
        assert_eq!(last_seen("2026-11-21T13:00:00.000Z", now()), "60m ago");
        assert_eq!(last_seen("2026-11-11T13:00:00.000Z", now()), "10d ago");
        assert_eq!(last_seen("garbage", now()), "-");
    }
}
