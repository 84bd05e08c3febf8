//! A machine with a kubelet that runs pods: the target image, booted as an installer leaves it, in a workload cluster.
//! The lab has neither kube-proxy nor kube-scheduler: the machine forwards the address of the Service `kubernetes` to
//! the API server and ports of its own to pods.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::Scheduler;
use super::control_plane::SERVICE_ADDRESS;
use super::kubectl::Kubectl;
use super::registry::Registry;
use super::workload::Workload;
use crate::condition::await_every;
use crate::install::target::TargetImage;
use crate::process::ports::ReservedPort;
use crate::qemu::{Architecture, Disk, DiskBus, GIB, Machine, Nic, Running, UserNet};

const NAME: &str = "node-1";
/// Time limit of a test with the machine.
const LIMIT: Duration = Duration::from_secs(3600);
const READY_LIMIT: Duration = Duration::from_secs(600);
/// Interval between two checks: kubectl takes time from the emulated processors.
const LOOK: Duration = Duration::from_secs(2);

const CONTAINERD: &str = include_str!("../../target/overlay/etc/containerd/config.toml");

/// The last bytes of the first pods' addresses, 10.85.0.x, which are assigned in order.
const PODS: std::ops::RangeInclusive<u16> = 2..=16;

/// A port of Muster's pods.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PodPort {
    Api,
    Boot,
    Status,
}

impl PodPort {
    const ALL: [Self; 3] = [Self::Api, Self::Boot, Self::Status];

    fn of_pod(self) -> u16 {
        match self {
            Self::Api => 8090,
            Self::Boot => 8091,
            Self::Status => 8092,
        }
    }

    /// The port of the node that is forwarded to that of the pod 10.85.0.`last_byte`.
    fn of_node(self, last_byte: u16) -> u16 {
        match self {
            Self::Api => 20000 + last_byte,
            Self::Boot => 22000 + last_byte,
            Self::Status => 21000 + last_byte,
        }
    }
}

/// Prints the logs of containers on the console every few seconds, as evidence.
const TELL_LOGS: &str = r#"
mkdir -p /run/told
while sleep 5; do
  for log in /var/log/pods/*/*/*.log /var/log/kubelet.log; do
    [ -e "$log" ] || continue
    told=/run/told/$(echo "$log" | tr / _)
    from=$(cat "$told" 2> /dev/null || echo 1)
    size=$(stat -L -c %s "$log")
    case $log in
      *kubelet.log) tail -c "+$from" "$log" | grep '^E' | cut -c 1-400 ;;
      *) tail -c "+$from" "$log" | cut -c 1-400 ;;
    esac
    echo $((size + 1)) > "$told"
  done
done > /dev/console 2>&1
"#;

/// A running node, and the scheduler that binds every pod to it. Dropping it switches it off; if the test fails, its
/// console is shown.
pub struct PodNode {
    scheduler: Scheduler,
    machine: Running,
    /// Ports of this computer, in the order of [`PODS`] and [`PodPort::ALL`].
    ports: Vec<[ReservedPort; PodPort::ALL.len()]>,
    _folder: TempDir,
}

impl PodNode {
    /// Boots it, and waits until it is Ready. `pause` is the image of the container that holds a pod's namespaces.
    ///
    /// # Panics
    /// If it is not Ready in time.
    #[track_caller]
    pub fn start(workload: &Workload, registry: &Registry, pause: &str) -> Self {
        let folder = tempfile::Builder::new().prefix("muster-pods-").tempdir();
        let folder = folder.unwrap_or_else(|error| panic!("no temporary folder: {error}"));
        let config = config(workload, registry, pause);
        let image = TargetImage::built(Architecture::X86_64).with_config(&config, folder.path());
        let ports: Vec<_> = PODS
            .map(|_| PodPort::ALL.map(|_| ReservedPort::reserve()))
            .collect();
        let mut network = UserNet::new(2).hostname(NAME);
        for (pod, here) in PODS.zip(&ports) {
            for (port, here) in PodPort::ALL.iter().zip(here) {
                network = network.forward(here.number(), port.of_node(pod));
            }
        }
        let machine = Machine::new("pods")
            .memory_mib(4096)
            .cpus("1")
            .disk(Disk::new(DiskBus::Virtio, 8 * GIB, "system").content(&image))
            .nic(Nic::user("virtio-net-pci", "52:54:00:dd:00:31", network))
            .disk_first()
            .time_limit(LIMIT)
            .start();
        let kubectl = workload.kubectl();
        await_every(LOOK, "the node to be Ready", READY_LIMIT, || {
            approve_all(&kubectl);
            let ready = "jsonpath={.status.conditions[?(@.type=='Ready')].status}";
            let seen = kubectl.try_run(&["get", "node", NAME, "-o", ready]);
            match seen.out.as_str() {
                "True" => Ok(()),
                _ => Err(format!("{}{}\n{}", seen.out, seen.err, machine.console().tail())),
            }
        });
        Self {
            scheduler: Scheduler::start(workload.plane(), NAME),
            machine,
            ports,
            _folder: folder,
        }
    }

