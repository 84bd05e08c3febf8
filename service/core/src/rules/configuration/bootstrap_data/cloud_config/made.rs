//! The Ignition config that is made.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

/// Folder of what the translation adds.
pub(super) const FOLDER: &str = "/etc/muster/bootstrap";

/// Parts of the config.
#[derive(Default)]
pub(super) struct Made {
    pub(super) files: Vec<Value>,
    pub(super) disks: Vec<Value>,
    pub(super) filesystems: Vec<Value>,
    pub(super) units: Vec<Value>,
    pub(super) users: Vec<Value>,
    pub(super) groups: Vec<Value>,
}

impl Made {
    /// Adds a file of root's, in place of one that the image has.
    pub(super) fn file(&mut self, path: &str, mode: u32, text: &str) {
        self.files.push(json!({
            "path": path,
            "mode": mode,
            "overwrite": true,
            "user": {"id": 0},
            "group": {"id": 0},
            "contents": {"source": data_url(text.as_bytes())},
        }));
    }

    pub(super) fn unit(&mut self, name: &str, enabled: bool, contents: &str) {
        self.units
            .push(json!({"name": name, "enabled": enabled, "contents": contents}));
    }

    /// The config, of specification 3.3.0.
    pub(super) fn into_config(self) -> Value {
        let mut config = Map::new();
        config.insert("ignition".into(), json!({"version": "3.3.0"}));
        let storage = [
            ("disks", self.disks),
            ("filesystems", self.filesystems),
            ("files", self.files),
        ];
        add(&mut config, "storage", storage);
        add(&mut config, "systemd", [("units", self.units)]);
        add(
            &mut config,
            "passwd",
            [("groups", self.groups), ("users", self.users)],
        );
        Value::Object(config)
    }
}

fn add<const N: usize>(config: &mut Map<String, Value>, name: &str, lists: [(&str, Vec<Value>); N]) {
    let lists: Map<String, Value> = lists
        .into_iter()
        .filter(|(_, list)| !list.is_empty())
        .map(|(name, list)| (name.to_owned(), Value::Array(list)))
        .collect();
    if !lists.is_empty() {
        config.insert(name.to_owned(), Value::Object(lists));
    }
}

pub(super) fn data_url(bytes: &[u8]) -> String {
    format!("data:;base64,{}", STANDARD.encode(bytes))
}
