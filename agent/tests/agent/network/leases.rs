//! DHCP with a real server.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use mozim::DhcpV4Lease;
use muster_agent::net::dhcp::{LeaseEvent, Nic, keep_v4};
use tempfile::TempDir;
use tokio::sync::mpsc::channel;

use super::lab::{Cable, Host, Switch, runtime};

/// The number of the host that requests an address.
const CLIENT: u8 = 2;

/// dnsmasq on a host, for addresses of a range. Ends when it is dropped.
struct Server {
    process: Child,
    _leases: TempDir,
}

impl Server {
    /// A server that knows no leases yet. With `refuses` it refuses unknown ones; otherwise it is silent, as there may be
    /// other servers.
    fn start(host: &Host, range: &str, refuses: bool) -> Self {
        let leases = tempfile::tempdir().unwrap();
        let mut dnsmasq = Command::new("dnsmasq");
        dnsmasq
            .args(["--keep-in-foreground", "--conf-file=/dev/null", "--port=0"])
            .args([
                "--bind-interfaces",
                "--interface=nic0",
                "--user=root",
                "--no-ping",
                "--pid-file=",
            ])
            .arg(format!("--dhcp-range={range},255.255.255.0,1h"))
            .arg(format!(
                "--dhcp-leasefile={}",
                leases.path().join("leases").display()
            ))
            .arg("--log-facility=-")
            .args(refuses.then_some("--dhcp-authoritative"))
            .stderr(Stdio::piped());
        let process = host.run(move || dnsmasq.spawn());
        let mut process =
            process.unwrap_or_else(|error| panic!("dnsmasq: {error}; its package is dnsmasq-base"));
        let log = BufReader::new(process.stderr.as_mut().expect("it is a pipe"));
        let mut lines = log.lines().map_while(Result::ok);
        assert!(
            lines.any(|line| line.contains("started, version")),
            "dnsmasq does not start"
        );
        Self {
            process,
            _leases: leases,
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A host with a card without an address, and one for servers on the same switch.
fn client_and_server() -> (Switch, Host, Host) {
    let mut switch = Switch::new();
    let (client, server) = (Host::start(), switch.host(1));
    let cable = Cable {
        mac: CLIENT,
        ..Cable::default()
    };
    switch.plug(&client, cable);
    (switch, client, server)
}

/// The lease that the client has after its link came up.
fn lease(client: &Host, earlier: Option<Box<DhcpV4Lease>>) -> Box<DhcpV4Lease> {
    client.run(move || {
        let nic = Nic {
            index: nix::net::if_::if_nametoindex("nic0").unwrap(),
            name: "nic0".to_owned(),
            mac: vec![2, 0, 0, 0, 0, CLIENT],
        };
        let (events, mut leases) = channel::<LeaseEvent>(8);
        let found = runtime().block_on(async {
            let wait = async {
                loop {
                    if let Some(lease) = leases.recv().await.unwrap().lease4 {
                        return lease;
                    }
                }
            };
            tokio::select! {
                () = keep_v4(nic, earlier, events) => unreachable!("it never ends"),
                lease = tokio::time::timeout(Duration::from_secs(90), wait) => lease,
            }
        });
        found.expect("the server gives an address")
    })
}

#[test]
fn a_lease_is_asked_for_again_after_the_link_was_down() {
    let (_switch, client, server) = client_and_server();
    let _given = Server::start(&server, "10.77.0.100,10.77.0.199", true);
    let first = lease(&client, None);
    let again = lease(&client, Some(first.clone()));
    assert_eq!(again.yiaddr, first.yiaddr);
}

#[test]
fn a_lease_that_a_server_refuses_or_does_not_know_is_given_up() {
    let (_switch, client, server) = client_and_server();
    let given = Server::start(&server, "10.77.0.100,10.77.0.199", true);
    let first = lease(&client, None);
    drop(given);
    for refuses in [true, false] {
        let _elsewhere = Server::start(&server, "10.77.0.200,10.77.0.209", refuses);
        let second = lease(&client, Some(first.clone()));
        assert!(second.yiaddr.octets()[3] >= 200, "refuses: {refuses}, {second:?}");
    }
}
