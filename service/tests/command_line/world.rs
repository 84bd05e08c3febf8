//! A service of one test, and commands with output that does not depend on ports, folders and ids.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use muster_tests::http::HttpClient;
use muster_tests::process::{Program, command};
use muster_tests::service::SERVE_ON_FREE_PORTS;
use regex::Regex;
use serde_json::{Value, json};
use tempfile::TempDir;

/// Time limit of a service's start.
const START_LIMIT: Duration = Duration::from_secs(60);

/// A running service.
pub struct World {
    _service: Program,
    pub folder: TempDir,
    pub url: String,
    pub boot_url: String,
    /// Placeholders in golden files for texts that differ each time.
    names: Vec<(String, &'static str)>,
}

impl World {
    /// A service with more options of `muster serve`.
    pub fn start(more: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self::start_in(folder, more)
    }

    /// A service in a folder with files that the options name.
    pub fn start_in(folder: TempDir, more: &[&str]) -> Self {
        let mut serve = command(env!("CARGO_BIN_EXE_muster"));
        clear(&mut serve);
        serve.args(SERVE_ON_FREE_PORTS);
        if !more.contains(&"--data-dir") {
            serve.arg("--data-dir").arg(folder.path().join("data"));
        }
        serve.args(["--live-image", "/nonexistent/live.iso"]).args(more);
        let mut service = Program::start("muster serve", &mut serve, &folder.path().join("log"));
        let url = service.await_output(r"listening on (https?://\S+)", START_LIMIT);
        let boot_url = service.await_output(r"boot artifacts on (http://\S+)", START_LIMIT);
        service.await_output("Next, in another terminal", START_LIMIT);
        let names = vec![
            (url.clone(), "URL"),
            (boot_url.clone(), "BOOT-URL"),
            (port(&url), "PORT"),
            (port(&boot_url), "BOOT-PORT"),
            (folder.path().display().to_string(), "FOLDER"),
        ];
        Self {
            _service: service,
            folder,
            url,
            boot_url,
            names,
        }
    }

    /// A client of REST without a token.
    pub fn rest(&self) -> HttpClient {
        HttpClient::new(&self.url)
    }

    /// The path of a file with that content.
    pub fn file(&self, name: &str, content: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        fs::write(&path, content).unwrap();
        path
    }

    /// A command with the service in `MUSTER_URL`, in a terminal of 80 columns.
    pub fn muster(&self, arguments: &[&str]) -> Command {
        let mut muster = program(self.folder.path());
        muster.env("MUSTER_URL", &self.url).args(arguments);
        muster
    }

    /// The text for a golden file: the command, its output, its errors, its exit code.
    pub fn transcript(&self, mut muster: Command) -> String {
        let output = muster.output().unwrap();
        let arguments: Vec<String> = muster
            .get_args()
            .map(|word| shell_word(&word.to_string_lossy()))
            .collect();
        let text = format!(
            "$ muster {}\n{}{}exit code {}\n",
            arguments.join(" "),
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr),
            output.status.code().unwrap_or(-1),
        );
        assert!(
            !text.contains("panicked") && !text.contains("stack backtrace"),
            "{text}"
        );
        self.stable(&text)
    }

    /// Standard output of a command that succeeds.
    #[track_caller]
    pub fn prints(&self, arguments: &[&str]) -> String {
        let output = self.muster(arguments).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {errors}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn stable(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (found, name) in &self.names {
            text = text.replace(found, name);
        }
        let id = Regex::new("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}").unwrap();
        let mut seen = HashMap::new();
        let text = id.replace_all(&text, |found: &regex::Captures<'_>| {
            let id = found[0].to_owned();
            if id.starts_with("00000000-") {
                return id;
            }
            let number = seen.len() + 1;
            format!("ID-{}", seen.entry(id).or_insert(number))
        });
        let boot = Regex::new("/boot/[A-Za-z0-9_-]{20,}/").unwrap();
        let ago = Regex::new(r"\d+s ago").unwrap();
        let text = boot.replace_all(&text, "/boot/BOOT-ID/");
        let text = ago.replace_all(&text, "0s ago");
        let time = Regex::new(r"20\d\d-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?Z?").unwrap();
        let text = time.replace_all(&text, "TIME").into_owned();
        text.lines()
            .map(|line| format!("{}\n", line.trim_end()))
            .collect()
    }

