//! Computes an Agent's annotations and labels from its host. Source: docs/protocol/kube-controllers.md#4.1
//! step 6 and the end of §4.2.

use std::collections::BTreeMap;

use muster_api::fingerprint::Fingerprint;
use muster_api::inventory::Inventory;
use muster_core::record::Host;
use muster_resources::names::{annotation, label};
use serde::{Deserialize, Serialize};

/// All annotations of an object may have 256 KiB together; other annotations need some of that.
const MOST_ANNOTATIONS: usize = 224 << 10;

/// The state of the host, mirrored in annotations: a host with a lost record is restored from them.
///
/// An inventory or checks that are too long for annotations are left out: then they are only in the status.
pub fn annotations(host: &Host) -> BTreeMap<&'static str, String> {
    let data = &host.data;
    let inventory = host.inventory.as_deref().map(json).unwrap_or_default();
    let checks = if data.validations.is_empty() {
        String::new()
    } else {
        json(&data.validations)
    };
    let fits = |text: String, beside: usize| {
        if text.len() + beside <= MOST_ANNOTATIONS {
            text
        } else {
            String::new()
        }
    };
    let inventory = fits(inventory, 0);
    let checks = fits(checks, inventory.len());
    let stage = data
        .progress
        .as_ref()
        .map_or("", |progress| progress.stage.name());
    let mut annotations = BTreeMap::from([
        (annotation::AGENT_STATE, host.state.status().name().to_owned()),
        (annotation::AGENT_ROLE, data.role.name().to_owned()),
        (annotation::AGENT_CURRENT_STAGE, stage.to_owned()),
        (annotation::AGENT_VALIDATIONS_INFO, checks),
        (annotation::AGENT_INVENTORY, inventory),
    ]);
    annotations.insert(annotation::AGENT_HOST_SINCE, since(host));
    if let Some(machine) = machine(host) {
        annotations.insert(annotation::AGENT_MACHINE, json(&machine));
    }
    if host.inventory.is_some() {
        let version = annotation::INVENTORY_VERSION_VALUE.to_owned();
        annotations.insert(annotation::INVENTORY_VERSION, version);
    }
    annotations
}

/// The values by which a machine is recognised.
#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct KnownMachine {
    pub public_key: String,
    pub fingerprint: Option<Fingerprint>,
}

/// The values that distinguish the machine from others; `None`: none is known.
fn machine(host: &Host) -> Option<KnownMachine> {
    let data = &host.data;
    let known = KnownMachine {
        public_key: data.public_key.clone(),
        fingerprint: data.fingerprint.clone(),
    };
    (!known.public_key.is_empty() || known.fingerprint.is_some()).then_some(known)
}

/// The time at which the host was created, in the format of the annotation.
pub fn since(host: &Host) -> String {
    host.data.created_at.timestamp_micros().to_string()
}

fn json<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).expect("these types have text keys and finite numbers, so they are JSON")
}

/// Labels for the machine's kind and cluster.
///
/// `cluster_namespace`: of the ClusterDeployment that the host is bound to. An unbound host without inventory
/// gets none of these. `None`: the inventory has no value (any more), and an earlier label is removed.
pub fn labels(host: &Host, cluster_namespace: Option<&str>) -> BTreeMap<&'static str, Option<String>> {
    let mut labels = BTreeMap::new();
    if let Some(inventory) = &host.inventory {
        labels.extend(OF_INVENTORY.map(|key| (key, None)));
        for (key, value) in of_inventory(inventory) {
            labels.insert(key, cleaned(&value));
        }
    }
    if host.inventory.is_some() || cluster_namespace.is_some() {
        let namespace = cluster_namespace.unwrap_or_default().to_owned();
        labels.insert(label::CLUSTER_DEPLOYMENT_NAMESPACE, Some(namespace));
    }
    labels
}

/// The labels with values from the inventory.
const OF_INVENTORY: [&str; 6] = [
    label::STORAGE_HAS_NON_ROTATIONAL_DISK,
    label::CPU_ARCHITECTURE,
    label::CPU_VIRT_ENABLED,
    label::HOST_MANUFACTURER,
    label::HOST_PRODUCT_NAME,
    label::HOST_IS_VIRTUAL,
];

fn of_inventory(inventory: &Inventory) -> Vec<(&'static str, String)> {
    let mut labels = Vec::new();
    let flash = inventory.disks.iter().any(|disk| disk.drive_type == "SSD");
    labels.push((label::STORAGE_HAS_NON_ROTATIONAL_DISK, flash.to_string()));
    if let Some(cpu) = &inventory.cpu {
        let virtualizes = cpu.flags.iter().any(|flag| flag == "vmx" || flag == "svm");
        labels.push((label::CPU_ARCHITECTURE, cpu.architecture.clone()));
        labels.push((label::CPU_VIRT_ENABLED, virtualizes.to_string()));
    }
    if let Some(vendor) = &inventory.system_vendor {
        labels.push((label::HOST_MANUFACTURER, vendor.manufacturer.clone()));
        labels.push((label::HOST_PRODUCT_NAME, vendor.product_name.clone()));
        labels.push((label::HOST_IS_VIRTUAL, vendor.is_virtual.to_string()));
    }
    labels
}

/// The text without the characters that labels may not contain; `None`: the rest is no value of a label either.
fn cleaned(text: &str) -> Option<String> {
    let kept: String = text
        .chars()
        .filter(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
        .collect();
    is_label_value(&kept).then_some(kept)
}

/// True when a label may have this value.
pub fn is_label_value(value: &str) -> bool {
    muster_core::rules::labels::check("k", value).is_ok()
}

#[cfg(test)]
mod tests {
    use super::cleaned;

    #[test]
    fn names_of_makers_become_values_of_labels() {
        for (name, value) in [
            ("Dell Inc.", None),
            ("Dell Inc", Some("DellInc")),
            ("Server 1", Some("Server1")),
            (
                "ProLiant DL360 Gen10 (SKU=NotProvided)",
                Some("ProLiantDL360Gen10SKUNotProvided"),
            ),
            ("", Some("")),
            ("---", None),
        ] {
            assert_eq!(cleaned(name).as_deref(), value, "{name:?}");
        }
        assert_eq!(cleaned(&"x".repeat(64)), None);
    }
}
