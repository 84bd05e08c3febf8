//! `muster bmc power`, and what it shares with `muster host power`.

use std::time::{Duration, Instant};

use anyhow::Result;
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use muster_api::bmc::{Bmc, BmcPower, BmcPowerAction, BmcPowerOutcome, BmcPowerParams, BmcPowerRequest};

use super::chosen::{all, place_of};
use crate::cli::failure::Failure;
use crate::cli::output::print;
use crate::cli::service::{Client, ServiceArgs};

/// Interval between two polls of a request.
const LOOK: Duration = Duration::from_secs(1);

/// How long to wait beyond the service's deadline: an outcome is reported when the request is next looked at.
const GRACE: Duration = Duration::from_secs(60);

/// The machine, and the action.
#[derive(Debug, Args)]
pub struct PowerArgs {
    /// Name, id, or beginning of the id of its BMC
    bmc: String,

    #[command(flatten)]
    asked: Asked,

    /// Its InfraEnv, where two have the same name
    #[arg(long, value_name = "INFRA_ENV")]
    infra_env: Option<String>,

    #[command(flatten)]
    service: ServiceArgs,
}

/// The action, and the way to do it.
#[derive(Debug, Args)]
pub struct Asked {
    /// off requests a shutdown of the machine's system; reset switches off and on again; status changes nothing
    #[arg(required = true, value_parser = action(), value_name = "on|off|reset|status")]
    pub action: Option<BmcPowerAction>,

    /// Cut the power where the system does not shut down in 3 minutes, also while the machine is discovered or installed
    #[arg(long)]
    pub force: bool,

    /// Do not wait for the outcome
    #[arg(long)]
    no_wait: bool,
}

impl Asked {
    fn action(&self) -> BmcPowerAction {
        // The command line requires one.
        self.action.unwrap_or(BmcPowerAction::Status)
    }
}

/// Reads an action.
fn action() -> impl TypedValueParser<Value = BmcPowerAction> {
    PossibleValuesParser::new(["on", "off", "reset", "status"]).try_map(|word| word.parse())
}

/// `On at 2026-11-24T20:00:00.000Z; off failed: ...`.
pub fn power(bmc: &Bmc) -> String {
    let Some(power) = &bmc.power else {
        return String::new();
    };
    let state = power.state.as_deref().zip(power.state_at.as_deref());
    let state = state.map(|(state, at)| format!("{state} at {at}"));
    let request = power
        .request
        .as_ref()
        .filter(|request| request.outcome != BmcPowerOutcome::Done);
    let request = request.map(|request| {
        let (action, outcome) = (request.action, request.outcome);
        format!("{action} {outcome}: {}", request.reason)
    });
    let told: Vec<String> = state.into_iter().chain(request).collect();
    told.join("; ")
}

/// Carries out the action.
pub async fn run(args: PowerArgs) -> Result<()> {
    let client = Client::new(&args.service)?;
    let all = all(&client, args.infra_env.as_deref()).await?;
    let found = &all[place_of(&all, &args.bmc)?];
    carry_out(&client, &found.path(), &found.bmc.name, &args.asked).await
}

/// Requests the action from the BMC with this path, and waits for the outcome.
///
/// # Errors
/// Fails if the request is refused, or fails, or has no outcome in time.
pub async fn carry_out(client: &Client, path: &str, name: &str, asked: &Asked) -> Result<()> {
    let params = BmcPowerParams {
        action: asked.action(),
        force: asked.force,
    };
    let bmc: Bmc = client.post(&format!("{path}/actions/power"), &params).await?;
    let mut request = request(bmc)?.1;
    if asked.no_wait {
        print(&format!(
            "{name}: {} is requested: muster bmc show reports the result\n",
            asked.action()
        ));
        return Ok(());
    }
    let (id, started, limit) = (request.id, Instant::now(), longest(&request) + GRACE);
    let mut told = String::new();
    while started.elapsed() < limit {
        if request.reason != told {
            eprintln!("{name}: {}", request.reason);
            told.clone_from(&request.reason);
        }
        tokio::time::sleep(LOOK).await;
        let (power, now) = self::request(client.get(path).await?)?;
        request = now;
        if request.id != id {
            return Err(Failure::refused(format!(
                "{name}: another request has taken its place: {}",
                request.action
            ))
            .into());
        }
        match request.outcome {
            BmcPowerOutcome::Pending => {}
            BmcPowerOutcome::Done => {
                print(&format!(
                    "{name} is {}\n",
                    power.state.as_deref().unwrap_or("in an unknown state")
                ));
                return Ok(());
            }
            BmcPowerOutcome::Failed => {
                return Err(Failure::refused(format!("{name}: {}", request.reason)).into());
            }
        }
    }
    let seconds = limit.as_secs();
    Err(Failure::unreachable(format!(
        "{name}: nobody has done it within {seconds} s; last: {}",
        request.reason
    ))
    .into())
}

/// The time from the request to its deadline. Both are by the service's clock, which may differ from this one.
fn longest(request: &BmcPowerRequest) -> Duration {
    let at = |text: &str| chrono::DateTime::parse_from_rfc3339(text).ok();
    let between = at(&request.deadline).zip(at(&request.asked_at));
    let between = between.and_then(|(deadline, asked)| (deadline - asked).to_std().ok());
    between.unwrap_or(Duration::from_mins(20))
}

fn request(bmc: Bmc) -> Result<(BmcPower, BmcPowerRequest)> {
    let power = bmc.power.unwrap_or_default();
    match power.request.clone() {
        Some(request) => Ok((power, request)),
        None => Err(Failure::refused("the BMC was moved to another address meanwhile").into()),
    }
}
