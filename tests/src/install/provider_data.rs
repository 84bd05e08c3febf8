//! Bootstrap data in the shapes of providers whose modules cannot be had here: RKE2 and k0smotron, in each format and role. Written from
//! docs/protocol/capi-day1.md#2, not rendered by them; kubeadm's own are in docs/protocol/bootstrap. Addresses, tokens and keys are made up.

use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// What a machine becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    FirstControlPlane,
    ControlPlane,
    Worker,
}

/// What the data is for, and what is to become of it.
#[derive(Debug, Clone)]
pub struct Sample {
    /// Provider, format, role and what is special about it, for messages.
    pub name: String,
    pub text: String,
    /// The beginning of the member by which it is refused; `None`: it is taken.
    pub refused: Option<&'static str>,
}

/// One of each provider, format, role and variant, with texts, modes, users and commands that depend on `seed` alone.
pub fn samples(seed: u64) -> Vec<Sample> {
    let mut made = Made::of(seed);
    let mut samples = Vec::new();
    for role in [Role::FirstControlPlane, Role::ControlPlane, Role::Worker] {
        let mut add = |what: &str, text: String, refused| {
            samples.push(Sample {
                name: format!("{what}, {role:?}, seed {seed}"),
                text,
                refused,
            });
        };
        add("RKE2 cloud-config", rke2_cloud_config(&mut made, role), None);
        let (plain, flatcar) = (
            rke2_ignition(&mut made, role, false),
            rke2_ignition(&mut made, role, true),
        );
        add("RKE2 Ignition packed", packed(&flatcar), None);
        add("RKE2 Ignition for Flatcar", flatcar.to_string(), None);
        add(
            "RKE2 Ignition packed for MicroOS",
            packed(&plain),
            Some("ignition.config.replace"),
        );
        add(
            "RKE2 Ignition for MicroOS",
            plain.to_string(),
            Some("storage.filesystems"),
        );
        for variant in [Custom::None, Custom::Second, Custom::Set] {
            let text = k0smotron_cloud_config(&mut made, role, variant);
            add(&format!("k0smotron cloud-config {variant:?}"), text, None);
        }
        add("k0smotron Ignition", k0smotron_ignition(&mut made, role, 1), None);
        add(
            "k0smotron Ignition of two",
            k0smotron_ignition(&mut made, role, 2),
            None,
        );
    }
    samples
}

/// Texts and numbers that look like any.
struct Made {
    state: [u8; 32],
}

impl Made {
    fn of(seed: u64) -> Self {
        Self {
            state: Sha256::digest(seed.to_be_bytes()).into(),
        }
    }

    fn number(&mut self, below: usize) -> usize {
        self.state = Sha256::digest(self.state).into();
        let bytes = [self.state[0], self.state[1], self.state[2], self.state[3]];
        usize::try_from(u32::from_be_bytes(bytes)).expect("32 bits fit") % below
    }

    fn one_of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.number(all.len())]
    }

    /// A line of a file, with what YAML, shells and JSON have to keep apart; nothing that is jinja.
    fn line(&mut self) -> String {
        const PARTS: [&str; 16] = [
            "token: K10abc::server:def",
            "# ",
            "\"quoted\"",
            "it's",
            "$HOME",
            "100%",
            "back\\slash",
            "äöü",
            "a: b",
            "- item",
            "key=value",
            "{a: 1}",
            "[x]",
            "|",
            "&& true",
            "  ",
        ];
        (0..=self.number(3))
            .map(|_| self.one_of(&PARTS))
            .collect::<Vec<_>>()
            .join(" ")
    }

    fn lines(&mut self) -> Vec<String> {
        (0..=self.number(4)).map(|_| self.line()).collect()
    }

    fn mode(&mut self) -> &'static str {
        self.one_of(&["0600", "0640", "0644", "0700", "0755"])
    }
}

/// An entry of `write_files`, as both providers write it: the content is a block with six blanks.
fn file(path: &str, mode: &str, owner: Option<&str>, lines: &[String]) -> String {
    let owner = owner.map_or_else(String::new, |owner| format!("    owner: {owner}\n"));
    let content: String = lines.iter().map(|line| format!("      {line}\n")).collect();
    format!(
        "-   path: {path}\n{owner}    permissions: '{mode}'\n    content: |\n      # made\n{content}      \n"
    )
}

fn rke2_config(role: Role) -> Vec<String> {
    let mut lines = vec!["token: made-up-token".to_owned()];
    if role != Role::FirstControlPlane {
        lines.push("server: https://192.0.2.100:9345".to_owned());
    }
    if role != Role::Worker {
        lines.extend(["tls-san:", "  - 192.0.2.100", "cni:", "  - canal"].map(str::to_owned));
    }
    lines
}

