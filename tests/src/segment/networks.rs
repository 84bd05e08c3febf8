//! Segments of other shapes: two networks with routers, IPv6 only, a DHCP server that is stopped.

use super::{ADDRESS, FAR_ADDRESS, FAR_NAME, SECOND_ADDRESS, START_LIMIT, Segment, ip};
use crate::process::{Program, command};

/// The router's address on a segment without IPv4 ([`Segment::ipv6_only`]).
pub const ADDRESS6: &str = "fd91::1";

/// dnsmasq's part: routers give addresses, and name servers are told to those who ask by DHCPv6 alone, and not in advertisements.
pub(super) const STATELESS: &str = "enable-ra\ndhcp-range=fd91::,ra-stateless,64\ndhcp-match=set:asks,option6:6\n\
    dhcp-option=tag:asks,option6:dns-server,[fd91::1]\n";

impl Segment {
    /// Creates a second network whose DHCP offers a router and a name server, too. Only those of the first have a route
    /// to [`FAR_ADDRESS`], where services may listen. To be called before [`serve`](Self::serve).
    pub fn two_routers(&mut self) {
        self.second_network();
        self.routed = true;
        ip(&["address", "add", &format!("{FAR_ADDRESS}/32"), "dev", "lo"]);
        // A rule before the kernel's own one for local addresses.
        ip(&["rule", "add", "pref", "100", "lookup", "local"]);
        ip(&[
            "rule",
            "add",
            "pref",
            "50",
            "iif",
            "br1",
            "to",
            FAR_ADDRESS,
            "blackhole",
        ]);
        ip(&["rule", "del", "pref", "0"]);
        self.serve_names(ADDRESS, &format!("--address=/{FAR_NAME}/{FAR_ADDRESS}"));
        self.serve_names(SECOND_ADDRESS, "--local=/lab/");
    }

    /// Takes IPv4 off the segment. Addresses are by SLAAC, name servers by stateless DHCPv6; the name of services is [`FAR_NAME`]. To be
    /// called before [`serve`](Self::serve).
    pub fn ipv6_only(&mut self) {
        self.v6 = true;
        ip(&["address", "flush", "dev", "br0", "scope", "global"]);
        ip(&["address", "add", &format!("{ADDRESS6}/64"), "dev", "br0", "nodad"]);
        self.serve_names(ADDRESS6, &format!("--address=/{FAR_NAME}/{ADDRESS6}"));
    }

    /// Ends the DHCP server, which was started last; it may be started again with another offer.
    ///
    /// # Panics
    /// If there is none.
    pub fn stop_serving(&mut self) {
        let server = self.servers.pop();
        drop(server.expect("a DHCP server runs"));
        // Its leases are removed, too.
        let _ = std::fs::remove_file(self.folder.path().join("dnsmasq.leases"));
    }

    fn serve_names(&mut self, address: &str, answer: &str) {
        let mut names = command("dnsmasq");
        names
            .args([
                "--keep-in-foreground",
                "--log-facility=-",
                "--bind-interfaces",
                "--user=root",
            ])
            .args([
                "--no-resolv",
                "--no-hosts",
                "--conf-file=/dev/null",
                "--pid-file=",
            ])
            .args([
                &format!("--listen-address={address}"),
                "--except-interface=lo",
                answer,
            ]);
        let log = self.folder.path().join(format!("names-{address}.log"));
        let mut server = Program::start("dnsmasq", &mut names, &log);
        server.await_output("started, version", START_LIMIT);
        self.servers.push(server);
    }
}
