//! A network segment of its own: a namespace with a bridge, taps for machines, and the DHCP server that "they" already
//! have.
//!
//! The thread that holds a segment is in its namespace, and so is everything it starts: services, machines, requests.
//! Nothing has a name outside, so nothing can collide or be left behind.

mod networks;
mod pxe_client;
mod tagged_switch;

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use nix::sched::{CloneFlags, unshare};
use tempfile::TempDir;

use crate::process::{Program, command, run};
pub use networks::ADDRESS6;
pub use pxe_client::{DhcpAnswer, PxeClient, Stage};
pub use tagged_switch::{TaggedSwitch, UdpCable};

/// The address of the segment's router, where services listen, and its DHCP server.
pub const ADDRESS: &str = "10.91.0.1";

/// The address of the router on the second network ([`Segment::second_network`]), which is also a DHCP
/// server.
pub const SECOND_ADDRESS: &str = "10.92.0.1";

/// An address behind the router of the first network, to which the second network's router has no route
/// ([`Segment::two_routers`]).
pub const FAR_ADDRESS: &str = "10.99.0.1";

/// The name of [`FAR_ADDRESS`], which the first network's name server resolves and the second one's denies.
pub const FAR_NAME: &str = "muster.lab";

/// Folder of Debian's package `ipxe` with the programs that firmware loads by TFTP.
const IPXE_PROGRAMS: &str = "/usr/lib/ipxe";

/// Time limit of a server's start, which takes a second.
const START_LIMIT: Duration = Duration::from_secs(120);

/// Options of the segment's DHCP server in addition to addresses (`10.91.0.50` to `.150`).
#[derive(Debug, Clone)]
pub enum Offer {
    /// Nothing but addresses.
    Addresses,
    /// Addresses from a range of 10.91.0.0/24 for two minutes. The server refuses others with a NAK.
    ShortLeases { first: &'static str, last: &'static str },
    /// UEFI HTTP boot of this URL.
    HttpBoot {
        /// An ISO or EFI program by plain HTTP.
        url: String,
    },
    /// PXE: iPXE by TFTP, and for iPXE a script.
    Pxe {
        /// Printed by `muster pxe-config dnsmasq`.
        recipe: String,
    },
    /// The same by Kea.
    KeaPxe {
        /// Printed by `muster pxe-config kea`.
        recipe: String,
    },
    /// The same by a proxyDHCP server next to a DHCP server without boot options.
    ProxyPxe {
        /// Printed by `muster pxe-config proxydhcp`.
        recipe: String,
    },
}

/// The segment that the current thread is in.
pub struct Segment {
    folder: TempDir,
    taps: u32,
    names: Vec<(String, String)>,
    second: bool,
    routed: bool,
    v6: bool,
    fixed: Vec<(Vec<String>, String)>,
    servers: Vec<Program>,
}

/// Runs `body` in a new segment, in a thread of its own.
///
/// # Panics
/// If `body` does; or without the right to make a namespace (tests that need a segment run as root).
#[track_caller]
pub fn in_segment<T: Send>(body: impl FnOnce(&mut Segment) -> T + Send) -> T {
    let result = std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("segment".to_owned());
        let thread = thread.spawn_scoped(scope, || body(&mut Segment::enter()));
        thread.expect("a thread can be started").join()
    });
    result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

impl Segment {
    fn enter() -> Self {
        if let Err(error) = unshare(CloneFlags::CLONE_NEWNET) {
            panic!("no network namespace ({error}): tests with a network segment run as root");
        }
        let address = format!("{ADDRESS}/24");
        ip(&["link", "set", "lo", "up"]);
        behave_as_a_switch();
        ip(&["link", "add", "br0", "type", "bridge", "forward_delay", "0"]);
        ip(&["address", "add", &address, "dev", "br0"]);
        ip(&["link", "set", "br0", "up"]);
        let folder = tempfile::Builder::new().prefix("muster-segment-").tempdir();
        let folder = folder.unwrap_or_else(|error| panic!("no temporary folder: {error}"));
        Self {
            folder,
            taps: 0,
            names: Vec::new(),
            second: false,
            routed: false,
            v6: false,
            fixed: Vec::new(),
            servers: Vec::new(),
        }
    }

    /// Plugs in a cable; returns the tap's name for a machine's network card.
    pub fn tap(&mut self) -> String {
        self.tap_on("br0")
    }

