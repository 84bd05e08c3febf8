//! `muster-agent erase`: erases a disk by hand as the step `erase-disks` does, or a regular file in its place.

use std::io::Write;

use anyhow::bail;
use clap::{Args, ValueEnum};
use muster_api::steps::ErasureDepth;
use tokio_util::sync::CancellationToken;

use crate::erase::by_name;
use crate::erase::progress::Progress;

/// Erase a disk. A disk in use is refused; there is no way back
#[derive(Debug, Args)]
pub struct EraseDiskCommand {
    /// Any name of the disk: /dev/sda, /dev/disk/by-id/...; or a regular file
    #[arg(long)]
    disk: String,
    /// All sectors, or partition tables, signatures and the places of keys and seeds
    #[arg(long, value_enum, default_value_t = Depth::Metadata)]
    depth: Depth,
    /// With `--depth full`: write zeros, whatever the disk can do itself
    #[arg(long)]
    overwrite: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Depth {
    Metadata,
    Full,
}

impl EraseDiskCommand {
    /// Runs the command; one line of JSON, the evidence, goes to `output`.
    ///
    /// # Errors
    /// Fails if the disk is refused, or is not erased.
    pub fn run(&self, output: &mut impl Write) -> anyhow::Result<()> {
        let depth = match self.depth {
            Depth::Metadata => ErasureDepth::Metadata,
            Depth::Full => ErasureDepth::Full,
        };
        if self.overwrite && depth == ErasureDepth::Metadata {
            bail!("--overwrite goes with --depth full");
        }
        let progress = Progress::new(self.disk.clone(), CancellationToken::new());
        let erased = by_name(&self.disk, depth, self.overwrite, &progress)?;
        progress.erased(erased.samples, erased.notes);
        writeln!(output, "{}", serde_json::to_string(&progress.shown())?)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use muster_api::steps::{DiskErasure, ErasureMethod, ErasureState};

    use super::*;
    use crate::gpt::{BASIC_DATA, tests::head};

    const MIB: usize = 1 << 20;

    fn run(file: &tempfile::NamedTempFile, depth: Depth, overwrite: bool) -> DiskErasure {
        let command = EraseDiskCommand {
            disk: file.path().to_str().unwrap().to_owned(),
            depth,
            overwrite,
        };
        let mut output = Vec::new();
        command.run(&mut output).unwrap();
        serde_json::from_slice(&output).unwrap()
    }

    /// A file of 24 MiB with a table, a seed at 12 MiB, and a pattern everywhere else.
    fn disk() -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut bytes = vec![0xdd; 24 * MIB];
        let (first, last) = (12 * MIB as u64 / 512, 13 * MIB as u64 / 512 - 1);
        bytes[..MIB].copy_from_slice(&head(512, &[("CIDATA", BASIC_DATA, first, last)]));
        std::fs::write(file.path(), bytes).unwrap();
        file
    }

    #[test]
    fn all_bytes_of_a_file_are_zero_with_the_depth_full() {
        for overwrite in [false, true] {
            let file = disk();
            let erasure = run(&file, Depth::Full, overwrite);
            assert_eq!(erasure.state, ErasureState::Erased);
            assert_eq!((erasure.bytes_done, erasure.samples), (24 << 20, 1024));
            let bytes = std::fs::read(file.path()).unwrap();
            assert!(bytes.len() == 24 * MIB && bytes.iter().all(|byte| *byte == 0));
            if overwrite {
                assert_eq!(erasure.method, Some(ErasureMethod::Overwrite));
            }
        }
    }

    #[test]
    fn tables_and_seeds_are_zero_with_the_depth_metadata() {
        let file = disk();
        let erasure = run(&file, Depth::Metadata, false);
        assert_eq!(
            (erasure.state, erasure.method),
            (ErasureState::Erased, Some(ErasureMethod::Metadata))
        );
        let is_zero = |from: usize, to: usize| {
            let mut bytes = vec![1; (to - from) * MIB];
            file.as_file()
                .read_exact_at(&mut bytes, (from * MIB) as u64)
                .unwrap();
            bytes.iter().all(|byte| *byte == 0)
        };
        assert!(is_zero(0, 8) && is_zero(12, 13) && is_zero(23, 24));
        assert!(!is_zero(9, 12) && !is_zero(14, 23), "in no partition");
    }

    #[test]
    fn what_is_no_disk_is_refused() {
        let command = |disk: &str, overwrite| EraseDiskCommand {
            disk: disk.to_owned(),
            depth: Depth::Metadata,
            overwrite,
        };
        let refusal = |command: EraseDiskCommand| command.run(&mut Vec::new()).unwrap_err().to_string();
        assert!(refusal(command("/dev/nowhere-at-all", false)).contains("cannot be used"));
        assert!(refusal(command("/dev/sda", true)).contains("--depth full"));
    }
}
