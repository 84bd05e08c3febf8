//! Lists on paper and in spreadsheets.

use muster_tests::artifacts::target_folder;
use muster_tests::browser::{Browser, Tab, Theme};
use muster_tests::database::Database;
use muster_tests::hosts::plain::{inventory, known_host, register, reply};
use muster_tests::http::HttpClient;
use muster_tests::rest::PULL_SECRET;
use regex::Regex;
use serde_json::json;

use super::walk::{base, serve, sign_in};

/// Printed of three hosts, of which two fit.
const HOSTS: &str = "\
Hosts
2 hosts of 3
Filter: serial:SN-1,SN-2. /ui/hosts?q=serial%3ASN-1%2CSN-2&columns=serial%2Cmodel%2Ccpu&all=1, AT
Name | Serial | Model | CPU
host-1 | SN-1 | ACME Server 1 | 8
host-2 | SN-2 | ACME Server 1 | 8
As of AT; this table does not follow changes. The same by command: muster hosts --query 'serial:SN-1,SN-2'";

const EVENTS: &str = "\
Events
/ui/events?text=golden, AT
AGO AT critical golden two
AGO AT info =golden, \"one\"
As of AT.";

/// No cell is a formula, whatever machines report.
const HOSTS_TABLE: &str = "\
name,infra_env,cpu_threads,memory_bytes,gpus,vendor,model,serial,ips
host-1,'=1+1,8,34359738368,,\"'+ACME, Inc.\",'@SUM(A1),\"'-SN\"\"1\"\"\",198.51.100.11
host-2,'=1+1,8,34359738368,,ACME,Server 1,SN-2,198.51.100.11
";

const EVENTS_TABLE: &str = "\
event_time,severity,name,infra_env_id,cluster_id,host_id,message
AT,critical,second,POOL,,,golden two
AT,info,first,POOL,,,\"'=golden, \"\"one\"\"\"
";

/// A text with `AT` for times, and `AGO` for their distances from now.
fn without_times(text: &str) -> String {
    let at = Regex::new(r"\d{4}-\d\d-\d\dT[0-9:.]+Z").unwrap();
    let ago = Regex::new(r"\d+ (s|min) ago").unwrap();
    let text = at.replace_all(text, "AT");
    ago.replace_all(&text, "AGO").into_owned()
}

/// The lines that the page has on paper, with `|` between cells.
#[track_caller]
fn printed(tab: &Tab<'_>) -> String {
    tab.as_printed(true);
    let text = tab.text();
    tab.as_printed(false);
    let lines = text.lines().map(|line| {
        let cells: Vec<&str> = line.split('\t').map(str::trim).collect();
        cells.join(" | ")
    });
    let lines: Vec<String> = lines.filter(|line| !line.is_empty()).collect();
    without_times(&lines.join("\n"))
}

/// The table behind the link with this name of a file.
#[track_caller]
fn table(tab: &Tab<'_>, file: &str) -> String {
    let fetched = tab.value(&format!(
        "fetch(document.querySelector('a[download=\"{file}\"]').href).then((answer) => answer.text())"
    ));
    without_times(fetched.as_str().unwrap())
}

/// A pool, as its path below the API.
#[track_caller]
fn pool_named(client: &HttpClient, name: &str) -> String {
    let body = json!({"name": name, "pull_secret": PULL_SECRET});
    let made = client.post("/infra-envs", &body).expect(201).json();
    format!("/infra-envs/{}", made["id"].as_str().unwrap())
}

/// Two events with texts of their own.
#[track_caller]
fn tell(client: &HttpClient, pool: &str) {
    let id = pool.trim_start_matches("/infra-envs/");
    for (name, severity, message) in [
        ("first", "info", "=golden, \"one\""),
        ("second", "critical", "golden two"),
    ] {
        let event = json!({
            "name": name, "severity": severity, "message": message, "infra_env_id": id, "event_time": "2026-11-22T15:00:00Z",
        });
        client.post("/events", &event).expect(201);
    }
}

