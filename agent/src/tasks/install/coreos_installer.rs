//! Runs the coreos-installer of the live system, if there is one and the service names no image: it brings an image of its
//! own. Source: docs/protocol/install-flow.md#6.

use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use muster_api::host::HostStage;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::Command;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::disk::choose::Chosen;
use super::disk::{teardown, wipe};
use super::error::{InstallError, Step};
use super::progress::{Percent, Reporter};
use crate::root::Root;
use crate::step::Running;

const PLACES: [&str; 3] = [
    "/usr/bin/coreos-installer",
    "/usr/sbin/coreos-installer",
    "/usr/local/bin/coreos-installer",
];
const ATTEMPTS: u32 = 3;
const PAUSE: Duration = Duration::from_secs(1);
/// Longest duration of one attempt.
const LONGEST: Duration = Duration::from_secs(2 * 60 * 60);
/// Longest silence of the program: it prints once a second.
const SILENCE: Duration = Duration::from_secs(15 * 60);
/// Length of the end of its output that is kept for the reason of a failure.
const KEPT: usize = 200;

/// The program, if this live system has it.
pub fn program() -> Option<PathBuf> {
    PLACES.iter().map(PathBuf::from).find(|path| path.is_file())
}

/// The parts of one run.
pub struct Order<'a> {
    pub program: &'a Path,
    pub chosen: &'a Chosen,
    pub ignition: &'a [u8],
    /// `installer_args` as given.
    pub arguments: &'a [String],
    pub keeps_content: bool,
    pub reporter: &'a Reporter,
    pub stop: &'a CancellationToken,
    pub running: Arc<Running>,
}

impl Order<'_> {
    /// Cleans the disk, unless partitions are to be kept, and runs the program.
    ///
    /// # Errors
    /// [`InstallError`]; the disk does not boot when it was written to.
    pub async fn run(&self) -> Result<(), InstallError> {
        self.on_disk(|order, root| {
            let file = teardown::claim(root, &order.disk, &order.twins)?;
            if !order.keeps_content {
                teardown::clear(root, &order.disk, &file).map_err(|error| InstallError::NotCleared {
                    device: order.disk.id.clone(),
                    reason: error.to_string(),
                })?;
            }
            Ok(())
        })
        .await?;
        let ignition = Ignition::put(self.ignition).map_err(|error| InstallError::Failed {
            step: Step::Ignition,
            reason: format!("the ignition cannot be kept for coreos-installer: {error}"),
        })?;
        let mut percent = Percent::default();
        let mut attempt = 1;
        loop {
            let reason = tokio::select! {
                ran = self.attempt(&ignition.0, &mut percent) => match ran {
                    Ok(()) => return Ok(()),
                    Err(reason) => reason,
                },
                () = self.stop.cancelled() => {
                    self.unboot().await;
                    return Err(InstallError::Stopped);
                }
            };
            if attempt >= ATTEMPTS {
                self.unboot().await;
                return Err(InstallError::NotBootable {
                    device: self.chosen.disk.id.clone(),
                    reason: format!("coreos-installer failed {attempt} times: {reason}"),
                });
            }
            warn!(attempt, "coreos-installer: {reason}");
            attempt += 1;
            tokio::time::sleep(PAUSE).await;
            self.is_still_free().await?;
        }
    }

    /// Waits until the program of the last attempt has released the disk, which must be the same one.
    async fn is_still_free(&self) -> Result<(), InstallError> {
        let claimed = self.on_disk(|order, root| teardown::claim(root, &order.disk, &order.twins).map(drop));
        claimed.await.map_err(|error| InstallError::NotFree {
            device: self.chosen.disk.id.clone(),
            reason: error.to_string(),
        })
    }

    async fn attempt(&self, ignition: &Path, percent: &mut Percent) -> Result<(), String> {
        let mut child = Command::new(self.program)
            .args(["install", "--insecure", "-i"])
            .arg(ignition)
            .args(self.arguments)
            .arg(self.chosen.disk.node())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| format!("it cannot be started: {error}"))?;
        info!(program = %self.program.display(), disk = self.chosen.disk.name, "started");
        let output = child.stderr.take().ok_or("its output cannot be read")?;
        let reading = follow(output, |text| {
            if let Some(text) = percent.worth(u64::from(text), 100) {
                self.reporter.tell(HostStage::WritingImageToDisk, text);
            }
        });
        let ended = tokio::time::timeout(LONGEST, async {
            let last = reading.await?;
            let status = child.wait().await.map_err(|error| error.to_string())?;
            Ok::<_, String>((last, status))
        });
        let (last, status) = ended
            .await
            .map_err(|_| format!("it did not end within {} s", LONGEST.as_secs()))??;
        if status.success() {
            Ok(())
        } else {
            Err(format!("{status}: {last}"))
        }
    }

    /// Clears the boot sector: whatever the program left, the disk does not boot. Not if partitions are to be kept, since
    /// their table would be lost, too: the program writes the bootable part last, and keeps that table when it fails.
    pub async fn unboot(&self) {
        if self.keeps_content {
            warn!(
                disk = self.chosen.disk.name,
                "partitions are to be kept: the disk stays as it is"
            );
            return;
        }
        let cleared = self
            .on_disk(|order, root| {
                let file = teardown::claim(root, &order.disk, &order.twins)?;
                wipe::unboot(&file, &order.disk).map_err(|error| InstallError::Failed {
                    step: Step::BootSector,
                    reason: error.to_string(),
                })
            })
            .await;
        if let Err(error) = cleared {
            warn!("the boot sector is not cleared: {error}");
        }
    }

    async fn on_disk(
        &self,
        work: impl FnOnce(&OnDisk, &Root) -> Result<(), InstallError> + Send + 'static,
    ) -> Result<(), InstallError> {
        let order = OnDisk {
            disk: self.chosen.disk.clone(),
            twins: self.chosen.twins.clone(),
            keeps_content: self.keeps_content,
        };
        let running = Arc::clone(&self.running);
        let done = tokio::task::spawn_blocking(move || {
            let _running = running;
            work(&order, &Root::live())
        });
        done.await
            .unwrap_or_else(|error| Err(InstallError::Broken(error.to_string())))
    }
}

