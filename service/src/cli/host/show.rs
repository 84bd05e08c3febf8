//! `muster host show`.

use anyhow::Result;
use chrono::{DateTime, Utc};
use clap::Args;
use muster_api::bmc::Bmc;
use muster_api::host::{HostFailures, HostHealth, HostOsImage, HostSleep};
use muster_api::search::{FoundHost, FoundHosts, HostWait};
use muster_api::words::{gib, si_size};
use muster_core::query::Key;
use muster_core::rules::findings::{CANNOT_BE_ERASED, FAILED_BEFORE, WAITING, has_problem};

use super::checks::checks;
use super::filter::search_path;
use super::rows::{self, last_seen, real_address};
use crate::cli::arguments::names;
use crate::cli::bmc::chosen::of_host;
use crate::cli::bmc::power::power;
use crate::cli::fleet::Member;
use crate::cli::output::{Column, Details, Fit, OutputArgs};
use crate::cli::service::{Client, ServiceArgs};

/// The host to show.
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// Its name, its id, or the beginning of its id
    host: String,

    /// InfraEnv of the host, where two have the same name
    #[arg(long, value_name = "INFRA_ENV")]
    infra_env: Option<String>,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    service: ServiceArgs,
}

const DISKS: &[Column] = &[
    Column("NAME", Fit::Always),
    Column("SIZE", Fit::Always),
    Column("TYPE", Fit::Room(1)),
    Column("MODEL", Fit::Room(0)),
    Column("SERIAL", Fit::Room(2)),
    Column("ID", Fit::Room(3)),
    Column("INSTALL", Fit::Text),
];

const INTERFACES: &[Column] = &[
    Column("NAME", Fit::Always),
    Column("MAC", Fit::Always),
    Column("LINK", Fit::Room(1)),
    Column("MTU", Fit::Room(0)),
    Column("ADDRESSES", Fit::Text),
];

/// Shows the host.
pub async fn run(args: ShowArgs) -> Result<()> {
    let client = Client::new(&args.service)?;
    let only = names::infra_env_id(&client, args.infra_env.as_deref()).await?;
    let member = names::host(&client, &args.host, only).await?;
    let id = member.host.id.to_string();
    // A service without BMCs, of an earlier version, has none.
    let bmc = of_host(&client, member.pool.id, member.host.id)
        .await
        .unwrap_or_default();
    // One without searches has none, either.
    let found = found(&client, &member).await.unwrap_or_default();
    details(&member, bmc.as_ref(), found.as_ref(), Utc::now()).show(&args.output.output, &member.json()?, &id)
}

/// The host as a search finds it: with its approval and its wait, which the host of the protocol does not have.
async fn found(client: &Client, member: &Member) -> Result<Option<FoundHost>> {
    let query = format!("{}:{} {}:{}", Key::Id, member.host.id, Key::Pool, member.pool.id);
    let found: FoundHosts = client.get(&search_path(&query, "", "", "1")).await?;
    Ok(found.hosts.into_iter().next())
}

/// Whether the host is approved, in words.
fn approval(host: &FoundHost) -> &'static str {
    match host.approved {
        Some(true) => "yes",
        Some(false) => "no",
        None => "not needed",
    }
}

/// A wait, in words.
fn waits_for(wait: &HostWait) -> String {
    let until = match &wait.until {
        Some(until) if wait.then.is_empty() => format!(", until {until}"),
        Some(until) => format!(", until {until}, then {}", wait.then),
        None => String::new(),
    };
    format!("{}, since {}{until}", wait.what, wait.since)
}

/// Failures of a host, their consequence and the way out, in words.
fn failed(failures: &HostFailures) -> String {
    let stage = match failures.stage.as_str() {
        "" => String::new(),
        stage => format!(" ({stage})"),
    };
    let reason = match failures.message.as_str() {
        "" => String::new(),
        message => format!(": {message}"),
    };
    let then = match &failures.not_before {
        Some(time) => format!("no machine takes it before {time}"),
        None => "in quarantine, no machine takes it".to_owned(),
    };
    format!(
        "{}, last at {}{stage}{reason}; {then}; a replaced part or muster host forget-failures ends that",
        failures.count, failures.last_at
    )
}

/// The last report of a host's sensors, in words.
fn sensors(health: &HostHealth) -> String {
    let last = &health.last;
    let hottest = last.temperatures.iter().map(|one| one.celsius).max();
    let hottest = hottest.map_or_else(String::new, |celsius| format!("hottest sensor {celsius} °C, "));
    format!(
        "{hottest}load {} %, memory in use {} %, reported at {}",
        last.load_percent, last.memory_percent, health.reported_at
    )
}

