//! The effect of attacks on a probe: each attack on a service of its own, then all at once.

use std::time::{Duration, Instant};

use muster_tests::attack::{self, Attack, Victim, all_at_once};

use crate::table;

/// Duration of all attacks together, and the number of hosts of one InfraEnv that poll meanwhile.
const TOGETHER: Duration = Duration::from_secs(600);
const HOSTS: usize = 3000;

/// Time after an attack at which memory is measured again.
const AFTERWARDS: Duration = Duration::from_secs(60);

/// Measures each attack and all at once.
///
/// # Errors
/// If a response to the probe is missing.
pub fn measure() -> anyhow::Result<()> {
    let mut rows = vec![table::row([
        "attack",
        "poll",
        "BMC's range",
        "health",
        "limit",
        "memory before",
        "most",
        "a minute after",
        "files left",
    ])];
    for attack in attack::ALL {
        eprintln!("{} ...", attack.name);
        let row = one(&attack);
        // A later attack may end the run.
        eprintln!("  {}", row[1..].join(" "));
        rows.push(row);
    }
    table::print(
        "Under attack: slowest answers to a probe, ms; memory of the service, MiB",
        &rows,
    );
    together();
    Ok(())
}

fn one(attack: &Attack) -> Vec<String> {
    let (victim, noticed) = attack.attempt();
    noticed.all_was_answered(attack.name);
    let files = await_files(&victim);
    let worst = |name: &str| noticed.questions[name].worst.as_millis().to_string();
    let mut row = vec![attack.name.to_owned()];
    row.extend(["a poll", "a BMC's range", "health"].map(worst));
    row.extend([
        attack.limit.as_millis().to_string(),
        noticed.before_mib().to_string(),
        (noticed.before_mib() + noticed.grown_mib()).to_string(),
        victim.resident_mib().to_string(),
        files.to_string(),
    ]);
    row
}

/// Waits a minute; returns the number of open files.
fn await_files(victim: &Victim) -> usize {
    let ends = Instant::now() + AFTERWARDS;
    while Instant::now() < ends {
        std::thread::sleep(Duration::from_secs(1));
    }
    victim.open_files()
}

fn together() {
    const WHAT: &str = "all attacks at once";
    eprintln!("{WHAT} for {} s, {HOSTS} hosts ...", TOGETHER.as_secs());
    let together = all_at_once(TOGETHER, HOSTS);
    let mut rows = vec![table::row([
        "question",
        "answers",
        "without an answer",
        "slowest, ms",
    ])];
    for (name, seen) in &together.noticed.questions {
        rows.push(vec![
            (*name).to_owned(),
            seen.answered.to_string(),
            seen.failures.len().to_string(),
            seen.worst.as_millis().to_string(),
        ]);
    }
    let title = format!(
        "All attacks at once for {} minutes beside {HOSTS} hosts: {} hosts were called disconnected, refused: {:?}; memory {} MiB before, {} MiB more; attacks: {:?}",
        TOGETHER.as_secs() / 60,
        together.lost,
        together.refused(),
        together.noticed.before_mib(),
        together.noticed.grown_mib(),
        together.attacks,
    );
    table::print(&title, &rows);
    together.noticed.all_was_answered(WHAT);
    assert_eq!(together.refused(), [], "{}", together.fleet.text());
    assert_eq!(together.lost, 0, "hosts that polled were called disconnected");
}
