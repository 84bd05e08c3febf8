//! `muster bmc list`.

use anyhow::Result;
use clap::Args;

use super::chosen::{Found, all};
use crate::cli::output::{Column, Fit, OutputArgs, Table, show};
use crate::cli::service::{Client, ServiceArgs};

const COLUMNS: &[Column] = &[
    Column("NAME", Fit::Always),
    Column("PHASE", Fit::Always),
    Column("INFRA-ENV", Fit::Room(1)),
    Column("ADDRESS", Fit::Room(0)),
    Column("HOST", Fit::Wide),
    Column("ID", Fit::Wide),
    Column("REASON", Fit::Text),
];

/// The service, and which of its BMCs.
#[derive(Debug, Args)]
pub struct ListArgs {
    /// Of this InfraEnv alone: name, id, or beginning of the id
    #[arg(long, value_name = "INFRA_ENV")]
    infra_env: Option<String>,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    service: ServiceArgs,
}

/// Lists the BMCs.
pub async fn run(args: ListArgs) -> Result<()> {
    let client = Client::new(&args.service)?;
    let all = all(&client, args.infra_env.as_deref()).await?;
    let table = || Table::new(COLUMNS, all.iter().map(row).collect());
    let ids: Vec<String> = all.iter().map(|found| found.bmc.id.to_string()).collect();
    let bmcs: Vec<_> = all.iter().map(|found| &found.bmc).collect();
    show(&args.output.output, table, &serde_json::to_value(&bmcs)?, &ids)
}

fn row(found: &Found) -> Vec<String> {
    let bmc = &found.bmc;
    let phase = match bmc.failure {
        Some(failure) => format!("{}: {failure}", bmc.phase),
        None => bmc.phase.to_string(),
    };
    vec![
        bmc.name.clone(),
        phase,
        found.pool.name.clone(),
        bmc.address.clone(),
        bmc.host_id.map(|id| id.to_string()).unwrap_or_default(),
        bmc.id.to_string(),
        bmc.reason.clone(),
    ]
}
