//! A BMC by another project: sushy-emulator with libvirt, and two domains behind it, one with each firmware. They take
//! the [walk](muster_tests::bmc::walk) of machines behind the lab's BMCs.

use muster_api::ids::InfraEnvId;
use muster_tests::bmc::import_table;
use muster_tests::bmc::sushy::{Domain, Sushy};
use muster_tests::qemu::{Firmware, Slots};
use muster_tests::rest::inventory;

use muster_tests::bmc::walk::{self, Watch, await_discovered};

const DOMAINS: [Domain<'static>; 2] = [
    Domain {
        name: "foreign-bios",
        uuid: "30000000-0000-4000-8000-000000000051",
        serial: "SN0051",
        mac: "52:54:00:bc:01:01",
        firmware: Firmware::SeaBios,
    },
    Domain {
        name: "foreign-uefi",
        uuid: "30000000-0000-4000-8000-000000000052",
        serial: "SN0052",
        mac: "52:54:00:bc:01:02",
        firmware: Firmware::Ovmf,
    },
];

/// A domain and the programs that run it.
struct Unit<'a> {
    name: &'static str,
    sushy: &'a Sushy,
}

impl walk::Unit for Unit<'_> {
    fn name(&self) -> &str {
        self.name
    }

    fn is_on(&self) -> bool {
        self.sushy.is_on(self.name)
    }

    fn has_medium(&self) -> bool {
        self.sushy.has_medium(self.name)
    }

    fn console(&self) -> String {
        format!("{}\n{}", self.sushy.console(self.name), self.sushy.log())
    }
}

#[test]
#[ignore = "it needs root and `.ci/deps sushy`"]
fn two_machines_of_libvirt_become_nodes_through_sushy_emulator_again_and_again() {
    let sushy = Sushy::start(Slots::all());
    for domain in &DOMAINS {
        sushy.define(domain);
    }
    let units = DOMAINS.each_ref().map(|domain| Unit {
        name: domain.name,
        sushy: &sushy,
    });
    let hub = walk::hub("--bmc-allow-http");
    let infra_env: InfraEnvId = hub.infra_env_id().parse().unwrap();
    let lines = DOMAINS
        .each_ref()
        .map(|domain| format!("{},{},admin,password,{}", sushy.url(), domain.name, domain.uuid));
    let watch = Watch::begin();
    import_table(
        &hub.service,
        infra_env,
        "address,name,user,password,system",
        &lines,
    );
    // Their network assigns no names; their BMCs do.
    let bmcs = await_discovered(&hub, infra_env, &units);
    watch.tell("two domains of libvirt are hosts");
    let client = hub.service.client();
    for domain in &DOMAINS {
        let bmc = bmcs.iter().find(|bmc| bmc.name == domain.name).unwrap();
        let host = client.host(infra_env, bmc.host_id.unwrap()).unwrap();
        // Its BMC reports cards and UUID, but no serial number.
        let vendor = inventory(&host).unwrap().system_vendor.unwrap();
        assert_eq!(vendor.serial_number, domain.serial);
    }
    walk::walk(hub, infra_env, &units, &watch);
}
