//! Shows how the service spends its time: for each kind of work a flame graph, shares by kind of activity, and the
//! number of allocations. Linux' `perf` observes it and unwinds stacks by the tables in each program; so a release
//! needs only its symbols.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use inferno::collapse::Collapse as _;
use inferno::collapse::perf::{Folder, Options as FolderOptions};
use inferno::flamegraph;
use muster_tests::artifacts::{muster_program, target_folder};
use muster_tests::process::Program;
use nix::sys::signal::Signal;

use crate::fleet::{Cost, World, await_quiet, poll, register_all};
use crate::table::{self, row};

const HOSTS: u32 = 1000;
const PACE: &str = "500ms";
const LISTS: u32 = 10;

/// Time limit for `perf` to write its data.
const PERF_LIMIT: Duration = Duration::from_secs(120);

/// Samples a second, and bytes of the stack that each has.
const FREQUENCY: &str = "499";
const CALL_GRAPH: &str = "dwarf,16384";

/// The functions by which Rust code gets memory from jemalloc.
const ALLOCATING: [&str; 3] = ["_rjem_malloc", "_rjem_calloc", "_rjem_realloc"];

/// Kinds of samples. A sample counts for the first of these texts that a function has in its name, from the innermost outwards.
const KINDS: [(&str, &[&str]); 8] = [
    ("kernel", &["_[k]"]),
    ("allocator", &["_rjem_"]),
    ("SQLite", &["sqlite3"]),
    ("JSON", &["serde_json", "serde_core", "serde::"]),
    ("sqlx", &["sqlx"]),
    ("HTTP", &["hyper", "axum", "tower", "http::"]),
    ("tokio", &["tokio"]),
    ("Muster", &["muster"]),
];

/// One kind of work as it was observed.
struct Observed {
    cost: Cost,
    /// Samples of each of `KINDS`, and of none of them.
    samples: [u64; KINDS.len() + 1],
    allocations: f64,
    /// Hosts, polls or lists.
    units: f64,
}

/// Writes the flame graphs and prints the tables, one for each database.
pub fn measure() -> Result<()> {
    if let Err(reason) = perf_observes() {
        println!("\nNo profile: {reason}");
        return Ok(());
    }
    let folder = target_folder().join("profiles");
    let _probes = Probes::set()?;
    // Each service ends before the next one begins.
    print("SQLite", &each_work(&World::sqlite(), &folder.join("SQLite"))?);
    print(
        "PostgreSQL",
        &each_work(&World::postgres(), &folder.join("PostgreSQL"))?,
    );
    println!("  flame graphs: {}", folder.display());
    Ok(())
}

/// # Errors
/// Why there is no profile, and the remedy.
fn perf_observes() -> Result<(), String> {
    match Command::new("perf").arg("--version").output() {
        Err(_) => Err("there is no `perf` (Debian: linux-perf)".to_owned()),
        Ok(_) if !nix::unistd::geteuid().is_root() => {
            Err("`perf` observes other programs as root".to_owned())
        }
        Ok(_) => Ok(()),
    }
}

