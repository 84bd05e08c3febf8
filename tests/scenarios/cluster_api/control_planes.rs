//! KubeadmControlPlane, unmodified, makes control planes of Agents: its bootstrap data are kubeadm's, and no roll-out loses
//! the quorum of etcd. The hosts are muster-fleet's; their API servers and etcd members are played in memory.

use std::time::Duration;

use muster_tests::kube::{ClusterApi, ControlPlane, PlayedControlPlanes};
use muster_tests::walk::{ControlPlaneWalk, FleetHosts, Hub, apply_our_crds, name};
use tempfile::TempDir;

/// Each step of KubeadmControlPlane waits up to half a minute for its turn.
const LIMIT: Duration = Duration::from_secs(600);
/// The annotation of Agents with the OS image that their host is installed with.
const OS_IMAGE: &str = "agent.agent-install.openshift.io/os-image";

/// A management cluster with hosts that are fit and approved.
struct Management {
    played: PlayedControlPlanes,
    // What uses another part stands before it.
    fleet: FleetHosts,
    hub: Hub,
    cluster_api: ClusterApi,
    _plane: ControlPlane,
    _folder: TempDir,
}

impl Management {
    fn start(hosts: usize) -> Self {
        let plane = ControlPlane::start();
        let cluster_api = ClusterApi::with_kubeadm(&plane);
        apply_our_crds(&plane);
        let folder = tempfile::tempdir().unwrap();
        let hub = Hub::real(Hub::settings_with(&FleetHosts::os_images(folder.path())), &plane);
        let fleet = FleetHosts::start_lasting(&hub, hosts, folder.path());
        hub.approve_some(hosts, LIMIT);
        Self {
            played: PlayedControlPlanes::start(),
            fleet,
            hub,
            cluster_api,
            _plane: plane,
            _folder: folder,
        }
    }

    fn assert_well(&self) {
        self.fleet.assert_running();
        assert!(
            !self.cluster_api.log().contains("panic"),
            "Cluster API's controllers panicked"
        );
    }
}

#[test]
fn a_control_plane_rolls_out_and_grows_and_no_member_loses_its_host() {
    // A roll-out has one machine more than the control plane.
    let management = Management::start(6);
    let mut walk = ControlPlaneWalk::begin(&management.hub, &management.played, "cloud-config");
    walk.await_settled(1, LIMIT);
    let first = walk.agents();
    walk.roll_out_to("second");
    walk.await_rolled_out("second", 1, LIMIT);
    assert_ne!(walk.agents(), first, "another host serves");
    walk.scale(3);
    walk.await_settled(3, LIMIT);
    management.assert_well();
}

/// With a host less than a roll-out that brings the next machine first would take: hosts that were given back are taken again.
#[test]
fn three_control_planes_roll_out_to_another_image_without_a_spare_host() {
    let management = Management::start(3);
    let mut walk = ControlPlaneWalk::begin(&management.hub, &management.played, "cloud-config");
    walk.await_settled(1, LIMIT);
    walk.scale(3);
    walk.await_settled(3, LIMIT);
    let members = management.played.watch_members();
    walk.roll_out_in_place_of("second", FleetHosts::OTHER_IMAGE);
    walk.await_rolled_out("second", 3, 3 * LIMIT);
    // Two of three are the quorum of etcd.
    assert_eq!(members.end(), (2, 3));
    let serving = walk.agents();
    let agents = management.hub.api.list(&Hub::agents_path()).unwrap();
    let images = agents
        .iter()
        .filter(|agent| serving.iter().any(|one| one == name(agent)))
        .map(|agent| agent["metadata"]["annotations"][OS_IMAGE].as_str());
    let images: Vec<_> = images.collect();
    assert_eq!(images, [Some(FleetHosts::OTHER_IMAGE); 3]);
    management.assert_well();
}
