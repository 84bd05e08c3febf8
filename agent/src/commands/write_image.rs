//! `muster-agent write-image`: writes an image file to a disk as an installation does, without its configuration.

use std::cell::Cell;
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Context;
use clap::Args;
use tokio_util::sync::CancellationToken;

use crate::install::disk::choose::{self, Chosen, Wishes};
use crate::install::disk::teardown;
use crate::install::image::error::ImageError;
use crate::install::image::verify;
use crate::install::image::write::{self, Order, Target};
use crate::inventory;
use crate::root::Root;

/// Write an image of a whole disk (raw, gz, xz, zst) to a disk, and read it back. EVERYTHING ON THE DISK IS LOST; a disk in
/// use is refused
#[derive(Debug, Args)]
pub struct WriteImageCommand {
    /// The image file
    image: PathBuf,
    /// Any name of the disk: /dev/sda, /dev/disk/by-id/...
    disk: String,
}

/// Durations of the parts.
struct Durations {
    clean: Duration,
    write: Duration,
    read_back: Duration,
}

impl WriteImageCommand {
    /// Runs the command; one line of JSON goes to `output`.
    ///
    /// # Errors
    /// Fails if the disk is refused, or if the image is not on it whole; then it does not boot.
    pub fn run(self, output: &mut impl Write) -> anyhow::Result<()> {
        let root = Root::live();
        let wishes = Wishes {
            boot_device: self.disk.clone(),
            ..Wishes::default()
        };
        let chosen = choose::choose(&root, &inventory::listed_disks(&root), &wishes)?;
        let image = File::open(&self.image).with_context(|| self.image.display().to_string())?;
        let (bytes, took) = write_to(&root, &chosen, image)?;
        let rate = |took: Duration| bytes as f64 / 1e6 / took.as_secs_f64().max(1e-9);
        let line = serde_json::json!({
            "bytes": bytes,
            "clean_s": took.clean.as_secs_f64(),
            "write_s": took.write.as_secs_f64(),
            "write_mb_per_s": rate(took.write),
            "read_back_s": took.read_back.as_secs_f64(),
            "read_back_mb_per_s": rate(took.read_back),
        });
        writeln!(output, "{line}")?;
        Ok(())
    }
}

fn write_to(root: &Root, chosen: &Chosen, image: File) -> Result<(u64, Durations), ImageError> {
    let disk = &chosen.disk;
    let stop = CancellationToken::new();
    let order = Order {
        format: None,
        sector: disk.sector,
        disk: disk.size,
        with_sha256: false,
        stop: &stop,
    };
    let (began, cleaned) = (Cell::new(Instant::now()), Cell::new(Duration::ZERO));
    let prepare = |_: &crate::install::image::head::Head| {
        let start = Instant::now();
        let target = Target {
            file: teardown::claim(root, disk, &chosen.twins)?,
            name: disk.name.clone(),
            size: disk.size,
        };
        let cleared = teardown::clear(root, disk, &target.file);
        cleared.map_err(|source| target.error("written", 0, source))?;
        cleaned.set(start.elapsed());
        began.set(Instant::now());
        Ok(target)
    };
    let (written, _) = write::write(image, &order, prepare)?;
    let write = began.get().elapsed();
    let began = Instant::now();
    verify::read_back(&written, &stop, |_| {})?;
    let read_back = began.elapsed();
    verify::seal(&written.target, &written.head.bytes)?;
    teardown::forget_partitions(&written.target.file);
    let took = Durations {
        clean: cleaned.get(),
        write,
        read_back,
    };
    Ok((written.size, took))
}
