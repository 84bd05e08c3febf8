//! A BMC that others wrote: sushy-emulator with libvirt, and two domains behind it, one with each firmware. One import makes hosts of
//! them, and the ISO is taken out again.

use std::time::{Duration, Instant};

use muster_api::bmc::{Bmc, BmcPhase};
use muster_tests::bmc::import_table;
use muster_tests::condition::await_every;
use muster_tests::qemu::{Firmware, Slots};
use muster_tests::rest::inventory;
use muster_tests::service::Settings;
use muster_tests::sushy::{Domain, Sushy};

use crate::discovery::Discovery;

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

/// Time limit of everything from the first connection to the hosts, in emulated machines beside other work: 573 s were seen.
const LIMIT: Duration = Duration::from_secs(1200);
/// Between two looks.
const LOOK: Duration = Duration::from_secs(1);

#[test]
#[ignore = "it needs root and `.ci/deps sushy`"]
fn two_machines_of_libvirt_are_discovered_through_sushy_emulator() {
    let sushy = Sushy::start(Slots::all());
    for domain in &DOMAINS {
        sushy.define(domain);
    }
    let settings = Settings::for_user_networks().boot_seen_from_here();
    let settings = settings
        .argument("--bmc-networks=127.0.0.0/8")
        .argument("--bmc-allow-http");
    let discovery = Discovery::on(settings);
    let began = Instant::now();
    let lines =
        DOMAINS.map(|domain| format!("{},{},admin,password,{}", sushy.url(), domain.name, domain.uuid));
    import_table(
        &discovery.service,
        discovery.infra_env.id,
        "address,name,user,password,system",
        &lines,
    );
    let client = discovery.client();
    let all = await_every(LOOK, "both to be discovered", LIMIT, || {
        let all = client
            .bmcs(discovery.infra_env.id)
            .map_err(|error| error.to_string())?;
        let failed = all.iter().find(|bmc| bmc.phase == BmcPhase::Failed);
        assert!(failed.is_none(), "{failed:#?}\n{}", sushy.log());
        let is_done = |bmc: &Bmc| bmc.phase == BmcPhase::Discovered && !bmc.medium_inserted;
        if all.iter().all(is_done) {
            return Ok(all);
        }
        let seen = |bmc: &Bmc| {
            format!(
                "{} {}: {}\n{}",
                bmc.name,
                bmc.phase,
                bmc.reason,
                sushy.console(&bmc.name)
            )
        };
        Err(all.iter().map(seen).collect::<Vec<_>>().join("\n"))
    });
    println!(
        "two domains of libvirt are hosts {:.0} s after the import",
        began.elapsed().as_secs_f64()
    );
    for domain in &DOMAINS {
        let bmc = all.iter().find(|bmc| bmc.name == domain.name).unwrap();
        let host = client.host(discovery.infra_env.id, bmc.host_id.unwrap()).unwrap();
        let found = inventory(&host).unwrap();
        // Its BMC tells no serial number, and its cards and UUID.
        assert_eq!(found.system_vendor.unwrap().serial_number, domain.serial);
        assert_eq!(bmc.differences, [], "{}", domain.name);
        assert!(sushy.is_on(domain.name), "{} is off", domain.name);
        assert!(
            !sushy.has_medium(domain.name),
            "the ISO is still in the drive of {}",
            domain.name
        );
    }
}
