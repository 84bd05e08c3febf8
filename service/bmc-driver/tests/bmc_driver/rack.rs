//! Machines behind emulated BMCs. Each that boots the image reads it by ranges, and its agent registers.

use std::sync::Arc;
use std::time::Duration;

use muster_api::bmc::BmcCreateParams;
use muster_api::fingerprint::Fingerprint;
use muster_api::ids::{HostId, InfraEnvId};
use muster_api::inventory::{Boot, Interface, Inventory, SystemVendor};
use muster_bmc_emulator::machine::Hardware;
use muster_bmc_emulator::{Booted, Certificate, Emulator, InMemory, Quirks, Setup};
use muster_core::lifecycle::host::{HostEvent, Machine};
use muster_operations::Operations;
use reqwest::header::RANGE;
use tokio::task::JoinHandle;

pub struct Unit {
    pub name: String,
    pub hardware: Hardware,
    pub machine: Arc<InMemory>,
    pub bmc: Emulator,
    agent: Option<JoinHandle<()>>,
}

impl Unit {
    pub fn new(name: &str, number: u8, quirks: Quirks) -> Self {
        Self::of(name, number, |setup| setup.quirks(quirks))
    }

    pub fn with_tls(name: &str, number: u8, certificate: &Certificate) -> Self {
        Self::of(name, number, |setup| setup.tls(certificate.clone()))
    }

    fn of(name: &str, number: u8, setup: impl FnOnce(Setup) -> Setup) -> Self {
        let hardware = Hardware::example(number);
        let machine = Arc::new(InMemory::running(hardware.clone()));
        let bmc = setup(Setup::new(machine.clone())).start().unwrap();
        Self {
            name: name.to_owned(),
            hardware,
            machine,
            bmc,
            agent: None,
        }
    }

    pub fn params(&self) -> BmcCreateParams {
        BmcCreateParams {
            name: Some(self.name.clone()),
            address: self.bmc.url(),
            user_name: "admin".into(),
            password: "password".into(),
            certificate: None,
            system_id: None,
            boot: None,
            discover: None,
        }
    }

    /// From now on its agent registers whenever it boots the image.
    pub fn boots_an_agent(&mut self, operations: &Arc<Operations>, infra_env_id: InfraEnvId) {
        let (machine, hardware) = (self.machine.clone(), self.hardware.clone());
        let operations = operations.clone();
        let before = machine.boots().len();
        if let Some(agent) = self.agent.take() {
            agent.abort();
        }
        self.agent = Some(tokio::spawn(async move {
            let mut seen = before;
            loop {
                let boots = machine.boots();
                for booted in &boots[seen..] {
                    if let Booted::Image(url) = booted {
                        let line = read(url).await;
                        register_with(&operations, infra_env_id, &hardware, &line).await;
                    }
                }
                seen = boots.len();
                tokio::time::sleep(Duration::from_millis(30)).await;
            }
        }));
    }

    pub fn host_id(&self) -> HostId {
        host_id(&self.hardware)
    }

    pub fn logins(&self) -> usize {
        self.bmc
            .requests()
            .iter()
            .filter(|request| request.is_login())
            .count()
    }

    /// Number of boots since the machine was created, except from the disk.
    pub fn images(&self) -> usize {
        let boots = self.machine.boots();
        boots
            .iter()
            .filter(|booted| matches!(booted, Booted::Image(_)))
            .count()
    }
}

impl Drop for Unit {
    fn drop(&mut self) {
        if let Some(agent) = &self.agent {
            agent.abort();
        }
    }
}

fn host_id(hardware: &Hardware) -> HostId {
    HostId(hardware.uuid)
}

/// Reads as firmware does: the volume descriptor, then more. Returns the kernel argument in it.
async fn read(url: &str) -> String {
    let client = client();
    let mut bytes = Vec::new();
    for range in ["bytes=32768-34815", "bytes=0-65535", "bytes=65536-131071"] {
        let answer = client.get(url).header(RANGE, range).send().await.unwrap();
        assert_eq!(answer.status().as_u16(), 206, "{url}");
        bytes.extend(answer.bytes().await.unwrap());
    }
    let text = String::from_utf8_lossy(&bytes);
    let at = text.find("muster.bmc=");
    at.map(|at| text[at..].lines().next().unwrap_or_default().to_owned())
        .unwrap_or_default()
}

pub fn client() -> reqwest::Client {
    // reqwest is built without a TLS provider and requires one for plain HTTP, too. A second call finds it installed.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().no_proxy().build().unwrap()
}

pub async fn register(operations: &Operations, infra_env_id: InfraEnvId, hardware: &Hardware) {
    register_with(operations, infra_env_id, hardware, "quiet").await;
}

/// `command_line`: the kernel's.
pub async fn register_with(
    operations: &Operations,
    infra_env_id: InfraEnvId,
    hardware: &Hardware,
    command_line: &str,
) {
    let hostname = format!("host-{}", hardware.serial);
    register_as(operations, infra_env_id, hardware, (&hostname, command_line)).await;
}

/// As a machine with that name and kernel command line.
pub async fn register_as(
    operations: &Operations,
    infra_env_id: InfraEnvId,
    hardware: &Hardware,
    (hostname, command_line): (&str, &str),
) {
    register_again(operations, infra_env_id, hardware).await;
    let interfaces = hardware.macs.iter().map(|mac| Interface {
        mac_address: mac.clone(),
        ..Interface::default()
    });
    let inventory = Inventory {
        hostname: hostname.to_owned(),
        interfaces: interfaces.collect(),
        boot: Some(Boot {
            command_line: command_line.to_owned(),
            ..Boot::default()
        }),
        system_vendor: Some(SystemVendor {
            serial_number: hardware.serial.clone(),
            ..SystemVendor::default()
        }),
        ..Inventory::default()
    };
    let told = HostEvent::InventoryReported(inventory);
    let id = host_id(hardware);
    operations.hosts.apply(infra_env_id, id, told).await.unwrap();
}

/// Without an inventory.
pub async fn register_again(operations: &Operations, infra_env_id: InfraEnvId, hardware: &Hardware) {
    let machine = Machine {
        fingerprint: Some(Fingerprint {
            system_serial: hardware.serial.clone(),
            system_uuid: hardware.uuid.to_string(),
            macs: hardware.macs.clone(),
            ..Fingerprint::default()
        }),
        ..Machine::default()
    };
    let hosts = &operations.hosts;
    hosts
        .register(infra_env_id, host_id(hardware), "muster-agent/0", machine)
        .await
        .unwrap();
}
