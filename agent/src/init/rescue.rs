//! A shell on the consoles, only if the kernel arguments request it.

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use tracing::warn;

use crate::console::terminals::Terminal;

const BUSYBOX: &str = "/bin/busybox";
/// The shell's display; the first one shows the agent's screen.
const DISPLAY: &str = "/dev/tty2";

/// Keeps a shell running on every console. True if there is one.
pub fn start(terminals: &[Terminal]) -> bool {
    if !Path::new(BUSYBOX).exists() {
        warn!("muster.rescue is given, but the image holds no {BUSYBOX}");
        return false;
    }
    let mut devices: Vec<PathBuf> = terminals
        .iter()
        .map(|terminal| {
            if terminal.is_display() {
                PathBuf::from(DISPLAY)
            } else {
                terminal.device()
            }
        })
        .collect();
    devices.dedup();
    for device in devices {
        let name = format!("rescue {}", device.display());
        let started = std::thread::Builder::new()
            .name(name)
            .spawn(move || keep_shell(&device));
        if let Err(error) = started {
            warn!("no rescue shell: {error}");
        }
    }
    true
}

fn keep_shell(device: &Path) {
    loop {
        if let Err(error) = shell(device) {
            warn!(device = %device.display(), "rescue shell: {error}");
        }
        std::thread::sleep(Duration::from_secs(1));
    }
}

/// Runs one shell to its end, as the leader of a session with `device` as its terminal.
fn shell(device: &Path) -> std::io::Result<()> {
    let terminal = || OpenOptions::new().read(true).write(true).open(device);
    let mut child = Command::new(BUSYBOX)
        .args(["setsid", "-c", BUSYBOX, "sh", "-l"])
        .env_clear()
        .env("PATH", "/bin:/sbin:/usr/bin:/usr/sbin")
        .env("HOME", "/")
        .env("TERM", "linux")
        .env("PS1", "rescue# ")
        .stdin(Stdio::from(terminal()?))
        .stdout(Stdio::from(terminal()?))
        .stderr(Stdio::from(terminal()?))
        .spawn()?;
    match child.wait() {
        // Process 1 reaps all children and may have been first.
        Err(error) if error.raw_os_error() == Some(libc::ECHILD) => Ok(()),
        ended => ended.map(drop),
    }
}