    /// The port of this computer's loopback that is forwarded to one of the pod with that address.
    ///
    /// # Panics
    /// If the address is not among the first ones.
    #[track_caller]
    pub fn port(&self, pod_address: &str, port: PodPort) -> u16 {
        let last_byte = pod_address
            .strip_prefix("10.85.0.")
            .and_then(|byte| byte.parse().ok());
        let at = PODS.zip(&self.ports).find(|(pod, _)| Some(*pod) == last_byte);
        let (_, ports) = at.unwrap_or_else(|| panic!("no port leads to the pod {pod_address}"));
        let ports = PodPort::ALL.into_iter().zip(ports);
        let mut here = ports.filter_map(|(one, here)| (one == port).then_some(here));
        here.next().expect("all ports lead there").number()
    }

    /// Evidence for pods in an unexpected state: the scheduler's last error and the end of the console.
    pub fn evidence(&self) -> String {
        format!(
            "{}\n{}",
            self.scheduler.last_error(),
            self.machine.console().tail()
        )
    }
}

/// Approves the certificate requests of kubelets, as an administrator does.
fn approve_all(kubectl: &Kubectl) {
    let seen = kubectl.get(&["csr"]);
    for request in seen["items"].as_array().into_iter().flatten() {
        let is_decided = request["status"]["conditions"].is_array();
        if let (false, Some(name)) = (is_decided, request["metadata"]["name"].as_str()) {
            kubectl.run(&["certificate", "approve", name]);
        }
    }
}

/// The Ignition config of a worker, with the parts that its pods need.
fn config(workload: &Workload, registry: &Registry, pause: &str) -> Value {
    let table = "[plugins.\"io.containerd.grpc.v1.cri\".cni]";
    let containerd = CONTAINERD.replacen(
        table,
        &format!("[plugins.\"io.containerd.grpc.v1.cri\"]\n  sandbox_image = \"{pause}\"\n\n{table}"),
        1,
    ) + &registry.containerd_settings();
    let server = workload.plane().url_for_machines().replace("https://", "");
    let mut rules = format!(
        "*nat\n-A PREROUTING -d {SERVICE_ADDRESS} -p tcp --dport 443 -j DNAT --to-destination {server}\n"
    );
    for pod in PODS {
        for port in PodPort::ALL {
            let (node, pod_port) = (port.of_node(pod), port.of_pod());
            rules += &format!(
                "-A PREROUTING -p tcp --dport {node} -j DNAT --to-destination 10.85.0.{pod}:{pod_port}\n"
            );
        }
    }
    rules += "COMMIT\n";
    let mut config = workload.worker_config("pods");
    add(
        &mut config,
        "/storage/files",
        [
            file("/etc/hostname", NAME),
            file("/etc/containerd/config.toml", &containerd),
            file("/etc/pod-ports", &rules),
            file("/etc/tell-logs", TELL_LOGS),
        ],
    );
    add(
        &mut config,
        "/systemd/units",
        [
            unit(
                "pod-ports",
                "Type=oneshot\nRemainAfterExit=yes\nExecStart=/usr/sbin/iptables-restore --noflush /etc/pod-ports",
            ),
            unit("tell-logs", "ExecStart=/bin/sh /etc/tell-logs"),
        ],
    );
    config
}

fn add<const N: usize>(config: &mut Value, list: &str, more: [Value; N]) {
    let list = config.pointer_mut(list).and_then(Value::as_array_mut);
    list.expect("the worker's config has such a list").extend(more);
}

fn file(path: &str, content: &str) -> Value {
    json!({
        "path": path, "mode": 0o644, "overwrite": true,
        "contents": {"source": format!("data:;base64,{}", STANDARD.encode(content))},
    })
}

fn unit(name: &str, service: &str) -> Value {
    let text = format!(
        "[Unit]\nBefore=kubelet.service\n[Service]\n{service}\n[Install]\nWantedBy=multi-user.target\n"
    );
    json!({"name": format!("{name}.service"), "enabled": true, "contents": text})
}
