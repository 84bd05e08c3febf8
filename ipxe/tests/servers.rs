//! Every recipe is loaded by the server that it is for.
#![allow(clippy::unwrap_used, reason = "a test stops where it goes wrong")]

use std::fs;
use std::process::Command;

use muster_ipxe::recipe::{Recipe, Server};

const SCRIPT: &str = "http://192.0.2.10:8091/boot/0123456789abcdefghijkl/boot.ipxe";

/// Debian puts servers into folders that a user's PATH does not have.
const PATH: &str = "/usr/sbin:/sbin:/usr/bin:/bin";

#[track_caller]
fn load(server: Server, program: &str, arguments: &[&str]) {
    let recipe = Recipe::new(
        SCRIPT,
        [192, 0, 2, 10].into(),
        "192.0.2.0/24".parse().unwrap(),
        None,
    )
    .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("server.conf");
    fs::write(&file, recipe.render(server)).unwrap();
    let mut command = Command::new(program);
    command.args(arguments).arg(&file).env("PATH", PATH);
    let output = command.output();
    let output = output.unwrap_or_else(|error| panic!("{program}: {error}; `.ci/deps test` installs it"));
    let said = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(
        output.status.success(),
        "{program} refuses\n{}\n{said}",
        recipe.render(server)
    );
}

#[test]
fn dnsmasq_loads_both_of_its_forms() {
    load(Server::Dnsmasq, "dnsmasq", &["--test", "-C"]);
    load(Server::ProxyDhcp, "dnsmasq", &["--test", "-C"]);
}

#[test]
fn kea_loads_its_form() {
    load(Server::Kea, "kea-dhcp4", &["-t"]);
}

#[test]
fn dhcpd_loads_its_form() {
    load(Server::IscDhcp, "dhcpd", &["-t", "-cf"]);
}
