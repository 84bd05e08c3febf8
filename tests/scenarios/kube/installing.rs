//! Installations that controllers start, and the return. The host is simulated over REST.

use muster_tests::artifacts::live_image;
use muster_tests::condition::{assert_throughout, await_condition};
use muster_tests::service::Settings;
use serde_json::{Value, json};

use muster_tests::database::{erased, host_id, known_host, register, reply};
use muster_tests::hosts::clusters::report;
use muster_tests::kube::world::{SOON, World, imported_cluster, is, message};
use muster_tests::kube::{Api, on_each_api};

on_each_api!(
    an_approved_bound_and_fit_host_is_installed_by_itself_and_comes_back,
    without_an_image_or_on_hold_the_agent_says_what_to_do_and_nothing_begins,
);

const CLUSTER: &str = "edge";
const SECRET_WORD: &str = "hunter2-of-kubeadm";

/// A cluster, and an approved Agent that joins it with bootstrap data of a Secret. Returns the path of its host.
fn joining(world: &World) -> (String, String) {
    let path = world.infra_env(&json!({}));
    let config = json!({
        "ignition": {"version": "3.4.0"},
        "storage": {"files": [{"path": "/etc/kubeadm.yaml", "contents": {"source": format!("data:,{SECRET_WORD}")}}]},
    });
    world.kubectl.apply(&[json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "bootstrap"},
        "stringData": {"ignition": config.to_string()},
    })]);
    world.kubectl.apply(&imported_cluster(CLUSTER));
    let client = world.client();
    known_host(&client, &path, 1);
    let agent = host_id(1);
    world.await_agent(&agent, "Validated", "True", "ValidationsPassing");
    let namespace = muster_tests::kube::world::NAMESPACE;
    world.patch_agent(
        &agent,
        &json!({
            "approved": true, "hostname": "worker-1",
            "clusterDeploymentName": {"name": CLUSTER, "namespace": namespace},
            "ignitionEndpointTokenReference": {"name": "bootstrap", "namespace": namespace},
        }),
    );
    let host = format!("{path}/hosts/{agent}");
    await_status(world, &host, "binding");
    register(&client, &path, 1);
    report(&client, &host, 1);
    (path, host)
}

fn await_status(world: &World, host: &str, wanted: &str) {
    await_condition(&format!("the host to be {wanted}"), SOON, || {
        let seen = world.client().get(host).expect(200).json();
        if seen["status"] == wanted {
            Ok(())
        } else {
            Err(format!("{}: {}", seen["status"], seen["status_info"]))
        }
    });
}

fn asked(world: &World, host: &str) -> Vec<String> {
    let steps = world
        .client()
        .get(&format!("{host}/instructions"))
        .expect(200)
        .json();
    let steps = steps["instructions"].as_array().cloned().unwrap_or_default();
    steps
        .iter()
        .map(|step| step["step_type"].as_str().unwrap().to_owned())
        .collect()
}

fn progress(world: &World, host: &str, stage: &str, info: &str) {
    let body = json!({"current_stage": stage, "progress_info": info});
    world.client().put(&format!("{host}/progress"), &body).expect(200);
}

