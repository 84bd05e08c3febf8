//! Generates machines for tests: a tree that is written file by file, and a static network.

use std::path::PathBuf;

use muster_api::live::network::{Bond, Card, Interface, Kind, StaticNetwork, Vlan};
use serde_json::{Value, json};

use crate::root::{CAPTURE_FILE, Root};

/// A generated machine, deleted with the value.
pub(crate) struct Machine {
    dir: tempfile::TempDir,
    probes: serde_json::Map<String, Value>,
}

impl Machine {
    pub(crate) fn new() -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
            probes: serde_json::Map::new(),
        }
    }

    /// A machine with these files.
    pub(crate) fn of(files: &[(&str, &str)]) -> Self {
        files
            .iter()
            .fold(Self::new(), |machine, (path, text)| machine.file(path, text))
    }

    /// A file with these bytes; folders on the way are made.
    pub(crate) fn file(mut self, path: &str, bytes: impl AsRef<[u8]>) -> Self {
        std::fs::write(self.place(path), bytes).unwrap();
        self
    }

    pub(crate) fn link(mut self, path: &str, target: &str) -> Self {
        std::os::unix::fs::symlink(target, self.place(path)).unwrap();
        self
    }

    /// A device under `/sys/devices`: its subsystem, `DEVTYPE` and attributes.
    pub(crate) fn device(
        self,
        path: &str,
        subsystem: &str,
        devtype: &str,
        attributes: &[(&str, &str)],
    ) -> Self {
        let path = format!("/sys/devices/{path}");
        let uevent = if devtype.is_empty() {
            String::new()
        } else {
            format!("DEVTYPE={devtype}\n")
        };
        let mut machine = self.file(&format!("{path}/uevent"), uevent);
        if !subsystem.is_empty() {
            std::fs::create_dir_all(
                machine
                    .place(&format!("/sys/bus/{subsystem}/x"))
                    .parent()
                    .unwrap(),
            )
            .unwrap();
            machine = machine.link(&format!("{path}/subsystem"), &format!("/sys/bus/{subsystem}"));
        }
        for (name, value) in attributes {
            machine = machine.file(&format!("{path}/{name}"), format!("{value}\n"));
        }
        machine
    }

    /// A disk: its device, and the entry in `/sys/block`.
    pub(crate) fn disk(self, path: &str, attributes: &[(&str, &str)]) -> Self {
        let name = path.rsplit('/').next().unwrap().to_owned();
        self.device(path, "block", "disk", attributes)
            .link(&format!("/sys/block/{name}"), &format!("/sys/devices/{path}"))
    }

    /// An interface: its device, and the entry in `/sys/class/net`.
    pub(crate) fn nic(self, path: &str, attributes: &[(&str, &str)]) -> Self {
        let name = path.rsplit('/').next().unwrap().to_owned();
        self.device(path, "net", "", attributes)
            .link(&format!("/sys/class/net/{name}"), &format!("/sys/devices/{path}"))
    }

    /// Adds the result of a query that no file answers.
    pub(crate) fn answer(mut self, key: &str, value: Value) -> Self {
        self.probes.insert(key.to_owned(), json!({ "is": value }));
        self
    }

    pub(crate) fn root(&self) -> Root {
        let capture = json!({ "version": 1, "probes": self.probes });
        std::fs::write(self.dir.path().join(CAPTURE_FILE), capture.to_string()).unwrap();
        Root::tree(self.dir.path()).unwrap()
    }

    fn place(&mut self, path: &str) -> PathBuf {
        let place = self.dir.path().join(path.trim_start_matches('/'));
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        place
    }
}

/// Addresses of the cards `left` and `right` of [`network`].
pub(crate) const LEFT: &str = "52:54:00:aa:bb:01";
pub(crate) const RIGHT: &str = "52:54:00:aa:bb:02";

/// Two cards as a bond, and VLAN 250 over it; nothing has an address.
pub(crate) fn network() -> StaticNetwork {
    let card = |mac: &str, name: &str| Card {
        mac: mac.into(),
        name: name.into(),
    };
    let bond = Bond {
        ports: vec!["left".into(), "right".into()],
        ..Bond::default()
    };
    let vlan = Vlan {
        base: "bond0".into(),
        id: 250,
    };
    StaticNetwork {
        cards: vec![card(LEFT, "left"), card(RIGHT, "right")],
        interfaces: vec![
            interface("left", Kind::Ethernet),
            interface("right", Kind::Ethernet),
            interface("bond0", Kind::Bond(bond)),
            interface("bond0.250", Kind::Vlan(vlan)),
        ],
        ..StaticNetwork::default()
    }
}

/// One without settings.
pub(crate) fn interface(name: &str, kind: Kind) -> Interface {
    Interface {
        name: name.into(),
        kind,
        ..Interface::default()
    }
}
