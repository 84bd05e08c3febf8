//! Machines that boot from the network first and from their disk second: only an installed one boots its disk.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::path::Path;

use muster_tests::condition::await_condition;
use muster_tests::qemu::{Disk, DiskBus, Firmware, GIB, Machine, Medium, Nic, USER_NETWORK_HOST, UserNet};
use muster_tests::rest::inventory;
use muster_tests::service::Settings;
use serde_json::json;

use muster_tests::discovery::{Discovery, MACS};
use muster_tests::hosts::clusters::{import, known_in, wait};

/// The card of the host that [`muster_tests::database::inventory`] calls 1.
const INSTALLED: &str = "02:00:00:00:00:01";

/// Output of the system on the disk.
pub const OLD_SYSTEM: &str = "OLD SYSTEM BOOTS";

#[test]
fn an_installed_host_boots_its_disk_and_another_waits_for_a_service_that_fails_and_is_discovered() {
    let mut discovery = Discovery::on(Settings::for_user_networks());
    let url = format!("http://127.0.0.1:{}", discovery.service.port());
    let script = ["pxe-config", "script", "--infra-env", "rack-one", "--url", &url];
    let script = discovery.service.muster(&script);
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("muster.ipxe"), script).unwrap();
    let disk = folder.path().join("disk");
    fs::write(&disk, old_system()).unwrap();
    install(&discovery);

    let mut machine = machine("to-disk", INSTALLED, folder.path(), &disk).start();
    machine.await_serial(OLD_SYSTEM);
    drop(machine);

    discovery.service.kill();
    let mut machine = machine_that_waits(&discovery, folder.path(), &disk);
    discovery.service.start_again();
    await_condition(
        "the waiting machine to be discovered",
        machine.time_left(),
        || {
            let hosts = discovery.client().hosts(discovery.infra_env.id);
            let hosts = hosts.map_err(|error| error.to_string())?;
            let mut inventories = hosts.iter().filter_map(inventory);
            let cards =
                inventories.find(|found| found.interfaces.iter().any(|card| card.mac_address == MACS[0]));
            cards
                .map(drop)
                .ok_or_else(|| format!("{} hosts, none of them it", hosts.len()))
        },
    );
    assert!(machine.is_on());
    let said = machine.console().text();
    assert!(!said.contains(OLD_SYSTEM), "{said}");
}

fn machine(name: &str, mac: &str, tftp: &Path, disk: &Path) -> Machine {
    let script = format!("tftp://{USER_NETWORK_HOST}/muster.ipxe");
    let network = UserNet::new(2).tftp(tftp).boot_file(&script);
    Machine::new(name)
        .firmware(Firmware::SeaBios)
        .boot(Medium::Network)
        .memory_mib(2048)
        .disk(Disk::new(DiskBus::Virtio, GIB, "OLD").content(disk))
        .nic(Nic::user("virtio-net-pci", mac, network))
}

/// Starts a machine, and responds to its first two requests in place of the service: with errors.
fn machine_that_waits(discovery: &Discovery, tftp: &Path, disk: &Path) -> muster_tests::qemu::Running {
    let broken = TcpListener::bind(("127.0.0.1", discovery.service.boot_port())).unwrap();
    let machine = machine("waiting", MACS[0], tftp, disk).start();
    for _ in 0..2 {
        let (mut stream, _) = broken.accept().unwrap();
        let mut request = String::new();
        BufReader::new(&stream).read_line(&mut request).unwrap();
        let asks = format!("boot.ipxe?mac={}&", MACS[0]);
        // iPXE encodes values in a URL.
        assert!(
            request.replace("%3A", ":").contains(&asks),
            "{request} does not ask for {asks}"
        );
        stream
            .write_all(b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            .unwrap();
    }
    machine
}

/// Binds a host with the card [`INSTALLED`] to a cluster, with the reports of an agent.
fn install(discovery: &Discovery) {
    let client = discovery.service.http();
    let infra_env = format!("/infra-envs/{}", discovery.infra_env.id);
    let cluster = import(&client, "day2");
    let host = known_in(&client, &infra_env, 1, &cluster);
    wait(&client, &host, "known", |host| host["status"] == "known");
    client
        .post(&format!("{host}/actions/install"), &json!({}))
        .expect(202);
    for stage in ["Installing", "Writing image to disk", "Rebooting"] {
        let progress = json!({"current_stage": stage});
        client.put(&format!("{host}/progress"), &progress).expect(200);
    }
}

/// A boot sector that writes [`OLD_SYSTEM`] to the first serial port, and stops.
pub fn old_system() -> Vec<u8> {
    const CODE: [u8; 21] = [
        0x31, 0xc0, // xor ax, ax
        0x8e, 0xd8, // mov ds, ax
        0xbe, 0x15, 0x7c, // mov si, 0x7c15: the text after the code
        0xac, // lodsb
        0x84, 0xc0, // test al, al
        0x74, 0x06, // jz to hlt
        0xba, 0xf8, 0x03, // mov dx, 0x3f8
        0xee, // out dx, al
        0xeb, 0xf5, // jmp to lodsb
        0xf4, // hlt
        0xeb, 0xfd, // jmp to hlt
    ];
    let mut sector = CODE.to_vec();
    sector.extend_from_slice(OLD_SYSTEM.as_bytes());
    sector.extend_from_slice(b"\r\n\0");
    sector.resize(512, 0);
    sector[510..].copy_from_slice(&[0x55, 0xaa]);
    sector
}
