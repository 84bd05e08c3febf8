//! `muster host logs`, with the test in the place of the hosts' agents.

use std::thread;
use std::time::Duration;

use muster_api::MUSTER_PATH;
use muster_tests::condition::await_condition;
use muster_tests::http::HttpClient;
use serde_json::{Value, json};

use crate::golden::{all_agree, differs};
use crate::world::World;

const LIMIT: Duration = Duration::from_secs(60);

/// Polls until the host gets the step to send its logs; returns the arguments of the step.
fn await_request(agent: &HttpClient, host: &str) -> Value {
    await_condition("the request for logs", LIMIT, || {
        let answer = agent.get(&format!("{host}/instructions")).expect(200).json();
        let steps = answer["instructions"].as_array().cloned().unwrap_or_default();
        let step = steps.into_iter().find(|step| step["step_type"] == "logs-gather");
        let step = step.ok_or_else(|| answer.to_string())?;
        serde_json::from_str(step["args"][0].as_str().unwrap()).map_err(|error| error.to_string())
    })
}

fn upload(agent: &HttpClient, host: &str, content: &str) -> u16 {
    let agent = agent.with("Content-Type", "multipart/form-data; boundary=x");
    let form = format!(
        "--x\r\nContent-Disposition: form-data; name=\"upfile\"; filename=\"logs.tar.gz\"\r\n\r\n{content}\r\n--x--\r\n"
    );
    let path = format!("{MUSTER_PATH}{host}/logs/archive");
    agent.request("POST", &path, Some(form.as_bytes())).status
}

#[test]
fn logs_are_asked_for_and_written_to_a_file() {
    let world = World::start(&["--no-mirror"]);
    let lab = world.infra_env("lab");
    let host = world.host(&lab, 1, "worker-1");
    let foreign = world.host_with_agent(&lab, 2, "worker-2", "quay.io/other/agent:1");
    let agent = world.rest();
    let mut differences = Vec::new();
    let mut golden = |name: &str, arguments: &[&str]| {
        let text = world.transcript(world.muster(arguments));
        differences.extend(differs(name, &text));
    };
    golden("mistake-host-logs-none", &["host", "logs", "worker-1", "--last"]);
    golden("mistake-host-logs-foreign-agent", &["host", "logs", "worker-2"]);
    let asked = agent.request("GET", &format!("{MUSTER_PATH}{foreign}/logs"), None);
    assert_eq!(asked.expect(200).json(), json!({"state": "not-asked"}));
    assert_eq!(upload(&agent, &host, "unasked"), 409);

    thread::scope(|scope| {
        let asking = scope.spawn(|| {
            world
                .muster(&["host", "logs", "worker-1", "-o", "w.tar.gz"])
                .output()
        });
        let asked = await_request(&agent, &host);
        assert_eq!(asked["cluster_id"], "", "{asked}");
        assert_eq!(upload(&agent, &host, "all that was logged"), 204);
        let done = asking.join().unwrap().unwrap();
        let errors = String::from_utf8_lossy(&done.stderr);
        assert!(
            done.status.success() && errors.contains("worker-1 learns of it with its next poll"),
            "{errors}"
        );
        assert_eq!(String::from_utf8_lossy(&done.stdout), "w.tar.gz: 19 bytes\n");
    });
    let written = std::fs::read_to_string(world.folder.path().join("w.tar.gz")).unwrap();
    assert_eq!(written, "all that was logged");
    assert_eq!(upload(&agent, &host, "once more"), 409);

    thread::scope(|scope| {
        let asking = scope.spawn(|| world.muster(&["host", "logs", "worker-1"]).output());
        await_request(&agent, &host);
        let reply = json!({"step_type": "logs-gather", "step_id": "logs-gather-1", "exit_code": -1, "output": "",
            "error": "the logs were not taken: no route to host"});
        agent.post(&format!("{host}/instructions"), &reply).expect(204);
        let done = asking.join().unwrap().unwrap();
        let errors = String::from_utf8_lossy(&done.stderr);
        assert_eq!(done.status.code(), Some(1), "{errors}");
        assert!(
            errors.contains(
                "sent no logs: its agent could not send them: the logs were not taken: no route to host"
            ) && errors.contains("muster host logs worker-1 --last"),
            "{errors}"
        );
    });
    golden("command-host-logs-last", &["host", "logs", "worker-1", "--last"]);
    all_agree(differences);
}
