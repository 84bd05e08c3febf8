//! SSH on the Muster live image, by OpenSSH's client.

#![expect(clippy::unwrap_used, reason = "a test stops where it goes wrong")]

use std::net::TcpStream;
use std::path::PathBuf;
use std::process::Output;
use std::time::Duration;

use crate::process::{command, output_of_silent_user, run};
use crate::qemu::Running;
use crate::rest::inventory;
use serde_json::json;
use tempfile::TempDir;

use crate::discovery::{Discovery, interface};

/// Many times the duration of a key exchange on an emulated machine.
const LIMIT: Duration = Duration::from_secs(300);

/// A key pair of a user.
pub struct Key {
    folder: TempDir,
}

impl Key {
    pub fn generate() -> Self {
        let key = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        let mut generate = command("ssh-keygen");
        run(generate
            .args(["-q", "-t", "ed25519", "-N", "", "-f"])
            .arg(key.file("id")));
        key
    }

    pub fn public(&self) -> String {
        std::fs::read_to_string(self.file("id.pub")).unwrap()
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Logs in with this key only; accepts any key of the host at the first time, and no other from then on.
    fn ssh(&self, options: &[&str], user: &str, address: &str, script: &str) -> Output {
        let known = format!("UserKnownHostsFile={}", self.file("known_hosts").display());
        let mut ssh = command("ssh");
        ssh.args([
            "-F",
            "none",
            "-o",
            "BatchMode=yes",
            "-o",
            "IdentitiesOnly=yes",
            "-o",
            &known,
        ])
        .args([
            "-o",
            "StrictHostKeyChecking=accept-new",
            "-o",
            "ConnectTimeout=240",
        ])
        .args(options)
        .arg("-i")
        .arg(self.file("id"))
        .arg(format!("{user}@{address}"))
        .arg(script);
        // At the end of its input the server would hang up a terminal before the script has run.
        output_of_silent_user(&mut ssh, LIMIT)
    }

    /// Runs a script on the machine as root.
    pub fn run(&self, discovery: &Discovery, script: &str) -> Output {
        self.run_at(&address(discovery), script)
    }

    /// Runs a script as root on the machine that has this address.
    pub fn run_at(&self, address: &str, script: &str) -> Output {
        self.ssh(&[], "root", address, script)
    }

    /// Forgets the keys of hosts: a machine has another one from each boot on.
    pub fn forget_hosts(&self) {
        // There is no file before the first login.
        let _ = std::fs::remove_file(self.file("known_hosts"));
    }

    /// Fingerprint of the host's key that was seen at the first login.
    fn fingerprint_seen(&self) -> String {
        let mut list = command("ssh-keygen");
        let listed = run(list.arg("-lf").arg(self.file("known_hosts")));
        listed.split(' ').nth(1).unwrap().to_owned()
    }
}

/// Asserts that the holder of `key` can log in, with and without a terminal, to the machine's own host key; and that
/// neither the holder of `other` nor a user with a password can.
#[track_caller]
pub fn assert_only_lets_in(discovery: &Discovery, machine: &mut Running, key: &Key, other: &Key) {
    let address = address(discovery);
    let text = |output: &Output| String::from_utf8_lossy(&output.stdout).into_owned();
    let seen = key.ssh(
        &[],
        "root",
        &address,
        "id -u; cat /proc/1/comm; muster-agent inventory",
    );
    assert!(seen.status.success(), "{seen:?}");
    let shown = text(&seen);
    assert!(
        shown.starts_with("0\ninit\n") && shown.contains("ACME-0001"),
        "{shown}"
    );
    let with_terminal = key.ssh(&["-tt"], "core", &address, "tty; id -u");
    assert_eq!(text(&with_terminal), "/dev/pts/0\r\n0\r\n", "{with_terminal:?}");
    let line = machine.await_serial("ssh \\| log in as root or core with your key");
    let fingerprint = key.fingerprint_seen();
    assert!(fingerprint.starts_with("SHA256:"), "{fingerprint}");
    assert!(
        machine.console().text().contains(&fingerprint),
        "{fingerprint} is not {line}"
    );
    for (who, user) in [(other, "root"), (other, "core")] {
        let refused = who.ssh(&[], user, &address, "true");
        let why = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!(refused.status.code(), Some(255), "{refused:?}");
        assert!(why.contains("Permission denied (publickey)"), "{why}");
    }
}

/// Asserts that no SSH server runs on a machine of an InfraEnv without a key.
#[track_caller]
pub fn assert_nobody_is_let_in(discovery: &Discovery) {
    let address = format!("{}:22", address(discovery)).parse().unwrap();
    let error = TcpStream::connect_timeout(&address, LIMIT).expect_err("there is a server");
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionRefused, "{error}");
}

/// The address of the machine's first card, in the test's own segment.
fn address(discovery: &Discovery) -> String {
    let hosts = discovery.client().hosts(discovery.infra_env.id).unwrap();
    let inventory = inventory(&hosts[0]).unwrap();
    let card = interface(&inventory, crate::discovery::MACS[0]);
    let (address, _) = card.ipv4_addresses[0].split_once('/').unwrap();
    address.to_owned()
}

impl Discovery {
    /// Sets the InfraEnv's SSH key.
    pub fn allow(&self, key: &Key) {
        let change = json!({"ssh_authorized_key": key.public()});
        self.client()
            .update_infra_env(self.infra_env.id, &change)
            .unwrap();
    }
}
