//! `muster host delete`.

use anyhow::Result;
use chrono::{DateTime, Duration, Utc};
use clap::Args;
use muster_api::jobs::JobAction;

use super::chosen::each;
use super::many::HostsArgs;
use crate::cli::fleet::Member;
use crate::cli::service::{Client, ServiceArgs};

/// The hosts to delete.
#[derive(Debug, Args)]
pub struct DeleteArgs {
    #[command(flatten)]
    chosen: HostsArgs,

    #[command(flatten)]
    service: ServiceArgs,
}

/// Silence after which a machine is taken to be off: as long as the service waits before it calls a host disconnected.
const SILENCE: Duration = Duration::minutes(3);

/// Deletes the hosts.
pub async fn run(args: DeleteArgs) -> Result<()> {
    let client = Client::new(&args.service)?;
    if args.chosen.is_query() {
        return args.chosen.run(&client, JobAction::Delete).await;
    }
    each(&args.chosen.find(&client).await?, async |member| {
        client.delete(&member.path()).await?;
        Ok(match is_on(member, Utc::now()) {
            true => "deleted. Its machine is on: it registers again within minutes, without its settings, unless it is switched off".into(),
            false => "deleted".into(),
        })
    })
    .await
}

fn is_on(member: &Member, now: DateTime<Utc>) -> bool {
    DateTime::parse_from_rfc3339(&member.host.checked_in_at).is_ok_and(|at| now - at.to_utc() < SILENCE)
}
