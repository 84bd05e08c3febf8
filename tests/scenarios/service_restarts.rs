//! The service goes and comes back while a machine is known to it.

use muster_api::host::HostStatus;
use muster_tests::qemu::{Firmware, Medium, Nic, UserNet};
use muster_tests::service::Settings;

use crate::discovery::{Discovery, MACS, known_machine};

#[test]
fn a_machine_that_boots_while_the_service_is_down_is_known_when_it_is_back() {
    let name = "patient";
    let mut discovery = Discovery::on(Settings::for_user_networks());
    let nic = Nic::user("virtio-net-pci", MACS[0], UserNet::new(2).hostname(name));
    let machine = known_machine(name)
        .firmware(Firmware::SeaBios)
        .boot(Medium::Cd(discovery.iso()))
        .nic(nic);
    discovery.service.kill();
    let mut machine = machine.start();
    // The console shows at the machine that the service does not answer.
    machine.await_serial("(?i)(refused|unreachable|no answer|cannot reach|retry|next try)");
    discovery.service.start_again();
    let host = discovery.await_host(&mut machine, HostStatus::KnownUnbound);
    assert_eq!(host.requested_hostname, name);
}
