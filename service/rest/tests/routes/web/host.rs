//! The page of one host: its forms, what they change, the commands that do the same, and refusals.

use muster_api::MUSTER_PATH;
use muster_api::ids::{BmcId, HostId, InfraEnvId};
use muster_api::validation::ValidationStatus;
use muster_core::lifecycle::host::HostEvent;
use muster_core::record::{HostState, KubeRef};
use muster_operations::bridge::BridgeStatus;
use serde_json::{Value, json};
use url::form_urlencoded::Serializer;

use super::Browser;
use crate::tokens::scopes::operator;
use crate::world::{Credential, World, host_id};

/// A host, its page, and an operator who sees it.
struct Scene {
    world: World,
    infra_env: InfraEnvId,
    /// The path of REST.
    host: String,
    page: String,
    visitor: Browser,
}

impl Scene {
    async fn open() -> Self {
        let world = World::open().await;
        let infra_env = world.infra_env(json!({})).await;
        world.host(infra_env, 1).await;
        Self::of(world, infra_env).await
    }

    /// With the host number 1, which has registered.
    async fn of(world: World, infra_env: InfraEnvId) -> Self {
        Self {
            page: format!("/ui/hosts/{infra_env}/{}", host_id(1)),
            host: format!("/infra-envs/{infra_env}/hosts/{}", host_id(1)),
            visitor: Browser::operator(&world).await,
            world,
            infra_env,
        }
    }

    async fn text(&self, query: &str) -> String {
        let path = format!("{}{query}", self.page);
        self.visitor.open(&self.world, &path).await.expect(200).text()
    }

    /// Sends the form of an action; returns the page that follows.
    async fn submit(&self, action: &str, form: &str) -> String {
        let path = format!("{}/{action}", self.page);
        let sent = self.visitor.submit(&self.world, &path, form).await.expect(303);
        assert_eq!(sent.header("location"), self.page);
        self.visitor.follow(&self.world, &sent).await.expect(200).text()
    }

    /// The page with the cookie of an action, as if that had been carried out.
    async fn after(&self, action: &str, detail: &str) -> String {
        let fields = [
            ("page", self.page.as_str()),
            ("action", action),
            ("detail", detail),
        ];
        let value = Serializer::new(String::new()).extend_pairs(fields).finish();
        let visitor = self.visitor.noted(&format!("__Host-muster-notice={value}"));
        visitor.open(&self.world, &self.page).await.expect(200).text()
    }

    /// Sends the form of an action that is refused.
    async fn refused(&self, action: &str, form: &str, status: u16) -> String {
        let path = format!("{}/{action}", self.page);
        let refused = self.visitor.submit(&self.world, &path, form).await;
        refused.expect(status).text()
    }

    async fn record(&self) -> Value {
        self.world
            .get(&self.world.operator, &self.host)
            .await
            .expect(200)
            .json()
    }
}

/// A command as it stands in the page.
fn escaped(command: &str) -> String {
    command
        .replace('&', "&#38;")
        .replace('"', "&#34;")
        .replace('\'', "&#39;")
}

#[track_caller]
fn assert_has(page: &str, parts: &[&str]) {
    for part in parts {
        assert!(page.contains(part), "{part} is not in {page}");
    }
}

