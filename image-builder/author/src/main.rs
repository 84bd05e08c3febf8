//! The program `muster-image` builds and inspects the Muster live ISO.

use std::env;
use std::path::PathBuf;

use anyhow::{Context, Result};
use chrono::{DateTime, Utc};
use clap::{Args, Parser, Subcommand};
use muster_image_author::architecture::Architecture;
use muster_image_author::initramfs::STRONGEST_COMPRESSION;
use muster_image_author::kernel::answer::{self, PciDevice};
use muster_image_author::live::build::{Outcome, build, lock};
use muster_image_author::live::inspect::inspect;
use muster_image_author::live::options::BuildOptions;
use muster_image_author::live::record::{self, BuildRecord};
use muster_image_author::packages::gather::{Network, gather};
use muster_image_author::packages::release::Release;
use muster_image_author::packages::selection::{Selection, Sources};
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
    /// Tell which kernel module drives a device, and whether the image carries it.
    Drivers(Drivers),
    /// Show what an ISO holds: its description, reserved areas, sizes.
    Inspect {
        /// The ISO.
        iso: PathBuf,
    },
}

/// The parts that an image is made of.
#[derive(Debug, Args)]
struct Choice {
    /// The processor of the machines that boot it; x86_64 machines build for both.
    #[arg(long, value_enum, default_value_t = Architecture::X86_64)]
    architecture: Architecture,
    /// The release of Debian that every ingredient comes from, whatever this machine runs.
    #[arg(long, value_enum, default_value_t = Release::Trixie)]
    release: Release,
    /// Take kernel and firmware from the release's backports: newer hardware.
    #[arg(long)]
    backports: bool,
    /// Another kernel of the release by the name of its package (linux-image-...), or one of yours as a .deb file.
    /// With Secure Boot it must be signed by Debian.
    #[arg(long, value_name = "PACKAGE|FILE")]
    kernel_package: Option<String>,
    /// Carry a module of the kernel that is not in the image's list, or a folder of them: drivers/scsi/bfa/, drivers/md/dm-zero.
    #[arg(long, value_name = "PATH")]
    driver: Vec<String>,
    /// Add the files of a package of the release: modules, firmware, programs. It brings no other packages along.
    #[arg(long, value_name = "PACKAGE")]
    extra_package: Vec<String>,
    /// The same of a .deb file.
    #[arg(long, value_name = "FILE")]
    extra_deb: Vec<PathBuf>,
    /// Add every kernel module (.ko, .ko.xz, .ko.zst) below a folder; one of the same name is replaced.
    #[arg(long, value_name = "FOLDER")]
    extra_modules: Option<PathBuf>,
    /// Lay a folder over /lib/firmware.
    #[arg(long, value_name = "FOLDER")]
    extra_firmware: Option<PathBuf>,
    /// Leave the firmware packages (Debian's non-free-firmware) out.
    #[arg(long)]
    no_firmware: bool,
    /// The file that pins every ingredient: written if it is not there, else obeyed, so that the same bytes are built again.
    #[arg(long, value_name = "FILE")]
    lock: Option<PathBuf>,
    /// A mirror of Debian [default: that of this machine's apt for the release, else deb.debian.org].
    #[arg(long, value_name = "URL")]
    mirror: Option<String>,
    /// A mirror of Debian's security updates.
    #[arg(long, value_name = "URL")]
    security_mirror: Option<String>,
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
}

impl Choice {
    fn network(&self) -> Network {
        match (self.offline, self.refresh) {
            (true, _) => Network::Never,
            (_, true) => Network::Refresh,
            _ => Network::WhenNeeded,
        }
    }

    fn selection(&self) -> Selection {
        Selection {
            sources: Sources {
                architecture: self.architecture,
                release: self.release,
                backports: self.backports,
                mirror: self.mirror.clone(),
                security_mirror: self.security_mirror.clone(),
            },
            kernel_package: self.kernel_package.clone(),
            firmware: !self.no_firmware,
            drivers: self.driver.clone(),
            extra_packages: self.extra_package.clone(),
            extra_debs: self.extra_deb.clone(),
            extra_modules: self.extra_modules.clone(),
            extra_firmware: self.extra_firmware.clone(),
            lock: self.lock.clone(),
        }
    }
}

#[derive(Debug, Args)]
struct Build {
    #[command(flatten)]
    choice: Choice,
    /// The ISO to write [default: dist/muster-live-ARCHITECTURE.iso].
    #[arg(long)]
    output: Option<PathBuf>,
    /// The static muster-agent program that becomes /init.
    #[arg(long)]
    agent: PathBuf,
    /// Version of that agent, for the image's description.
    #[arg(long, default_value = env!("CARGO_PKG_VERSION"))]
    agent_version: String,
    /// Level of zstd for the initrd, 1 to 19: lower is a faster build and a larger image.
    #[arg(long, default_value_t = STRONGEST_COMPRESSION, value_parser = clap::value_parser!(i32).range(1..=19))]
    compression_level: i32,
    /// Build even if the ISO is up to date.
    #[arg(long)]
    force: bool,
    /// Seconds since 1970: the time that every file in the image bears (default: 2026-01-01).
    #[arg(long, env = "SOURCE_DATE_EPOCH", default_value_t = 1_767_225_600)]
    epoch: i64,
}

/// Which modules drive devices, and whether the image that `live build` makes with the same options carries them.
#[derive(Debug, Args)]
struct Drivers {
    /// A PCI device, as `lspci -n` prints it.
    #[arg(long, value_name = "VVVV:DDDD", required = true)]
    pci: Vec<PciDevice>,
    #[command(flatten)]
    choice: Choice,
}

impl Drivers {
    fn run(&self) -> Result<()> {
        let choice = &self.choice;
        std::fs::create_dir_all(&choice.cache_dir)
            .with_context(|| format!("cannot make the cache folder {}", choice.cache_dir.display()))?;
        let cache = choice.cache_dir.canonicalize()?;
        let progress = Progress::of_standard_error();
        let _lock = lock(&cache, progress)?;
        let ingredients = gather(&cache, &choice.selection(), choice.network(), progress)?;
        print!("{}", answer::drivers(&ingredients, &self.pci)?);
        Ok(())
    }
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
        let architecture = self.choice.architecture;
        let options = BuildOptions {
            network: self.choice.network(),
            epoch: DateTime::<Utc>::from_timestamp(self.epoch, 0)
                .context("--epoch is beyond the calendar")?,
            output: self
                .output
                .unwrap_or_else(|| format!("dist/muster-live-{}.iso", architecture.name()).into()),
            selection: self.choice.selection(),
            agent: self.agent,
            agent_version: self.agent_version,
            compression: self.compression_level,
            cache: self.choice.cache_dir,
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
    if !record.facts.modules_unreachable.is_empty() {
        println!(
            "nothing would load these modules, for they have no alias and no other module needs them: {}",
            record.facts.modules_unreachable.join(", ")
        );
    }
    let missing = record.facts.firmware_missing.len();
    if missing > 0 {
        println!(
            "{missing} firmware files that drivers may request are in no package; {} lists them",
            record::path(&options.output).display()
        );
    }
}

fn main() -> Result<()> {
    match Cli::parse().command {
        Command::Live(Live::Build(options)) => options.run(),
        Command::Live(Live::Drivers(drivers)) => drivers.run(),
        Command::Live(Live::Inspect { iso }) => {
            print!("{}", inspect(&iso)?);
            Ok(())
        }
    }
}