#[test]
fn lists_are_printed_as_plain_tables_with_address_time_and_filter() {
    let (service, token) = serve(Database::Sqlite);
    let client = service.http().with_token(&token);
    let pool = pool_named(&client, "rack");
    for number in 1..=3 {
        known_host(&client, &pool, number);
    }
    tell(&client, &pool);
    let browser = Browser::start();
    let tab = browser.tab();
    sign_in(&tab, &service, &token);
    tab.resize(1440, Theme::Light);
    let query = "q=serial:SN-1,SN-2&columns=serial,model,cpu";
    tab.open(&format!("{}/ui/hosts?{query}&all=1", base(&service)));
    tab.await_text("2 hosts of 3");
    assert_eq!(printed(&tab), HOSTS);
    let pdf = tab.print(&target_folder().join("web/hosts.pdf"));
    assert!(pdf.starts_with(b"%PDF-"), "{} bytes", pdf.len());

    tab.open(&format!("{}/ui/events?text=golden", base(&service)));
    tab.await_text("golden two");
    assert_eq!(printed(&tab), EVENTS);
    tab.print(&target_folder().join("web/events.pdf"));
    let complaints = browser.complaints();
    assert!(complaints.is_empty(), "{complaints:#?}");
}

#[test]
fn paper_is_white_whatever_theme_was_chosen() {
    let service = Database::Sqlite.serve();
    let client = service.http();
    let pool = pool_named(&client, "rack");
    known_host(&client, &pool, 1);
    let browser = Browser::start();
    let tab = browser.tab();
    tab.resize(1440, Theme::Dark);
    tab.open(&format!("{}/ui/hosts", base(&service)));
    tab.await_text("host-1");
    let colours = || {
        tab.value(
            "[['body', 'backgroundColor'], ['#list > .quiet code', 'backgroundColor'], ['thead th', 'color']]
                .map(([one, kind]) => getComputedStyle(document.querySelector(one))[kind])",
        )
    };
    let paper = json!(["rgb(255, 255, 255)", "rgb(243, 245, 248)", "rgb(75, 85, 101)"]);
    for theme in ["dark", "light"] {
        tab.value(&format!(
            "(() => {{ document.documentElement.dataset.theme = '{theme}'; }})()"
        ));
        tab.as_printed(true);
        assert_eq!(colours(), paper, "{theme}");
        tab.as_printed(false);
    }
    tab.value("(() => { document.documentElement.dataset.theme = 'dark'; })()");
    assert_ne!(colours(), paper);
}

#[test]
fn tables_for_spreadsheets_have_what_is_shown_and_no_formulas() {
    let (service, token) = serve(Database::Sqlite);
    let client = service.http().with_token(&token);
    let pool = pool_named(&client, "=1+1");
    let mut reported = inventory(1);
    reported["system_vendor"] =
        json!({"manufacturer": "+ACME, Inc.", "product_name": "@SUM(A1)", "serial_number": "-SN\"1\""});
    let host = register(&client, &pool, 1);
    client
        .post(&format!("{host}/instructions"), &reply("inventory", &reported))
        .expect(204);
    known_host(&client, &pool, 2);
    tell(&client, &pool);
    let browser = Browser::start();
    let tab = browser.tab();
    sign_in(&tab, &service, &token);
    let columns = "columns=pool,cpu,memory,gpus,model,serial,ip";
    tab.open(&format!("{}/ui/hosts?{columns}", base(&service)));
    tab.await_text("2 hosts");
    assert_eq!(table(&tab, "hosts.csv"), HOSTS_TABLE);
    tab.open(&format!("{}/ui/events?text=golden", base(&service)));
    tab.await_text("golden two");
    let id = pool.trim_start_matches("/infra-envs/");
    assert_eq!(table(&tab, "events.csv").replace(id, "POOL"), EVENTS_TABLE);
}