/// Files of RKE2: path, mode, lines.
fn rke2_files(made: &mut Made, role: Role) -> Vec<(String, String, Vec<String>)> {
    let mut files = vec![
        (
            "/etc/rancher/rke2/config.yaml".to_owned(),
            "0640".to_owned(),
            rke2_config(role),
        ),
        (
            "/run/cluster-api/placeholder".to_owned(),
            "0640".to_owned(),
            vec!["placeholder".to_owned()],
        ),
    ];
    if role == Role::FirstControlPlane {
        for name in ["server-ca", "client-ca", "etcd/server-ca"] {
            let path = format!("/var/lib/rancher/rke2/server/tls/{name}.crt");
            files.push((path, "0640".to_owned(), made.lines()));
        }
    }
    let (path, mode) = (
        format!("/etc/made/file-{}", made.number(1000)),
        made.mode().to_owned(),
    );
    files.push((path, mode, made.lines()));
    files
}

fn rke2_commands(made: &mut Made, role: Role) -> Vec<String> {
    let kind = if role == Role::Worker { "agent" } else { "server" };
    vec![
        made.one_of(&["swapoff -a", "sysctl --system", "echo 'pre: command'"])
            .to_owned(),
        format!(
            "curl -sfL https://get.rke2.io | INSTALL_RKE2_VERSION=v1.34.4+rke2r1 INSTALL_RKE2_TYPE={kind} sh -s -"
        ),
        format!("systemctl enable rke2-{kind}.service"),
        format!("systemctl start rke2-{kind}.service"),
        "mkdir -p /run/cluster-api && echo success > /run/cluster-api/bootstrap-success.complete".to_owned(),
    ]
}

fn rke2_cloud_config(made: &mut Made, role: Role) -> String {
    let mut text = "## template: jinja\n#cloud-config\n\nwrite_files:\n".to_owned();
    for (path, mode, lines) in rke2_files(made, role) {
        text += &file(&path, &mode, Some("root:root"), &lines);
    }
    let packed = STANDARD.encode(gzip(made.lines().join("\n").as_bytes()));
    text += "-   path: /etc/made/packed\n    owner: root:root\n    permissions: '0640'\n";
    text += &format!("    encoding: gzip+base64\n    content: {packed}\n");
    if made.number(2) == 0 {
        text += "ntp:\n  enabled: true\n  servers:\n  - \"ntp.example.com\"\n";
    }
    if made.number(2) == 0 {
        text += "users:\n- name: operator\n  sudo: ALL=(ALL) NOPASSWD:ALL\n  shell: /bin/bash\n  ssh_authorized_keys:\n  - ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIMadeUpMadeUpMadeUpMadeUpMadeUpMadeUpMade made-up\n";
    }
    text += "runcmd:\n";
    for command in rke2_commands(made, role) {
        text += &format!("  - {}\n", json!(command));
    }
    text + "  - 'echo {{ ds.meta_data.local_hostname }}'\n"
}

fn data(text: &str) -> String {
    format!("data:;base64,{}", STANDARD.encode(text))
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::default());
    packer.write_all(bytes).expect("memory takes everything");
    packer.finish().expect("memory takes everything")
}

fn ignition_file(path: &str, mode: &str, text: &str) -> Value {
    let mode = u32::from_str_radix(mode, 8).expect("a mode in octal");
    json!({"path": path, "mode": mode, "overwrite": true, "contents": {"source": data(text)}})
}

/// `/opt` is on a partition of SUSE MicroOS, unless the additional data are for Flatcar.
fn rke2_ignition(made: &mut Made, role: Role, is_flatcar: bool) -> Value {
    // Nothing of `/run` is in Ignition.
    let files = rke2_files(made, role)
        .into_iter()
        .filter(|(path, ..)| !path.starts_with("/run/"));
    let mut files: Vec<Value> = files
        .map(|(path, mode, lines)| ignition_file(&path, &mode, &(lines.join("\n") + "\n")))
        .collect();
    let script = rke2_commands(made, role).join("\n");
    files.push(ignition_file(
        "/etc/rke2-install.sh",
        "0700",
        &format!("#!/bin/sh\nset -e\n{script}\n"),
    ));
    let mut config = json!({
        "ignition": {"version": "3.3.0"},
        "storage": {"files": files},
        "systemd": {"units": [{
            "name": "rke2-install.service", "enabled": true,
            "contents": "[Unit]\nDescription=rke2-install\nWants=network-online.target\nAfter=network-online.target network.target\n\
                ConditionPathExists=!/etc/cluster-api/bootstrap-success.complete\n[Service]\nUser=root\nType=oneshot\n\
                ExecStart=/etc/rke2-install.sh\n[Install]\nWantedBy=multi-user.target\n",
        }]},
    });
    if !is_flatcar {
        config["storage"]["filesystems"] = json!([{
            "path": "/opt", "device": "/dev/disk/by-partlabel/p.lxroot", "format": "btrfs", "wipeFilesystem": false,
            "mountOptions": ["subvol=/@/opt"],
        }]);
    }
    config
}

