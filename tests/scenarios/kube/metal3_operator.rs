//! Metal3's own baremetal-operator, unmodified, with Ironic: a BareMetalHost becomes an Agent by the live ISO that its
//! BMC boots or by a PreprovisioningImage; it is detached, attached again, and deleted with its media ejected.

use std::sync::Arc;
use std::time::Duration;

use muster_bmc_emulator::machine::Machine as _;
use muster_bmc_emulator::{Emulator, Setup};
use muster_tests::artifacts::live_image;
use muster_tests::bmc::BmcMachine;
use muster_tests::condition::await_condition;
use muster_tests::kube::{Kubectl, Metal3};
use muster_tests::qemu::{Disk, DiskBus, Firmware, GIB, MACHINE_LIMIT};
use muster_tests::service::Settings;
use muster_tests::walk::FleetHosts;
use serde_json::{Value, json};

use crate::kube::bmcs::bmcs_are_here;
use muster_tests::discovery::MACS;
use muster_tests::kube::Api;
use muster_tests::kube::world::{INFRA_ENV, NAMESPACE, World, imported_cluster};

/// Time limit of a deprovisioning.
const GONE_LIMIT: Duration = Duration::from_secs(240);

const HOST: [&str; 2] = ["baremetalhost", "node-1"];
const CLUSTER: &str = "edge";

/// A service, the operator with Ironic, and a machine behind a BMC.
struct Lab {
    // The operator ends before the API server that it uses.
    _metal3: Metal3,
    world: World,
    machine: Arc<BmcMachine>,
    emulator: Emulator,
}

impl Lab {
    /// Starts on a real API server, with an InfraEnv whose image counts as an hour old.
    #[track_caller]
    fn start(more: impl FnOnce(Settings) -> Settings) -> Self {
        let settings = |settings: Settings| {
            let settings = bmcs_are_here(settings)
                .seen_from_user_networks()
                .boot_seen_from_here();
            more(settings.live_image(&live_image()))
        };
        let world = World::of(Api::Real.serve_with(settings));
        let metal3 = Metal3::start(&world.kubectl);
        world.infra_env(&json!({}));
        // An image is used when it is a minute old.
        let old = json!({"status": {"createdTime": "2026-01-01T00:00:00Z"}}).to_string();
        world.kubectl.run(&[
            "patch",
            "infraenv",
            INFRA_ENV,
            "--subresource=status",
            "--type",
            "merge",
            "-p",
            &old,
        ]);
        let disk = Disk::new(DiskBus::Virtio, 120 * GIB, "SYSTEM");
        let machine = BmcMachine::on_user_network(("metal3", 8), Firmware::SeaBios, 8192, disk, MACS[0]);
        let machine = Arc::new(machine);
        let emulator = Setup::new(Arc::<BmcMachine>::clone(&machine)).start().unwrap();
        world.kubectl.apply(&[secret(), bare_metal_host(&emulator)]);
        Self {
            _metal3: metal3,
            world,
            machine,
            emulator,
        }
    }

    fn kubectl(&self) -> &Kubectl {
        &self.world.kubectl
    }

    /// Waits until the BareMetalHost meets the condition.
    #[track_caller]
    fn await_host(&self, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
        self.kubectl().await_that(what, &HOST, MACHINE_LIMIT, |seen| {
            fits(seen).then(|| seen.clone())
        })
    }

    /// Waits for the Agent of the BareMetalHost in that state.
    #[track_caller]
    fn await_agent(&self, state: &str) -> Value {
        let what = format!("the Agent to be {state}");
        self.kubectl()
            .await_that(&what, &["agents"], MACHINE_LIMIT, |seen| {
                let agent = seen["items"].as_array()?.first()?;
                let is_bound = agent["metadata"]["labels"]["agent-install.openshift.io/bmh"] == "node-1"
                    && agent["spec"]["approved"] == true
                    && agent["spec"]["hostname"] == "worker-1"
                    && agent["status"]["debugInfo"]["state"] == state;
                is_bound.then(|| agent.clone())
            })
    }

    /// The number of calls of that action of the drive.
    fn calls(&self, action: &str) -> usize {
        let requests = self.emulator.requests();
        let calls = requests
            .iter()
            .filter(|one| one.method == "POST" && one.path.ends_with(action));
        calls.count()
    }

    /// Deletes the BareMetalHost, and waits until the operator has switched off the machine and emptied its drive.
    #[track_caller]
    fn delete(&self) {
        self.kubectl()
            .run(&["delete", "baremetalhost", "node-1", "--wait=false"]);
        self.kubectl()
            .await_that("it to be gone", &["baremetalhosts"], GONE_LIMIT, |seen| {
                seen["items"].as_array()?.is_empty().then_some(())
            });
        assert_eq!(self.emulator.image(), None, "the ISO is still in the drive");
        assert!(!self.machine.is_on(), "it is still on");
    }
}

