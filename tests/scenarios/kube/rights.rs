//! Rights on a real API server: those of `deploy/namespaced` are enough for chosen namespaces, replicas that hosts report to need none, as
//! with `deploy/split`, and who names an object of another namespace needs a right there (`deploy/base/references.yaml`).

use muster_tests::condition::await_condition;
use muster_tests::database::postgres::Postgres;
use muster_tests::database::{host_id, known_host};
use muster_tests::http::HttpClient;
use muster_tests::kube::world::{SOON, imported_cluster, is};
use muster_tests::kube::{Api, KubeServed, Kubectl, Output, control_plane, serve_in_namespaces};
use muster_tests::rest::PULL_SECRET;
use muster_tests::service::Settings;
use serde_json::{Value, json};

const CHOSEN: [&str; 2] = ["lab", "plant"];
const OTHER: &str = "other";

/// Failures of watches are logged at this level only, until they last.
fn verbose(settings: Settings) -> Settings {
    settings
        .argument("--log")
        .argument("info,sqlx=warn,muster_controllers=debug,kube_runtime=debug")
}

fn pull_secret() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "pull-secret"},
        "stringData": {".dockerconfigjson": PULL_SECRET},
    })
}

fn infra_env(name: &str) -> Value {
    json!({
        "apiVersion": "agent-install.openshift.io/v1beta1", "kind": "InfraEnv",
        "metadata": {"name": name}, "spec": {"pullSecretRef": {"name": "pull-secret"}},
    })
}

/// The path of an InfraEnv in REST. There is no image, which is reported, and none is needed.
#[track_caller]
fn await_path(rest: &HttpClient, name: &str) -> String {
    await_condition("REST to know the InfraEnv", SOON, || {
        let all = rest.get("/infra-envs").expect(200).json();
        let mut known = all.as_array().into_iter().flatten();
        let id = known.find(|one| one["name"] == name).map(|one| &one["id"]);
        id.and_then(Value::as_str)
            .map(|id| format!("/infra-envs/{id}"))
            .ok_or_else(|| all.to_string())
    })
}

fn is_untouched(object: &Value) -> bool {
    object["status"].is_null() && object["metadata"]["finalizers"].is_null()
}

/// Every request that the API server refuses for want of rights leaves its message in the log.
fn assert_no_right_was_missing(served: &KubeServed) {
    let log = served.log();
    let refused: Vec<&str> = log
        .lines()
        .filter(|line| line.to_ascii_lowercase().contains("forbidden"))
        .collect();
    assert!(refused.is_empty(), "{}", refused.join("\n"));
}

#[test]
fn rights_in_the_chosen_namespaces_are_enough_and_others_are_left_alone() {
    let served = serve_in_namespaces(&CHOSEN, verbose);
    let administrator = served.kubectl();
    administrator.run(&["create", "namespace", OTHER]);
    let of = |namespace: &str| administrator.namespace(namespace);
    for namespace in [OTHER, CHOSEN[0], CHOSEN[1]] {
        let host = json!({
            "apiVersion": "agent-install.openshift.io/v1beta1", "kind": "Agent",
            "metadata": {"name": "nobody"}, "spec": {"approved": true, "role": ""},
        });
        let network = json!({
            "apiVersion": "agent-install.openshift.io/v1beta1", "kind": "NMStateConfig",
            "metadata": {"name": "none", "labels": {"for": "nobody"}}, "spec": {
                "config": {}, "interfaces": [{"name": "eth0", "macAddress": "02:00:00:00:00:01"}],
            },
        });
        of(namespace).apply(&[pull_secret(), network, infra_env(&format!("of-{namespace}"))]);
        if namespace == OTHER {
            of(namespace).apply(&[host]);
        }
    }
    for (number, namespace) in CHOSEN.into_iter().enumerate() {
        let number = number as u64;
        let path = await_path(&served.http(), &format!("of-{namespace}"));
        known_host(&served.http(), &path, number);
        let agent = host_id(number);
        await_known(&of(namespace), &agent);
        approve(&of(namespace), &agent);
        // A referenced Secret is watched: a fault in it is reported at once.
        of(namespace).run(&["patch", "secret", "pull-secret", "--type", "merge", "-p", BROKEN]);
        let infra_env = ["infraenv", &format!("of-{namespace}")];
        of(namespace).await_that("the broken Secret to be told", &infra_env, SOON, |seen| {
            seen.to_string().contains("spec.pullSecretRef").then_some(())
        });
        // Events of Kubernetes need rights of their own.
        of(namespace).await_that("Events", &["events"], SOON, |events| {
            events.to_string().contains("ImageCreationError").then_some(())
        });
    }
    // They were created before those that have been handled.
    let (infra_env, agent) = (["infraenv", "of-other"], ["agent", "nobody"]);
    for one in [infra_env, agent].map(|one| of(OTHER).get(&one)) {
        assert!(is_untouched(&one), "{one}");
    }
    let ready = served.http().request("GET", "/ready", None).expect(200).json();
    assert_eq!(ready["kubernetes"], "ok, leading");
    references_into_others_are_told_and_not_followed(&of(CHOSEN[0]), &host_id(0));
    // Its Secret was not read, which would have labelled it.
    let secret = of(OTHER).get(&["secret", "pull-secret"]);
    assert_eq!(secret["metadata"]["labels"], Value::Null);
    // The objects are deleted again, with their hosts.
    for namespace in CHOSEN {
        of(namespace).run(&["delete", "infraenvs", "--all", "--timeout=120s"]);
        assert_eq!(of(namespace).get(&["agents"])["items"], json!([]));
    }
    assert_no_right_was_missing(&served);
}

