//! Starts the agents at their rate, waits for the end, and makes the summary.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, sleep_until};

use crate::agent::{Agent, World};
use crate::faults::{Fault, Part, cast};
use crate::measure::Measure;
use crate::operator::Operator;
use crate::options::Options;
use crate::progress::Progress;
use crate::report::Report;
use crate::wire::Wires;

/// Time limit for inventories after `--duration`.
const PATIENCE: Duration = Duration::from_secs(300);

/// Interval between looks at whether an agent is left.
const LOOK: Duration = Duration::from_millis(500);

/// Runs the fleet to its end.
///
/// # Errors
/// If it cannot begin: the service is unavailable or refuses, or the options contradict each other.
pub async fn run(options: Options) -> Result<Report> {
    let parts = cast(options.hosts, options.seed, &options.faults)?;
    let wires = Wires::new(&options)?;
    let operator = Operator::new(&options, &wires)?;
    let infra_env = operator.infra_env(&options).await?;
    let credential = operator.agent_credential(&options, infra_env).await?;
    eprintln!(
        "{} hosts for InfraEnv {infra_env} of {}",
        options.hosts, options.url
    );

    let measure = Arc::new(Measure::new(parts.len()));
    let base: Arc<str> = options.base().into();
    let world = Arc::new(World {
        infra_env,
        measure: Arc::clone(&measure),
        options,
    });
    let mut agents = JoinSet::new();
    for part in &parts {
        let wire = wires.one(Arc::clone(&base), credential.clone(), Arc::clone(&measure));
        let agent = Agent::new(Arc::clone(&world), *part, wire);
        agents.spawn(agent.live(boot(&world.options, measure.started, part.number)));
    }
    let expected = parts
        .iter()
        .filter(|part| part.fault.is_none_or(Fault::reports_inventory))
        .count();
    let expected = u64::try_from(expected).context("hosts are counted in 32 bits")?;
    until_end(&world, expected).await?;
    let ended = Instant::now();
    agents.abort_all();
    while agents.join_next().await.is_some() {}
    let states = if world.options.skip_states {
        Err(anyhow::anyhow!("not asked (--skip-states)"))
    } else {
        operator.host_states(infra_env).await
    };
    Ok(Report::new(&world, &parts, expected, ended, states))
}

/// Boot time of a machine. Machines of an earlier run are spread over the time between two polls.
fn boot(options: &Options, started: Instant, number: u32) -> Instant {
    let nth = f64::from(number);
    let after = if options.resume {
        let pace = options.poll_interval.unwrap_or(Duration::from_secs(60));
        pace.as_secs_f64() * nth / f64::from(options.hosts)
    } else if options.register_rate > 0.0 {
        nth / options.register_rate
    } else {
        0.0
    };
    started + Duration::from_secs_f64(after)
}

async fn until_end(world: &World, expected: u64) -> Result<()> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let measure = &world.measure;
    let mut progress = Progress::new(expected);
    let mut ticks = interval(progress.every());
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks.tick().await;
    let end = world.options.duration.map(|duration| measure.started + duration);
    let until_inventory = world.options.until_inventory;
    let ended = async {
        match end {
            Some(end) if until_inventory => sleep_until(end + PATIENCE).await,
            Some(end) => sleep_until(end).await,
            None => std::future::pending().await,
        }
    };
    let known = async {
        if !until_inventory {
            std::future::pending::<()>().await;
        }
        if let Some(end) = end {
            sleep_until(end).await;
        }
        while measure.counts(|counts| counts.with_inventory) < expected {
            sleep(Duration::from_millis(20)).await;
        }
    };
    let lost = async {
        while !measure.is_lost() {
            sleep(LOOK).await;
        }
    };
    tokio::pin!(ended, known, lost);
    loop {
        tokio::select! {
            () = &mut ended => break,
            () = &mut known => break,
            () = &mut lost => break,
            _ = interrupt.recv() => break,
            _ = terminate.recv() => break,
            _ = ticks.tick() => progress.show(measure),
        }
    }
    progress.end();
    // The JSON report has the agents' numbers, and stands alone.
    if measure.is_lost() && !world.options.json {
        eprintln!(
            "no host is left: the service knows none any more, or refuses them all, and such agents do not register again"
        );
    }
    Ok(())
}

/// Number of hosts by fault.
pub fn faulty(parts: &[Part]) -> impl Iterator<Item = (Fault, usize)> {
    Fault::ALL
        .into_iter()
        .map(|fault| {
            (
                fault,
                parts.iter().filter(|part| part.fault == Some(fault)).count(),
            )
        })
        .filter(|(_, hosts)| *hosts > 0)
}
