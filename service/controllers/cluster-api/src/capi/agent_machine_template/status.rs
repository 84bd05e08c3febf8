//! Computes the status of an AgentMachineTemplate.

use muster_core::rules::placement::Least;
use muster_resources::{AgentMachineTemplateStatus, TemplateNodeInfo};

/// Pods of a node: the kubelet's default (`maxPods`).
const PODS: u64 = 110;

/// The status for what each Agent has at least; `None`: no Agent fits.
pub fn status(least: Option<&Least>) -> AgentMachineTemplateStatus {
    let Some(least) = least else {
        return AgentMachineTemplateStatus::default();
    };
    let sizes = [
        ("cpu", least.hardware.cpus),
        ("memory", least.hardware.memory_bytes),
        // Of the largest disk; the system may be on a smaller one.
        ("ephemeral-storage", least.hardware.disk_bytes),
        ("pods", PODS),
    ];
    let known = sizes.into_iter().filter(|(_, size)| *size > 0);
    let architecture = least.architecture.as_deref().and_then(of_kubernetes);
    AgentMachineTemplateStatus {
        capacity: known
            .map(|(name, size)| (name.to_owned(), size.to_string()))
            .collect(),
        node_info: architecture.map(|architecture| TemplateNodeInfo {
            architecture: architecture.to_owned(),
            operating_system: "linux".to_owned(),
        }),
    }
}

/// The architecture as Kubernetes names it; `None`: it has no name for it.
fn of_kubernetes(architecture: &str) -> Option<&'static str> {
    match architecture {
        "x86_64" | "amd64" => Some("amd64"),
        "aarch64" | "arm64" => Some("arm64"),
        "s390x" => Some("s390x"),
        "ppc64le" => Some("ppc64le"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use muster_core::rules::placement::Hardware;
    use serde_json::json;

    use super::*;

    #[test]
    fn sizes_are_quantities_and_architectures_have_the_names_of_kubernetes() {
        let least = |architecture: Option<&str>, disk_bytes| Least {
            architecture: architecture.map(str::to_owned),
            hardware: Hardware {
                cpus: 8,
                memory_bytes: 64 << 30,
                disk_bytes,
            },
        };
        assert_eq!(
            serde_json::to_value(status(Some(&least(Some("x86_64"), 500)))).unwrap(),
            json!({
                "capacity": {"cpu": "8", "memory": "68719476736", "ephemeral-storage": "500", "pods": "110"},
                "nodeInfo": {"architecture": "amd64", "operatingSystem": "linux"},
            })
        );
        assert_eq!(
            serde_json::to_value(status(Some(&least(Some("riscv64"), 0)))).unwrap(),
            json!({"capacity": {"cpu": "8", "memory": "68719476736", "pods": "110"}})
        );
        let of = |name| {
            status(Some(&least(Some(name), 1)))
                .node_info
                .unwrap()
                .architecture
        };
        assert_eq!((of("aarch64"), of("ppc64le")), ("arm64".into(), "ppc64le".into()));
        assert_eq!(serde_json::to_value(status(None)).unwrap(), json!({}));
    }
}