    /// As [`tap`](Self::tap), but nothing longer than `mtu` bytes reaches the machine, and the sender is not notified:
    /// a switch's port with a smaller MTU than its neighbours. The router has that MTU, too, so that services on
    /// [`ADDRESS`] are still reached.
    pub fn tap_with_mtu(&mut self, mtu: u32) -> String {
        let name = self.tap();
        ip(&["link", "set", &name, "mtu", &mtu.to_string()]);
        ip(&["link", "set", "br0", "mtu", &mtu.to_string()]);
        name
    }

    /// Plugs in a cable of the second network, which has no route out of it.
    ///
    /// # Panics
    /// Unless there is one.
    pub fn second_tap(&mut self) -> String {
        assert!(self.second, "the segment has no second network yet");
        self.tap_on("br1")
    }

    fn tap_on(&mut self, bridge: &str) -> String {
        let name = format!("tap{}", self.taps);
        self.taps += 1;
        ip(&["tuntap", "add", "dev", &name, "mode", "tap"]);
        ip(&["link", "set", &name, "master", bridge, "up"]);
        name
    }

    /// Makes a second network: a bridge of its own, addresses from the same DHCP server (`10.92.0.50` to
    /// `.150`) and no router. To be called before [`serve`](Self::serve).
    pub fn second_network(&mut self) {
        self.second = true;
        let address = format!("{SECOND_ADDRESS}/24");
        ip(&["link", "add", "br1", "type", "bridge", "forward_delay", "0"]);
        ip(&["address", "add", &address, "dev", "br1"]);
        ip(&["link", "set", "br1", "up"]);
    }

    /// Makes the DHCP server assign one address to all these MACs: a duplicate, if there are several. To be called
    /// before [`serve`](Self::serve).
    pub fn fix_address(&mut self, macs: &[&str], address: &str) {
        let macs = macs.iter().map(|mac| (*mac).to_owned()).collect();
        self.fixed.push((macs, address.to_owned()));
    }

    /// Makes the DHCP server assign a hostname to the machine with that MAC. To be called before
    /// [`serve`](Self::serve).
    pub fn name_host(&mut self, mac: &str, hostname: &str) {
        self.names.push((mac.to_owned(), hostname.to_owned()));
    }

    /// Starts the DHCP server, and the further servers that `offer` needs.
    #[track_caller]
    pub fn serve(&mut self, offer: &Offer) {
        let mut configuration =
            String::from("port=0\nbind-interfaces\ninterface=br0\nuser=root\nno-ping\nlog-dhcp\n");
        for (mac, hostname) in &self.names {
            let _ = writeln!(configuration, "dhcp-host={mac},{hostname}");
        }
        for (macs, address) in &self.fixed {
            let _ = writeln!(configuration, "dhcp-host={},{address}", macs.join(","));
        }
        if self.second {
            configuration += "interface=br1\ndhcp-range=set:second,10.92.0.50,10.92.0.150,255.255.255.0,1h\n";
        }
        if self.routed {
            let _ = writeln!(
                configuration,
                "dhcp-option=tag:!second,option:dns-server,{ADDRESS}"
            );
            let _ = writeln!(
                configuration,
                "dhcp-option=tag:second,option:dns-server,{SECOND_ADDRESS}"
            );
        } else if self.second {
            configuration +=
                "dhcp-option=tag:second,option:router\ndhcp-option=tag:second,option:dns-server\n";
        }
        let addresses = "dhcp-range=10.91.0.50,10.91.0.150,255.255.255.0,1h\n";
        match offer {
            Offer::Addresses if self.v6 => configuration += networks::STATELESS,
            Offer::Addresses => configuration += addresses,
            Offer::ShortLeases { first, last } => {
                let _ = writeln!(
                    configuration,
                    "dhcp-range={first},{last},255.255.255.0,2m\ndhcp-authoritative"
                );
            }
            Offer::HttpBoot { url } => {
                configuration += addresses;
                // Firmware ignores an HTTP boot offer that does not echo its vendor class (docs/protocol/ipxe.md#5).
                configuration += "dhcp-match=set:http,option:client-arch,16\n";
                configuration += "dhcp-option-force=tag:http,60,HTTPClient\n";
                let _ = writeln!(configuration, "dhcp-boot=tag:http,{url}");
            }
            Offer::Pxe { recipe } => configuration += &self.with_tftp(recipe),
            Offer::KeaPxe { recipe } => return self.serve_by_kea(recipe),
            Offer::ProxyPxe { recipe } => {
                configuration += &self.with_tftp(recipe);
                self.serve_addresses_only();
            }
        }
        let leases = self.folder.path().join("dnsmasq.leases");
        let _ = writeln!(configuration, "dhcp-leasefile={}", leases.display());
        let file = self.write("dnsmasq.conf", &configuration);
        let mut dnsmasq = command("dnsmasq");
        // Two that start at once would both create the usual file with the process id.
        let process_id = self.folder.path().join("dnsmasq.pid");
        dnsmasq
            .arg(format!("--pid-file={}", process_id.display()))
            .arg("--keep-in-foreground")
            .arg("--log-facility=-")
            .arg(format!("--conf-file={}", file.display()));
        let mut server = Program::start("dnsmasq", &mut dnsmasq, &self.folder.path().join("dnsmasq.log"));
        server.await_output("started, version", START_LIMIT);
        self.servers.push(server);
    }