/// The sleep of a host, in words.
fn asleep(sleep: &HostSleep) -> String {
    format!(
        "{} since {}, by its BMC {}: {}; inventory of {}",
        sleep.stage, sleep.since, sleep.bmc, sleep.reason, sleep.inventory_of
    )
}

fn details(member: &Member, bmc: Option<&Bmc>, found: Option<&FoundHost>, now: DateTime<Utc>) -> Details {
    let mut details = Details::default();
    state(&mut details, member, found, now);
    hardware(&mut details, member);
    details.line(
        "health",
        &member.host.health.as_ref().map(sensors).unwrap_or_default(),
    );
    details.line("power", &bmc.map(power).unwrap_or_default());
    details.table("Disks", DISKS, disks(member));
    details.table("Interfaces", INTERFACES, interfaces(member));
    let checks = checks(&member.host);
    details
        .sentences("Checks that fail", &checks.failed)
        .sentences("Checks that wait", &checks.waiting);
    let problems: Vec<String> = member
        .inventory
        .problems
        .iter()
        // Those are under Noteworthy.
        .filter(|problem| !has_problem(&member.host.findings, problem))
        .map(|problem| format!("{} ({})", problem.reason, problem.subject))
        .collect();
    details.sentences("The machine reports", &problems);
    // Of a wait the lines above have the same.
    let is_shown =
        found.is_some_and(|host| host.wait.as_ref().is_some_and(|wait| !wait.what_to_do.is_empty()));
    let findings: Vec<String> = member
        .host
        .findings
        .iter()
        .filter(|finding| !is_shown || finding.kind != WAITING)
        .filter(|finding| member.host.failures.is_none() || finding.kind != FAILED_BEFORE)
        .filter(|finding| member.host.cleaning.is_none() || finding.kind != CANNOT_BE_ERASED)
        .map(|finding| format!("{} ({})", finding.message, finding.kind))
        .collect();
    details.sentences("Noteworthy", &findings);
    let erasures: Vec<String> = member
        .host
        .cleaned
        .iter()
        .rev()
        .map(|cleaned| format!("{}: {}", cleaned.at, cleaned.message))
        .collect();
    details.sentences("Erasures", &erasures);
    details
}

fn state(details: &mut Details, member: &Member, found: Option<&FoundHost>, now: DateTime<Utc>) {
    let host = &member.host;
    let wait = found.and_then(|found| found.wait.as_ref());
    let labels: Vec<String> = member
        .labels()
        .iter()
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    let progress = host
        .progress
        .as_ref()
        .filter(|progress| !progress.current_stage.is_empty());
    let progress = progress.map(|progress| {
        let info = match progress.progress_info.as_str() {
            "" => String::new(),
            info => format!(" ({info})"),
        };
        format!(
            "{}{info}, {} % of the installation, since {}",
            progress.current_stage, progress.installation_percentage, progress.stage_updated_at
        )
    });
    details
        .line("name", &member.name())
        .line("id", &host.id.to_string())
        .line("infra-env", &format!("{} ({})", member.pool.name, member.pool.id))
        .line("cluster", &member.cluster)
        .line(
            "state",
            &format!("{} since {}", rows::state(member), host.status_updated_at),
        )
        .line("sleep", &host.sleep.as_ref().map(asleep).unwrap_or_default())
        .line("why", host.status_info.as_deref().unwrap_or_default())
        .line("waits for", &wait.map(waits_for).unwrap_or_default())
        .line("what to do", wait.map_or("", |wait| wait.what_to_do.as_str()))
        .line("approved", found.map_or("", approval))
        .line("progress", &progress.unwrap_or_default())
        .line(
            "failures",
            &host.failures.as_ref().map(failed).unwrap_or_default(),
        )
        .line(
            "erasure",
            host.cleaning
                .as_ref()
                .map_or("", |cleaning| cleaning.message.as_str()),
        )
        .line("role", host.role.name())
        .line("node labels", &labels.join(", "))
        .line("config pool", &host.machine_config_pool_name)
        .line(
            "os image",
            &host.os_image.as_ref().map(HostOsImage::text).unwrap_or_default(),
        )
        .line("last seen", &last_seen(&host.checked_in_at, now))
        .line("registered", &host.registered_at)
        .line("agent", &host.discovery_agent_version)
        .line("checks passed", &checks(host).passed.to_string());
}