/// The part of an order that threads need.
struct OnDisk {
    disk: super::disk::device::Disk,
    twins: Vec<String>,
    keeps_content: bool,
}

/// The ignition in a file that only root reads; removed when dropped.
struct Ignition(PathBuf);

impl Ignition {
    fn put(content: &[u8]) -> io::Result<Self> {
        use std::io::Write;
        let path = PathBuf::from(format!("/run/muster-install-{}.ign", std::process::id()));
        let mut file = std::fs::OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&path)?;
        file.write_all(content)?;
        Ok(Self(path))
    }
}

impl Drop for Ignition {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Reads the output of the program, and passes on each percentage; returns the end of the output.
async fn follow(mut output: impl AsyncRead + Unpin, mut tell: impl FnMut(u8)) -> Result<String, String> {
    let (mut line, mut last, mut piece) = (Vec::new(), String::new(), [0; 4096]);
    loop {
        let read = tokio::time::timeout(SILENCE, output.read(&mut piece))
            .await
            .map_err(|_| format!("it was silent for {} s", SILENCE.as_secs()))?;
        let count = read.map_err(|error| error.to_string())?;
        for byte in &piece[..count] {
            if !matches!(byte, b'\r' | b'\n') {
                line.push(*byte);
                continue;
            }
            let text = String::from_utf8_lossy(&std::mem::take(&mut line)).into_owned();
            match percentage(&text) {
                Some(percent) => tell(percent),
                None if text.trim().is_empty() => {}
                None => last.push_str(&format!("{} ", text.trim())),
            }
        }
        if count == 0 {
            last.push_str(&String::from_utf8_lossy(&line));
            let from = last.chars().count().saturating_sub(KEPT);
            return Ok(last.chars().skip(from).collect::<String>().trim().to_owned());
        }
    }
}

/// The first parenthesised percentage: `Read disk 1.0 GiB/2.0 GiB (50%)`.
fn percentage(text: &str) -> Option<u8> {
    let (before, _) = text.split_once("%)")?;
    before.rsplit_once('(')?.1.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn percentages_are_told_and_the_end_of_the_rest_is_kept() {
        let output = "Installing Fedora\n> Read disk 100.0 MiB/1.0 GiB (9%)   \rRead disk 1.0 GiB/1.0 GiB (100%)\nError: no space\nlast";
        let mut told = Vec::new();
        let last = follow(output.as_bytes(), |percent| told.push(percent))
            .await
            .unwrap();
        assert_eq!(told, [9, 100]);
        assert_eq!(last, "Installing Fedora Error: no space last");
    }

    #[test]
    fn other_lines_have_no_percentage() {
        for text in ["(x%)", "50%", "", "Read (", "(300%)"] {
            assert_eq!(percentage(text), None, "{text}");
        }
    }
}
