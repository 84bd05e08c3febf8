//! Writes the image to the claimed disk in up to three attempts, places the configuration, and makes the disk bootable as the
//! last act.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use muster_api::host::HostStage;
use muster_api::steps::Seed;
use tokio::task::JoinError;
use tokio::time::{Instant, MissedTickBehavior};
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

use super::boot::config::BootConfig;
use super::boot::mounted::Mounted;
use super::boot::partition;
use super::disk::choose::Chosen;
use super::disk::{teardown, wipe};
use super::error::InstallError;
use super::image::copy::{Copy, Counts, Prepare};
use super::image::download::Downloads;
use super::image::error::ImageError;
use super::image::head::Head;
use super::image::source::Source;
use super::image::verify;
use super::image::write::{Target, Written};
use super::progress::{Percent, Reporter};
use super::seed::{others, place, volume};
use crate::gpt::Table;
use crate::root::Root;
use crate::step::Running;

/// Source: docs/protocol/install-flow.md#2, line 8.
const ATTEMPTS: u32 = 3;
/// A digest that is wrong twice is no accident.
const ATTEMPTS_AT_DIGEST: u32 = 2;
const TICK: Duration = Duration::from_millis(500);
/// A slow medium must still show progress: the service's limit is half an hour without a change.
const SLOW: Duration = Duration::from_secs(10 * 60);
/// Longest duration of all attempts: the step may take ten hours.
const LONGEST: Duration = Duration::from_secs(6 * 60 * 60);
/// Longest wait for the boot partition: two mounts and some small files.
const PLACING: Duration = Duration::from_secs(10 * 60);

/// The configuration of the image's first boot.
pub enum FirstBoot {
    /// For the boot partition of a CoreOS.
    CoreOs(BootConfig),
    /// For a partition of its own, behind those of the image.
    CloudInit {
        seed: Seed,
        /// This machine was started by UEFI.
        uefi: bool,
    },
}

/// An image on the disk that does not boot yet.
#[derive(Debug)]
pub struct Placed {
    written: Written,
    chosen: Chosen,
}

/// The parts of one writing.
pub struct Writing<'a> {
    pub downloads: &'a Downloads,
    pub source: &'a Source,
    pub chosen: &'a Chosen,
    pub first_boot: FirstBoot,
    pub reporter: &'a Reporter,
    pub stop: &'a CancellationToken,
    /// Held by threads that outlive the step's task.
    pub running: Arc<Running>,
}

impl Writing<'_> {
    /// Writes the image and its configuration.
    ///
    /// # Errors
    /// [`InstallError`]; the disk does not boot when it was written to.
    pub async fn run(self) -> Result<Placed, InstallError> {
        let mut percent = Percent::default();
        let mut attempt = 1;
        let deadline = Instant::now() + LONGEST;
        let written = loop {
            match self.attempt(&mut percent, deadline).await {
                Ok(written) => break written,
                Err(ImageError::Stopped) => return Err(InstallError::Stopped),
                Err(ImageError::Prepare(error)) if attempt == 1 => return Err(error),
                Err(ImageError::Prepare(error)) => {
                    return Err(InstallError::NotWrittenAgain {
                        device: self.chosen.disk.id.clone(),
                        reason: error.to_string(),
                    });
                }
                Err(error) => {
                    let most = if matches!(error, ImageError::Digest { .. }) {
                        ATTEMPTS_AT_DIGEST
                    } else {
                        ATTEMPTS
                    };
                    if !error.may_pass() || attempt >= most {
                        return Err(InstallError::NotWritten {
                            device: self.chosen.disk.id.clone(),
                            reason: error.to_string(),
                            attempts: attempt,
                        });
                    }
                    warn!(attempt, "the image is written again: {error}");
                    attempt += 1;
                }
            }
        };
        let mut placed = Placed {
            written,
            chosen: self.chosen.clone(),
        };
        let (first_boot, running) = (self.first_boot, self.running);
        blocking(running, Some(PLACING), move || {
            let result = match &first_boot {
                FirstBoot::CoreOs(config) => placed.place(config),
                FirstBoot::CloudInit { seed, .. } => placed.place_seed(seed),
            };
            result.map(|()| placed)
        })
        .await
    }

    async fn attempt(&self, percent: &mut Percent, deadline: Instant) -> Result<Written, ImageError> {
        let counts = Arc::<Counts>::default();
        let copy = Copy {
            downloads: self.downloads,
            source: self.source,
            sector: self.chosen.disk.sector,
            disk: self.chosen.disk.size,
            prepare: self.prepare(),
            counts: Arc::clone(&counts),
            stop: self.stop,
        };
        let waits = |text: &str| self.reporter.tell(HostStage::WritingImageToDisk, text);
        let running = copy.run(waits);
        tokio::pin!(running);
        let mut tick = tokio::time::interval(TICK);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut told = (Instant::now(), 0);
        loop {
            tokio::select! {
                done = &mut running => {
                    let written = done?;
                    if let Some(text) = percent.worth(1, 1) {
                        self.reporter.tell(HostStage::WritingImageToDisk, text);
                    }
                    return Ok(written);
                }
                _ = tick.tick() => {}
            }
            if Instant::now() >= deadline {
                return Err(ImageError::Deadline(LONGEST.as_secs()));
            }
            let text = counts.done().and_then(|(part, whole)| percent.worth(part, whole));
            let slow = told.0.elapsed() >= SLOW && counts.bytes() != told.1;
            let text = text.or_else(|| slow.then(|| format!("{} MiB", counts.bytes() >> 20)));
            if let Some(text) = text {
                self.reporter.tell(HostStage::WritingImageToDisk, text);
                told = (Instant::now(), counts.bytes());
            }
        }
    }

    /// Claims and clears the disk once the image has begun well.
    fn prepare(&self) -> Prepare {
        let chosen = self.chosen.clone();
        let running = Arc::clone(&self.running);
        let takes_seed = match self.first_boot {
            FirstBoot::CoreOs(_) => None,
            FirstBoot::CloudInit { uefi, .. } => Some(uefi),
        };
        Arc::new(move |head: &Head| {
            let _running = &running;
            let root = Root::live();
            let disk = &chosen.disk;
            if let Some(uefi) = takes_seed {
                place::check(head, disk.sector, disk.size, uefi)?;
                others::check(&root, &disk.name, &chosen.twins)?;
            }
            let file = teardown::claim(&root, disk, &chosen.twins)?;
            let target = Target {
                file,
                name: disk.name.clone(),
                size: disk.size,
            };
            let cleared = teardown::clear(&root, disk, &target.file);
            cleared.map_err(|source| target.error("written", 0, source))?;
            info!(disk = disk.name, "claimed, and cleared of tables and signatures");
            Ok(target)
        })
    }
}

