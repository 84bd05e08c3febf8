//! Runs `muster hosts` beside a service, as in a second terminal.

use muster_tests::condition::await_condition;
use muster_tests::qemu::{Firmware, Medium, Nic, UserNet};
use muster_tests::service::Settings;

use crate::discovery::{Discovery, MACS, SOON, known_machine};

#[test]
fn muster_hosts_shows_a_machine_come_and_its_status_change() {
    let name = "seen-from-afar";
    let discovery = Discovery::on(Settings::for_user_networks());
    let url = discovery.client().base().to_owned();
    let table = || discovery.service.muster(&["hosts", "--url", &url]);
    assert!(
        !table().contains("unbound"),
        "a host before any machine:\n{}",
        table()
    );

    let nic = Nic::user("virtio-net-pci", MACS[0], UserNet::new(2).hostname(name));
    let machine = known_machine(name)
        .firmware(Firmware::SeaBios)
        .boot(Medium::Cd(discovery.iso()))
        .nic(nic);
    let mut machine = machine.start();
    let first = await_condition("a host in the table", machine.time_left(), || {
        Some(table())
            .filter(|table| table.contains("-unbound"))
            .ok_or_else(|| machine.console().tail())
    });
    println!("{first}");
    await_condition("the host to be known in the table", machine.time_left(), || {
        let table = table();
        if row(&table, name).is_some_and(|row| row.contains("known-unbound")) {
            Ok(())
        } else {
            Err(table)
        }
    });
    println!("{}", table());
    assert!(machine.is_on());
    drop(machine);
    // The machine is off: what is known of it stays.
    await_condition("the host to be still in the table", SOON, || {
        row(&table(), name).map(|_| ()).ok_or_else(table)
    });
}

fn row<'a>(table: &'a str, name: &str) -> Option<&'a str> {
    table.lines().find(|line| line.contains(name))
}
