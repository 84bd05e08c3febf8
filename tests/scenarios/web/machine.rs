//! The walk of the README by the page alone, with a machine under QEMU: from a new pool to an installation that has begun.

use std::path::Path;

use muster_tests::browser::{Browser, Tab};
use muster_tests::condition::await_condition;
use muster_tests::hosts::clusters::import;
use muster_tests::process::{command, run};
use muster_tests::qemu::{Disk, DiskBus, Firmware, GIB, Slots};
use muster_tests::rest::PULL_SECRET;
use muster_tests::service::{Service, Settings};
use muster_tests::walk::Host;
use serde_json::json;

use crate::web::walk::{base, sign_in};

/// The name by which the machine registers.
const NAME: &str = "walker";

#[test]
fn a_machine_goes_from_the_boot_line_of_a_new_pool_to_its_installation() {
    let service = Settings::for_user_networks().auth_local().start();
    let client = service.client().http();
    let cluster = import(client, "edge");
    let folder = tempfile::tempdir().unwrap();
    let browser = Browser::start();
    let tab = browser.tab();
    sign_in(&tab, &service, service.client().token().unwrap());
    fetch_iso(&tab, &service, folder.path());

    tab.open(&format!("{}/ui/hosts", base(&service)));
    tab.await_text("No machine has registered yet");
    tab.value("window.mark = 'the same page'");
    let small = Disk::new(DiskBus::Sata, GIB, "SMALL");
    let iso = folder.path().join("rack.iso");
    let mut host = Host::switch_on(NAME, Firmware::SeaBios, &iso, vec![small], Slots::one());
    await_shown(&tab, &mut host, "known-unbound");
    assert_eq!(
        tab.value("window.mark"),
        "the same page",
        "it was not loaded again"
    );

    tab.click(NAME);
    tab.await_text("Checks: hardware");
    // A slow machine may find a disk after its first inventory.
    await_row(&tab, &mut host, &format!("SYSTEM-{NAME}"), "chosen");
    await_row(&tab, &mut host, "SMALL", "Too small");
    tab.fill("input[name=value]", "node-1");
    tab.click("Set");
    tab.await_text("muster host set");

    tab.click("Bind");
    tab.await_text("The host is bound.");
    await_state(&tab, &mut host, "insufficient");
    // The name of the cluster resolves to nothing.
    await_row(&tab, &mut host, "ignition-downloadable", "failed");
    let page = tab.path();
    tab.click("Install");
    tab.await_text("only a known host can be installed");

    let ignored = json!({"host-validation-ids": "[\"all\"]"});
    let path = format!("/clusters/{cluster}/ignored-validations");
    client.put(&path, &ignored).expect(201);
    // The page of a refusal stays as it is.
    tab.open(&format!("{}{page}", base(&service)));
    await_state(&tab, &mut host, "known");
    tab.click("Install");
    tab.await_text("The installation begins.");
    // In the history: without an image to be had the state is soon another.
    await_shown(&tab, &mut host, "installing-in-progress");

    tab.open(&format!("{}/ui/events", base(&service)));
    tab.await_text("node-1");
    tab.click("Sign out");
    tab.await_text("Token of an operator");
}

/// Makes the pool `rack` by the form, and types into a shell what its page has: so the ISO is in the folder, as `rack.iso`.
#[track_caller]
fn fetch_iso(tab: &Tab<'_>, service: &Service, folder: &Path) {
    tab.open(&format!("{}/ui/pools", base(service)));
    tab.await_text("Make the first pool");
    tab.fill("#name", "rack");
    tab.fill("#pull_secret", PULL_SECRET);
    tab.click("Make the pool");
    tab.await_text("How to boot a machine");
    tab.click("Fetch the ISO");
    tab.await_text("curl -fLo rack.iso");
    let line = tab.value(
        "[...document.querySelectorAll('pre')].map((one) => one.textContent).find((text) => text.startsWith('curl '))",
    );
    // The address is that of this computer for machines.
    let line = service.reachable(line.as_str().unwrap());
    run(command("sh").args(["-c", &line]).current_dir(folder));
}

/// Waits for a text on the page while the machine works.
#[track_caller]
fn await_shown(tab: &Tab<'_>, host: &mut Host, text: &str) {
    let what = format!("{text:?} on the page");
    await_condition(&what, host.machine.time_left(), || {
        host.assert_on();
        let shown = tab.text();
        match shown.contains(text) {
            true => Ok(()),
            false => Err(shown),
        }
    });
}

/// The same for the row of a table with both texts.
#[track_caller]
fn await_row(tab: &Tab<'_>, host: &mut Host, name: &str, text: &str) {
    let row = format!(
        "[...document.querySelectorAll('tbody tr')].find((row) => row.textContent.includes({}))?.innerText ?? ''",
        json!(name)
    );
    let what = format!("a row with {name:?} and {text:?}");
    await_condition(&what, host.machine.time_left(), || {
        host.assert_on();
        let shown = tab.value(&row);
        match shown.as_str().is_some_and(|shown| shown.contains(text)) {
            true => Ok(()),
            false => Err(tab.text()),
        }
    });
}

/// The same for the state of the host of the page.
#[track_caller]
fn await_state(tab: &Tab<'_>, host: &mut Host, state: &str) {
    let what = format!("a host that is {state}");
    await_condition(&what, host.machine.time_left(), || {
        host.assert_on();
        match tab.value("document.querySelector('#host .mood')?.textContent") == state {
            true => Ok(()),
            false => Err(tab.text()),
        }
    });
}
