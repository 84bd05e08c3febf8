//! The list of pools, and the page of one.

use muster_api::ids::InfraEnvId;
use muster_tests::rest::{PULL_SECRET, PULL_SECRET_CREDENTIAL};
use serde_json::{Value, json};
use url::form_urlencoded::{self, Serializer};

use super::Browser;
use crate::tokens::scopes::operator;
use crate::world::World;

const KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIO2gtPj7Qm1hmwRMZ0KfbOHXLVWKKBXwDtoq8FtLYS2O me";

/// A form with these fields.
fn form(fields: &[(&str, &str)]) -> String {
    Serializer::new(String::new()).extend_pairs(fields).finish()
}

async fn pool(world: &World, id: InfraEnvId) -> Value {
    let path = format!("/infra-envs/{id}");
    world.get(&world.operator, &path).await.expect(200).json()
}

async fn iso(world: &World, id: InfraEnvId) -> String {
    let path = format!("/infra-envs/{id}/downloads/image-url");
    let url = world.get(&world.operator, &path).await.expect(200).json()["url"].clone();
    url.as_str().unwrap().to_owned()
}

/// The part of the page from this text to the end of the row.
fn row<'a>(page: &'a str, text: &str) -> &'a str {
    let (_, rest) = page.split_once(text).unwrap_or_else(|| panic!("{text}: {page}"));
    rest.split("</tr>").next().unwrap()
}