/// A user who may edit an Agent of one tenant gets access to nothing of another's.
#[track_caller]
fn references_into_others_are_told_and_not_followed(kubectl: &Kubectl, agent: &str) {
    let told = |object: &[&str], what: &str| {
        let sentence = format!("{what} is in a namespace that this service does not look after");
        kubectl.await_that(&sentence, object, SOON, |seen| {
            seen.to_string().contains(&sentence).then_some(())
        });
    };
    let change = |object: &[&str], spec: Value| {
        let patch = json!({ "spec": spec }).to_string();
        kubectl.run(&[&["patch"], object, &["--type", "merge", "-p", &patch]].concat());
    };
    let theirs = json!({"name": "pull-secret", "namespace": OTHER});
    let agent = ["agent", agent];
    change(&agent, json!({"ignitionEndpointTokenReference": theirs}));
    told(&agent, "the Secret other/pull-secret");
    change(
        &agent,
        json!({"ignitionEndpointTokenReference": null, "clusterDeploymentName": {"name": "prod", "namespace": OTHER}}),
    );
    told(&agent, "the ClusterDeployment other/prod");
    change(&agent, json!({"clusterDeploymentName": null}));
    let mut bound = infra_env("bound");
    bound["spec"]["clusterRef"] = json!({"name": "prod", "namespace": OTHER});
    kubectl.apply(&[bound]);
    told(&["infraenv", "bound"], "the ClusterDeployment other/prod");
}

/// Where the ClusterDeployment is that a tenant of another namespace names.
const CLUSTERS: &str = "clusters";

/// A user who may write the kinds of his namespace, and nothing in others.
struct Tenant<'a>(&'a Kubectl);

impl Tenant<'_> {
    const NAME: &'static str = "tenant";

    fn tries(&self, arguments: &[&str]) -> Output {
        let user = format!("--as={}", Self::NAME);
        self.0.try_run(&[&[user.as_str()], arguments].concat())
    }

    fn changes(&self, object: [&str; 2], spec: &Value) -> Output {
        let patch = json!({ "spec": spec }).to_string();
        self.tries(&[&["patch"], &object[..], &["--type", "merge", "-p", &patch]].concat())
    }

    fn applies(&self, object: &Value) -> Output {
        let file = self.0.file("object.json", &object.to_string());
        self.tries(&["create", "-f", &file])
    }
}

#[track_caller]
fn assert_refused(output: &Output, what: &str) {
    assert!(!output.succeeded, "{what} was taken");
    assert!(output.err.contains(what), "{what}: {}", output.err);
}

#[track_caller]
fn assert_taken(output: &Output) {
    assert!(output.succeeded, "{}", output.err);
}