fn an_approved_bound_and_fit_host_is_installed_by_itself_and_comes_back(api: Api) {
    let world = World::of(api.serve_with(|settings| settings.live_image(&live_image())));
    let (path, host) = joining(&world);
    let (client, agent) = (world.client(), host_id(1));
    await_status(&world, &host, "installing");
    assert_eq!(asked(&world, &host), ["install"]);
    let ignition = format!(
        "{}/downloads/ignition",
        host.replacen("/infra-envs/", "/infra-env/", 1)
    );
    let config = client.get(&ignition).expect(200);
    let written = config.json();
    assert!(
        config.text().contains(SECRET_WORD),
        "the bootstrap data is what it is installed with"
    );
    let paths: Vec<&Value> = written["storage"]["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| &file["path"])
        .collect();
    assert_eq!(
        paths,
        ["/etc/kubeadm.yaml", "/etc/hostname", "/etc/muster/agent.json"]
    );
    assert!(config.text().contains("data:,worker-1"));

    for (stage, info) in [
        ("Starting installation", ""),
        ("Installing", ""),
        ("Writing image to disk", "35%"),
    ] {
        progress(&world, &host, stage, info);
    }
    let going_on = "The installation goes on: Writing image to disk (35%)";
    world.kubectl.await_that(
        "its condition to tell the stage",
        &["agent", &agent],
        SOON,
        |agent| (message(agent, "Installed") == going_on).then_some(()),
    );
    progress(&world, &host, "Rebooting", "");
    progress(&world, &host, "Done", "");
    world.await_agent(&agent, "Installed", "True", "InstallationCompleted");
    assert!(asked(&world, &host).is_empty(), "the agent on the node waits");

    world.patch_agent(
        &agent,
        &json!({"clusterDeploymentName": null, "ignitionEndpointTokenReference": null}),
    );
    await_status(&world, &host, "reclaiming");
    assert_eq!(asked(&world, &host), ["download-boot-artifacts"]);
    let told = client.get(&format!("{host}/instructions")).expect(200).json();
    let told: Value = serde_json::from_str(told["instructions"][0]["args"][0].as_str().unwrap()).unwrap();
    for url in ["kernel_url", "initrd_url"] {
        assert!(told[url].as_str().unwrap().contains("/boot/"), "{told}");
    }
    assert!(!told["kernel_arguments"].as_array().unwrap().is_empty(), "{told}");
    client
        .post(
            &format!("{host}/instructions"),
            &reply("download-boot-artifacts", &json!({})),
        )
        .expect(204);
    await_status(&world, &host, "reclaiming-rebooting");
    assert_eq!(asked(&world, &host), ["reboot-for-reclaim"]);
    register(&client, &path, 1);
    report_alone(&world, &host);
    world
        .kubectl
        .await_that("its disk to be erased", &["agent", &agent], SOON, |agent| {
            (agent["status"]["cleaning"]["state"] == "Erasing").then_some(())
        });
    assert!(asked(&world, &host).contains(&"erase-disks".to_owned()));
    let told = client.get(&format!("{host}/instructions")).expect(200).json();
    let told: Value = serde_json::from_str(told["instructions"][0]["args"][0].as_str().unwrap()).unwrap();
    client
        .post(
            &format!("{host}/instructions"),
            &reply("erase-disks", &erased(&told)),
        )
        .expect(204);
    await_status(&world, &host, "known-unbound");
    world.await_agent(&agent, "RequirementsMet", "True", "AgentIsReady");
    let seen = client.get(&host).json();
    assert_eq!(seen["cleaned"][0]["outcome"], "erased");
    assert_eq!(seen["requested_hostname"], "worker-1");
    for kind in ["agents", "events"] {
        let printed = world.kubectl.run(&["get", kind, "-o", "json"]);
        assert!(!printed.contains(SECRET_WORD), "{kind} hold the bootstrap data");
    }
    assert!(!seen.to_string().contains(SECRET_WORD));
    let left = world.client().get(&ignition);
    assert_eq!(left.status, 404, "{}", left.text());
}

/// A host of the pool reports its inventory.
fn report_alone(world: &World, host: &str) {
    let inventory = reply("inventory", &muster_tests::database::inventory(1));
    world
        .client()
        .post(&format!("{host}/instructions"), &inventory)
        .expect(204);
}

fn without_an_image_or_on_hold_the_agent_says_what_to_do_and_nothing_begins(api: Api) {
    let without_images = |settings: Settings| settings.live_image(&live_image()).argument("--os-images=");
    let world = World::of(api.serve_with(without_images));
    let (_, host) = joining(&world);
    let agent = host_id(1);
    world.await_agent(&agent, "RequirementsMet", "False", "AgentNotReady");
    world.kubectl.await_that(
        "its condition to say what to do",
        &["agent", &agent],
        SOON,
        |agent| {
            message(agent, "RequirementsMet")
                .contains("--os-images")
                .then_some(())
        },
    );
    assert_throughout("nothing to begin", std::time::Duration::from_secs(2), || {
        let seen = world.client().get(&host).json();
        if seen["status"] == "known" {
            Ok(())
        } else {
            Err(seen["status"].to_string())
        }
    });

    // An image in the installer's arguments suffices as well; then the administrator's hold counts.
    let hold = |held: bool| {
        let patch = json!({"spec": {"holdInstallation": held}}).to_string();
        world.kubectl.run(&[
            "patch",
            "agentclusterinstall",
            CLUSTER,
            "--type",
            "merge",
            "-p",
            &patch,
        ]);
    };
    hold(true);
    let own = "[\"--image-url\", \"https://mirror.example.test/metal.raw\"]";
    world.patch_agent(&agent, &json!({"installerArgs": own}));
    world.kubectl.await_that(
        "its condition to name the hold",
        &["agent", &agent],
        SOON,
        |agent| {
            let held = message(agent, "RequirementsMet").contains("spec.holdInstallation to false");
            (held && is(agent, "SpecSynced", "True", "SyncOK")).then_some(())
        },
    );
    assert_eq!(world.client().get(&host).json()["status"], "known");
    hold(false);
    await_status(&world, &host, "installing");
}
