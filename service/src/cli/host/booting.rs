//! `muster host booting`.

use anyhow::Result;
use chrono::{DateTime, Utc};
use clap::Args;
use muster_api::boot::{BootFileRequests, BootingMachine};
use muster_api::ids::InfraEnvId;
use muster_api::infra_env::InfraEnv;

use super::rows::last_seen;
use crate::cli::arguments::names;
use crate::cli::fleet;
use crate::cli::output::{Column, Fit, OutputArgs, Table, show};
use crate::cli::service::{Client, ServiceArgs};

/// The InfraEnv, and which of its machines.
#[derive(Debug, Args)]
pub struct BootingArgs {
    /// Only those of this InfraEnv
    #[arg(long, value_name = "INFRA_ENV")]
    infra_env: Option<String>,

    /// Also those that have registered since
    #[arg(long, short)]
    all: bool,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    service: ServiceArgs,
}

const COLUMNS: &[Column] = &[
    Column("MACHINE", Fit::Always),
    Column("INFRAENV", Fit::Room(0)),
    Column("FETCHED", Fit::Always),
    Column("LAST REQUEST", Fit::Always),
    Column("ADDRESS", Fit::Wide),
    Column("PROGRAM", Fit::Wide),
    Column("HOST", Fit::Wide),
    Column("WHAT NOW", Fit::Text),
];

/// Lists the machines.
pub async fn run(args: BootingArgs) -> Result<()> {
    let client = Client::new(&args.service)?;
    let only = names::infra_env_id(&client, args.infra_env.as_deref()).await?;
    let mut found = booting(&client, only).await?;
    found.retain(|(_, machine)| args.all || !machine.registered);
    let machines: Vec<&BootingMachine> = found.iter().map(|(_, machine)| machine).collect();
    let names: Vec<String> = machines.iter().map(|machine| name(machine)).collect();
    show(
        &args.output.output,
        || {
            let rows = found.iter().map(|(pool, machine)| row(pool, machine, Utc::now()));
            Table::new(COLUMNS, rows.collect())
        },
        &serde_json::to_value(&machines)?,
        &names,
    )
}

/// The machines of one InfraEnv, or of all, each with its InfraEnv.
async fn booting(client: &Client, only: Option<InfraEnvId>) -> Result<Vec<(InfraEnv, BootingMachine)>> {
    let mut pools = fleet::infra_envs(client).await?;
    pools.retain(|pool| only.is_none_or(|id| id == pool.id));
    let mut found = Vec::new();
    for pool in pools {
        let machines: Vec<BootingMachine> = client
            .get(&format!("/infra-envs/{}/booting-machines", pool.id))
            .await?;
        found.extend(machines.into_iter().map(|machine| (pool.clone(), machine)));
    }
    Ok(found)
}

/// Prints the number of machines that are booting, next to an empty list of hosts. Errors are ignored: an older service lacks the
/// endpoint.
pub async fn hint(client: &Client, only: Option<InfraEnvId>) {
    let found = booting(client, only).await.unwrap_or_default();
    let on_the_way = found.iter().filter(|(_, machine)| !machine.registered).count();
    if on_the_way > 0 {
        let machines = if on_the_way == 1 {
            "machine has"
        } else {
            "machines have"
        };
        eprintln!("{on_the_way} {machines} fetched boot files and not registered: muster host booting");
    }
}

/// The MAC address, or else the IP address that the requests come from.
fn name(machine: &BootingMachine) -> String {
    let names = [&machine.mac_address, &machine.ip_address];
    names
        .into_iter()
        .find(|name| !name.is_empty())
        .cloned()
        .unwrap_or_else(|| "-".into())
}

fn row(pool: &InfraEnv, machine: &BootingMachine, now: DateTime<Utc>) -> Vec<String> {
    let files: Vec<String> = machine.files.iter().map(|one| one.file.to_string()).collect();
    let last = machine.last();
    vec![
        name(machine),
        pool.name.clone(),
        files.join(" "),
        last.map(|last| last_seen(&last.last_at, now)).unwrap_or_default(),
        machine.ip_address.clone(),
        machine.user_agent.clone(),
        machine.host_id.map(|id| id.to_string()).unwrap_or_default(),
        last.map(|last| what_now(machine, last, now)).unwrap_or_default(),
    ]
}

fn what_now(machine: &BootingMachine, last: &BootFileRequests, now: DateTime<Utc>) -> String {
    if machine.registered {
        return "it has registered".into();
    }
    if !last.refusal.is_empty() {
        return format!("the {} was refused: {}", last.file, last.refusal);
    }
    if !machine.is_late(now) {
        return format!("it has the {} and has not registered yet", last.file);
    }
    // BMCs use these user agents, too.
    let perhaps = match ["curl/", "Wget/"]
        .iter()
        .any(|name| machine.user_agent.starts_with(name))
    {
        true => format!(", unless a person downloaded it ({})", machine.user_agent),
        false => String::new(),
    };
    format!(
        "it fetched the {} and never registered{perhaps}: its screen shows why (docs/troubleshooting.md)",
        last.file
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::cli::host::rows::tests::{member, now};

    #[test]
    fn each_machine_says_what_it_waits_for() {
        let of = |mac: &str, refusal: &str, last_at: &str, registered: bool| -> BootingMachine {
            let file = |file: &str, last_at: &str, refusal: &str| json!({"file": file, "first_at": last_at, "last_at": last_at, "requests": 1, "bytes": 1, "refusal": refusal});
            serde_json::from_value(json!({
                "mac_address": mac, "ip_address": "192.0.2.7", "user_agent": "iPXE/1.21.1", "registered": registered,
                "files": [file("script", "2026-11-21T13:00:00.000Z", ""), file("initrd", last_at, refusal)],
            }))
            .unwrap()
        };
        let pool = member(1).pool;
        let machines = [
            of("52:54:00:00:00:01", "", "2026-11-21T13:59:30.000Z", false),
            of("52:54:00:00:00:02", "", "2026-11-21T13:20:00.000Z", false),
            of(
                "52:54:00:00:00:03",
                "no live image",
                "2026-11-21T13:59:59.000Z",
                false,
            ),
            of("", "", "2026-11-21T13:50:00.000Z", true),
        ];
        let rows = machines
            .iter()
            .map(|machine| row(&pool, machine, now()))
            .collect();
        let text = Table::new(COLUMNS, rows).render(Some(120), false);
        let wanted = [
            "it has the initrd and has not registered yet",
            "it fetched the initrd and never registered",
            "the initrd was refused: no live image",
            "it has registered",
        ];
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[1].starts_with("52:54:00:00:00:01  lab "), "{text}");
        assert!(
            text.contains("192.0.2.7 ") && text.contains("script initrd"),
            "{text}"
        );
        let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for words in wanted {
            assert!(flat.contains(words), "{text}");
        }
    }
}
