//! Hosts on one bridge. A host is a thread in a network namespace of its own; everything that it runs is in there with
//! it. Nothing has a name outside, so nothing can collide or stay behind.

use std::process::Command;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;

use muster_agent::step::{Running, StepHandler, StepOutput};
use nix::sched::{CloneFlags, unshare};
use serde_json::Value;

type Job = Box<dyn FnOnce() + Send>;

/// A thread in a namespace.
pub struct Host {
    jobs: Option<mpsc::Sender<Job>>,
    thread: Option<JoinHandle<()>>,
    /// The namespace of the thread, for `ip link ... netns`.
    id: i32,
}

impl Host {
    pub fn start() -> Self {
        let (jobs, received) = mpsc::channel::<Job>();
        let (ready, started) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            if let Err(error) = unshare(CloneFlags::CLONE_NEWNET) {
                panic!("no network namespace ({error}): these tests run as root");
            }
            ip("link set lo up");
            for file in ["all", "default"] {
                write(&format!("ipv6/conf/{file}/accept_dad"), "0");
            }
            ready.send(nix::unistd::gettid().as_raw()).unwrap();
            received.into_iter().for_each(|job| job());
        });
        let id = started
            .recv()
            .expect("the host's thread says why it cannot start");
        Self {
            jobs: Some(jobs),
            thread: Some(thread),
            id,
        }
    }

    /// Runs `job` on the host.
    pub fn run<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> T {
        let (sender, result) = mpsc::channel();
        let job: Job = Box::new(move || {
            let _ = sender.send(job());
        });
        self.jobs.as_ref().unwrap().send(job).unwrap();
        result.recv().expect("what ran on the host says why it failed")
    }

    /// `ip ...` on the host.
    pub fn ip(&self, arguments: &str) {
        let arguments = arguments.to_owned();
        self.run(move || ip(&arguments));
    }

    /// Sets `/proc/sys/net/<name>` of the host.
    pub fn set(&self, name: &str, value: &str) {
        let (name, value) = (name.to_owned(), value.to_owned());
        self.run(move || write(&name, &value));
    }

    /// Runs a step on the host, as the session does.
    pub fn step(&self, step: impl StepHandler + 'static, args: &[String]) -> StepOutput {
        let args = args.to_vec();
        self.run(move || runtime().block_on(step.run(args, Arc::new(Running))))
    }

    /// Runs a step with one JSON argument that must succeed; returns its output.
    #[track_caller]
    pub fn good_step(&self, step: impl StepHandler + 'static, arg: &Value) -> Value {
        let output = self.step(step, &[arg.to_string()]);
        assert_eq!(output.exit_code, 0, "{output:?}");
        serde_json::from_str(&output.output).unwrap()
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            // A host that failed has printed the reason.
            let _ = thread.join();
        }
    }
}

/// A bridge that hosts are plugged into.
pub struct Switch {
    namespace: Host,
    ports: usize,
}

/// The connection of a host.
#[derive(Clone, Copy)]
pub struct Cable<'a> {
    /// The card's name on the host.
    pub nic: &'a str,
    /// Last byte of its MAC, which is otherwise `02:00:00:00:00:`.
    pub mac: u8,
    /// With prefix lengths.
    pub addresses: &'a [&'a str],
    /// The card's MTU, bytes.
    pub mtu: u32,
    /// MTU of the switch's port.
    pub port_mtu: u32,
}

impl Default for Cable<'_> {
    fn default() -> Self {
        Self {
            nic: "nic0",
            mac: 0,
            addresses: &[],
            mtu: 1500,
            port_mtu: 9500,
        }
    }
}

pub fn mac(last: u8) -> String {
    format!("02:00:00:00:00:{last:02x}")
}

impl Switch {
    pub fn new() -> Self {
        let namespace = Host::start();
        // Where netfilter inspects bridged packets, a bridge fragments packets that are too long for a port.
        for family in ["iptables", "ip6tables"] {
            let name = format!("bridge/bridge-nf-call-{family}");
            if std::path::Path::new("/proc/sys/net").join(&name).exists() {
                namespace.set(&name, "0");
            }
        }
        namespace.ip("link add br0 type bridge forward_delay 0 mcast_snooping 0");
        namespace.ip("link set br0 up");
        Self { namespace, ports: 0 }
    }

    /// Gives the host a card.
    pub fn plug(&mut self, host: &Host, cable: Cable<'_>) {
        let Cable {
            nic, mtu, port_mtu, ..
        } = cable;
        let port = format!("port{}", self.ports);
        self.ports += 1;
        let mac = mac(cable.mac);
        let (own, id) = (&self.namespace, host.id);
        own.ip(&format!(
            "link add {port} mtu {port_mtu} type veth peer name {nic} mtu {mtu} address {mac} netns {id}"
        ));
        own.ip(&format!("link set {port} master br0 up"));
        host.ip(&format!("link set {nic} up"));
        for address in cable.addresses {
            let nodad = if address.contains(':') { "nodad" } else { "" };
            host.ip(&format!("address add {address} dev {nic} {nodad}"));
        }
    }

    /// A new host with one card `nic0`: MAC `02:00:00:00:00:<number>`, `10.77.0.<number>/24` and `fd77::<number>/64`.
    pub fn host(&mut self, number: u8) -> Host {
        let host = Host::start();
        let v4 = format!("10.77.0.{number}/24");
        let v6 = format!("fd77::{number}/64");
        self.plug(
            &host,
            Cable {
                mac: number,
                addresses: &[&v4, &v6],
                ..Cable::default()
            },
        );
        host
    }
}

/// A direct cable between two hosts.
pub fn connect(a: &Host, a_nic: &str, b: &Host, b_nic: &str, mtu: u32) {
    a.ip(&format!(
        "link add {a_nic} mtu {mtu} type veth peer name {b_nic} mtu {mtu} netns {}",
        b.id
    ));
    a.ip(&format!("link set {a_nic} up"));
    b.ip(&format!("link set {b_nic} up"));
}

/// A runtime with its threads, if it starts any, in the namespace of this one.
pub fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
}

fn ip(arguments: &str) {
    let output = Command::new("ip")
        .args(arguments.split_whitespace())
        .output()
        .unwrap_or_else(|error| panic!("ip: {error}; the package iproute2 has it"));
    assert!(
        output.status.success(),
        "ip {arguments}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}

fn write(name: &str, value: &str) {
    let path = format!("/proc/sys/net/{name}");
    std::fs::write(&path, value).unwrap_or_else(|error| panic!("{path}: {error}"));
}
