//! The live image under faults: kernels that panic or hang, modules that the kernel requests, wrong clocks.

use muster_api::host::{Host, HostStatus};
use muster_tests::artifacts::live_image;
use muster_tests::condition::await_condition;
use muster_tests::qemu::{Firmware, Machine, Medium, Nic, Running};
use muster_tests::rest::inventory;
use muster_tests::segment::{ADDRESS, Offer, Segment, in_segment};
use muster_tests::service::Settings;
use serde_json::json;

use muster_tests::discovery::login::Key;
use muster_tests::discovery::{Discovery, MACS, known_machine};

/// The tests' image, which is compressed quickly.
const LARGEST_IMAGE: u64 = 50_000_000;
/// The released agent.
const LARGEST_AGENT: u64 = 12_000_000;

/// A discovery on a segment of its own, with logins to its machines by the key; they have these kernel arguments, too.
fn discovery(segment: &mut Segment, arguments: &[&str]) -> (Discovery, Key) {
    let discovery = Discovery::on(Settings::on_address(ADDRESS));
    let key = Key::generate();
    discovery.allow(&key);
    segment.serve(&Offer::Addresses);
    discovery.append(arguments);
    (discovery, key)
}

/// A machine in the segment that continues after a reset.
fn machine(name: &str, discovery: &Discovery, segment: &mut Segment) -> Machine {
    let nic = Nic::tap("virtio-net-pci", MACS[0], &segment.tap());
    known_machine(name)
        .boot(Medium::Cd(discovery.iso()))
        .nic(nic)
        .lasting()
}

/// Waits for a problem in the machine's inventory.
#[track_caller]
fn await_problem(discovery: &Discovery, machine: &mut Running, wanted: &str) -> Host {
    await_condition("the problem to be told", machine.time_left(), || {
        let hosts = discovery.client().hosts(discovery.infra_env.id);
        let hosts = hosts.map_err(|error| error.to_string())?;
        let [host] = hosts.as_slice() else {
            return Err(format!("{} hosts", hosts.len()));
        };
        let told = inventory(host).map(|found| found.problems).unwrap_or_default();
        if told.iter().any(|problem| problem.reason.contains(wanted)) {
            return Ok(host.clone());
        }
        Err(format!("{told:?}"))
    })
}

#[test]
fn a_kernel_that_panics_starts_again_and_tells_why_and_modules_that_it_asks_for_are_loaded() {
    in_segment(|segment| {
        let (discovery, key) = discovery(segment, &["panic=3"]);
        let mut machine = machine("panics", &discovery, segment)
            .firmware(Firmware::Ovmf)
            .start();
        discovery.await_host(&mut machine, HostStatus::KnownUnbound);

        // Only the kernel's own request (`rtnl-link-vlan`) loads this module: no static network of this machine has a
        // VLAN.
        let script = "grep -c ^8021q /proc/modules; card=$(ls /sys/class/net | grep -v lo | head -1); \
             ip link add link $card name v5 type vlan id 5 && grep -c ^8021q /proc/modules";
        let asked = key.run(&discovery, script);
        assert_eq!(String::from_utf8_lossy(&asked.stdout), "0\n1\n", "{asked:?}");

        // The command ends the connection.
        let _ = key.run(
            &discovery,
            "(sleep 1; echo c > /proc/sysrq-trigger) > /dev/null 2>&1 &",
        );
        let host = await_problem(
            &discovery,
            &mut machine,
            "Kernel panic - not syncing: sysrq triggered crash",
        );
        println!(
            "panics: told {:.1} s after power-on",
            machine.uptime().as_secs_f32()
        );
        let told = inventory(&host).unwrap().problems;
        let told = told
            .iter()
            .find(|problem| problem.subject == "boot.last")
            .unwrap();
        assert!(
            told.reason.starts_with("the boot before this one ended at 20"),
            "{told:?}"
        );
        machine.await_serial("(the boot before this one ended)");
    });
}

#[test]
fn a_machine_that_hangs_is_started_again_by_its_watchdog_and_reports() {
    in_segment(|segment| {
        // A kernel that stops forever after a panic hangs like any other.
        let (discovery, key) = discovery(segment, &["panic=0"]);
        let machine = machine("hangs", &discovery, segment).device("i6300esb");
        let mut machine = machine.start();
        discovery.await_host(&mut machine, HostStatus::KnownUnbound);
        // The host may have reported before the driver of its watchdog was loaded.
        let armed =
            "for n in $(seq 30); do dmesg | grep muster-agent | grep armed && exit; sleep 1; done; exit 1";
        let armed = key.run(&discovery, armed);
        assert!(armed.status.success(), "{armed:?}");
        let _ = key.run(
            &discovery,
            "(sleep 1; echo c > /proc/sysrq-trigger) > /dev/null 2>&1 &",
        );
        machine.await_serial("(Kernel panic - not syncing)");
        machine.await_serial("Kernel panic - not syncing(?s:.*)(discovery agent)");
        println!(
            "hangs: back {:.1} s after power-on",
            machine.uptime().as_secs_f32()
        );
    });
}

#[test]
fn a_machine_whose_clock_is_decades_ahead_reports_over_tls() {
    in_segment(|segment| {
        let discovery = Discovery::on(Settings::on_address(ADDRESS).own_tls());
        segment.serve(&Offer::Addresses);
        // Certificates of the service are valid for ten years, and there is no time source by NTP here.
        let decades = 30 * 365 * 24 * 3600;
        let mut machine = machine("of-the-future", &discovery, segment)
            .clock_ahead(decades)
            .start();
        let host = discovery.await_inventory(&mut machine);
        println!(
            "of-the-future: {:.1} s after power-on",
            machine.uptime().as_secs_f32()
        );
        assert!(!host.inventory.is_empty());
    });
}

/// The released image has 45 MB; that of the tests is compressed in less time.
#[test]
fn the_image_keeps_its_budget() {
    let image = live_image();
    let size = image.metadata().unwrap().len();
    println!("{}: {size} bytes", image.display());
    assert!(
        size < LARGEST_IMAGE,
        "{size} bytes: leave drivers or firmware out"
    );
    let record = std::fs::read(image.with_extension("iso.build.json")).unwrap();
    let record: serde_json::Value = serde_json::from_slice(&record).unwrap();
    assert_eq!(record["facts"]["modules_unreachable"], json!([]));
    let file = std::fs::File::open(&image).unwrap();
    let live = muster_image::iso9660::Iso::open(&file).unwrap();
    let agent = muster_image::live::read_description(&live)
        .unwrap()
        .agent
        .unwrap();
    println!("agent: {} bytes, {} compressed", agent.size, agent.length);
    assert!(agent.size < LARGEST_AGENT, "{}", agent.size);
}