#[test]
fn a_reference_into_another_namespace_needs_a_right_on_what_it_names() {
    let served = Api::Real.serve();
    let administrator = served.kubectl();
    let [lab, clusters] = [CHOSEN[0], CLUSTERS].map(|name| {
        administrator.run(&["create", "namespace", name]);
        administrator.namespace(name)
    });
    lab.apply(&[pull_secret(), infra_env("rack")]);
    clusters.apply(&[pull_secret()]);
    clusters.apply(&imported_cluster("prod"));
    lab.run(&[
        "create",
        "role",
        "tenant",
        "--verb=*",
        "--resource=agents.agent-install.openshift.io,infraenvs.agent-install.openshift.io,agentclusterinstalls.extensions.hive.openshift.io",
    ]);
    lab.run(&[
        "create",
        "rolebinding",
        "tenant",
        "--role=tenant",
        "--user=tenant",
    ]);
    let path = await_path(&served.http(), "rack");
    known_host(&served.http(), &path, 0);
    let id = host_id(0);
    await_known(&lab, &id);
    let (agent, tenant) = (["agent", id.as_str()], Tenant(&lab));
    let named = |kind: &str, name: &str| format!("the {kind} {CLUSTERS}/{name} is in another namespace");
    let theirs = |name: &str| json!({"name": name, "namespace": CLUSTERS});
    let joins = json!({"clusterDeploymentName": theirs("prod")});
    // The API server takes a moment to heed a policy, and a role.
    let dry = json!({ "spec": joins }).to_string();
    let dry = [
        "patch",
        "agent",
        &id,
        "--type",
        "merge",
        "-p",
        &dry,
        "--dry-run=server",
    ];
    await_condition("the policy to be heeded", SOON, || {
        let output = tenant.tries(&dry);
        let heeded = output.err.contains(&named("ClusterDeployment", "prod"));
        heeded.then_some(()).ok_or(output.err)
    });

    assert_refused(&tenant.changes(agent, &joins), "muster-bind-hosts");
    let token = json!({"ignitionEndpointTokenReference": theirs("pull-secret")});
    assert_refused(&tenant.changes(agent, &token), &named("Secret", "pull-secret"));
    let mut bound = infra_env("bound");
    bound["spec"]["clusterRef"] = theirs("prod");
    assert_refused(&tenant.applies(&bound), &named("ClusterDeployment", "prod"));
    let mut mirrored = infra_env("mirrored");
    mirrored["spec"]["mirrorRegistryRef"] = theirs("registries");
    assert_refused(&tenant.applies(&mirrored), &named("ConfigMap", "registries"));
    let [_, mut install] = imported_cluster("own");
    install["spec"]["ignitionEndpoint"] =
        json!({"url": "https://192.0.2.1", "caCertificateReference": theirs("ca")});
    assert_refused(&tenant.applies(&install), &named("Secret", "ca"));
    a_bare_metal_host_is_no_way_around(&lab, &named("ClusterDeployment", "prod"));

    // Within the namespace nothing is asked for.
    let own = json!({"clusterDeploymentName": {"name": "own", "namespace": CHOSEN[0]}});
    assert_taken(&tenant.changes(agent, &own));
    // A reference that was there needs no right again, whether the tenant or the service writes the object.
    let patch = json!({ "spec": joins }).to_string();
    lab.run(&["patch", "agent", &id, "--type", "merge", "-p", &patch]);
    assert_taken(&tenant.changes(agent, &json!({"hostname": "worker-0"})));
    // Its machine would have to register again to be bound.
    lab.await_that("the Agent to be given to the cluster", &agent, SOON, |agent| {
        (agent["status"]["debugInfo"]["state"] == "binding").then_some(())
    });
    assert_taken(&tenant.changes(agent, &json!({"clusterDeploymentName": null})));
    // The owner of the cluster allows it.
    clusters.run(&[
        "create",
        "rolebinding",
        "lab",
        "--clusterrole=muster-bind-hosts",
        "--user=tenant",
    ]);
    await_condition("the role to be heeded", SOON, || {
        let output = tenant.tries(&dry);
        output.succeeded.then_some(()).ok_or(output.err)
    });
    assert_taken(&tenant.changes(agent, &joins));
    hypershifts_provider_goes_on(&lab, &clusters, agent);
    let log = served.log();
    assert!(
        !log.contains("ValidatingAdmissionPolicyBinding"),
        "the policy is there: {log}"
    );
    assert_no_right_was_missing(&served);
}

/// With the rights that HyperShift gives the provider in the namespace of the control plane and in that of the Agents. Source:
/// docs/protocol/capi-agent-provider.md#8.
#[track_caller]
fn hypershifts_provider_goes_on(lab: &Kubectl, clusters: &Kubectl, agent: [&str; 2]) {
    let account = format!("--serviceaccount={CLUSTERS}:capi-provider");
    for (kubectl, verbs, resources) in [
        (
            clusters,
            "*",
            "secrets,clusterdeployments.hive.openshift.io,agentclusterinstalls.extensions.hive.openshift.io",
        ),
        (
            lab,
            "get,list,watch,update,patch",
            "agents.agent-install.openshift.io",
        ),
    ] {
        kubectl.run(&[
            "create",
            "role",
            "capi-provider",
            &format!("--verb={verbs}"),
            &format!("--resource={resources}"),
        ]);
        kubectl.run(&[
            "create",
            "rolebinding",
            "capi-provider",
            "--role=capi-provider",
            &account,
        ]);
    }
    let claim = json!({"spec": {
        "clusterDeploymentName": {"name": "east", "namespace": CLUSTERS},
        "ignitionEndpointTokenReference": {"name": "agent-user-data", "namespace": CLUSTERS},
    }});
    let user = format!("--as=system:serviceaccount:{CLUSTERS}:capi-provider");
    let claim = claim.to_string();
    let patch = [
        &[user.as_str(), "patch"],
        &agent[..],
        &["--type", "merge", "-p", &claim],
    ]
    .concat();
    await_condition("the provider's claim to be taken", SOON, || {
        let output = lab.try_run(&patch);
        output.succeeded.then_some(()).ok_or(output.err)
    });
}