    /// Creates an InfraEnv by REST; returns its path below the API.
    pub fn infra_env(&self, name: &str) -> String {
        let body = json!({"name": name, "pull_secret": muster_tests::rest::PULL_SECRET});
        let made = self.rest().post("/infra-envs", &body).expect(201).json();
        format!("/infra-envs/{}", made["id"].as_str().unwrap())
    }

    /// Registers the simulated host number `n` with an inventory; returns its path below the API.
    pub fn host(&self, infra_env: &str, n: u64, name: &str) -> String {
        self.host_with_agent(infra_env, n, name, "muster-agent/0.1.0")
    }

    /// The same with an agent of that version.
    pub fn host_with_agent(&self, infra_env: &str, n: u64, name: &str, agent: &str) -> String {
        let id = format!("00000000-0000-4000-8000-{n:012x}");
        let client = self.rest();
        let body = json!({"host_id": id, "discovery_agent_version": agent});
        client.post(&format!("{infra_env}/hosts"), &body).expect(201);
        let host = format!("{infra_env}/hosts/{id}");
        let reply = json!({"step_type": "inventory", "step_id": "inventory-1", "exit_code": 0,
            "output": inventory(n, name).to_string(), "error": ""});
        client.post(&format!("{host}/instructions"), &reply).expect(204);
        host
    }
}

/// `muster` without the variables of this process that it would read.
pub fn program(home: &Path) -> Command {
    let mut muster = Command::new(env!("CARGO_BIN_EXE_muster"));
    muster
        .env_clear()
        .env("HOME", home)
        .env("COLUMNS", "80")
        .env("RUST_BACKTRACE", "1")
        .current_dir(home)
        .stdin(Stdio::null());
    muster
}

fn clear(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("MUSTER_") {
            command.env_remove(name);
        }
    }
}

fn port(url: &str) -> String {
    url.rsplit(':').next().unwrap().to_owned()
}

fn shell_word(word: &str) -> String {
    match word.contains([' ', '{', '*']) || word.is_empty() {
        true => format!("'{word}'"),
        false => word.to_owned(),
    }
}

/// A good server's inventory, the host number `n`.
fn inventory(n: u64, name: &str) -> Value {
    let disk = |name: &str, bytes: u64| {
        json!({
            "id": format!("/dev/disk/by-id/wwn-{name}"), "name": name, "path": format!("/dev/{name}"),
            "by_id": format!("/dev/disk/by-id/wwn-{name}"), "drive_type": "SSD", "size_bytes": bytes,
            "serial": format!("S-{n}-{name}"), "vendor": "ACME", "model": "D1", "wwn": format!("0x{name}"),
            "installation_eligibility": {"eligible": true, "not_eligible_reasons": []},
        })
    };
    json!({
        "hostname": name, "bmc_address": "192.0.2.250", "bmc_v6address": "::/0",
        "cpu": {"count": 8, "architecture": "x86_64", "model_name": "Test CPU", "frequency": 2400.0,
                "flags": ["vmx", "sse4_2", "ssse3", "popcnt"]},
        "memory": {"physical_bytes": 34_359_738_368_u64, "usable_bytes": 33_359_738_368_u64,
                   "physical_bytes_method": "dmidecode"},
        "disks": [disk("sda", 480_000_000_000), disk("sdb", 8_000_000_000)],
        "interfaces": [{
            "name": "eth0", "mac_address": format!("02:00:00:00:00:{:02x}", n & 0xff),
            "ipv4_addresses": [format!("198.51.100.{n}/24")], "ipv6_addresses": [], "flags": ["up", "broadcast"],
            "has_carrier": true, "mtu": 1500, "speed_mbps": 1000, "type": "physical",
        }],
        "routes": [{"interface": "eth0", "destination": "0.0.0.0", "gateway": "198.51.100.1", "family": 2, "metric": 100}],
        "system_vendor": {"manufacturer": "ACME", "product_name": "Server 1", "serial_number": format!("SN-{n}")},
        "boot": {"current_boot_mode": "uefi", "secure_boot_state": "Enabled"},
        "gpus": [], "timestamp": 1_760_000_000, "tpm_version": "none",
    })
}
