//! Names, resolved by a real name server on the host.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use muster_agent::net::names::Names;
use muster_agent::session::steps::domains::DomainResolution;
use serde_json::{Value, json};

use super::lab::Host;

struct NameServer(Child);

impl NameServer {
    /// dnsmasq on port 53 of the namespace of the calling thread.
    fn start() -> Self {
        let started = Command::new("dnsmasq")
            .args(["--keep-in-foreground", "--user=root", "--conf-file=/dev/null"])
            .args([
                "--no-hosts",
                "--no-resolv",
                "--listen-address=127.0.0.1",
                "--bind-interfaces",
            ])
            .args(["--pid-file", "--local=/example.com/", "--local=/search.example/"])
            .arg("--host-record=api.lab.example.com,10.77.0.10,fd77::10")
            .arg("--host-record=api.lab.example.com,10.77.0.9")
            .arg("--host-record=four.lab.example.com,10.77.0.4")
            .arg("--cname=alias.lab.example.com,api.lab.example.com")
            .arg("--address=/apps.lab.example.com/10.77.0.11")
            .arg("--host-record=registry.search.example,10.77.0.12")
            .stdout(Stdio::null())
            .spawn();
        Self(started.unwrap_or_else(|error| panic!("dnsmasq: {error}; `make deps` installs dnsmasq-base")))
    }
}

impl Drop for NameServer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn names_are_resolved_as_the_system_does() {
    let host = Host::start();
    let folder = tempfile::tempdir().unwrap();
    let configuration = folder.path().join("resolv.conf");
    std::fs::write(&configuration, "nameserver 127.0.0.1\nsearch search.example\n").unwrap();
    let _server = host.run(NameServer::start);
    let resolve = |names: &[&str]| -> Value {
        let domains: Vec<Value> = names.iter().map(|name| json!({"domain_name": name})).collect();
        let step = DomainResolution::new(Names::configured_by(&configuration));
        host.good_step(step, &json!({"domains": domains}))["resolutions"].clone()
    };
    let deadline = Instant::now() + Duration::from_secs(60);
    while resolve(&["four.lab.example.com"])[0]["ipv4_addresses"] != json!(["10.77.0.4"]) {
        assert!(Instant::now() < deadline, "dnsmasq does not answer");
    }
    let found = resolve(&[
        "api.lab.example.com",
        "four.lab.example.com",
        "alias.lab.example.com",
        "any.apps.lab.example.com",
        "missing.lab.example.com",
        "validateNoWildcardDNS.lab.example.com.",
        "validateNoWildcardDNS.apps.lab.example.com.",
        "registry",
    ]);
    let entry = |name: &str, v4: &[&str], v6: &[&str], canonical: Option<&str>| {
        json!({
            "domain_name": name, "ipv4_addresses": v4, "ipv6_addresses": v6,
            "cnames": canonical.map(|canonical| vec![canonical]),
        })
    };
    let expected = json!([
        entry(
            "api.lab.example.com",
            &["10.77.0.9", "10.77.0.10"],
            &["fd77::10"],
            Some("api.lab.example.com.")
        ),
        entry(
            "four.lab.example.com",
            &["10.77.0.4"],
            &[],
            Some("four.lab.example.com.")
        ),
        entry(
            "alias.lab.example.com",
            &["10.77.0.9", "10.77.0.10"],
            &["fd77::10"],
            Some("api.lab.example.com.")
        ),
        entry(
            "any.apps.lab.example.com",
            &["10.77.0.11"],
            &[],
            Some("any.apps.lab.example.com.")
        ),
        entry("missing.lab.example.com", &[], &[], None),
        entry("validateNoWildcardDNS.lab.example.com.", &[], &[], None),
        entry(
            "validateNoWildcardDNS.apps.lab.example.com.",
            &["10.77.0.11"],
            &[],
            // Names are equal whatever the case; the resolver sends lower case.
            Some("validatenowildcarddns.apps.lab.example.com.")
        ),
        entry("registry", &["10.77.0.12"], &[], Some("registry.search.example.")),
    ]);
    assert_eq!(found, expected, "{found:#}");
}

#[test]
fn a_name_that_is_none_fails_the_step() {
    let host = Host::start();
    let step = DomainResolution::new(Names::configured_by("/nonexistent/resolv.conf"));
    let arg = json!({"domains": [{"domain_name": "api.lab.example.com."}]}).to_string();
    let output = host.step(step, &[arg]);
    assert_eq!(output.exit_code, -1);
    assert!(output.error.contains("it ends in a dot"), "{}", output.error);
}
