//! Allows logins by SSH with the public keys that the image carries; without a key no server runs. The server is Debian's
//! dropbear, a process of its own: it and its sessions outlive a handover to another agent.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::Context as _;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use nix::errno::Errno;
use nix::sys::wait::waitpid;
use nix::unistd::Pid;
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use sha2::{Digest as _, Sha256};
use tokio::sync::watch;
use tracing::warn;

const SERVER: &str = "/usr/sbin/dropbear";
const FOLDER: &str = "/run/dropbear";
const HOST_KEY: &str = "/run/dropbear/host-key";
/// SHA-256 of the public host key, as clients show it.
const FINGERPRINT: &str = "/run/dropbear/fingerprint";
const PROCESS_ID: &str = "/run/dropbear/pid";
const HOME: &str = "/root";
const ALGORITHM: &[u8] = b"ssh-ed25519";

/// `core` is the user of CoreOS images, and scripts use that name.
const USERS: &str = "root:x:0:0:root:/root:/bin/sh\ncore:x:0:0:core:/root:/bin/sh\n";
const MOTD: &str = "This host is being discovered by Muster. Everything here is in memory and ends with a restart.\n\
    dmesg shows the messages of the agent and the kernel, muster-agent inventory what the host reports.\n";

/// Runs the server until it ends; without keys, waits for ever. `shown` is the line for the screen.
///
/// # Errors
/// Fails if its files cannot be written or it does not start.
pub async fn serve(keys: &[String], shown: &watch::Sender<String>) -> anyhow::Result<()> {
    if keys.is_empty() {
        return std::future::pending().await;
    }
    if !Path::new(SERVER).exists() {
        warn!("the InfraEnv names SSH keys, but this image holds no {SERVER}");
        shown.send_replace("nobody can log in: this image is older than its SSH keys".to_owned());
        return std::future::pending().await;
    }
    let keys = keys.join("\n") + "\n";
    let server = tokio::task::spawn_blocking(move || -> anyhow::Result<Pid> {
        prepare(&keys)?;
        match running() {
            Some(server) => Ok(server),
            None => start().with_context(|| format!("{SERVER} does not start")),
        }
    });
    let server = server.await??;
    let fingerprint = fs::read_to_string(FINGERPRINT)?;
    shown.send_replace(format!(
        "log in as root or core with your key; this host's is {fingerprint}"
    ));
    tokio::task::spawn_blocking(move || await_end(server)).await?;
    shown.send_replace(String::new());
    Ok(())
}

/// Writes the files that a login needs.
fn prepare(keys: &str) -> anyhow::Result<()> {
    let folder = Path::new(HOME).join(".ssh");
    for (path, mode) in [
        (Path::new("/etc"), 0o755),
        (Path::new(HOME), 0o700),
        (&folder, 0o700),
        (Path::new(FOLDER), 0o700),
    ] {
        fs::create_dir_all(path)?;
        fs::set_permissions(path, Permissions::from_mode(mode))?;
    }
    fs::write("/etc/passwd", USERS)?;
    fs::write("/etc/group", "root:x:0:\n")?;
    fs::write("/etc/motd", MOTD)?;
    private(&folder.join("authorized_keys"), keys.as_bytes())?;
    if !Path::new(FINGERPRINT).exists() {
        let key = HostKey::of(rand::random());
        private(Path::new(HOST_KEY), &key.file)?;
        fs::write(FINGERPRINT, key.fingerprint)?;
    }
    Ok(())
}

fn private(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)?;
    io::Write::write_all(&mut file, content)
}

/// The server that a previous agent started.
fn running() -> Option<Pid> {
    let id: i32 = fs::read_to_string(PROCESS_ID).ok()?.trim().parse().ok()?;
    let name = fs::read_to_string(format!("/proc/{id}/comm")).ok()?;
    (name.trim() == "dropbear").then(|| Pid::from_raw(id))
}

/// Starts it in the foreground (`-F`), without passwords (`-s`); its log (`-E`) goes to the kernel's, as the agent's own.
fn start() -> io::Result<Pid> {
    let log = File::options().write(true).open("/dev/kmsg")?;
    let child = Command::new(SERVER)
        .args(["-F", "-E", "-s", "-p", "22", "-r", HOST_KEY, "-P", PROCESS_ID])
        .env_clear()
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()?;
    Ok(Pid::from_raw(child.id().cast_signed()))
}

/// Blocks until the process has ended, whichever thread reaps it.
fn await_end(server: Pid) {
    while waitpid(server, None) == Err(Errno::EINTR) {}
}

/// A host key in dropbear's format, and its fingerprint.
struct HostKey {
    file: Vec<u8>,
    fingerprint: String,
}

impl HostKey {
    fn of(seed: [u8; 32]) -> Self {
        let pair = Ed25519KeyPair::from_seed_unchecked(&seed).expect("any 32 bytes are the seed of a key");
        let public = pair.public_key().as_ref();
        let blob = [string(ALGORITHM), string(public)].concat();
        Self {
            file: [string(ALGORITHM), string(&[&seed, public].concat())].concat(),
            fingerprint: format!("SHA256:{}", STANDARD_NO_PAD.encode(Sha256::digest(blob))),
        }
    }
}

/// A `string` of the SSH protocol: its length, 4 bytes, big-endian, then the bytes.
fn string(bytes: &[u8]) -> Vec<u8> {
    let length = u32::try_from(bytes.len()).expect("a key is short");
    [&length.to_be_bytes(), bytes].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of `dropbearkey -t ed25519` and `dropbearkey -y` (2022.83).
    #[test]
    fn the_host_key_is_written_as_dropbear_writes_it_and_shown_as_clients_show_it() {
        let seed = *b"SEEDSEEDSEEDSEEDSEEDSEEDSEEDSEED";
        let key = HostKey::of(seed);
        assert_eq!(key.file.len(), 83);
        assert!(key.file.starts_with(b"\0\0\0\x0bssh-ed25519\0\0\0\x40"));
        assert_eq!(
            key.fingerprint,
            "SHA256:QZiljKzXkR9ZeP8HcV1WbHDDHH/Kn6KBzz71UAljWhk"
        );
    }
}
