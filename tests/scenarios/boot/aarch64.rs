//! An ARM server boots the live image for it. Run by `make test-long` only: the agent is compiled for another processor first.

use muster_tests::artifacts::live_image_aarch64;
use muster_tests::qemu::{Disk, DiskBus, Firmware, GIB, Machine, Medium, Nic, UserNet};
use muster_tests::rest::inventory;
use muster_tests::service::Settings;
use serde_json::json;

use muster_tests::discovery::{Discovery, MACS, interface};

#[test]
#[ignore = "it needs `make image-aarch64` and Debian's packages qemu-system-arm and qemu-efi-aarch64"]
fn an_arm_server_boots_the_iso_from_a_usb_stick_and_reports_its_inventory() {
    let name = "arm-server";
    let image = live_image_aarch64();
    let settings = Settings::for_user_networks()
        .argument("--live-image-aarch64")
        .argument(image.to_str().unwrap());
    let mut discovery = Discovery::on(settings);
    let of_arm = json!({"cpu_architecture": "arm64"});
    let made = discovery.client().create_infra_env_with("arm", &of_arm);
    discovery.infra_env = made.unwrap();
    let nic = Nic::user("virtio-net-pci", MACS[0], UserNet::new(2).hostname(name));
    let mut machine = Machine::new(name)
        .firmware(Firmware::Aavmf)
        .boot(Medium::UsbStick(discovery.iso()))
        .memory_mib(4096)
        .smbios("type=1,manufacturer=AcmeCorp,product=Arm-1000,serial=ACME-ARM1")
        .disk(Disk::new(DiskBus::Virtio, 60 * GIB, "SER-A"))
        .nic(nic)
        .start();
    let host = discovery.await_inventory(&mut machine);
    println!(
        "{name}: inventory {:.1} s after power-on",
        machine.uptime().as_secs_f32()
    );
    assert_eq!(host.requested_hostname, name);
    let found = inventory(&host).unwrap();
    let cpu = found.cpu.as_ref().unwrap();
    assert_eq!((cpu.count, cpu.architecture.as_str()), (2, "aarch64"));
    let vendor = found.system_vendor.as_ref().unwrap();
    assert_eq!(
        (vendor.product_name.as_str(), vendor.serial_number.as_str()),
        ("Arm-1000", "ACME-ARM1")
    );
    assert_eq!(found.boot.as_ref().unwrap().current_boot_mode, "uefi");
    assert!(
        found
            .disks
            .iter()
            .any(|disk| disk.serial == "SER-A" && disk.size_bytes == 60 << 30)
    );
    assert!(!interface(&found, MACS[0]).ipv4_addresses.is_empty());

    // CoreOS on such machines downloads the agent in the image.
    let program = format!(
        "/infra-envs/{}/downloads/agent-program?architecture=",
        discovery.infra_env.id
    );
    let http = discovery.service.http();
    let agent = http.get(&format!("{program}aarch64")).expect(200).body;
    assert_eq!(&agent[..4], b"\x7fELF");
    assert_eq!(
        u16::from_le_bytes([agent[18], agent[19]]),
        183,
        "ELF's number of AArch64"
    );
    http.get(&format!("{program}s390x")).expect(404);
}
