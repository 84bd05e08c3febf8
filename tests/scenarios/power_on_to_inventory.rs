//! Measures the time from power-on to an inventory in the service, beside a kernel that does nothing.

use std::time::Duration;

use muster_tests::initramfs;
use muster_tests::qemu::{Accel, Firmware, Machine, Medium, Nic, Slots, UserNet};
use muster_tests::service::Settings;

use crate::discovery::{Discovery, MACS, known_machine};

/// The budget for software emulation on two idle cores.
const TARGET: Duration = Duration::from_secs(20);

/// A computer that is busy with something else makes both slower: then the bare kernel's time, which was 7.6
/// s when the target was set (docs/protocol/boot-lab.md#2), says by how much.
const BARE_KERNEL: Duration = Duration::from_millis(7600);

#[test]
fn a_machine_is_known_within_the_budget_after_power_on() {
    let folder = tempfile::tempdir().unwrap();
    let bare = Medium::Kernel {
        kernel: initramfs::kernel_of_live_image(folder.path()),
        initramfs: initramfs::build(folder.path(), "echo BARE-KERNEL-UP"),
        arguments: "quiet console=ttyS0,115200n8".to_owned(),
    };
    let discovery = Discovery::on(Settings::for_user_networks());
    let nic = Nic::user("virtio-net-pci", MACS[0], UserNet::new(2).hostname("timed"));
    let machine = known_machine("timed")
        .firmware(Firmware::SeaBios)
        .boot(Medium::Cd(discovery.iso()))
        .nic(nic)
        .accel(Accel::Tcg);

    let mut bare = Machine::new("bare kernel")
        .boot(bare)
        .accel(Accel::Tcg)
        .start_in(Slots::all());
    bare.await_serial("BARE-KERNEL-UP");
    let bare_time = bare.await_power_off();
    drop(bare);

    let mut machine = machine.start_in(Slots::all());
    discovery.await_inventory(&mut machine);
    let time = machine.uptime();
    let seconds = |time: Duration| time.as_secs_f32();
    println!(
        "power-on to inventory from CD: {:.1} s; a bare kernel, power-on to power-off: {:.1} s",
        seconds(time),
        seconds(bare_time)
    );
    let allowed = TARGET.mul_f32((seconds(bare_time) / seconds(BARE_KERNEL)).max(1.0));
    assert!(
        time < allowed,
        "{:.1} s is over the {:.1} s allowed",
        seconds(time),
        seconds(allowed)
    );
}
