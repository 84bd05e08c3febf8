//! From power-on to an inventory in the service, compared with a kernel that does nothing: both emulated, alternately.

use anyhow::Result;
use muster_tests::discovery::{Discovery, MACS, known_machine};
use muster_tests::qemu::initramfs;
use muster_tests::qemu::{Accel, Firmware, Machine, Medium, Nic, Slots, UserNet};
use muster_tests::service::Settings;

use crate::table::{self, row};
use crate::wire::median;

const ROUNDS: usize = 3;
/// The serial console of QEMU's machines.
const CONSOLE: &str = "quiet console=ttyS0,115200n8";

/// Takes all slots: no other machine runs meanwhile.
pub fn measure() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let kernel = Medium::Kernel {
        kernel: initramfs::kernel_of_live_image(folder.path()),
        initramfs: initramfs::build(folder.path(), "echo BARE-KERNEL-UP"),
        arguments: CONSOLE.to_owned(),
    };
    let slots = Slots::all();
    let firmware = [Firmware::SeaBios, Firmware::Ovmf];
    let (mut bare, mut discoveries) = (Vec::new(), [Vec::new(), Vec::new()]);
    for _ in 0..ROUNDS {
        bare.push(bare_kernel(&kernel, &slots));
        for (firmware, times) in firmware.into_iter().zip(&mut discoveries) {
            times.push(discovery(firmware, &slots));
        }
    }
    let bare = median(&bare);
    let mut rows = vec![
        row(["", "s", "ratio"]),
        row([
            "bare kernel, from power-on to power-off",
            &format!("{bare:.1}"),
            "1.0",
        ]),
    ];
    for (firmware, times) in firmware.into_iter().zip(&discoveries) {
        let time = median(times);
        rows.push(row([
            &format!("from CD under {}, from power-on to inventory", firmware.name()),
            &format!("{time:.1}"),
            &format!("{:.1}", time / bare),
        ]));
    }
    table::print(
        &format!("Discovery of an emulated machine, median of {ROUNDS}"),
        &rows,
    );
    Ok(())
}

/// Seconds.
fn bare_kernel(medium: &Medium, slots: &Slots) -> f64 {
    let mut machine = Machine::new("bare kernel")
        .boot(medium.clone())
        .accel(Accel::Tcg)
        .start_in(slots.with());
    machine.await_serial("BARE-KERNEL-UP");
    machine.await_power_off().as_secs_f64()
}

/// Seconds.
fn discovery(firmware: Firmware, slots: &Slots) -> f64 {
    let discovery = Discovery::on(Settings::for_user_networks());
    let nic = Nic::user("virtio-net-pci", MACS[0], UserNet::new(2).hostname("timed"));
    let mut machine = known_machine("timed")
        .firmware(firmware)
        .boot(Medium::Cd(discovery.iso()))
        .nic(nic)
        .accel(Accel::Tcg)
        .awaiting_countdown()
        .start_in(slots.with());
    discovery.await_inventory(&mut machine);
    machine.uptime().as_secs_f64()
}