#[tokio::test]
async fn a_pool_is_made_and_its_page_has_the_commands_that_boot_machines() {
    let world = World::open().await;
    let visitor = Browser::operator(&world).await;
    let first = visitor.open(&world, "/ui/pools").await.expect(200).text();
    assert!(first.contains("Make the first pool"), "{first}");
    let secret = "pull_secret=not%20JSON";
    let refused = visitor
        .submit(&world, "/ui/pools", &format!("name=lab&{secret}"))
        .await;
    assert_eq!(refused.status, 400);
    assert!(refused.text().contains("role=\"alert\"") && refused.text().contains("value=\"lab\""));
    assert!(
        !refused.text().contains("not JSON</textarea>"),
        "a secret is not sent back"
    );
    let good = form_urlencoded::byte_serialize(PULL_SECRET.as_bytes()).collect::<String>();
    let made = visitor
        .submit(&world, "/ui/pools", &format!("name=lab&pull_secret={good}"))
        .await
        .expect(303);
    let page = visitor
        .open(&world, made.header("location"))
        .await
        .expect(200)
        .text();
    for part in [
        "curl -fLo lab.iso",
        // A machine that is fit.
        "-m 8192 -nographic -cdrom lab.iso -drive file=disk.img",
        "chain http",
        "muster pxe-config dnsmasq",
        "muster bmc add",
        "0 hosts",
        "No machine has registered yet",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let id = made
        .header("location")
        .rsplit('/')
        .next()
        .unwrap()
        .parse()
        .unwrap();
    world.infra_env(json!({"name": "elsewhere"})).await;
    world.host(id, 1).await;
    let list = visitor.open(&world, "/ui/pools").await.expect(200).text();
    assert!(list.contains("1 host<") && list.contains("elsewhere"), "{list}");
    let events = format!("/ui/events?pool={id}");
    assert!(
        page.contains(&format!("<a href=\"{events}\">All events of the pool</a>")),
        "{page}"
    );
    let events = visitor.open(&world, &events).await.expect(200).text();
    assert!(events.contains("muster events --infra-env"), "{events}");

    let (_, guest) = operator(&world, false, Some(id)).await;
    let guest = Browser::signed_in(&world, &guest).await;
    let own = guest.open(&world, "/ui/pools").await.expect(200).text();
    assert!(own.contains(">lab<") && !own.contains(">elsewhere<"), "{own}");
    let (_, form) = own
        .split_once("<p id=\"forbidden\">Your token is for one pool")
        .unwrap();
    assert!(
        form.contains(r#"<fieldset disabled aria-describedby="forbidden">"#) && !form.contains("<fieldset>"),
        "{form}"
    );
    assert!(!list.contains("forbidden"), "{list}");
    let refused = guest
        .submit(&world, "/ui/pools", &format!("name=mine&pull_secret={good}"))
        .await;
    assert_eq!(refused.status, 403);
}

#[tokio::test]
async fn a_pool_is_made_without_a_pull_secret_and_what_was_typed_stays() {
    let world = World::open().await;
    let visitor = Browser::operator(&world).await;
    let typed = [
        ("name", "lab"),
        ("ssh_authorized_key", "no key"),
        ("cpu_architecture", "arm64"),
    ];
    let refused = visitor
        .submit(&world, "/ui/pools", &form(&typed))
        .await
        .expect(400)
        .text();
    assert!(
        refused.contains(">no key</textarea>") && refused.contains("value=\"arm64\" selected"),
        "{refused}"
    );
    let typed = [("name", "lab"), ("ssh_authorized_key", KEY), ("pull_secret", "")];
    let made = visitor
        .submit(&world, "/ui/pools", &form(&typed))
        .await
        .expect(303);
    let id = made
        .header("location")
        .rsplit('/')
        .next()
        .unwrap()
        .parse()
        .unwrap();
    let made = pool(&world, id).await;
    assert_eq!(
        (&made["name"], &made["ssh_authorized_key"]),
        (&json!("lab"), &json!(KEY))
    );
    let page = visitor.open(&world, &format!("/ui/pools/{id}")).await;
    let page = page.expect(200).text();
    assert!(
        page.contains("None is set.") && !page.contains("One is set."),
        "{page}"
    );
    // By the page no second pool of a name is made unawares.
    let twin = visitor
        .submit(&world, "/ui/pools", &form(&typed))
        .await
        .expect(409);
    let twin = twin.text();
    assert!(
        twin.contains("there is a pool lab already") && twin.contains("value=\"lab\""),
        "{twin}"
    );
}

#[tokio::test]
async fn pools_of_one_name_have_their_own_number_of_hosts() {
    let world = World::open().await;
    let twins = [world.infra_env(json!({})).await, world.infra_env(json!({})).await];
    for (number, twin) in [(1, twins[0]), (2, twins[1]), (3, twins[1])] {
        world.host(twin, number).await;
    }
    let visitor = Browser::operator(&world).await;
    let list = visitor.open(&world, "/ui/pools").await.expect(200).text();
    for (twin, hosts) in [(twins[0], ">1 host<"), (twins[1], ">2 hosts<")] {
        let row = row(&list, &format!("href=\"/ui/pools/{twin}\""));
        assert!(row.contains(hosts), "{hosts}: {row}");
    }
}

#[tokio::test]
async fn a_hundred_pools_are_shown_at_a_time_each_with_its_hosts() {
    let world = World::open().await;
    let mut last = None;
    for number in 0..101 {
        last = Some(
            world
                .infra_env(json!({"name": format!("rack-{number:03}")}))
                .await,
        );
    }
    let last = last.unwrap();
    world.host(last, 1).await;
    let visitor = Browser::operator(&world).await;
    let first = visitor.open(&world, "/ui/pools").await.expect(200).text();
    assert!(
        first.contains("rack-099") && !first.contains("rack-100"),
        "{first}"
    );
    assert!(first.contains("101 pools in all") && first.contains("href=\"/ui/pools?from=100\""));
    let second = visitor
        .open(&world, "/ui/pools?from=100")
        .await
        .expect(200)
        .text();
    assert!(
        row(&second, &format!("href=\"/ui/pools/{last}\"")).contains(">1 host<"),
        "{second}"
    );
    assert!(!second.contains("rack-099") && second.contains("href=\"/ui/pools\">Those before"));
}

#[tokio::test]
async fn settings_are_changed_and_the_command_that_does_the_same_has_no_secret() {
    let world = World::open().await;
    let id = world
        .infra_env(json!({"name": "lab", "additional_ntp_sources": "192.0.2.1"}))
        .await;
    let visitor = Browser::operator(&world).await;
    let page = format!("/ui/pools/{id}");
    let shown = visitor.open(&world, &page).await.expect(200).text();
    assert!(
        shown.contains("value=\"192.0.2.1\"") && shown.contains("One is set."),
        "{shown}"
    );
    assert!(!shown.contains(PULL_SECRET_CREDENTIAL), "{shown}");
    let changed = visitor
        .submit(
            &world,
            &format!("{page}/settings"),
            &form(&[
                ("image_type", "minimal-iso"),
                ("additional_ntp_sources", ""),
                ("ssh_authorized_key", KEY),
                ("proxy.http_proxy", "http://me:hidden@192.0.2.3:3128"),
                ("kernel_arguments", "a=1\r\nb"),
                ("pull_secret", PULL_SECRET),
            ]),
        )
        .await
        .expect(303);
    let now = pool(&world, id).await;
    assert_eq!(now["type"], "minimal-iso");
    assert_eq!(now.get("additional_ntp_sources"), None);
    assert_eq!(now["ssh_authorized_key"], KEY);
    assert_eq!(now["proxy"]["http_proxy"], "http://me:hidden@192.0.2.3:3128");
    let arguments: Value = serde_json::from_str(now["kernel_arguments"].as_str().unwrap()).unwrap();
    assert_eq!(
        (&arguments[0]["value"], &arguments[1]["value"]),
        (&json!("a=1"), &json!("b"))
    );
    let done = visitor.follow(&world, &changed).await.expect(200).text();
    let (_, line) = done.split_once("<code>muster infra-env update").unwrap();
    let (line, _) = line.split_once("</code>").unwrap();
    for part in [
        "--image-type minimal-iso",
        "--ssh-key FILE",
        "--http-proxy URL",
        "--pull-secret FILE",
    ] {
        assert!(line.contains(part), "{part}: {line}");
    }
    assert!(
        !line.contains("hidden") && !line.contains(PULL_SECRET_CREDENTIAL),
        "{line}"
    );
    // The same again is no change.
    let again = visitor
        .submit(&world, &format!("{page}/settings"), "image_type=minimal-iso")
        .await
        .expect(303);
    assert_eq!(again.header("location"), page);
    let again = visitor.follow(&world, &again).await.expect(200).text();
    assert!(again.contains("Nothing was changed"), "{again}");
}

#[tokio::test]
async fn a_refused_setting_is_marked_and_what_was_typed_stays() {
    let world = World::open().await;
    let id = world.infra_env(json!({})).await;
    let visitor = Browser::operator(&world).await;
    let typed = form(&[
        ("additional_ntp_sources", "not a host"),
        ("proxy.no_proxy", ".lab"),
        ("pull_secret", PULL_SECRET),
    ]);
    let refused = visitor
        .submit(&world, &format!("/ui/pools/{id}/settings"), &typed)
        .await
        .expect(400)
        .text();
    let (_, field) = refused.split_once("id=\"additional_ntp_sources\"").unwrap();
    let (field, _) = field.split_once("<label").unwrap();
    for part in [
        "value=\"not a host\"",
        "aria-invalid",
        "is not an IP address",
        "role=\"alert\"",
    ] {
        assert!(field.contains(part), "{part}: {field}");
    }
    assert!(refused.contains("value=\".lab\"") && !refused.contains(PULL_SECRET_CREDENTIAL));
    assert_eq!(pool(&world, id).await["proxy"].get("no_proxy"), None);
}

#[tokio::test]
async fn who_was_slower_sees_both_values() {
    let world = World::open().await;
    let id = world.infra_env(json!({})).await;
    let visitor = Browser::operator(&world).await;
    let before = pool(&world, id).await["updated_at"].as_str().unwrap().to_owned();
    let path = format!("/infra-envs/{id}");
    let theirs = json!({"additional_ntp_sources": "192.0.2.1"});
    world.patch(&world.operator, &path, &theirs).await.expect(201);
    let typed = form(&[("additional_ntp_sources", "192.0.2.2"), ("seen", &before)]);
    let settings = format!("/ui/pools/{id}/settings");
    let refused = visitor.submit(&world, &settings, &typed).await.expect(409).text();
    assert!(
        refused.contains("value=\"192.0.2.2\"") && refused.contains("Now: <bdi>192.0.2.1</bdi>"),
        "{refused}"
    );
    let now = pool(&world, id).await;
    assert_eq!(now["additional_ntp_sources"], "192.0.2.1");
    let seen = now["updated_at"].as_str().unwrap();
    assert!(
        refused.contains(&format!("name=\"seen\" value=\"{seen}\"")),
        "{refused}"
    );
    let typed = form(&[("additional_ntp_sources", "192.0.2.2"), ("seen", seen)]);
    visitor.submit(&world, &settings, &typed).await.expect(303);
    assert_eq!(pool(&world, id).await["additional_ntp_sources"], "192.0.2.2");
}

#[tokio::test]
async fn addresses_are_hidden_until_they_are_opened_and_new_ones_are_made() {
    let world = World::open().await;
    let id = world.infra_env(json!({"name": "lab"})).await;
    let visitor = Browser::operator(&world).await;
    let page = format!("/ui/pools/{id}");
    let before = iso(&world, id).await;
    let shown = visitor.open(&world, &page).await.expect(200).text();
    for file in [
        "discovery.iso",
        "boot.ipxe",
        "boot-order-control.ipxe",
        "vmlinuz",
        "initrd.img",
        "rootfs.img",
    ] {
        let address = before.replace("discovery.iso", file);
        // Each is within an element that is closed.
        for (place, _) in shown.match_indices(&address) {
            let around = &shown[..place];
            assert!(
                around.rfind("<details><summary>") > around.rfind("</details>"),
                "{file}: {around}"
            );
        }
        assert!(shown.contains(&address), "{file}: {shown}");
    }
    assert!(!shown.contains("<details open"), "{shown}");
    let made = visitor
        .submit(&world, &format!("{page}/addresses"), "")
        .await
        .expect(303);
    let after = iso(&world, id).await;
    assert_ne!(before, after);
    let done = visitor.follow(&world, &made).await.expect(200).text();
    assert!(done.contains(&after) && !done.contains(&before), "{done}");
    assert!(
        done.contains(&format!("muster token revoke --infra-env {id}")),
        "{done}"
    );

    let agent = world.agent(id).await;
    visitor
        .submit(&world, &format!("{page}/tokens"), "")
        .await
        .expect(303);
    world
        .get(&agent, &format!("/infra-envs/{id}/hosts"))
        .await
        .expect(401);
}

#[tokio::test]
async fn telephones_read_pictures_that_are_kept_nowhere() {
    let world = World::open().await;
    let id = world.infra_env(json!({})).await;
    let visitor = Browser::operator(&world).await;
    let picture = format!("/ui/pools/{id}/qr.svg");
    let mut pictures = Vec::new();
    for of in ["iso", "page"] {
        let answer = visitor
            .open(&world, &format!("{picture}?of={of}"))
            .await
            .expect(200);
        assert_eq!(answer.header("content-type"), "image/svg+xml");
        assert_eq!(answer.header("cache-control"), "no-store");
        assert!(answer.text().contains("<svg ") && !answer.text().contains("<script"));
        pictures.push(answer.text());
    }
    assert_ne!(pictures[0], pictures[1]);
    visitor
        .open(&world, &format!("{picture}?of=secret"))
        .await
        .expect(404);
    Browser::default()
        .open(&world, &format!("{picture}?of=iso"))
        .await
        .expect(303);
    let other = world.infra_env(json!({})).await;
    let (_, guest) = operator(&world, true, Some(other)).await;
    let guest = Browser::signed_in(&world, &guest).await;
    let status = guest.open(&world, &format!("{picture}?of=iso")).await.status;
    assert!(matches!(status, 403 | 404), "{status}");
}

#[tokio::test]
async fn a_pool_is_deleted_when_that_is_sure_and_it_has_no_hosts() {
    let world = World::open().await;
    let id = world.infra_env(json!({"name": "lab"})).await;
    let host = world.host(id, 1).await;
    let visitor = Browser::operator(&world).await;
    let delete = format!("/ui/pools/{id}/delete");
    let refused = visitor
        .submit(&world, &delete, "sure=yes")
        .await
        .expect(400)
        .text();
    assert!(
        refused.contains("still has 1 host(s)") && refused.contains("role=\"alert\""),
        "{refused}"
    );
    world
        .ask(&world.operator, "DELETE", &host, None)
        .await
        .expect(204);
    let refused = visitor.submit(&world, &delete, "").await.expect(400).text();
    assert!(refused.contains("tick that you are sure"), "{refused}");

    let (_, reader) = operator(&world, true, None).await;
    let reader = Browser::signed_in(&world, &reader).await;
    let shown = reader
        .open(&world, &format!("/ui/pools/{id}"))
        .await
        .expect(200)
        .text();
    let disabled = shown.matches(r#"<fieldset disabled aria-describedby="forbidden">"#);
    assert_eq!(
        (disabled.count(), shown.matches("<fieldset").count()),
        (4, 4),
        "{shown}"
    );
    assert!(
        shown.contains("<p id=\"forbidden\">Your token only reads"),
        "{shown}"
    );
    reader.submit(&world, &delete, "sure=yes").await.expect(403);

    let gone = visitor.submit(&world, &delete, "sure=yes").await.expect(303);
    assert_eq!(gone.header("location"), "/ui/pools");
    let list = visitor.follow(&world, &gone).await.expect(200).text();
    assert!(
        list.contains("The pool is deleted") && list.contains(&format!("muster infra-env delete {id}")),
        "{list}"
    );
    visitor.open(&world, &format!("/ui/pools/{id}")).await.expect(404);
    let nothing = format!("/ui/pools/{id}/explode");
    visitor.submit(&world, &nothing, "").await.expect(404);
}

#[tokio::test]
async fn bmcs_and_static_networks_stand_with_their_machines() {
    let world = World::open().await;
    let network = |mac: &str| {
        json!({
            "network_yaml": "interfaces:\n- name: left\n  type: ethernet\n  ipv4: {enabled: true, dhcp: true}\n",
            "mac_interface_map": [{"mac_address": mac, "logical_nic_name": "left"}],
        })
    };
    let networks = json!([network("02:00:00:00:00:01"), network("02:00:00:00:00:09")]);
    let id = world.infra_env(json!({"static_network_config": networks})).await;
    world.host(id, 1).await;
    let visitor = Browser::operator(&world).await;
    let page = format!("/ui/pools/{id}");
    let shown = visitor.open(&world, &page).await.expect(200).text();
    assert!(
        row(&shown, "left 02:00:00:00:00:01").contains(">host-1<"),
        "{shown}"
    );
    assert!(
        row(&shown, "left 02:00:00:00:00:09").contains("no host yet"),
        "{shown}"
    );
    assert!(shown.contains("None: <code>muster bmc add"), "{shown}");
    let body = json!({"name": "r1u7", "address": "bmc.example.test", "user_name": "u", "password": "p", "discover": false});
    let bmcs = format!("/api/muster/v1/infra-envs/{id}/bmcs");
    world.post(&world.operator, &bmcs, &body).await.expect(201);
    let shown = visitor.open(&world, &page).await.expect(200).text();
    assert!(row(&shown, "<bdi>r1u7</bdi>").contains(">stopped<"), "{shown}");
}
