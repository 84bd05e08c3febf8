//! Bootstrap data of a provider: what Ignition's own parser refuses is refused for the Agent, and what its host is installed with is what
//! that takes.

use muster_tests::artifacts::project_root;
use muster_tests::condition::await_condition;
use muster_tests::database::{host_id, known_host};
use muster_tests::install::ignition_parser::IgnitionParser;
use muster_tests::kube::Api;
use muster_tests::kube::world::{NAMESPACE, SOON, World, imported_cluster};
use serde_json::{Value, json};

const CLUSTER: &str = "edge";
const SECRET: &str = "bootstrap";
const SAMPLES: u32 = 30;

/// An Agent of a cluster, with bootstrap data in a Secret; the path of its host's Ignition.
fn bound(world: &World) -> String {
    let path = world.infra_env(&json!({}));
    world.kubectl.apply(&imported_cluster(CLUSTER));
    known_host(&world.client(), &path, 1);
    let agent = host_id(1);
    world.await_agent(&agent, "Validated", "True", "ValidationsPassing");
    provide(world, r#"{"ignition":{"version":"3.0.0"}}"#);
    world.patch_agent(
        &agent,
        &json!({
            "hostname": "worker-1",
            "clusterDeploymentName": {"name": CLUSTER, "namespace": NAMESPACE},
            "ignitionEndpointTokenReference": {"name": SECRET, "namespace": NAMESPACE},
        }),
    );
    format!("{path}/hosts/{agent}/ignition")
}

fn provide(world: &World, ignition: &str) {
    world.kubectl.apply(&[json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": SECRET}, "stringData": {"ignition": ignition},
    })]);
}

/// The config with one more file, by which it is known again; as it is where it has no list of files.
fn with_mark(config: &str, mark: &str) -> String {
    let Ok(mut marked) = serde_json::from_str::<Value>(config) else {
        return config.to_owned();
    };
    let file = json!({"path": format!("/etc/{mark}")});
    for (parent, member, empty) in [("", "storage", json!({})), ("/storage", "files", json!([]))] {
        if let Some(object) = marked.pointer_mut(parent).and_then(Value::as_object_mut)
            && object.get(member).is_none_or(Value::is_null)
        {
            object.insert(member.to_owned(), empty);
        }
    }
    if let Some(files) = marked.pointer_mut("/storage/files").and_then(Value::as_array_mut) {
        files.push(file);
    }
    marked.to_string()
}

/// What the host is installed with once that has the mark, or why the data is refused.
fn outcome(world: &World, ignition: &str, mark: &str) -> Result<String, String> {
    await_condition(&format!("{mark} to be served or refused"), SOON, || {
        let answer = world.client().get(ignition);
        match answer.status {
            200 if answer.text().contains(mark) => {
                return Ok(Ok(answer.json()["config"].as_str().unwrap().to_owned()));
            }
            200 => {}
            // The parts are valid, and not what they make together.
            _ => return Ok(Err(answer.expect(409).error_message())),
        }
        let agent = world.kubectl.get(&["agent", &host_id(1)]);
        let conditions = agent["status"]["conditions"].as_array().into_iter().flatten();
        let mut refused = conditions.filter(|one| one["type"] == "SpecSynced" && one["status"] == "False");
        match refused.next() {
            Some(one) => Ok(Err(one["message"].as_str().unwrap_or_default().to_owned())),
            None => Err(answer.text()),
        }
    })
}

#[test]
fn what_ignition_refuses_of_bootstrap_data_is_refused_and_it_takes_the_rest() {
    let world = World::on(Api::BuiltIn);
    let ignition = bound(&world);
    let parser = IgnitionParser::built();
    let parts = project_root().join("service/core/tests/core/ignition_spec/parts.jsonl");
    let samples = parser.samples(&parts.display().to_string(), 53, SAMPLES);
    let mut given = Vec::new();
    for (index, sample) in samples.iter().enumerate() {
        let before = format!("before-{index}-sample");
        provide(&world, &with_mark(r#"{"ignition":{"version":"3.0.0"}}"#, &before));
        let plain = await_condition("good data to be taken again", SOON, || {
            outcome(&world, &ignition, &before)
        });
        world.await_agent(&host_id(1), "SpecSynced", "True", "SyncOK");
        let mark = format!("mark-{index}-sample");
        let sample = with_mark(sample, &mark);
        provide(&world, &sample);
        let outcome = outcome(&world, &ignition, &mark);
        given.push((sample, plain, outcome));
    }
    let pairs: Vec<_> = given
        .iter()
        .map(|(sample, plain, _)| (sample.as_str(), Some(plain.as_str())))
        .collect();
    let parts = parser.verdicts(&pairs);
    let merged: Vec<String> = parts
        .iter()
        .map(|verdict| verdict.merged.as_ref().unwrap_or(&Value::Null).to_string())
        .collect();
    // What is served, or what Ignition makes of the parts where we refused them.
    let wholes: Vec<_> = given
        .iter()
        .zip(&merged)
        .map(|((_, _, outcome), merged)| (outcome.as_ref().unwrap_or(merged).as_str(), None))
        .collect();
    let mut taken = 0;
    for (((sample, _, outcome), parts), whole) in given.iter().zip(&parts).zip(parser.verdicts(&wholes)) {
        match outcome {
            Ok(served) => {
                taken += 1;
                assert!(parts.errors.is_empty(), "{sample}: {:?}", parts.errors);
                assert!(
                    whole.errors.is_empty(),
                    "{sample}: {:?} in {served}",
                    whole.errors
                );
            }
            Err(why) => {
                let errors = if parts.errors.is_empty() {
                    &whole.errors
                } else {
                    &parts.errors
                };
                let named = errors
                    .iter()
                    .any(|path| path == "$" || why.contains(path.as_str()));
                assert!(named, "{sample}: Ignition refuses {errors:?}, and we {why}");
            }
        }
    }
    println!("{taken} of {} are taken", given.len());
    assert!(
        (5..given.len() - 5).contains(&taken),
        "{taken} of {}",
        given.len()
    );
}

#[test]
fn what_kubeadm_writes_in_specification_2_is_served_as_ignition_takes_it() {
    let world = World::on(Api::BuiltIn);
    let ignition = bound(&world);
    let parser = IgnitionParser::built();
    for machine in ["cp-init", "cp-join", "worker"] {
        let file = format!("docs/protocol/bootstrap/kubeadm-full-ignition-{machine}.json");
        let mark = format!("mark-of-{machine}");
        let given = std::fs::read_to_string(project_root().join(file)).unwrap();
        provide(&world, &with_mark(&given, &mark));
        let served = outcome(&world, &ignition, &mark).unwrap();
        let version = serde_json::from_str::<Value>(&served).unwrap()["ignition"]["version"].clone();
        assert_eq!(version, "3.3.0", "{machine}");
        let verdicts = parser.verdicts(&[(served.as_str(), None)]);
        assert!(
            verdicts[0].errors.is_empty(),
            "{machine}: {:?}",
            verdicts[0].errors
        );
    }
}