#[tokio::test]
async fn the_disk_is_explained_and_another_one_is_refused_at_its_field() {
    let scene = Scene::open().await;
    let page = scene.text("").await;
    assert_has(
        &page,
        &[
            "the only possible one",
            "all on it is overwritten",
            "Too small",
            "default by 198.51.100.1 on eth0",
            r#"<td data-label="MTU" class="number">1500</td>"#,
            "<summary>Inventory</summary>",
            "The host as JSON",
        ],
    );
    let events = format!("/ui/events?host={}", host_id(1));
    assert_has(
        &page,
        &[&format!(r#"<a href="{events}">All events of the host</a>"#)],
    );
    let events = scene.visitor.open(&scene.world, &events).await.expect(200);
    assert_has(&events.text(), &["muster events --host"]);
    let command = format!("muster host set {} --disk '/dev/disk/by-id/wwn-sda'", host_id(1));
    let done = scene.submit("disk", "value=/dev/disk/by-id/wwn-sda").await;
    assert_has(&done, &[&escaped(&command)]);
    let refused = scene.refused("disk", "value=/dev/disk/by-id/wwn-sdb", 409).await;
    let form = refused.split(r#"/disk">"#).nth(1).unwrap();
    let form = form.split("</form>").next().unwrap();
    assert_has(
        form,
        &[r#"id="refused-disk" role="alert""#, "cannot be installed to"],
    );
    assert_eq!(
        scene.record().await["installation_disk_id"],
        "/dev/disk/by-id/wwn-sda"
    );
}

#[tokio::test]
async fn the_health_of_a_host_has_last_and_worst_values_and_a_line() {
    let scene = Scene::open().await;
    assert!(!scene.text("").await.contains("<h2>Health</h2>"));
    let sensor = |celsius: i16| json!([{"sensor": "<b>nvme0</b>", "celsius": celsius, "limit": 81}]);
    for celsius in [84, 40] {
        let report = json!({"load_percent": 7, "temperatures": sensor(celsius)});
        let (pool, host) = (scene.infra_env, &scene.host);
        scene.world.report(pool, host, "health", &report).await;
    }
    let page = scene.text("").await;
    assert_has(
        &page,
        &[
            "<h2>Health</h2>",
            "<bdi>40 °C</bdi>",
            "84 °C on ",
            "limit 81 °C",
            "<svg class=\"spark\" ",
            "Hottest sensor in the last 24 hours: 84 to 84 °C",
        ],
    );
    assert!(!page.contains("<b>nvme0"), "texts of machines are escaped");
}

#[tokio::test]
async fn labels_are_set_and_removed_and_the_command_names_both() {
    let scene = Scene::open().await;
    let page = scene.submit("labels", "value=rack%3Dr2%0D%0Azone%3Da").await;
    assert_eq!(scene.record().await["node_labels"], r#"{"rack":"r2","zone":"a"}"#);
    assert_has(&page, &["\nrack=r2\nzone=a</textarea>"]);
    let page = scene.submit("labels", "value=rack%3Dr2").await;
    let command = format!("muster host set {} --label 'rack=r2' --label 'zone-'", host_id(1));
    assert_has(&page, &[&escaped(&command)]);
    assert!(!page.contains("kubectl"), "the host has no Agent");
    let refused = scene.refused("labels", "value=rack", 400).await;
    assert_has(&refused, &["is no label", "\nrack</textarea>"]);
    assert_eq!(scene.record().await["node_labels"], r#"{"rack":"r2"}"#);
    // Nothing but keys comes into the command.
    let page = scene.after("labels", "x;evil <evil>").await;
    assert!(
        page.contains("The node gets these labels") && !page.contains("evil"),
        "{page}"
    );
}

#[tokio::test]
async fn a_refused_name_stays_in_its_field_with_the_reason() {
    let scene = Scene::open().await;
    let page = scene.refused("name", "value=no%20name", 400).await;
    assert_has(
        &page,
        &[
            r#"value="no name" required maxlength="63" spellcheck="false" autocomplete="off" aria-invalid="true" aria-describedby="refused-name""#,
            r#"id="refused-name" role="alert""#,
        ],
    );
    // A page that follows changes would replace it.
    assert!(!page.contains("data-revision"), "{page}");
    let page = scene.submit("name", "value=node-7").await;
    let command = format!("muster host set {} --name 'node-7'", host_id(1));
    assert_has(&page, &[&escaped(&command), "data-revision"]);
}

#[tokio::test]
async fn paths_with_ids_that_are_none_are_answered_by_a_page() {
    let scene = Scene::open().await;
    for path in ["/ui/hosts/x/y", "/ui/pools/x"] {
        let answer = scene.visitor.open(&scene.world, path).await.expect(404);
        assert!(answer.header("content-type").starts_with("text/html"), "{path}");
        assert_has(&answer.text(), &["there is no such page", "To the overview"]);
    }
    let sent = scene.visitor.submit(&scene.world, "/ui/hosts/x/y/name", "").await;
    assert_has(&sent.expect(404).text(), &["there is no such page"]);
}

#[tokio::test]
async fn the_next_step_stands_first() {
    let scene = Scene::open().await;
    let page = scene.text("").await;
    assert_has(&page, &["muster cluster import"]);
    let cluster = scene.world.cluster().await;
    let page = scene.text("").await;
    let (_, actions) = page.split_once("aria-label=\"Actions\"").unwrap();
    let first = actions.split("<form").nth(1).unwrap();
    assert_has(first, &["/bind\"", r#"<button class="first">Bind</button>"#]);
    let page = scene.submit("bind", &format!("value={cluster}")).await;
    let command = format!("muster host bind {} --cluster 'day2'", host_id(1));
    assert_has(&page, &[&escaped(&command)]);
}

#[tokio::test]
async fn a_check_is_ignored_for_the_cluster_and_counts_again() {
    let scene = Scene::open().await;
    let refused = scene.refused("ignore-check", "value=ntp-synced", 409).await;
    assert_has(&refused, &["this host is in none"]);
    let cluster = scene.world.cluster().await;
    scene.world.bind(&scene.host, cluster).await;
    let page = scene.submit("ignore-check", "value=ntp-synced").await;
    let path = format!("/clusters/{cluster}/ignored-validations");
    let ignored = async || {
        let found = scene.world.get(&scene.world.operator, &path).await;
        found.expect(200).json()
    };
    assert_eq!(
        ignored().await,
        json!({"host-validation-ids": "[\"ntp-synced\"]"})
    );
    assert_has(&page, &["curl -X PUT", "[\\&#34;ntp-synced\\&#34;]"]);
    scene.submit("count-check", "value=ntp-synced").await;
    assert_eq!(ignored().await, json!({}));
    scene.refused("count-check", "value=ntp-synced", 409).await;
    scene.refused("ignore-check", "value=none-such", 400).await;
}

#[tokio::test]
async fn logs_are_requested_and_downloaded_with_the_session() {
    let world = World::open().await;
    let infra_env = world.infra_env(json!({})).await;
    let agent = world.agent(infra_env).await;
    let body = json!({"host_id": host_id(1), "discovery_agent_version": "muster-agent/0.1.0"});
    world
        .post(&agent, &format!("/infra-envs/{infra_env}/hosts"), &body)
        .await
        .expect(201);
    let scene = Scene::of(world, infra_env).await;
    assert_has(&scene.text("").await, &["not requested"]);
    let page = scene.submit("logs", "").await;
    assert_has(&page, &["muster host logs", ">requested<"]);
    let archive = format!("{MUSTER_PATH}{}/logs/archive", scene.host);
    let form = "--x\r\nContent-Disposition: form-data; name=\"upfile\"; filename=\"logs.tar.gz\"\r\n\r\nall\r\n--x--\r\n";
    let form = ("multipart/form-data; boundary=x", form.to_owned());
    scene.world.post_text(&agent, &archive, form).await.expect(204);
    let page = scene.text("").await;
    assert_has(&page, &[&format!(r#"<a href="{archive}">"#), "3 bytes", ">came<"]);
    // As browsers follow a link.
    let headers = [
        ("cookie", scene.visitor.cookie.clone()),
        ("accept", "text/html,application/xhtml+xml,*/*;q=0.8".to_owned()),
    ];
    let sent = scene
        .world
        .send(&Credential::Nothing, "GET", &archive, None, &headers)
        .await;
    assert_eq!(sent.expect(200).text(), "all");
}

#[tokio::test]
async fn the_power_is_switched_by_the_bmc() {
    let world = World::open().await;
    let infra_env = world.infra_env(json!({})).await;
    let bmcs = format!("{MUSTER_PATH}/infra-envs/{infra_env}/bmcs");
    let body = json!({"name": "r1u7", "address": "bmc.example.test", "user_name": "u", "password": "p", "discover": false});
    let made = world.post(&world.operator, &bmcs, &body).await.expect(201).json();
    let bmc: BmcId = made["id"].as_str().unwrap().parse().unwrap();
    let id: HostId = host_id(1).parse().unwrap();
    world.host(infra_env, 1).await;
    let mut found = world.operations.bmcs.get(infra_env, bmc).await.unwrap();
    found.host_id = Some(id);
    world.operations.store().update_bmc(&found, &[]).await.unwrap();
    let scene = Scene::of(world, infra_env).await;
    let page = scene.text("").await;
    assert_has(
        &page,
        &[
            "BMC <bdi>r1u7</bdi>",
            "<summary>Power off …</summary>",
            "Power on",
        ],
    );
    let page = scene.submit("power-off", "value=force").await;
    let command = format!("muster host power {} off --force", host_id(1));
    assert_has(&page, &[&command, "off: pending"]);
    let now = scene
        .world
        .get(&scene.world.operator, &format!("{bmcs}/{bmc}"))
        .await
        .expect(200)
        .json();
    assert_eq!(now["power"]["request"]["force"], true);
    let refused = scene.refused("power-reset", "value=", 409).await;
    assert_has(
        &refused,
        &[
            r#"<details open><summary>Power off and on …</summary>"#,
            r#"id="refused-power-reset""#,
        ],
    );
}

#[tokio::test]
async fn a_host_without_a_bmc_has_no_power_to_switch() {
    let scene = Scene::open().await;
    assert!(!scene.text("").await.contains("Power on"));
    let refused = scene.refused("power-on", "", 409).await;
    assert_has(&refused, &["no BMC of this host is known"]);
}

#[tokio::test]
async fn a_host_with_an_agent_has_its_commands() {
    let world = World::open().await;
    let infra_env = world.infra_env(json!({})).await;
    world
        .operations
        .infra_envs
        .change(infra_env, |found| {
            let mut next = found.clone();
            next.kube = Some(KubeRef::new("lab", "hw"));
            Ok(Some((next, Vec::new())))
        })
        .await
        .unwrap();
    world.host(infra_env, 1).await;
    world.operations.bridge.set(BridgeStatus::Leading);
    let scene = Scene::of(world, infra_env).await;
    let page = scene.after("approve", "").await;
    assert_has(
        &page,
        &[
            "Approve it: nothing is installed",
            r#"<button class="first">Approve</button>"#,
            &escaped(r#"--type merge -p '{"spec":{"approved":true}}'"#),
            &format!("metadata.name={} -o yaml", host_id(1)),
        ],
    );
    let refused = scene.refused("name", "value=node-7", 409).await;
    assert_has(
        &refused,
        &[
            "kubectl -n lab patch agent",
            r#"id="refused-name""#,
            r#"value="node-7""#,
        ],
    );
    assert_ne!(scene.record().await["requested_hostname"], "node-7");
    assert_eq!(scene.record().await["infra_env_id"], scene.infra_env.to_string());
}

#[tokio::test]
async fn what_a_token_forbids_is_disabled_with_the_reason() {
    let scene = Scene::open().await;
    let page = scene.text("").await;
    assert!(!page.contains("forbidden"), "{page}");
    assert_has(&page, &[r#"<fieldset class="actions">"#]);
    let cluster = scene.world.cluster().await;
    let of = async |read_only: bool, scope: Option<InfraEnvId>| {
        let (_, token) = operator(&scene.world, read_only, scope).await;
        let visitor = Browser::signed_in(&scene.world, &token).await;
        let opened = visitor.open(&scene.world, &scene.page).await;
        (visitor, opened.expect(200).text())
    };
    let all = r#"<fieldset class="actions" disabled aria-describedby="forbidden">"#;
    let (_, page) = of(true, None).await;
    assert_has(&page, &[r#"<p id="forbidden">Your token only reads"#, all]);

    let (confined, page) = of(false, Some(scene.infra_env)).await;
    assert_has(
        &page,
        &[
            r#"<p id="forbidden">Your token is for one pool"#,
            r#"<fieldset class="actions">"#,
            r#" disabled aria-describedby="forbidden">Bind</button>"#,
            r#"<button aria-label="Set: Role">Set</button>"#,
        ],
    );
    let bind = format!("{}/bind", scene.page);
    let refused = confined
        .submit(&scene.world, &bind, &format!("value={cluster}"))
        .await;
    assert_eq!(refused.status, 403, "{}", refused.text());

    scene.world.bind(&scene.host, cluster).await;
    let operations = &scene.world.operations;
    let id: HostId = host_id(1).parse().unwrap();
    let mut host = operations.hosts.get(scene.infra_env, id).await.unwrap();
    let mut checks = host.data.validations.values_mut().flatten();
    checks.next().unwrap().status = ValidationStatus::Failure;
    operations.store().save_host(&host, None, &[]).await.unwrap();
    let button = "Ignore in the whole cluster</button>";
    assert_has(&scene.text("").await, &[&format!("\">{button}")]);
    let disabled = format!(r#" disabled aria-describedby="forbidden">{button}"#);
    for read_only in [true, false] {
        let (_, page) = of(read_only, Some(scene.infra_env)).await;
        let buttons = page.matches(button).count();
        assert_eq!(
            (page.matches(&disabled).count(), buttons),
            (buttons, buttons.max(1)),
            "{page}"
        );
    }
}

#[tokio::test]
async fn a_wait_has_its_end_and_what_to_do_from_its_first_second() {
    let world = World::open().await;
    let infra_env = world.infra_env(json!({})).await;
    world.host(infra_env, 1).await;
    world.put(infra_env, 1, HostState::Reclaiming).await;
    let scene = Scene::of(world, infra_env).await;
    let page = scene.text("").await;
    assert_has(
        &page,
        &[
            "Waits for the agent on the node to download",
            ", then somebody must boot the host.",
            "<strong>What to do:</strong> See the journal of muster-node-agent on the node",
        ],
    );
    let path = format!("{MUSTER_PATH}/hosts?q=wait:*");
    let found = scene
        .world
        .get(&scene.world.operator, &path)
        .await
        .expect(200)
        .json();
    let wait = &found["hosts"][0]["wait"];
    assert_eq!(wait["then"], "somebody must boot the host");
    assert_eq!(
        wait["what_to_do"],
        "See the journal of muster-node-agent on the node, or boot the host into the discovery image"
    );
}

#[tokio::test]
async fn a_host_that_failed_says_so_until_somebody_forgets_it() {
    let world = World::open().await;
    let infra_env = world.infra_env(json!({})).await;
    world.host(infra_env, 1).await;
    world.put(infra_env, 1, HostState::AddedToExistingCluster).await;
    let id: HostId = host_id(1).parse().unwrap();
    let event = HostEvent::NodeFailed {
        reason: "the Machine m was unhealthy".into(),
    };
    world.operations.hosts.apply(infra_env, id, event).await.unwrap();
    let scene = Scene::of(world, infra_env).await;
    let page = scene.text("").await;
    assert_has(
        &page,
        &[
            "failed-before",
            "failed on this host once",
            "the Machine m was unhealthy",
            "muster host forget-failures",
        ],
    );
    let failures = &scene.record().await["failures"];
    assert_eq!(failures["count"], 1);
    assert_eq!(failures["message"], "the Machine m was unhealthy");
    assert!(failures["not_before"].is_string() && failures.get("quarantined").is_none());
    let path = format!("{MUSTER_PATH}{}/actions/forget-failures", scene.host);
    let operator = &scene.world.operator;
    let freed = scene.world.post(operator, &path, &json!({})).await;
    assert!(freed.expect(200).json().get("failures").is_none());
    let mark = r#"<span class="mood busy">failed-before</span>"#;
    assert!(page.contains(mark) && !scene.text("").await.contains(mark));
}
