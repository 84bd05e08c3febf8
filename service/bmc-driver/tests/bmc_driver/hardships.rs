//! BMCs that are slow, restart and fail for a while, and addresses that lead elsewhere.

use std::time::Duration;

use muster_api::bmc::{BmcCreateParams, BmcFailure, BmcPhase};
use muster_bmc_driver::Settings;
use muster_bmc_emulator::quirks::{Lag, ShownPower};
use muster_bmc_emulator::{Fault, FaultKind, Quirks};
use muster_core::lifecycle::bmc::view;

use crate::rack::Unit;
use crate::service::{Service, limits, settings};

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_passes_is_outlasted() {
    let mut settings = settings();
    // Three such limits pass before the machine is off.
    settings.limits.power = 2 * SECOND;
    let service = Service::start_with(settings, limits()).await;
    let lag = Lag {
        off: 6 * SECOND,
        on: SECOND,
        shows: ShownPower::Before,
    };
    let slow = Quirks {
        lag,
        ..Quirks::default()
    };
    let mut rack = [
        Unit::new("slow", 61, slow),
        Unit::new("restarts", 62, Quirks::default()),
        Unit::new("in-post", 63, Quirks::hpe_ilo5()),
    ];
    let restart = || Fault::new(FaultKind::Restart(SECOND));
    rack[1].bmc.fail(restart().at("POST", "InsertMedia"));
    rack[1].bmc.fail(restart().at("POST", "Reset").after(1));
    rack[2]
        .bmc
        .fail(Fault::status(500).at("GET", "").after(5).times(4));
    rack[2]
        .bmc
        .fail(Fault::new(FaultKind::ResetAfter).at("POST", "Reset"));
    rack[2]
        .bmc
        .fail(Fault::new(FaultKind::Reset).at("PATCH", "").times(3));
    for unit in &mut rack {
        unit.boots_an_agent(&service.operations, service.infra_env_id);
    }
    let added = service.add(rack.iter().map(Unit::params).collect()).await;
    for (unit, bmc) in rack.iter().zip(&added) {
        service.await_phase(bmc.id, BmcPhase::Discovered).await;
        service.await_clean(bmc.id).await;
        assert_eq!(unit.machine.medium(), None, "{}", unit.name);
        assert_eq!(unit.bmc.sessions(), 0, "{}", unit.name);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn addresses_that_lead_elsewhere_are_refused_and_the_others_go_on() {
    let own = "192.0.2.7".parse().unwrap();
    let strict = Settings {
        poll: Duration::from_millis(50),
        ..Settings::new(None, &[], true, &[own])
    };
    let service = Service::start_with(strict, limits()).await;
    let unit = Unit::new("elsewhere", 64, Quirks::default());
    let port = unit.bmc.address().port();
    let addresses = [
        ("http://169.254.169.254".to_owned(), "link-local"),
        ("https://[fd00:ec2::254]".to_owned(), "metadata"),
        ("http://192.0.2.7".to_owned(), "this service"),
        ("http://localhost".to_owned(), "loopback"),
        ("http://2130706433".to_owned(), "loopback"),
        (format!("http://127.0.0.1:{port}"), "port"),
    ];
    let listed = addresses
        .iter()
        .enumerate()
        .map(|(number, (address, _))| BmcCreateParams {
            address: address.clone(),
            name: Some(format!("elsewhere-{number}")),
            ..unit.params()
        });
    let added = service.add(listed.collect()).await;
    for ((address, why), bmc) in addresses.iter().zip(&added) {
        let shown = view(&service.await_phase(bmc.id, BmcPhase::Failed).await);
        assert_eq!(
            shown.failure,
            Some(BmcFailure::Address),
            "{address}: {}",
            shown.reason
        );
        assert!(shown.reason.contains(why), "{address}: {}", shown.reason);
    }
    assert!(unit.bmc.requests().is_empty());
}