fn each_work(world: &World, folder: &Path) -> Result<[(&'static str, Observed); 3]> {
    fs::create_dir_all(folder)?;
    let hosts = f64::from(HOSTS);
    let mut registered = None;
    let mut seed = 0;
    let registrations = observe(world, &folder.join("registrations"), || {
        seed += 1;
        registered = Some(register_all(world, HOSTS, &["--seed", &seed.to_string()])?);
        await_quiet(world)?;
        Ok(hosts)
    })?;
    let registered = registered.context("hosts have registered")?;
    let infra_env = registered.infra_env_id();
    let polls = observe(world, &folder.join("polls"), || {
        let seed = ["--seed", &seed.to_string()];
        let run = poll(world, HOSTS, infra_env, [PACE, "5s"], &seed);
        Ok(run.number("/polls/count"))
    })?;
    let client = world.service.client().http().clone();
    let path = format!("/infra-envs/{infra_env}/hosts");
    let lists = observe(world, &folder.join("lists"), || {
        for _ in 0..LISTS {
            client.get(&path).expect(200);
        }
        Ok(f64::from(LISTS))
    })?;
    Ok([
        ("a registration, its first reports, its Agent", registrations),
        ("a poll", polls),
        ("a list of 1,000 hosts", lists),
    ])
}

/// Runs work three times: the cost is that of the first run, the stacks are those of the second, allocations are
/// counted in the third.
fn observe(world: &World, file: &Path, mut work: impl FnMut() -> Result<f64>) -> Result<Observed> {
    let pid = world.service.id().to_string();
    let (units, cost) = world.cost(&mut work);
    let data = file.with_extension("data");
    let record = [
        "record",
        "--quiet",
        "--freq",
        FREQUENCY,
        "--call-graph",
        CALL_GRAPH,
        "--pid",
        &pid,
        "--output",
    ];
    during(Command::new("perf").args(record).arg(&data), file, &mut work)?;
    let samples = draw(&data, file)?;
    fs::remove_file(&data)?;
    let counts = file.with_extension("counts");
    let stat = [
        "stat",
        "--field-separator",
        ",",
        "--event",
        "probe_muster:*",
        "--pid",
        &pid,
        "--output",
    ];
    during(Command::new("perf").args(stat).arg(&counts), file, &mut work)?;
    let allocations = sum_of(&fs::read_to_string(&counts)?);
    fs::remove_file(&counts)?;
    ensure!(
        allocations > 0.0,
        "no allocation was counted: has this program its symbols?"
    );
    Ok(Observed {
        cost,
        samples,
        allocations,
        units: units?,
    })
}

/// Runs work while `perf` observes.
fn during(perf: &mut Command, file: &Path, work: &mut impl FnMut() -> Result<f64>) -> Result<()> {
    let log = file.with_extension("log");
    let mut perf = Program::start("perf", perf, &log);
    let done = work();
    perf.signal(Signal::SIGINT);
    perf.await_exit(PERF_LIMIT);
    done?;
    Ok(fs::remove_file(log)?)
}

/// Draws the flame graph of what `perf record` wrote; the samples of each kind.
fn draw(data: &Path, file: &Path) -> Result<[u64; KINDS.len() + 1]> {
    let mut script = Command::new("perf")
        .args(["script", "--no-inline", "--input"])
        .arg(data)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let stacks = std::io::BufReader::new(script.stdout.take().context("its output is piped")?);
    let mut options = FolderOptions::default();
    options.annotate_kernel = true;
    let mut folded = Vec::new();
    Folder::from(options).collapse(stacks, &mut folded)?;
    ensure!(script.wait()?.success(), "perf script: {}", data.display());
    let folded = String::from_utf8_lossy(&folded);
    let picture = fs::File::create(file.with_extension("svg"))?;
    let mut options = flamegraph::Options::default();
    options.title = file
        .file_name()
        .map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    flamegraph::from_lines(&mut options, folded.lines(), picture)?;
    let mut samples = [0; KINDS.len() + 1];
    for line in folded.lines() {
        if let Some((stack, count)) = line.rsplit_once(' ') {
            samples[kind_of(stack)] += count.parse::<u64>().unwrap_or(0);
        }
    }
    Ok(samples)
}

/// Index in `KINDS` of a stack: functions separated by semicolons, the outermost first.
fn kind_of(stack: &str) -> usize {
    let of_function = |function: &str| {
        KINDS
            .iter()
            .position(|(_, names)| names.iter().any(|name| function.contains(name)))
    };
    stack.rsplit(';').find_map(of_function).unwrap_or(KINDS.len())
}

/// Sum of the counts that `perf stat` printed.
fn sum_of(counts: &str) -> f64 {
    let first = |line: &str| {
        line.split(',')
            .next()
            .and_then(|number| number.parse::<f64>().ok())
    };
    counts.lines().filter_map(first).sum()
}

/// Probes in the functions of the allocator. Dropping them removes them from the kernel.
struct Probes;

impl Probes {
    fn set() -> Result<Self> {
        // Probes of a run that was killed.
        Self::remove();
        let program = muster_program();
        for function in ALLOCATING {
            let event = format!("probe_muster:{function}={function}");
            let output = Command::new("perf")
                .args(["probe", "--quiet", "--exec"])
                .arg(&program)
                .args(["--add", &event])
                .output()?;
            ensure!(
                output.status.success(),
                "perf probe {function}: {}",
                String::from_utf8_lossy(&output.stderr)
            );
        }
        Ok(Self)
    }

    fn remove() {
        // If there are none, the command fails.
        let _ = Command::new("perf")
            .args(["probe", "--quiet", "--del", "probe_muster:*"])
            .output();
    }
}

impl Drop for Probes {
    fn drop(&mut self) {
        Self::remove();
    }
}

fn print(database: &str, works: &[(&str, Observed)]) {
    let mut head = vec![
        "".to_owned(),
        "CPU, µs".to_owned(),
        "database's, µs".to_owned(),
        "allocations".to_owned(),
    ];
    head.extend(KINDS.iter().map(|(kind, _)| format!("{kind}, %")));
    head.push("other, %".to_owned());
    let mut rows = vec![head];
    for (name, observed) in works {
        let each = |whole: f64| format!("{:.0}", whole / observed.units);
        let mut cells = row([
            *name,
            &each(1e6 * observed.cost.service),
            &each(1e6 * observed.cost.database),
            &each(observed.allocations),
        ]);
        #[expect(clippy::cast_precision_loss, reason = "far fewer samples than 2^52")]
        let of_all = |count: u64| 100.0 * count as f64 / (observed.samples.iter().sum::<u64>().max(1)) as f64;
        cells.extend(
            observed
                .samples
                .iter()
                .map(|count| format!("{:.0}", of_all(*count))),
        );
        rows.push(cells);
    }
    table::print(&format!("where the time goes, {database}; each one"), &rows);
}
