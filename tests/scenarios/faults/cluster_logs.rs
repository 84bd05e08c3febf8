//! Logs of hosts are uploaded in the agents' form and downloaded in the clients' form.

use muster_tests::service::Settings;
use serde_json::json;

use muster_tests::database::{Database, host_id, infra_env, known_host, on_each_database};
use muster_tests::http::HttpClient;

on_each_database!(
    logs_go_up_and_come_down_whole,
    uploads_that_are_not_as_described_leave_nothing_behind
);

const BOUNDARY: &str = "muster-test-boundary";

/// A form in the agents' format.
fn form(field: &str, content: &[u8]) -> Vec<u8> {
    let head = format!(
        "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{field}\"; filename=\"logs.tar.gz\"\r\n\
         Content-Type: application/x-gzip\r\n\r\n"
    );
    let tail = format!("\r\n--{BOUNDARY}--\r\n");
    [head.as_bytes(), content, tail.as_bytes()].concat()
}

struct Bound {
    operator: HttpClient,
    agent: HttpClient,
    cluster: String,
    host: String,
    upload: String,
}

fn bound(service: &muster_tests::database::Served) -> Bound {
    let operator = service.http().with("Authorization", &service.token(None));
    let path = infra_env(&operator);
    let host = known_host(&operator, &path, 1);
    let cluster = operator
        .post(
            "/clusters/import",
            &json!({"name": "day2", "api_vip_dnsname": "192.0.2.5", "openshift_cluster_id": host_id(9)}),
        )
        .expect(201)
        .json()["id"]
        .as_str()
        .unwrap()
        .to_owned();
    operator
        .post(&format!("{host}/actions/bind"), &json!({"cluster_id": cluster}))
        .expect(200);
    let id = path.trim_start_matches("/infra-envs/");
    Bound {
        agent: service
            .http()
            .with("X-Secret-Key", &service.token(Some(&path)))
            .with(
                "Content-Type",
                &format!("multipart/form-data; boundary={BOUNDARY}"),
            ),
        upload: format!(
            "{}/clusters/{cluster}/logs?logs_type=host&infra_env_id={id}&host_id={}",
            muster_api::BASE_PATH,
            host_id(1)
        ),
        operator,
        cluster,
        host,
    }
}

fn logs_go_up_and_come_down_whole(database: Database) {
    let service = database.serve_with(Settings::auth_local);
    let Bound {
        operator,
        agent,
        cluster,
        host,
        upload,
    } = bound(&service);
    let logs = format!("/clusters/{cluster}/logs");
    operator.get(&logs).expect(409).error_message();
    operator
        .get(&format!("{logs}?logs_type=host"))
        .expect(409)
        .error_message();

    // Longer than one chunk, and no valid text.
    let content: Vec<u8> = (0..1_500_000u32).map(|n| (n * 31 % 251) as u8).collect();
    for round in [&content[..1000], &content] {
        agent
            .request("POST", &upload, Some(&form("upfile", round)))
            .expect(204);
    }
    let of_host = operator
        .get(&format!("{logs}?logs_type=host&host_id={}", host_id(1)))
        .expect(200);
    assert!(of_host.body == content, "the last upload comes back as it was");
    let name = of_host.header("content-disposition").to_owned();
    assert!(
        name.starts_with("attachment; filename=\"day2_") && name.ends_with(".tar.gz\""),
        "{name}"
    );
    let all = operator.get(&logs).expect(200);
    let mut archive = tar::Archive::new(&all.body[..]);
    let mut names = Vec::new();
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        let mut read = Vec::new();
        std::io::Read::read_to_end(&mut entry, &mut read).unwrap();
        assert!(read == content);
        names.push(entry.path().unwrap().display().to_string());
    }
    assert_eq!(names.len(), 1, "{names:?}");

    let shown = operator.get(&host).expect(200).json();
    assert_eq!(shown["logs_info"], "collecting");
    assert_ne!(shown["logs_collected_at"], "0001-01-01T00:00:00.000Z");
    let events = operator
        .get(&format!("/events?host_ids={}", host_id(1)))
        .expect(200)
        .json()
        .to_string();
    assert!(events.contains("host_logs_uploaded"), "{events}");
}

fn uploads_that_are_not_as_described_leave_nothing_behind(database: Database) {
    let service = database.serve_with(Settings::auth_local);
    let Bound {
        operator,
        agent,
        cluster,
        upload,
        ..
    } = bound(&service);
    let send = |url: &str, body: &[u8]| agent.request("POST", url, Some(body));
    send(&upload, &form("other", b"x")).expect(400).error_message();
    send(&upload, b"no form").expect(400).error_message();
    let cut = form("upfile", &[7; 700_000]);
    send(&upload, &cut[..600_000]).expect(400).error_message();
    // A host that is not in that cluster, or of another InfraEnv.
    send(&upload.replace(&host_id(1), &host_id(3)), &form("upfile", b"x"))
        .expect(404)
        .error_message();
    send(
        &upload.replace("logs_type=host", "logs_type=all"),
        &form("upfile", b"x"),
    )
    .expect(400)
    .error_message();
    send(&upload.replace("&host_id=", "&ignored="), &form("upfile", b"x"))
        .expect(400)
        .error_message();
    operator
        .get(&format!("/clusters/{cluster}/logs"))
        .expect(409)
        .error_message();
    let other = infra_env(&operator);
    service
        .http()
        .with("X-Secret-Key", &service.token(Some(&other)))
        .with(
            "Content-Type",
            &format!("multipart/form-data; boundary={BOUNDARY}"),
        )
        .request("POST", &upload, Some(&form("upfile", b"x")))
        .expect(404)
        .error_message();
}
