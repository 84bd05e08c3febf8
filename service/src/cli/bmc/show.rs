//! `muster bmc show`.

use anyhow::Result;
use clap::Args;
use muster_api::bmc::{Bmc, BmcInventory};

use super::chosen::{all, place_of};
use super::power::power;
use crate::cli::output::{Column, Details, Fit, OutputArgs};
use crate::cli::service::{Client, ServiceArgs};

const CHECKS: &[Column] = &[
    Column("CHECK", Fit::Always),
    Column("OUTCOME", Fit::Always),
    Column("SEEN", Fit::Text),
];
const DIFFERENCES: &[Column] = &[
    Column("WHAT", Fit::Always),
    Column("BMC", Fit::Always),
    Column("AGENT", Fit::Text),
];
const NICS: &[Column] = &[
    Column("NAME", Fit::Always),
    Column("MAC", Fit::Always),
    Column("LINK", Fit::Text),
];
const DRIVES: &[Column] = &[
    Column("NAME", Fit::Always),
    Column("SERIAL", Fit::Room(0)),
    Column("MODEL", Fit::Text),
];

/// The BMC to show.
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// Its name, its id, or the beginning of its id
    bmc: String,

    /// Its InfraEnv, where two have the same name
    #[arg(long, value_name = "INFRA_ENV")]
    infra_env: Option<String>,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    service: ServiceArgs,
}

/// Shows the BMC.
pub async fn run(args: ShowArgs) -> Result<()> {
    let client = Client::new(&args.service)?;
    let mut all = all(&client, args.infra_env.as_deref()).await?;
    let found = all.swap_remove(place_of(&all, &args.bmc)?);
    let bmc: Bmc = client.get(&found.path()).await?;
    let id = bmc.id.to_string();
    let details = details(&bmc, &found.pool.name);
    details.show(&args.output.output, &serde_json::to_value(&bmc)?, &id)
}

fn details(bmc: &Bmc, pool: &str) -> Details {
    let mut details = Details::default();
    let shown = bmc.certificate_shown.as_deref().unwrap_or_default();
    let pinned = bmc.certificate.fingerprint.as_deref().unwrap_or_default();
    let failure = bmc.failure.map(|failure| failure.to_string()).unwrap_or_default();
    let read = match bmc.image.requests {
        0 => String::new(),
        requests => format!("{} MiB in {requests} requests", bmc.image.bytes >> 20),
    };
    details
        .line("name", &bmc.name)
        .line("id", &bmc.id.to_string())
        .line("infra-env", pool)
        .line("resource", bmc.custom_resource.as_deref().unwrap_or_default())
        .line("address", &bmc.address)
        .line("user", &bmc.user_name)
        .line("certificates", &bmc.certificate.mode.to_string())
        .line("trusted", pinned)
        .line("shown", if shown == pinned { "" } else { shown })
        .line("system", bmc.system_id.as_deref().unwrap_or_default())
        .line("boot", &bmc.boot.to_string())
        .line("phase", &bmc.phase.to_string())
        .line("failure", &failure)
        .line("reason", &bmc.reason)
        .line("since", &bmc.since)
        .line("until", bmc.deadline.as_deref().unwrap_or_default())
        .line("image read", &read)
        .line("medium", if bmc.medium_inserted { "inserted" } else { "" })
        .line("power", &power(bmc))
        .line("host", &bmc.host_id.map(|id| id.to_string()).unwrap_or_default());
    let checks = bmc.checks.iter().map(|check| {
        let advice = Some(&check.advice).filter(|advice| !advice.is_empty());
        let seen = advice.map_or_else(
            || check.seen.clone(),
            |advice| format!("{}. {advice}", check.seen),
        );
        vec![check.id.clone(), check.outcome.to_string(), seen]
    });
    details.table("checks", CHECKS, checks.collect());
    let differences = bmc
        .differences
        .iter()
        .map(|one| vec![one.what.clone(), one.bmc.clone(), one.host.clone()]);
    details.table("differences", DIFFERENCES, differences.collect());
    if let Some(told) = &bmc.inventory {
        inventory(&mut details, told);
    }
    details
}

fn inventory(details: &mut Details, told: &BmcInventory) {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let memory = told
        .memory
        .gib
        .map(|gib| format!("{gib:.0} GiB"))
        .unwrap_or_default();
    let processors: Vec<String> = told.processors.iter().map(|one| text(&one.model)).collect();
    let machine = [
        vec![
            "machine".into(),
            format!("{} {}", text(&told.vendor), text(&told.model)),
        ],
        vec!["serial".into(), text(&told.serial)],
        vec!["uuid".into(), text(&told.uuid)],
        vec!["processors".into(), processors.join(", ")],
        vec!["memory".into(), memory],
        vec!["bios".into(), text(&told.bios_version)],
        vec!["bmc".into(), text(&told.bmc_version)],
        vec!["health".into(), text(&told.health)],
    ];
    let machine = machine
        .into_iter()
        .filter(|row: &Vec<String>| !row[1].trim().is_empty());
    details.table("machine, as its BMC reports it", MACHINE, machine.collect());
    let nics = told
        .nics
        .iter()
        .map(|nic| vec![nic.name.clone(), nic.mac.clone(), text(&nic.link)]);
    details.table("network cards", NICS, nics.collect());
    let drives = told
        .drives
        .iter()
        .map(|drive| vec![drive.name.clone(), text(&drive.serial), text(&drive.model)]);
    details.table("drives", DRIVES, drives.collect());
    details.sentences("not reported", &told.notes);
}

const MACHINE: &[Column] = &[Column("WHAT", Fit::Always), Column("VALUE", Fit::Text)];
