//! Machines that another program manages are not touched.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use muster_api::bmc::{BmcFailure, BmcPhase};
use muster_bmc_driver::{Answer, Other, Others, Settings};
use muster_bmc_emulator::Quirks;
use muster_core::record::{BmcStage, HostState};

use crate::rack::Unit;
use crate::returns::put;
use crate::service::{Service, limits, settings};

/// A BareMetalHost for every BMC, or for none.
#[derive(Debug, Default)]
pub struct Metal3 {
    is_there: AtomicBool,
    detached: AtomicBool,
}

impl Metal3 {
    pub fn there() -> Self {
        let metal3 = Self::default();
        metal3.is_there.store(true, Ordering::SeqCst);
        metal3
    }
}

impl Others for Metal3 {
    fn of<'a>(&'a self, address: &'a str) -> Answer<'a> {
        assert!(address.starts_with("http://127.0.0.1:"), "{address}");
        Box::pin(async {
            Ok(self.is_there.load(Ordering::SeqCst).then(|| Other {
                name: "the BareMetalHost lab/r1u7".into(),
                detached: self.detached.load(Ordering::SeqCst),
            }))
        })
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_machine_of_metal3_is_not_switched_off() {
    let metal3 = Arc::new(Metal3::there());
    let settings = Settings {
        others: Some(metal3.clone()),
        ..settings()
    };
    let service = Service::start_with(settings, limits()).await;
    let mut unit = Unit::new("shared", 71, Quirks::default());
    unit.boots_an_agent(&service.operations, service.infra_env_id);
    let boots = unit.machine.boots();
    let bmc = service.add(vec![unit.params()]).await.remove(0);
    let failed = service.await_phase(bmc.id, BmcPhase::Failed).await;
    let in_use = BmcStage::Failed {
        failure: BmcFailure::InUse,
    };
    assert_eq!(failed.stage, in_use);
    assert!(
        failed.progress.reason.contains("BareMetalHost lab/r1u7"),
        "{failed:?}"
    );
    assert_eq!(unit.machine.boots(), boots, "its power was touched");

    // Detached, it is booted on a user's request, and not because its host waits: Metal3 resumes it then.
    metal3.detached.store(true, Ordering::SeqCst);
    let bmcs = &service.operations.bmcs;
    bmcs.discover(service.infra_env_id, bmc.id).await.unwrap();
    let found = service.await_phase(bmc.id, BmcPhase::Discovered).await;
    service.await_clean(bmc.id).await;
    put(&service, &unit, |host| {
        host.state = HostState::UnbindingPendingUserAction
    })
    .await;
    let left = service.await_run(bmc.id, found.run + 1, BmcPhase::Failed).await;
    assert_eq!((left.stage, unit.images()), (in_use, 1));
}