    /// Starts Kea with that configuration, except for the leases, which it would keep in `/var/lib`.
    fn serve_by_kea(&mut self, recipe: &str) {
        let text = recipe.replacen(r#""memfile""#, r#""memfile", "persist": false"#, 1);
        let file = self.write("kea-dhcp4.conf", &text);
        let mut kea = command("kea-dhcp4");
        kea.env("KEA_PIDFILE_DIR", self.folder.path());
        kea.env("KEA_LOCKFILE_DIR", self.folder.path());
        kea.arg("-c").arg(file);
        let mut server = Program::start("kea-dhcp4", &mut kea, &self.folder.path().join("kea.log"));
        server.await_output("DHCP4_STARTED", START_LIMIT);
        self.servers.push(server);
    }

    /// A recipe for dnsmasq, adapted to this segment's server: without options that are configured already, and with a
    /// TFTP folder of its own.
    fn with_tftp(&self, recipe: &str) -> String {
        let root = self.folder.path().join("tftp");
        std::fs::create_dir_all(&root).unwrap_or_else(|error| panic!("{}: {error}", root.display()));
        for program in ["undionly.kpxe", "snponly.efi"] {
            let from = PathBuf::from(IPXE_PROGRAMS).join(program);
            let copied = std::fs::copy(&from, root.join(program));
            copied.unwrap_or_else(|error| {
                panic!(
                    "{}: {error}; `make deps` installs the package ipxe",
                    from.display()
                )
            });
        }
        let ours = format!("tftp-root={}\n", root.display());
        let text = recipe.replacen("tftp-root=/srv/tftp\n", &ours, 1);
        assert!(text.contains(&ours), "the recipe has no TFTP folder:\n{recipe}");
        text.replacen("\nport=0\n", "\n", 1)
    }

    /// A DHCP server that assigns addresses and offers no boot file: busybox's, since two dnsmasq would need the same
    /// port.
    fn serve_addresses_only(&mut self) {
        let leases = self.write("udhcpd.leases", "");
        let text = format!(
            "start 10.91.0.50\nend 10.91.0.150\ninterface br0\noption subnet 255.255.255.0\nlease_file {}\npidfile {}\n",
            leases.display(),
            self.folder.path().join("udhcpd.pid").display()
        );
        let file = self.write("udhcpd.conf", &text);
        let mut udhcpd = command("busybox");
        udhcpd.args(["udhcpd", "-f"]).arg(file);
        let mut server = Program::start("udhcpd", &mut udhcpd, &self.folder.path().join("udhcpd.log"));
        server.await_output("started", START_LIMIT);
        self.servers.push(server);
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::write(&path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        path
    }
}

/// With netfilter on bridges, a bridge fragments packets that are too long for a port; a switch drops them.
fn behave_as_a_switch() {
    for family in ["iptables", "ip6tables"] {
        let file = format!("/proc/sys/net/bridge/bridge-nf-call-{family}");
        if std::path::Path::new(&file).exists() {
            std::fs::write(&file, "0").unwrap_or_else(|error| panic!("{file}: {error}"));
        }
    }
}

#[track_caller]
fn ip(arguments: &[&str]) {
    run(Command::new("ip").args(arguments));
}
