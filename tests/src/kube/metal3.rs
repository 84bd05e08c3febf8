//! Metal3's baremetal-operator for a control plane, with Ironic, its client of BMCs. Source: docs/protocol/metal3.md#1.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use tempfile::TempDir;

use super::kubectl::Kubectl;
use super::programs::{files_of, program};
use crate::condition::await_condition;
use crate::http::HttpClient;
use crate::process::ports::ReservedPort;
use crate::process::python::Environment;
use crate::process::{Program, command, run};

const START_LIMIT: Duration = Duration::from_secs(120);

/// Running programs. Dropping them ends them; if the test fails, their logs are shown.
pub struct Metal3 {
    // The operator ends before the programs that it uses.
    operator: Program,
    ironic: Program,
    _ports: [ReservedPort; 2],
    _folder: TempDir,
}

impl Metal3 {
    /// Applies Metal3's CRDs to the API server, and starts Ironic and the operator, which watches all namespaces and
    /// requests PreprovisioningImages.
    ///
    /// # Panics
    /// If they are missing or do not start.
    #[track_caller]
    pub fn start(kubectl: &Kubectl) -> Self {
        let crds = files_of("baremetal-operator", "crds").display().to_string();
        kubectl.run(&["apply", "--server-side", "-f", &crds]);
        kubectl.run(&[
            "wait",
            "--for=condition=Established",
            "crd",
            "--all",
            "--timeout=120s",
        ]);
        let folder = tempfile::Builder::new().prefix("muster-metal3-").tempdir();
        let folder = folder.unwrap_or_else(|error| panic!("no temporary folder: {error}"));
        let [ironic_port, health] = std::array::from_fn(|_| ReservedPort::reserve());
        let ironic = start_ironic(folder.path(), ironic_port.number());
        let mut operator = command(program("baremetal-operator"));
        operator.arg("-kubeconfig").arg(kubectl.kubeconfig());
        operator.args([
            "-build-preprov-image",
            "-webhook-port=0",
            "-metrics-addr=127.0.0.1:0",
        ]);
        operator.arg(format!("-health-addr=127.0.0.1:{}", health.number()));
        operator.env(
            "IRONIC_ENDPOINT",
            format!("http://127.0.0.1:{}/v1/", ironic_port.number()),
        );
        operator.env("METAL3_AUTH_ROOT_DIR", folder.path().join("no-credentials"));
        let log = folder.path().join("operator.log");
        let operator = Program::start_shared("the baremetal-operator", operator, &log);
        let mut started = Self {
            operator,
            ironic,
            _ports: [ironic_port, health],
            _folder: folder,
        };
        let [ironic_port, health] = &started._ports;
        let (ironic_port, health) = (ironic_port.number(), health.number());
        await_answer(
            &mut started.ironic,
            "Ironic",
            &format!("http://127.0.0.1:{ironic_port}"),
            "/v1/",
        );
        await_answer(
            &mut started.operator,
            "the baremetal-operator",
            &format!("http://127.0.0.1:{health}"),
            "/healthz",
        );
        started
    }
}

#[track_caller]
fn await_answer(program: &mut Program, name: &str, base: &str, path: &str) {
    let client = HttpClient::new(base);
    await_condition(&format!("{name} to be ready"), START_LIMIT, || {
        assert!(
            program.is_running(),
            "{name} ended:\n{}",
            program.transcript().tail()
        );
        match client.try_request("GET", path, None)?.status {
            200 => Ok(()),
            status => Err(status.to_string()),
        }
    });
}

#[track_caller]
fn start_ironic(folder: &Path, port: u16) -> Program {
    let environment = Environment::of("ironic");
    let file = folder.join("ironic.conf");
    fs::create_dir(folder.join("http")).expect("a folder can be made");
    fs::write(&file, configuration(folder, port)).expect("a file can be written");
    let named = |mut program: Command| {
        program.arg("--config-file").arg(&file);
        program
    };
    run(named(environment.program("ironic-dbsync", folder)).arg("create_schema"));
    let ironic = named(environment.program("ironic", folder));
    Program::start_shared("Ironic", ironic, &folder.join("ironic.log"))
}

/// BMCs download images by the URLs that the operator gets: Ironic would need a web server for its copies.
fn configuration(folder: &Path, port: u16) -> String {
    let folder = folder.display();
    format!(
        "[DEFAULT]\n\
         auth_strategy = noauth\n\
         rpc_transport = none\n\
         host = muster-lab\n\
         my_ip = 127.0.0.1\n\
         state_path = {folder}\n\
         enabled_hardware_types = redfish,fake-hardware\n\
         enabled_boot_interfaces = redfish-virtual-media,fake\n\
         enabled_deploy_interfaces = direct,ramdisk,fake,custom-agent\n\
         enabled_bios_interfaces = no-bios,redfish\n\
         enabled_firmware_interfaces = no-firmware,fake,redfish\n\
         enabled_inspect_interfaces = agent,redfish,no-inspect,fake\n\
         enabled_management_interfaces = redfish,fake,noop\n\
         enabled_power_interfaces = redfish,fake\n\
         enabled_raid_interfaces = no-raid,fake,redfish\n\
         enabled_vendor_interfaces = no-vendor,redfish\n\
         enabled_network_interfaces = noop\n\
         enabled_storage_interfaces = noop\n\
         default_network_interface = noop\n\
         [api]\nhost_ip = 127.0.0.1\nport = {port}\npublic_endpoint = http://127.0.0.1:{port}\n\
         [database]\nconnection = sqlite:///{folder}/ironic.sqlite\n\
         [conductor]\nautomated_clean = false\napi_url = http://127.0.0.1:{port}\n\
         [deploy]\nhttp_url = http://127.0.0.1:{port}\nhttp_root = {folder}/http\nramdisk_image_download_source = http\n\
         [dhcp]\ndhcp_provider = none\n\
         [inventory]\ndata_backend = database\n\
         [service_catalog]\nendpoint_override = http://127.0.0.1:{port}\nauth_type = none\n"
    )
}
