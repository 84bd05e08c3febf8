//! `muster host disk`.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use muster_api::jobs::{DiskRule, JobAction};

use super::{OnlyQueryArgs, table};
use crate::cli::service::{Client, ServiceArgs};

/// The disk, and the hosts.
#[derive(Debug, Args)]
#[command(mut_arg("query", |arg| arg.required(true)))]
pub struct DiskArgs {
    #[command(flatten)]
    rule: RuleArgs,

    #[command(flatten)]
    hosts: OnlyQueryArgs,

    #[command(flatten)]
    service: ServiceArgs,
}

/// A rule that finds the disk, among those that can be installed to.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct RuleArgs {
    /// The smallest SSD of more than this size, such as 100GB or 1TB
    #[arg(long, value_name = "SIZE", value_parser = size)]
    smallest_ssd_above: Option<u64>,

    /// By its path, such as /dev/sda or /dev/disk/by-path/pci-0000:00:1f.2-ata-1
    #[arg(long)]
    path: Option<String>,

    /// By its World Wide Name
    #[arg(long, value_name = "NAME")]
    wwn: Option<String>,

    /// By paths or World Wide Names from this file (- is standard input). Its first line names the columns: host (id or serial number) and disk
    #[arg(long, value_name = "FILE")]
    from_csv: Option<PathBuf>,
}

/// Chooses the disks.
pub async fn run(args: DiskArgs) -> Result<()> {
    let RuleArgs {
        smallest_ssd_above,
        path,
        wwn,
        from_csv,
    } = args.rule;
    let rule = match (smallest_ssd_above, path, from_csv) {
        (Some(bytes), _, _) => DiskRule::SmallestSsdAbove { bytes },
        (None, Some(path), _) => DiskRule::Path { path },
        (None, None, Some(file)) => DiskRule::List {
            disks: table::read(&file, "disk")?,
        },
        (None, None, None) => DiskRule::Wwn {
            wwn: wwn.unwrap_or_default(),
        },
    };
    let client = Client::new(&args.service)?;
    args.hosts.run(&client, "", JobAction::Disk { rule }).await
}

/// Bytes of `100GB`, `1TB`, `512GiB` or a number alone.
fn size(text: &str) -> Result<u64, String> {
    let units: [(&str, u64); 8] = [
        ("tib", 1 << 40),
        ("gib", 1 << 30),
        ("mib", 1 << 20),
        ("tb", 1_000_000_000_000),
        ("gb", 1_000_000_000),
        ("mb", 1_000_000),
        ("b", 1),
        ("", 1),
    ];
    let lower = text.trim().to_ascii_lowercase();
    let found = units.into_iter().find_map(|(unit, bytes)| {
        let number = lower.strip_suffix(unit)?.trim_end().parse::<u64>().ok()?;
        number.checked_mul(bytes)
    });
    found.ok_or_else(|| "write a size such as 100GB, 1TB or 512GiB".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        assert_eq!(size("100GB"), Ok(100_000_000_000));
        assert_eq!(size("1 tb"), Ok(1_000_000_000_000));
        assert_eq!(size("2GiB"), Ok(2 << 30));
        assert_eq!(size("512"), Ok(512));
        for text in ["", "GB", "-1GB", "1.5TB", "99999999999999TB"] {
            assert!(size(text).is_err(), "{text}");
        }
    }
}
