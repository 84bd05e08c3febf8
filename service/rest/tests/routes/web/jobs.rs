//! One action for many hosts: ticks of the list, the plan, the job and their refusals.

use muster_api::MUSTER_PATH;
use muster_api::ids::JobId;
use serde_json::{Value, json};

use super::Browser;
use crate::tokens::scopes::operator;
use crate::world::{World, host_id};

const PLAN: &str = "/ui/jobs/plan";

/// A pool with three hosts, and an operator who sees it.
async fn three_hosts() -> (World, Browser) {
    let world = World::open().await;
    let rack = world.infra_env(json!({"name": "rack"})).await;
    for number in 1..=3 {
        world.host(rack, number).await;
    }
    let visitor = Browser::operator(&world).await;
    (world, visitor)
}

/// The jobs that REST lists.
async fn jobs(world: &World) -> Vec<Value> {
    let path = format!("{MUSTER_PATH}/jobs");
    let listed = world.get(&world.operator, &path).await.expect(200).json();
    listed["jobs"].as_array().cloned().unwrap_or_default()
}

/// The value of a hidden field.
fn hidden(page: &str, name: &str) -> String {
    let field = format!("<input type=\"hidden\" name=\"{name}\" value=\"");
    let (_, rest) = page
        .rsplit_once(&field)
        .unwrap_or_else(|| panic!("{name}: {page}"));
    rest.split('"').next().unwrap_or_default().to_owned()
}

/// Fields of a form for the first two hosts.
fn two() -> String {
    format!("which=ticked&host={}&host={}", host_id(1), host_id(2))
}

/// Plans with these fields and runs the plan; returns the path of the job's page.
async fn run(world: &World, visitor: &Browser, fields: &str) -> String {
    let planned = format!("{fields}&step=plan");
    let page = visitor.submit(world, PLAN, &planned).await.expect(200).text();
    let run = format!("{fields}&step=run&digest={}", hidden(&page, "digest"));
    let begun = visitor.submit(world, PLAN, &run).await.expect(303);
    begun.header("location").to_owned()
}

#[tokio::test]
async fn the_list_has_ticks_and_the_actions_with_those_that_fit() {
    let (world, visitor) = three_hosts().await;
    let list = visitor
        .open(&world, "/ui/hosts?q=serial:SN-1,SN-2&sort=-name")
        .await
        .expect(200)
        .text();
    for number in [1, 2] {
        let tick = format!("form=\"many\" name=\"host\" value=\"{}\"", host_id(number));
        assert!(list.contains(&tick), "{tick}: {list}");
    }
    assert!(!list.contains(&format!("value=\"{}\"", host_id(3))), "{list}");
    for part in [
        "name=\"q\" value=\"serial:SN-1,SN-2\" data-total=\"2\"",
        "name=\"sort\" value=\"-name\"",
        "action=\"/ui/jobs/plan\"",
        "<option value=\"revoke-approval\">Revoke the approval</option>",
    ] {
        assert!(list.contains(part), "{part}: {list}");
    }
}

#[tokio::test]
async fn ticks_become_a_plan_and_a_job() {
    let (world, visitor) = three_hosts().await;
    let chosen = format!("{}&action=role", two());
    // The list sends no value: the page has the field for it, and plans nothing.
    let form = visitor.submit(&world, PLAN, &chosen).await.expect(200).text();
    assert!(
        form.contains("2 chosen hosts")
            && form.contains("<option value=\"worker\">")
            && form.contains("Show the plan"),
        "{form}"
    );
    assert!(!form.contains("name=\"digest\""), "{form}");
    let valued = format!("{chosen}&role=worker");
    let plan = visitor
        .submit(&world, PLAN, &format!("{valued}&step=plan"))
        .await
        .expect(200)
        .text();
    for part in [
        "<h1><bdi>Give a role: worker</bdi></h1>",
        "<strong>2</strong> of 2 will change",
        "<strong>0</strong> are refused",
        ">Run for 2 hosts</button>",
        "muster host role worker --query",
    ] {
        assert!(plan.contains(part), "{part}: {plan}");
    }
    assert!(jobs(&world).await.is_empty(), "a plan begins nothing");

    let address = run(&world, &visitor, &valued).await;
    let id: JobId = address.strip_prefix("/ui/jobs/").unwrap().parse().unwrap();
    let listed = jobs(&world).await;
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0]["id"], id.to_string());
    assert_eq!(listed[0]["action"], json!({"kind": "role", "role": "worker"}));
    let page = visitor.open(&world, &address).await.expect(200).text();
    for part in [
        "of 2 hosts have a result",
        "max=\"2\"",
        &format!("data-job=\"{id}\""),
        &host_id(1),
        &host_id(2),
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(!page.contains(&host_id(3)), "{page}");
    let failed = visitor
        .open(&world, &format!("{address}?failed=true"))
        .await
        .expect(200)
        .text();
    assert!(failed.contains("It failed for no host."), "{failed}");
    let all = visitor.open(&world, "/ui/jobs").await.expect(200).text();
    assert!(
        all.contains(&format!(
            "<a href=\"{address}\"><bdi>Give a role: worker</bdi></a>"
        )),
        "{all}"
    );
}

