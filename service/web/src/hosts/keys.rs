//! The keys of queries and the words that they take, for completion.

use muster_api::host::{HostRole, HostStage, HostStatus};
use strum::VariantArray;

/// A key of queries.
pub struct KeyWords {
    pub key: &'static str,
    /// Separated by blanks; empty: it takes other values.
    pub words: String,
}

/// In the order of docs/search.md. `muster_core::query::Key` is what a query is read by; a test of the routes compares them.
const KEYS: [&str; 33] = [
    "name",
    "id",
    "pool",
    "cluster",
    "state",
    "stage",
    "role",
    "approved",
    "label",
    "finding",
    "check",
    "wait",
    "seen",
    "since",
    "cpu",
    "memory",
    "disk",
    "gpu",
    "nic-speed",
    "mac",
    "ip",
    "serial",
    "vendor",
    "model",
    "switch",
    "port",
    "vlan",
    "bmc",
    "power",
    "temp",
    "firmware",
    "secureboot",
    "agent",
];

/// All keys. Values that hosts have come from the counts.
pub fn keys() -> Vec<KeyWords> {
    KEYS.into_iter()
        .map(|key| KeyWords {
            key,
            words: words(key),
        })
        .collect()
}

fn words(key: &str) -> String {
    let joined = |words: Vec<&str>| words.join(" ");
    match key {
        "state" => joined(HostStatus::VARIANTS.iter().map(|state| state.name()).collect()),
        "role" => joined(HostRole::VARIANTS.iter().map(|role| role.name()).collect()),
        "stage" => {
            let stages = HostStage::VARIANTS.iter();
            let stages: Vec<String> = stages
                .map(|stage| stage.name().to_lowercase().replace(' ', "-"))
                .collect();
            stages.join(" ")
        }
        "approved" | "secureboot" => "yes no".to_owned(),
        "firmware" => "bios uefi".to_owned(),
        "disk" => "hdd ssd multipath".to_owned(),
        "wait" => "overdue".to_owned(),
        "finding" | "check" => "*".to_owned(),
        _ => String::new(),
    }
}
