//! The program `muster-image` builds and inspects the Muster live ISO.

use std::env;
use std::path::PathBuf;

use anyhow::{Context, Result};
use chrono::{DateTime, Utc};
use clap::{Args, Parser, Subcommand};
use muster_image_author::architecture::Architecture;
use muster_image_author::initramfs::STRONGEST_COMPRESSION;
use muster_image_author::live::build::{Outcome, build};
use muster_image_author::live::inspect::inspect;
use muster_image_author::live::options::BuildOptions;
use muster_image_author::live::record::{self, BuildRecord};
use muster_image_author::packages::gather::Network;
use muster_image_author::progress::{Progress, megabytes};

/// Builds and inspects the Muster live ISO.
#[derive(Debug, Parser)]
#[command(name = "muster-image", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// The live ISO that machines boot to be discovered.
    #[command(subcommand)]
    Live(Live),
}

#[derive(Debug, Subcommand)]
enum Live {
    /// Build the ISO from Debian's packages and the agent; does nothing while it is up to date.
    Build(Build),
    /// Show what an ISO holds: its description, reserved areas, sizes.
    Inspect {
        /// The ISO.
        iso: PathBuf,
    },
}

#[derive(Debug, Args)]
struct Build {
    /// The processor of the machines that boot it; x86_64 machines build for both.
    #[arg(long, value_enum, default_value_t = Architecture::X86_64)]
    architecture: Architecture,
    /// The ISO to write [default: dist/muster-live-ARCHITECTURE.iso].
    #[arg(long)]
    output: Option<PathBuf>,
    /// The static muster-agent program that becomes /init.
    #[arg(long)]
    agent: PathBuf,
    /// Version of that agent, for the image's description.
    #[arg(long, default_value = env!("CARGO_PKG_VERSION"))]
    agent_version: String,
    /// Leave the firmware packages (Debian's non-free-firmware) out.
    #[arg(long)]
    no_firmware: bool,
    /// Level of zstd for the initrd, 1 to 19: lower is a faster build and a larger image.
    #[arg(long, default_value_t = STRONGEST_COMPRESSION, value_parser = clap::value_parser!(i32).range(1..=19))]
    compression_level: i32,
    /// Folder for downloaded packages and finished parts, shared by all clones of the project
    /// [default: image in MUSTER_CACHE, else muster/image in XDG_CACHE_HOME or ~/.cache].
    #[arg(long, default_value_os_t = default_cache(), hide_default_value = true)]
    cache_dir: PathBuf,
    /// Use no network: everything must be in the cache.
    #[arg(long, conflicts_with = "refresh")]
    offline: bool,
    /// Fetch the package lists now, even if they are less than a day old.
    #[arg(long)]
    refresh: bool,
    /// Build even if the ISO is up to date.
    #[arg(long)]
    force: bool,
    /// Seconds since 1970: the time that every file in the image bears (default: 2026-01-01).
    #[arg(long, env = "SOURCE_DATE_EPOCH", default_value_t = 1_767_225_600)]
    epoch: i64,
}

/// As `.ci/kube` and the tests find what is kept for all clones on a machine.
fn default_cache() -> PathBuf {
    let set = |variable| {
        env::var_os(variable)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    set("MUSTER_CACHE")
        .or_else(|| set("XDG_CACHE_HOME").map(|folder| folder.join("muster")))
        .or_else(|| set("HOME").map(|folder| folder.join(".cache/muster")))
        .unwrap_or_else(|| ".cache".into())
        .join("image")
}

impl Build {
    fn run(self) -> Result<()> {
        let options = BuildOptions {
            network: match (self.offline, self.refresh) {
                (true, _) => Network::Never,
                (_, true) => Network::Refresh,
                _ => Network::WhenNeeded,
            },
            epoch: DateTime::<Utc>::from_timestamp(self.epoch, 0)
                .context("--epoch is beyond the calendar")?,
            output: self
                .output
                .unwrap_or_else(|| format!("dist/muster-live-{}.iso", self.architecture.name()).into()),
            architecture: self.architecture,
            agent: self.agent,
            agent_version: self.agent_version,
            firmware: !self.no_firmware,
            compression: self.compression_level,
            cache: self.cache_dir,
            force: self.force,
        };
        match build(&options, Progress::of_standard_error())? {
            Outcome::UpToDate(record) => {
                println!(
                    "{} is up to date ({})",
                    options.output.display(),
                    megabytes(record.iso_size)
                );
            }
            Outcome::Built(record) => {
                println!(
                    "{}: {}, kernel {}, {} modules, {} firmware files, SHA-256 {}",
                    options.output.display(),
                    megabytes(record.iso_size),
                    record.facts.kernel_release,
                    record.facts.modules,
                    record.facts.firmware_files,
                    record.iso_sha256
                );
                tell_what_is_missing(&record, &options);
            }
        }
        Ok(())
    }
}

fn tell_what_is_missing(record: &BuildRecord, options: &BuildOptions) {
    if !record.facts.drivers_unknown.is_empty() {
        println!(
            "this kernel has no module (it may be built in) for: {}",
            record.facts.drivers_unknown.join(", ")
        );
    }
    let missing = record.facts.firmware_missing.len();
    if missing > 0 {
        println!(
            "{missing} firmware files that drivers may ask for are in no package; {} lists them",
            record::path(&options.output).display()
        );
    }
}

fn main() -> Result<()> {
    match Cli::parse().command {
        Command::Live(Live::Build(options)) => options.run(),
        Command::Live(Live::Inspect { iso }) => {
            print!("{}", inspect(&iso)?);
            Ok(())
        }
    }
}