fn hardware(details: &mut Details, member: &Member) {
    let inventory = &member.inventory;
    let cpu = inventory
        .cpu
        .as_ref()
        .map(|cpu| format!("{} x {} ({})", cpu.count, cpu.model_name, cpu.architecture));
    let memory = inventory.memory.as_ref().map(|memory| gib(memory.physical_bytes));
    let boot = inventory.boot.as_ref().map(|boot| {
        let secure = match boot.secure_boot_state.as_str() {
            "" => String::new(),
            state => format!(", secure boot {state}"),
        };
        format!("{}{secure}", boot.current_boot_mode)
    });
    let gpus: Vec<&str> = inventory.gpus.iter().map(|gpu| gpu.name.as_str()).collect();
    details
        .line("model", &member.model())
        .line("serial number", member.serial())
        .line("processors", &cpu.unwrap_or_default())
        .line("memory", &memory.unwrap_or_default())
        .line("boot", &boot.unwrap_or_default())
        .line("bmc", real_address(&inventory.bmc_address))
        .line("tpm", &inventory.tpm_version)
        .line("gpus", &gpus.join(", "));
}

fn disks(member: &Member) -> Vec<Vec<String>> {
    let rows = member.inventory.disks.iter().map(|disk| {
        let eligibility = &disk.installation_eligibility;
        let chosen = !disk.id.is_empty() && disk.id == member.host.installation_disk_id;
        let install = match (chosen, eligibility.eligible) {
            (true, true) => "chosen".to_owned(),
            (false, true) => "possible".to_owned(),
            (_, false) => format!("no: {}", eligibility.not_eligible_reasons.join("; ")),
        };
        vec![
            disk.name.clone(),
            si_size(disk.size_bytes),
            disk.drive_type.clone(),
            disk.model.clone(),
            disk.serial.clone(),
            disk.id.clone(),
            install,
        ]
    });
    rows.collect()
}

fn interfaces(member: &Member) -> Vec<Vec<String>> {
    let rows = member
        .inventory
        .interfaces
        .iter()
        .filter(|one| one.name != "lo")
        .map(|one| {
            let link = match (one.has_carrier, one.speed_mbps) {
                (false, _) => "down".to_owned(),
                (true, speed @ 1..) => format!("{speed} Mbit/s"),
                (true, _) => "up".to_owned(),
            };
            let addresses: Vec<&str> = one
                .ipv4_addresses
                .iter()
                .chain(&one.ipv6_addresses)
                .map(String::as_str)
                .collect();
            vec![
                one.name.clone(),
                one.mac_address.clone(),
                link,
                one.mtu.to_string(),
                addresses.join(" "),
            ]
        });
    rows.collect()
}

#[cfg(test)]
mod tests {
    use muster_api::host::HostFinding;
    use muster_api::inventory::InventoryProblem;
    use serde_json::{Value, json};

    use super::super::rows::tests::{member, now};
    use super::*;

    fn found(wait: Value) -> FoundHost {
        serde_json::from_value(json!({
            "id": "00000000-0000-0000-0000-000000000007", "infra_env_id": "00000000-0000-0000-0000-000000000001",
            "infra_env": "lab", "name": "host-7", "status": "reclaiming", "reason": "", "role": "worker",
            "since": "2026-11-22T15:00:00.000Z", "seen_at": "2026-11-22T15:00:00.000Z",
            "registered_at": "2026-11-22T15:00:00.000Z", "approved": false, "wait": wait,
        }))
        .unwrap()
    }

    #[test]
    fn health_is_shown_where_it_was_reported() {
        let mut member = member(7);
        let shown = |member: &Member| details(member, None, None, now()).text().to_owned();
        assert!(!shown(&member).contains("hottest sensor"));
        let health = json!({
            "reported_at": "2026-11-22T15:00:00.000Z",
            "last": {"load_percent": 3, "memory_percent": 10, "temperatures": [
                {"sensor": "a", "celsius": 41}, {"sensor": "b", "celsius": 64, "limit": 100},
            ]},
            "worst": {"day": "2026-11-22", "celsius": 70, "load_percent": 9, "memory_percent": 10},
        });
        member.host.health = serde_json::from_value(health).unwrap();
        let line = "hottest sensor 64 °C, load 3 %, memory in use 10 %, reported at 2026-11-22T15:00:00.000Z";
        assert!(shown(&member).contains(line), "{}", shown(&member));
    }