#[tokio::test]
async fn all_that_fit_are_without_the_exceptions() {
    let (world, visitor) = three_hosts().await;
    let fields = format!(
        "which=but&q=serial:SN-*&hosts={}&action=labels&labels=a%3Db",
        host_id(3)
    );
    let plan = visitor
        .submit(&world, PLAN, &format!("{fields}&step=plan"))
        .await
        .expect(200)
        .text();
    for part in [
        "all hosts that fit, but 1",
        "<code>serial:SN-*</code>",
        "of 2 will change",
        &format!("--query &#39;serial:SN-* -id:{}&#39;", host_id(3)),
    ] {
        assert!(plan.contains(part), "{part}: {plan}");
    }
}

#[tokio::test]
async fn a_set_that_changed_is_not_acted_on_and_has_a_new_plan() {
    let (world, visitor) = three_hosts().await;
    let fields = "which=all&q=&action=labels&labels=a%3Db";
    let plan = visitor
        .submit(&world, PLAN, &format!("{fields}&step=plan"))
        .await
        .expect(200)
        .text();
    let digest = hidden(&plan, "digest");
    let pool = world.infra_env(json!({"name": "other"})).await;
    world.host(pool, 4).await;
    let run = format!("{fields}&step=run&digest={digest}");
    let page = visitor.submit(&world, PLAN, &run).await.expect(409).text();
    assert!(page.contains("1 came, 0 went"), "{page}");
    assert!(
        page.contains("The job was not begun:") && page.contains("Below is a new plan."),
        "{page}"
    );
    assert!(page.contains("<strong>4</strong> of 4 will change"), "{page}");
    assert_ne!(hidden(&page, "digest"), digest);
    assert!(jobs(&world).await.is_empty());
    let run = format!("{fields}&step=run&digest={}", hidden(&page, "digest"));
    visitor.submit(&world, PLAN, &run).await.expect(303);
}

#[tokio::test]
async fn what_deletes_needs_the_number_that_is_typed() {
    let (world, visitor) = three_hosts().await;
    let fields = format!("{}&action=delete", two());
    let plan = visitor.submit(&world, PLAN, &fields).await.expect(200).text();
    assert!(plan.contains("Type 2 to confirm"), "{plan}");
    let run = format!("{fields}&step=run&digest={}", hidden(&plan, "digest"));
    for typed in ["", "3", "two"] {
        let refused = visitor
            .submit(&world, PLAN, &format!("{run}&confirm={typed}"))
            .await
            .expect(422)
            .text();
        assert!(refused.contains("The job was not begun:"), "{typed}: {refused}");
    }
    assert!(jobs(&world).await.is_empty());
    visitor
        .submit(&world, PLAN, &format!("{run}&confirm=2"))
        .await
        .expect(303);
    assert_eq!(jobs(&world).await.len(), 1);
}

#[tokio::test]
async fn what_cannot_be_read_stands_at_its_field_and_begins_nothing() {
    let (world, visitor) = three_hosts().await;
    let wrong = format!("{}&action=labels&labels=rack&step=plan", two());
    let page = visitor.submit(&world, PLAN, &wrong).await.expect(400).text();
    assert!(
        page.contains("id=\"wrong\" role=\"alert\"")
            && page.contains("is no label")
            && page.contains(">\nrack</textarea>"),
        "{page}"
    );
    for (fields, reason) in [
        ("which=ticked&action=approve".to_owned(), "no host is chosen"),
        (format!("{}&action=explode", two()), "is no action for many hosts"),
        (
            "which=but&q=&hosts=x&action=delete".to_owned(),
            "is no id of a host",
        ),
        ("which=all&q=modle:x&action=approve".to_owned(), "is it model?"),
    ] {
        let page = visitor.submit(&world, PLAN, &fields).await.expect(400).text();
        assert!(page.contains(reason), "{reason}: {page}");
    }
    assert!(jobs(&world).await.is_empty());
}

