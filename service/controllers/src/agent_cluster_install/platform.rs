//! Computes a cluster's platform, and whether users manage its network. Source:
//! docs/protocol/kube-controllers.md#6.5.

use muster_api::cluster::{Platform, PlatformExternal, PlatformType as Kind};
use muster_resources::{AgentClusterInstallSpec, PlatformType};

/// Returns platform and user-managed networking, which follow from each other where only one is set. If neither is,
/// a cluster of one node has platform `None`.
pub fn platform(spec: &AgentClusterInstallSpec) -> (PlatformType, bool) {
    let said = spec.networking.user_managed_networking;
    let requirements = &spec.provision_requirements;
    let single_node =
        requirements.control_plane_agents == 1 && requirements.worker_agents.unwrap_or_default() == 0;
    match spec.platform_type.unwrap_or_default() {
        PlatformType::Unset if said.unwrap_or(single_node) => (PlatformType::None, true),
        PlatformType::Unset => (PlatformType::BareMetal, false),
        chosen @ (PlatformType::None | PlatformType::External) => (chosen, true),
        chosen @ (PlatformType::BareMetal | PlatformType::VSphere | PlatformType::Nutanix) => {
            (chosen, said.unwrap_or(false))
        }
    }
}

/// The platform in the form of REST.
pub fn in_rest(spec: &AgentClusterInstallSpec) -> Platform {
    let (chosen, _) = platform(spec);
    let external = spec
        .external
        .as_ref()
        .filter(|_| chosen == PlatformType::External);
    Platform {
        platform_type: match chosen {
            PlatformType::Unset | PlatformType::BareMetal => Kind::Baremetal,
            PlatformType::None => Kind::None,
            PlatformType::VSphere => Kind::Vsphere,
            PlatformType::Nutanix => Kind::Nutanix,
            PlatformType::External => Kind::External,
        },
        external: external.map(|external| PlatformExternal {
            platform_name: Some(external.platform_name.clone()),
            cloud_controller_manager: Some(external.cloud_controller_manager.clone()),
        }),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn spec(platform: &str, user_managed: Option<bool>, control_plane: i64) -> AgentClusterInstallSpec {
        serde_json::from_value(json!({
            "clusterDeploymentRef": {"name": "c"},
            "platformType": platform,
            "networking": {"userManagedNetworking": user_managed},
            "provisionRequirements": {"controlPlaneAgents": control_plane},
        }))
        .unwrap()
    }

    #[test]
    fn platform_and_networking_follow_from_each_other() {
        use PlatformType as P;
        for (said, user_managed, nodes, expected) in [
            ("", Some(true), 3, (P::None, true)),
            ("", Some(false), 3, (P::BareMetal, false)),
            ("", None, 3, (P::BareMetal, false)),
            ("", None, 1, (P::None, true)),
            ("None", None, 3, (P::None, true)),
            ("BareMetal", None, 3, (P::BareMetal, false)),
            ("VSphere", Some(true), 3, (P::VSphere, true)),
            ("External", None, 3, (P::External, true)),
        ] {
            let found = platform(&spec(said, user_managed, nodes));
            assert_eq!(found, expected, "{said:?} {user_managed:?} {nodes}");
        }
    }
}
