//! Pictures show what hosts report: a cut link is a cell of the matrix and a row of its table.

use muster_tests::browser::{Browser, Theme};
use muster_tests::database::Database;
use muster_tests::hosts::clusters::import;
use muster_tests::hosts::plain::{host_id, infra_env, inventory, known_host, register, reply};
use muster_tests::http::HttpClient;
use serde_json::{Value, json};

use super::walk::base;

/// Hosts of the cluster.
const HOSTS: u64 = 3;

/// The report of a host about the others; the link between the hosts 1 and 2 is cut.
fn report(number: u64) -> Value {
    let others = (1..=HOSTS).filter(|other| *other != number);
    let remotes = others.map(|other| {
        let is_reached = number + other != 3;
        let lost = if is_reached { 0 } else { 100 };
        json!({
            "host_id": host_id(other), "l2_connectivity": null, "mtu_report": null,
            "l3_connectivity": [{
                "remote_ip_address": "198.51.100.11", "successful": is_reached, "average_rtt_ms": 0.2, "packet_loss_percentage": lost,
            }],
        })
    });
    json!({"remote_hosts": remotes.collect::<Vec<Value>>()})
}

/// A pool whose hosts are in a cluster and have reported; returns its path below the API.
#[track_caller]
fn reporting_hosts(client: &HttpClient) -> String {
    let pool = infra_env(client);
    let cluster = import(client, "edge");
    let send = |host: &str, step: &str, output: &Value| {
        client
            .post(&format!("{host}/instructions"), &reply(step, output))
            .expect(204);
    };
    for number in 1..=HOSTS {
        let host = known_host(client, &pool, number);
        client
            .post(&format!("{host}/actions/bind"), &json!({"cluster_id": cluster}))
            .expect(200);
        // It registers and reports again, now in the cluster.
        register(client, &pool, number);
        let mut reported = inventory(number);
        reported["interfaces"][0]["switch_port"] =
            json!({"switch": "sw1", "port": format!("Gi1/0/{number}")});
        send(&host, "inventory", &reported);
    }
    for number in 1..=HOSTS {
        let host = format!("{pool}/hosts/{}", host_id(number));
        send(&host, "connectivity-check", &report(number));
    }
    pool
}

/// For each cell of the first row: true if it has the colour of what is not reached, between the marks.
const FIRST_ROW: &str = "(() => {
    const canvas = document.getElementById('cells');
    const side = canvas.width / 3;
    const bad = getComputedStyle(document.getElementById('colour-bad')).backgroundColor;
    // A browser warns of pixels that are read from a canvas on the screen.
    const copy = document.createElement('canvas');
    [copy.width, copy.height] = [canvas.width, canvas.height];
    const pen = copy.getContext('2d', { willReadFrequently: true });
    pen.drawImage(canvas, 0, 0);
    return [0, 1, 2].map((column) => {
        const [r, g, b] = pen.getImageData(Math.floor((column + 0.5) * side), Math.floor(side / 10), 1, 1).data;
        return `rgb(${r}, ${g}, ${b})` === bad;
    }); })()";

#[test]
fn a_cut_link_is_a_cell_of_the_matrix_and_a_row_of_its_table() {
    let service = Database::Sqlite.serve();
    let pool = reporting_hosts(&service.http());
    let browser = Browser::start();
    let tab = browser.tab();
    let matrix = pool.replace("/infra-envs/", "/ui/matrix/");
    tab.open(&format!("{}{matrix}", base(&service)));
    tab.await_text("Rows 1 to 3 and columns 1 to 3 of 3.");
    for theme in [Theme::Dark, Theme::Light] {
        tab.resize(1440, theme);
        tab.value("document.getElementById('layer').dispatchEvent(new Event('change'))");
        assert_eq!(tab.value(FIRST_ROW), json!([false, true, false]));
    }
    assert_eq!(
        tab.value("[...document.querySelectorAll('#broken tbody tr')].map((row) => [...row.cells].slice(0, 2).map((cell) => cell.querySelector('bdi').textContent))"),
        json!([["host-1", "host-2"], ["host-2", "host-1"]])
    );
    // A click on the cell opens its pair in words.
    tab.value(
        "(() => {
        const canvas = document.getElementById('cells');
        const { left, top, width } = canvas.getBoundingClientRect();
        const at = { clientX: left + width / 2, clientY: top + width / 12, bubbles: true };
        canvas.dispatchEvent(new MouseEvent('click', at)); })()",
    );
    tab.await_text("pings of 198.51.100.11: no answer");
    assert!(
        tab.path()
            .contains(&format!("from={}&to={}", host_id(1), host_id(2))),
        "{}",
        tab.path()
    );
    let complaints = browser.complaints();
    assert!(complaints.is_empty(), "{complaints:#?}");
}

#[test]
fn without_scripts_the_matrix_is_a_table() {
    let service = Database::Sqlite.serve();
    let pool = reporting_hosts(&service.http());
    let browser = Browser::start();
    let tab = browser.tab();
    tab.script(false);
    let matrix = pool.replace("/infra-envs/", "/ui/matrix/");
    tab.open(&format!("{}{matrix}", base(&service)));
    tab.await_text("2 of all ordered pairs");
    assert_eq!(
        tab.value("[...document.querySelectorAll('#window tbody tr')].map((row) => [...row.querySelectorAll('.cell')].map((cell) => cell.textContent[0]))"),
        json!([["–", "✗", "✓"], ["✗", "–", "✓"], ["✓", "✓", "–"]])
    );
    assert!(!tab.text().contains("Point at a cell"), "{}", tab.text());
    tab.click("✗ host-1");
    tab.await_text("no answer");
    tab.open(&format!("{}/ui/links", base(&service)));
    tab.await_text("sw1");
    assert_eq!(
        tab.value("document.querySelectorAll('svg.picture rect.good').length"),
        HOSTS
    );
}