impl Placed {
    fn not_configured(&self, error: &io::Error) -> InstallError {
        InstallError::NotConfigured {
            device: self.chosen.disk.id.clone(),
            reason: error.to_string(),
        }
    }

    /// Adds the partition with the seed, and reads it back.
    fn place_seed(&mut self, seed: &Seed) -> Result<(), InstallError> {
        let sector = self.chosen.disk.sector;
        let placed = volume::volume(seed, sector)
            .and_then(|volume| place::put(&self.written.target, &mut self.written.head, sector, &volume));
        placed.map_err(|error| self.not_configured(&error))
    }

    /// Puts the configuration on the boot partition, and reads it back.
    fn place(&self, config: &BootConfig) -> Result<(), InstallError> {
        let failed = |error: io::Error| self.not_configured(&error);
        let node = self.chosen.disk.node();
        let (boot, kind) =
            partition::find(&self.written.target.file, &self.written.head.table).map_err(failed)?;
        let mounted = Mounted::new(&node, &boot, kind, false).map_err(failed)?;
        let written = config.write(mounted.place()).map_err(failed)?;
        mounted.end().map_err(failed)?;
        let mounted = Mounted::new(&node, &boot, kind, true).map_err(failed)?;
        let is_there = written.is_there(mounted.place()).map_err(failed)?;
        mounted.end().map_err(failed)?;
        if is_there {
            Ok(())
        } else {
            Err(failed(io::Error::other(
                "the disk gives back another ignition, network configuration or boot entry than was written",
            )))
        }
    }

    /// The image's partitions.
    pub fn table(&self) -> &Table {
        &self.written.head.table
    }

    /// Makes the disk bootable. Nothing is left to do on it.
    ///
    /// # Errors
    /// [`InstallError::NotBootable`]
    pub async fn seal(self, running: Arc<Running>) -> Result<(), InstallError> {
        // Without a limit: the disk may boot as soon as this has begun.
        blocking(running, None, move || {
            let target = &self.written.target;
            let sealed = verify::seal(target, &self.written.head.bytes);
            sealed.map_err(|problem| {
                if let Err(error) = wipe::unboot(&target.file, &self.chosen.disk) {
                    error!("the boot sector cannot be cleared: {error}");
                }
                InstallError::NotBootable {
                    device: self.chosen.disk.id.clone(),
                    reason: problem.to_string(),
                }
            })?;
            teardown::forget_partitions(&target.file);
            Ok(())
        })
        .await
    }
}

/// Runs work on a thread, which keeps the step from being started again, also after it is given up after `limit`.
async fn blocking<T: Send + 'static>(
    running: Arc<Running>,
    limit: Option<Duration>,
    work: impl FnOnce() -> Result<T, InstallError> + Send + 'static,
) -> Result<T, InstallError> {
    let done = tokio::task::spawn_blocking(move || {
        let _running = running;
        work()
    });
    let broke = |error: JoinError| Err(InstallError::Broken(error.to_string()));
    let Some(limit) = limit else {
        return done.await.unwrap_or_else(broke);
    };
    match tokio::time::timeout(limit, done).await {
        Ok(done) => done.unwrap_or_else(broke),
        Err(_) => Err(InstallError::Silent {
            seconds: limit.as_secs(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_disk_that_hangs_fails_the_installation_in_time() {
        let running = Arc::new(Running);
        let limit = Some(Duration::from_millis(50));
        let (release, hanging) = std::sync::mpsc::channel::<()>();
        let hangs = move || {
            let _ = hanging.recv();
            Ok(())
        };
        let failed = blocking(Arc::clone(&running), limit, hangs).await.unwrap_err();
        assert!(failed.to_string().contains("has not answered"), "{failed}");
        assert_eq!(Arc::strong_count(&running), 2);
        drop(release);
        assert_eq!(blocking(Arc::clone(&running), None, || Ok(7)).await, Ok(7));
    }
}