#[tokio::test]
async fn no_address_and_no_page_of_others_plans_or_runs() {
    let (world, visitor) = three_hosts().await;
    let fields = format!("{}&action=role&role=worker", two());
    let page = visitor
        .open(&world, &format!("{PLAN}?{fields}&step=run"))
        .await
        .expect(200)
        .text();
    assert!(
        !page.contains("name=\"digest\"") && page.contains("Show the plan"),
        "{page}"
    );
    assert!(page.contains("<option value=\"worker\" selected>"), "{page}");
    let digest = {
        let planned = format!("{fields}&step=plan");
        let page = visitor.submit(&world, PLAN, &planned).await.expect(200).text();
        hidden(&page, "digest")
    };
    let run = format!("{fields}&step=run&digest={digest}");
    for site in ["cross-site", "same-site", "none"] {
        let refused = visitor.send(&world, "POST", PLAN, Some(&run), site).await;
        assert_eq!(refused.status, 403, "{site}");
    }
    assert!(jobs(&world).await.is_empty());
    // After signing in the form is there again, with its values.
    let led = Browser::default().submit(&world, PLAN, &run).await.expect(303);
    let place = led.header("location");
    assert!(
        place.starts_with("/ui/sign-in?next=%2Fui%2Fjobs%2Fplan%3Faction%3Drole"),
        "{place}"
    );
    assert!(
        place.contains("role%3Dworker") && !place.contains("digest"),
        "{place}"
    );
}

#[tokio::test]
async fn what_a_token_forbids_is_disabled_with_the_reason() {
    let (world, _) = three_hosts().await;
    let pool = world.infra_env(json!({"name": "own"})).await;
    world.host(pool, 9).await;
    let (_, reader) = operator(&world, true, None).await;
    let reader = Browser::signed_in(&world, &reader).await;
    let list = reader.open(&world, "/ui/hosts").await.expect(200).text();
    assert!(
        list.contains("<fieldset class=\"actions\" disabled aria-describedby=\"forbidden\">"),
        "{list}"
    );
    let fields = format!("{}&action=approve", two());
    let refused = reader.submit(&world, PLAN, &fields).await;
    assert_eq!(refused.status, 403);
    assert!(
        refused.text().contains("reads and changes nothing"),
        "{}",
        refused.text()
    );

    let (_, guest) = operator(&world, false, Some(pool)).await;
    let guest = Browser::signed_in(&world, &guest).await;
    let list = guest.open(&world, "/ui/hosts").await.expect(200).text();
    assert!(
        list.contains("<option value=\"bind\" disabled>") && list.contains("<option value=\"approve\">"),
        "{list}"
    );
    let bind = guest
        .open(&world, &format!("{PLAN}?which=all&q=&action=bind"))
        .await
        .expect(200)
        .text();
    assert!(
        bind.contains("<p id=\"forbidden\">Your token is for one pool"),
        "{bind}"
    );
    // All that fit are those that it may see.
    let all = "which=all&q=&action=role&role=worker&step=plan";
    let plan = guest.submit(&world, PLAN, all).await.expect(200).text();
    assert!(plan.contains("of 1 will change"), "{plan}");
}

#[tokio::test]
async fn a_job_that_is_not_there_is_no_page() {
    let (world, visitor) = three_hosts().await;
    let absent = format!("/ui/jobs/{}", host_id(99));
    for path in [absent.as_str(), "/ui/jobs/x"] {
        visitor.open(&world, path).await.expect(404);
    }
    let cancel = format!("{absent}/cancel");
    visitor.submit(&world, &cancel, "").await.expect(404);
    let empty = visitor.open(&world, "/ui/jobs").await.expect(200).text();
    assert!(empty.contains("There is no job yet."), "{empty}");
}

#[tokio::test]
async fn a_job_is_ended_by_its_page_and_a_refusal_stands_on_it() {
    let (world, visitor) = three_hosts().await;
    let fields = format!("{}&action=role&role=worker", two());
    let address = run(&world, &visitor, &fields).await;
    // Nothing works on it in this process, so it runs.
    let page = visitor.open(&world, &address).await.expect(200).text();
    assert!(
        page.contains(">Cancel</button>") && page.contains(">To come<"),
        "{page}"
    );
    let page = visitor
        .submit(&world, &format!("{address}/retry"), "")
        .await
        .expect(409)
        .text();
    assert!(
        page.contains("role=\"alert\"") && page.contains("has failed"),
        "{page}"
    );
    assert!(page.contains(&format!("data-address=\"{address}\"")), "{page}");
    let cancelled = visitor
        .submit(&world, &format!("{address}/cancel"), "")
        .await
        .expect(303);
    assert_eq!(cancelled.header("location"), address);
    let page = visitor.open(&world, &address).await.expect(200).text();
    assert!(
        page.contains(">cancelled</span>")
            && page.contains(">Not begun with<")
            && !page.contains(">Cancel</button>"),
        "{page}"
    );
    assert_eq!(jobs(&world).await[0]["state"], "cancelled");
    visitor
        .submit(&world, &format!("{address}/explode"), "")
        .await
        .expect(404);
}