/// `gzipUserData: true` with Ignition.
fn packed(config: &Value) -> String {
    let source = format!(
        "data:;base64,{}",
        STANDARD.encode(gzip(config.to_string().as_bytes()))
    );
    let replace = json!({"source": source, "compression": "gzip"});
    json!({"ignition": {"version": "3.3.0", "config": {"replace": replace}}}).to_string()
}

/// `customUserDataRef` of k0smotron: none, a second cloud-config, or variables of its template.
#[derive(Debug, Clone, Copy)]
enum Custom {
    None,
    Second,
    Set,
}

fn k0s_files(made: &mut Made, role: Role) -> Vec<(String, String, Vec<String>)> {
    let mut files = Vec::new();
    if role == Role::Worker {
        files.push((
            "/etc/k0s.token".to_owned(),
            "0644".to_owned(),
            vec!["H4sIAmadeup".to_owned()],
        ));
    } else {
        files.push(("/etc/k0s.yaml".to_owned(), "0644".to_owned(), made.lines()));
    }
    let (path, mode) = (
        format!("/etc/made/file-{}", made.number(1000)),
        made.mode().to_owned(),
    );
    files.push((path, mode, made.lines()));
    files
}

fn k0s_commands(role: Role) -> Vec<String> {
    let install = match role {
        Role::FirstControlPlane => "controller --force --enable-dynamic-config --config=/etc/k0s.yaml",
        Role::ControlPlane => {
            "controller --force --enable-dynamic-config --config=/etc/k0s.yaml --token-file=/etc/k0s.token"
        }
        Role::Worker => {
            "worker --token-file=/etc/k0s.token --labels=k0smotron.io/machine-name=made-up --kubelet-extra-args=--hostname-override=made-up"
        }
    };
    let install = format!("/usr/local/bin/k0s install {install}");
    let commands = [
        "curl -sSfL --retry 5 https://get.k0s.sh | K0S_VERSION=v1.34.4+k0s.0 sh",
        &install,
        "k0s start",
        "mkdir -p /run/cluster-api && touch /run/cluster-api/bootstrap-success.complete",
    ];
    commands.map(str::to_owned).to_vec()
}

fn k0smotron_cloud_config(made: &mut Made, role: Role, custom: Custom) -> String {
    let mut text = "## template: jinja\n".to_owned();
    if matches!(custom, Custom::Set) {
        text += "{% set machine = ds.meta_data.local_hostname %}\n";
    }
    text += "#cloud-config\nwrite_files:\n";
    for (path, mode, lines) in k0s_files(made, role) {
        text += &file(&path, &mode, None, &lines);
    }
    if matches!(custom, Custom::Set) {
        text += "-   path: /etc/made/machine\n    permissions: '0644'\n    content: '{{ machine }}'\n";
    }
    text += "runcmd:\n";
    for command in k0s_commands(role) {
        text += &format!("  - {}\n", json!(command));
    }
    if matches!(custom, Custom::Second) {
        text += "#cloud-config\nwrite_files:\n";
        text += &file("/etc/made/custom", made.mode(), None, &made.lines());
    }
    text
}

/// An outer config that merges one or two inner ones.
fn k0smotron_ignition(made: &mut Made, role: Role, parts: usize) -> String {
    let files = k0s_files(made, role)
        .into_iter()
        .map(|(path, mode, lines)| ignition_file(&path, &mode, &(lines.join("\n") + "\n")));
    // A command with ', % or $ breaks its unit: the provider's own have none.
    let commands = k0s_commands(role);
    let starts: String = commands
        .iter()
        .map(|command| format!("ExecStart=/bin/sh -c '{command}'\n"))
        .collect();
    let unit = json!({
        "name": "k0s-bootstrap.service", "enabled": true,
        "contents": format!(
            "[Unit]\nDescription=k0s bootstrap\nAfter=network-online.target\nWants=network-online.target\n[Service]\nType=oneshot\n\
             RemainAfterExit=yes\n{starts}[Install]\nWantedBy=multi-user.target\n"
        ),
    });
    let own = json!({
        "ignition": {"version": "3.4.0"},
        "storage": {"files": files.collect::<Vec<_>>()},
        "systemd": {"units": [unit]},
    });
    let custom = json!({
        "ignition": {"version": "3.4.0"},
        "storage": {"files": [ignition_file("/etc/made/custom", made.mode(), &made.line())]},
    });
    let merged = [own, custom].into_iter().take(parts).map(|config| {
        json!({"source": format!("data:application/json;base64,{}", STANDARD.encode(config.to_string()))})
    });
    json!({"ignition": {"version": "3.4.0", "config": {"merge": merged.collect::<Vec<_>>()}}}).to_string()
}

impl Sample {
    /// The text as cloud-init renders it on a host of that name: no sample has another template.
    pub fn rendered(&self, hostname: &str) -> String {
        let body = self.text.trim_start_matches("## template: jinja\n");
        body.replace("{% set machine = ds.meta_data.local_hostname %}\n", "")
            .replace("{{ machine }}", hostname)
            .replace("{{ ds.meta_data.local_hostname }}", hostname)
    }
}
