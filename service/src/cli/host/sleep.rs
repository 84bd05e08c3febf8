//! `muster host sleep` and `muster host wake`.

use anyhow::Result;
use clap::Args;
use muster_api::MUSTER_PATH;
use muster_api::host::{Host, HostWakeParams};

use super::chosen::{ChosenArgs, each, request_of_each};
use crate::cli::service::{Client, ServiceArgs};

/// The hosts that are switched off.
#[derive(Debug, Args)]
pub struct SleepArgs {
    #[command(flatten)]
    chosen: ChosenArgs,

    #[command(flatten)]
    service: ServiceArgs,
}

/// The hosts that are woken.
#[derive(Debug, Args)]
pub struct WakeArgs {
    #[command(flatten)]
    chosen: ChosenArgs,

    /// Keep them awake until muster host sleep; also of hosts that are awake
    #[arg(long)]
    keep: bool,

    #[command(flatten)]
    service: ServiceArgs,
}

/// Puts the hosts to sleep.
pub async fn sleep(args: SleepArgs) -> Result<()> {
    let client = Client::new(&args.service)?;
    let done = "is switched off by its BMC; a bind wakes it";
    request_of_each(&client, &args.chosen, "sleep", done).await
}

/// Wakes the hosts.
pub async fn wake(args: WakeArgs) -> Result<()> {
    let client = Client::new(&args.service)?;
    let params = HostWakeParams { keep: args.keep };
    each(&args.chosen.find(&client).await?, async |member| {
        let path = format!("{MUSTER_PATH}{}/actions/wake", member.path());
        let woken: Host = client.post(&path, &params).await?;
        Ok(match (woken.sleep.is_some(), params.keep) {
            (true, false) => "is woken by its BMC".into(),
            (true, true) => "is woken by its BMC, and stays awake".into(),
            (false, _) => "stays awake".into(),
        })
    })
    .await
}