#[test]
#[ignore = "it needs `.ci/kube baremetal-operator` and makes an environment of 110 Python packages"]
fn a_bare_metal_host_becomes_an_agent_by_the_operator_itself_and_goes_with_its_media_ejected() {
    let lab = Lab::start(|settings| settings);
    lab.await_host("the operator to have booted the ISO", is_provisioned);
    let image = lab.emulator.image().unwrap();
    assert!(image.ends_with("/discovery.iso"), "{image}");
    let agent = lab.await_agent("known-unbound");
    let disks = agent["status"]["inventory"]["disks"].as_array().unwrap();
    let chosen = disks
        .iter()
        .find(|disk| disk["id"] == agent["spec"]["installation_disk_id"]);
    assert_eq!(
        chosen.map(|disk| &disk["path"]),
        Some(&json!("/dev/vda")),
        "{agent}"
    );
    lab.await_host("its hardware to be told", |seen| {
        let hardware = seen["status"]["hardware"]["nics"].as_array();
        hardware.is_some_and(|nics| nics.iter().any(|nic| nic["mac"] == MACS[0]))
    });
    lab.delete();
}

#[test]
#[ignore = "it needs `.ci/kube baremetal-operator` and makes an environment of 110 Python packages"]
fn a_host_is_detached_when_its_installation_is_over_and_the_operator_boots_it_again_when_it_leaves_its_cluster()
 {
    let folder = tempfile::tempdir().unwrap();
    // No machine boots from that image, so the installation fails after it has begun to write.
    let os_images = format!("--os-images={}", FleetHosts::os_images(folder.path()));
    let lab = Lab::start(|settings| settings.argument(&os_images));
    let name = lab.await_agent("known-unbound")["metadata"]["name"]
        .as_str()
        .unwrap()
        .to_owned();
    lab.kubectl().apply(&[json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "bootstrap"},
        "stringData": {"ignition": json!({"ignition": {"version": "3.4.0"}}).to_string()},
    })]);
    lab.kubectl().apply(&imported_cluster(CLUSTER));
    let token = json!({"ignitionEndpointTokenReference": {"name": "bootstrap", "namespace": NAMESPACE}});
    lab.world.patch_agent(&name, &token);
    join(lab.kubectl(), &format!("{NAMESPACE}/{CLUSTER}"));

    lab.await_host("the operator to let go of it", |seen| {
        seen["status"]["operationalStatus"] == "detached"
    });
    lab.await_agent("error");
    // The operator makes no call for a host that it releases: Muster ejects the ISO.
    assert!(lab.machine.is_on(), "it was switched off");
    await_condition("the ISO to be taken out", MACHINE_LIMIT, || {
        lab.emulator.image().map_or(Ok(()), Err)
    });
    let inserts = lab.calls("InsertMedia");

    join(lab.kubectl(), "");
    // Ironic ejects nothing from a drive that is empty.
    await_condition("the operator to insert the ISO again", MACHINE_LIMIT, || {
        let now = lab.calls("InsertMedia");
        (now > inserts).then_some(()).ok_or_else(|| {
            let seen = lab.kubectl().get(&HOST);
            format!("{now} inserts; {}", seen["status"])
        })
    });
    lab.await_host("the operator to have booted the ISO again", |seen| {
        is_provisioned(seen) && seen["status"]["operationalStatus"] == "OK"
    });
    lab.await_agent("known-unbound");
    lab.delete();
}

#[test]
#[ignore = "it needs `.ci/kube baremetal-operator` and makes an environment of 110 Python packages"]
fn a_bare_metal_host_becomes_an_agent_by_a_preprovisioning_image() {
    let lab = Lab::start(|settings| settings.argument("--metal3=converged"));
    let image = ["preprovisioningimage", "node-1"];
    let offered = lab
        .kubectl()
        .await_that("an image to be offered", &image, MACHINE_LIMIT, |seen| {
            let url = seen["status"]["imageUrl"].as_str()?;
            (!url.is_empty()).then(|| seen.clone())
        });
    assert_eq!(offered["status"]["format"], "iso", "{offered}");
    let agent = lab.await_agent("known-unbound");
    assert_eq!(
        lab.emulator.image().as_deref(),
        offered["status"]["imageUrl"].as_str(),
        "{agent}"
    );
    let host = lab.kubectl().get(&HOST);
    // Muster's image has no agent of Ironic, which waits for one.
    assert_eq!(host["spec"]["image"], Value::Null, "{host}");

    lab.delete();
    lab.kubectl().run(&[
        "delete",
        "--timeout=120s",
        "preprovisioningimage",
        "node-1",
        "--ignore-not-found",
    ]);
}

fn is_provisioned(host: &Value) -> bool {
    host["status"]["provisioning"]["state"] == "provisioned"
}

/// Names the cluster that the host is to join; empty: none.
#[track_caller]
fn join(kubectl: &Kubectl, cluster: &str) {
    let reference = format!("bmac.agent-install.openshift.io/cluster-reference={cluster}");
    kubectl.run(&["annotate", "--overwrite", "baremetalhost", "node-1", &reference]);
}

fn secret() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "node-1-bmc"},
        "stringData": {"username": "admin", "password": "password"},
    })
}

fn bare_metal_host(emulator: &Emulator) -> Value {
    json!({
        "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost",
        "metadata": {
            "name": "node-1", "labels": {"infraenvs.agent-install.openshift.io": INFRA_ENV},
            "annotations": {"bmac.agent-install.openshift.io/hostname": "worker-1"},
        },
        "spec": {
            "online": true, "bootMACAddress": MACS[0], "bootMode": "legacy", "rootDeviceHints": {"deviceName": "/dev/vda"},
            "bmc": {
                "address": format!("redfish-virtualmedia+{}/redfish/v1/Systems/1", emulator.url()),
                "credentialsName": "node-1-bmc",
            },
        },
    })
}