    #[test]
    fn a_wait_is_shown_once_with_what_to_do() {
        let mut member = member(7);
        member.host.findings = vec![HostFinding {
            kind: WAITING.into(),
            about: "reclaiming".into(),
            others: Vec::new(),
            message: "Since 2026-11-22 15:00:00 UTC the node is waited for, with no time set. Boot the host"
                .into(),
        }];
        let shown = |wait: Value| {
            details(&member, None, Some(&found(wait)), now())
                .text()
                .to_owned()
        };
        let whole = shown(json!({
            "what": "the node to reboot into discovery", "since": "2026-11-22T15:00:00.000Z",
            "until": "2026-11-22T15:20:00.000Z", "then": "somebody must boot the host", "what_to_do": "Boot the host",
        }));
        let words: Vec<&str> = whole.split_whitespace().collect();
        let words = words.join(" ");
        for part in [
            "waits for the node to reboot into discovery, since 2026-11-22T15:00:00.000Z, until 2026-11-22T15:20:00.000Z, then somebody",
            "what to do Boot the host",
        ] {
            assert!(words.contains(part), "{part}: {words}");
        }
        assert!(!whole.contains("Noteworthy"), "{whole}");
        assert!(shown(Value::Null).contains("Noteworthy"));
        // A service of an earlier version has no advice beside the wait.
        let early = shown(json!({"what": "the node", "since": "2026-11-22T15:00:00.000Z"}));
        assert!(
            early.contains("Noteworthy") && !early.contains("what to do"),
            "{early}"
        );
    }

    #[test]
    fn a_difference_of_the_network_is_shown_once() {
        let mut member = member(7);
        let problem = |subject: &str, reason: &str| InventoryProblem {
            subject: subject.into(),
            reason: reason.into(),
        };
        member.inventory.problems = vec![
            problem("network.bond0", "its MTU is 1500, and 9000 is configured"),
            problem("kernel-argument.ip=x", "is not understood"),
            problem("network.eth9", "it has no finding"),
            problem("disks.sda.serial", "it has none"),
        ];
        member.host.os_image = Some(HostOsImage {
            name: "debian-13".into(),
            version: "20261101".into(),
            ..HostOsImage::default()
        });
        let finding = |kind: &str, about: &str, message: &str| HostFinding {
            kind: kind.into(),
            about: about.into(),
            others: Vec::new(),
            message: message.into(),
        };
        member.host.findings = vec![
            finding(
                "network-not-as-configured",
                "bond0",
                "bond0 is not as the static network of this host has it: its MTU is 1500, and 9000 is configured",
            ),
            finding(
                "kernel-argument",
                "ip=x",
                "The kernel argument ip=x is not understood",
            ),
        ];
        let shown = details(&member, None, Some(&found(Value::Null)), now());
        let words: Vec<&str> = shown.text().split_whitespace().collect();
        let shown = words.join(" ");
        for (words, times) in [
            ("its MTU is 1500", 1),
            ("is not understood", 1),
            ("it has no finding", 1),
            ("it has none", 1),
            ("approved no", 1),
            ("os image debian-13 (build 20261101), chosen by default", 1),
        ] {
            assert_eq!(shown.matches(words).count(), times, "{words}: {shown}");
        }
    }

    #[test]
    fn failures_are_shown_once_with_their_end() {
        let mut member = member(7);
        member.host.findings = vec![HostFinding {
            kind: FAILED_BEFORE.into(),
            about: String::new(),
            others: Vec::new(),
            message: "An installation failed".into(),
        }];
        let mut failures = HostFailures {
            count: 2,
            last_at: "2026-11-22T15:00:00.000Z".into(),
            stage: "Rebooting".into(),
            message: "it did not come up".into(),
            not_before: Some("2026-11-22T16:00:00.000Z".into()),
            quarantined: false,
        };
        let shown = |member: &Member| {
            let whole = details(member, None, None, now());
            let words: Vec<&str> = whole.text().split_whitespace().collect();
            words.join(" ")
        };
        member.host.failures = Some(failures.clone());
        let text = shown(&member);
        for part in [
            "failures 2, last at 2026-11-22T15:00:00.000Z (Rebooting): it did not come up",
            "no machine takes it before 2026-11-22T16:00:00.000Z",
            "forget-failures",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(!text.contains("An installation failed"), "{text}");
        (failures.not_before, failures.quarantined) = (None, true);
        member.host.failures = Some(failures);
        assert!(shown(&member).contains("in quarantine"));
    }
}