/// Its annotation becomes the reference of its Agent.
#[track_caller]
fn a_bare_metal_host_is_no_way_around(lab: &Kubectl, named: &str) {
    let definition = include_str!("../../../api-spec/crds/builtin/metal3.io_baremetalhosts.yaml");
    lab.run_with(&["apply", "-f", "-"], definition);
    lab.run(&[
        "wait",
        "--for=condition=Established",
        "crd/baremetalhosts.metal3.io",
        "--timeout=120s",
    ]);
    lab.run(&[
        "create",
        "role",
        "hosts",
        "--verb=*",
        "--resource=baremetalhosts.metal3.io",
    ]);
    lab.run(&["create", "rolebinding", "hosts", "--role=hosts", "--user=tenant"]);
    let host = |name: &str, cluster: &str| {
        json!({
            "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost",
            "metadata": {"name": name, "annotations": {"bmac.agent-install.openshift.io/cluster-reference": cluster}},
            "spec": {"online": false},
        })
    };
    let tenant = Tenant(lab);
    await_condition("the policy for BareMetalHosts to be heeded", SOON, || {
        let output = tenant.applies(&host("theirs", &format!("{CLUSTERS}/prod")));
        let heeded = output.err.contains(named);
        heeded.then_some(()).ok_or(output.err)
    });
    for (name, cluster) in [("own", format!("{}/own", CHOSEN[0])), ("none", String::new())] {
        assert_taken(&tenant.applies(&host(name, &cluster)));
    }
}

const BROKEN: &str = r#"{"stringData":{".dockerconfigjson":"no JSON"}}"#;

#[track_caller]
fn await_known(kubectl: &Kubectl, agent: &str) {
    kubectl.await_that("the Agent of the host", &["agent", agent], SOON, |agent| {
        (agent["status"]["debugInfo"]["state"] == "known-unbound").then_some(())
    });
}

#[track_caller]
fn approve(kubectl: &Kubectl, agent: &str) {
    let approval = r#"{"spec":{"approved":true}}"#;
    kubectl.run(&["patch", "agent", agent, "--type", "merge", "-p", approval]);
    kubectl.await_that("the approval to be seen", &["agent", agent], SOON, |agent| {
        is(agent, "RequirementsMet", "True", "AgentIsReady").then_some(())
    });
}

#[test]
fn hosts_report_to_replicas_whose_controllers_are_elsewhere() {
    let cluster = Postgres::shared();
    let url = cluster.create_database();
    let settings = || {
        Settings::on_address("127.0.0.1")
            .without_live_image()
            .database(&url)
    };
    let replica = settings().kube_api_elsewhere().start();
    let rest = replica.http();
    let ready = rest.request("GET", "/ready", None).expect(200).json();
    assert_eq!(ready["kubernetes"], "left to other replicas");
    let plane = control_plane();
    let kubectl = plane.kubectl();
    kubectl.run(&["create", "namespace", "lab"]);
    let kubectl = kubectl.namespace("lab");
    let controllers = settings().kubeconfig(&plane.service_kubeconfig()).start();
    let mut controllers = KubeServed::on_real(controllers, plane);
    controllers.await_leading();

    kubectl.apply(&[pull_secret(), infra_env("rack")]);
    let path = await_path(&rest, "rack");
    known_host(&rest, &path, 0);
    await_known(&kubectl, &host_id(0));
    approve(&kubectl, &host_id(0));
    // The Agent decides, as with controllers in the same process.
    let bind = format!("{path}/hosts/{}/actions/bind", host_id(0));
    let cluster = json!({"cluster_id": "6f0e1c7e-7e0d-4a52-8a3b-6a0a3a0f1f10"});
    let refusal = rest.post(&bind, &cluster).expect(400).error_message();
    assert!(refusal.contains("Agent lab/"), "{refusal}");
    // Hosts' reports without controllers wait for them.
    assert!(controllers.terminate().success());
    known_host(&rest, &path, 1);
    controllers.start_again();
    controllers.await_leading();
    await_known(&kubectl, &host_id(1));
}
