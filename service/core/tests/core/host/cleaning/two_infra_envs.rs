//! Whatever happens to a machine in two InfraEnvs: a disk is erased only after the host left a cluster, never while the machine is a node, and
//! only if an installation wrote to it.

use std::collections::BTreeSet;

use chrono::Duration;
use muster_api::host::HostStage;
use muster_api::ids::InfraEnvId;
use muster_api::infra_env::Cleaning;
use muster_core::lifecycle::host::HostEvent;
use muster_core::record::{Host, Phase};
use muster_core::rules::failures::has_touched_disk;
use proptest::collection::vec;
use proptest::prelude::*;
use uuid::Uuid;

use super::{asked, progress};
use crate::world::{World, cluster_is_reached, good_inventory};

/// Something that happens to the machine or to one of its two records.
#[derive(Debug, Clone)]
enum Act {
    /// The machine boots the discovery image of an InfraEnv.
    Boots(usize),
    /// It boots from its disk.
    BootsFromDisk,
    /// What its agent in discovery does.
    Reports,
    Progresses(usize),
    Erases,
    /// Requests of users, about either record.
    Binds(usize),
    Installs(usize),
    Resets(usize),
    Cancels(usize),
    Unbinds(usize, bool),
    Retries(usize),
    Skips(usize),
    Passes(i64),
}

const STAGES: [HostStage; 5] = [
    HostStage::StartingInstallation,
    HostStage::WritingImageToDisk,
    HostStage::Rebooting,
    HostStage::Done,
    HostStage::Failed,
];

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let record = 0..2_usize;
    let act = prop_oneof![
        4 => record.clone().prop_map(Act::Boots),
        1 => Just(Act::BootsFromDisk),
        6 => Just(Act::Reports),
        4 => (0..STAGES.len()).prop_map(Act::Progresses),
        2 => Just(Act::Erases),
        4 => record.clone().prop_map(Act::Binds),
        4 => record.clone().prop_map(Act::Installs),
        1 => record.clone().prop_map(Act::Resets),
        1 => record.clone().prop_map(Act::Cancels),
        3 => (record.clone(), any::<bool>()).prop_map(|(record, reclaims)| Act::Unbinds(record, reclaims)),
        1 => record.clone().prop_map(Act::Retries),
        1 => record.prop_map(Act::Skips),
        2 => (1..1200_i64).prop_map(Act::Passes),
    ];
    vec(act, 1..60)
}

struct Machine {
    world: World,
    records: [Option<Host>; 2],
    /// The InfraEnv whose discovery image runs; `None`: the system on the disk, or nothing.
    live: Option<usize>,
    /// Disks that installations wrote to, of each record.
    written: [BTreeSet<String>; 2],
}

impl Machine {
    fn happens(&mut self, record: usize, event: &HostEvent) {
        let other = self.records[1 - record].as_ref();
        self.world.in_cluster_through = other
            .filter(|other| other.cluster_id.is_some())
            .map(|_| "other".to_owned());
        let Some(host) = &self.records[record] else {
            return;
        };
        if let Ok(step) = self.world.step(host, event) {
            let next = step.host;
            let stage = next.data.progress.as_ref().map(|progress| progress.stage);
            if next.cluster_id.is_some() && has_touched_disk(stage) {
                self.written[record].insert(next.data.installation_disk_id.clone());
            }
            self.records[record] = Some(next);
        }
    }

    fn boots(&mut self, record: usize) {
        self.live = Some(record);
        self.world.poll();
        if self.records[record].is_none() {
            let mut host = self.world.register();
            host.infra_env_id = InfraEnvId(Uuid::from_u128(record as u128 + 7));
            self.records[record] = Some(host);
        } else {
            let registered = self.world.registered();
            self.happens(record, &registered);
        }
    }

    fn does(&mut self, act: &Act) {
        match act {
            Act::Boots(record) => self.boots(*record),
            Act::BootsFromDisk => self.live = None,
            Act::Reports => {
                if let Some(live) = self.live {
                    self.world.poll();
                    self.happens(live, &HostEvent::CheckedIn);
                    self.happens(live, &HostEvent::InventoryReported(good_inventory()));
                    for event in cluster_is_reached() {
                        self.happens(live, &event);
                    }
                }
            }
            Act::Progresses(stage) => {
                // Of an installation that runs in discovery, or of a node that comes up.
                for record in 0..2 {
                    let installs = self.records[record]
                        .as_ref()
                        .is_some_and(|host| host.state.phase() == Phase::Installing);
                    if installs && self.live.is_none_or(|live| live == record) {
                        self.happens(record, &progress(STAGES[*stage]));
                    }
                }
            }
            Act::Erases => {
                if let Some(live) = self.live
                    && let Some(host) = self.records[live].clone()
                    && asked(&self.world, &host).is_some()
                {
                    let erased = self.world.erased(&host);
                    self.happens(live, &erased);
                }
            }
            Act::Binds(record) => {
                let cluster_id = self.world.cluster.id;
                self.happens(*record, &HostEvent::Bound { cluster_id });
            }
            Act::Installs(record) => self.happens(*record, &HostEvent::InstallRequested),
            Act::Resets(record) => self.happens(*record, &HostEvent::ResetRequested),
            Act::Cancels(record) => {
                let reason = "by user".to_owned();
                self.happens(*record, &HostEvent::Cancelled { reason });
            }
            Act::Unbinds(record, false) => self.happens(*record, &HostEvent::Unbound),
            Act::Unbinds(record, true) => self.happens(*record, &HostEvent::Reclaimed),
            Act::Retries(record) => self.happens(*record, &HostEvent::ErasureRetried),
            Act::Skips(record) => self.happens(*record, &HostEvent::ErasureSkipped),
            Act::Passes(seconds) => {
                self.world.wait(Duration::seconds(*seconds));
                for record in 0..2 {
                    self.happens(record, &HostEvent::DeadlinePassed);
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_node_and_no_other_disk_is_erased(acts in acts(), all_disks in any::<bool>()) {
        let mut world = World::new();
        world.kube = true;
        world.infra_env.settings.cleaning = Cleaning { all_disks, ..Cleaning::default() };
        let mut machine = Machine {
            world,
            records: [None, None],
            live: None,
            written: [BTreeSet::new(), BTreeSet::new()],
        };
        for act in &acts {
            machine.does(act);
            for record in 0..2 {
                let Some(host) = &machine.records[record] else { continue };
                let Some(request) = asked(&machine.world, host) else { continue };
                prop_assert!(host.cluster_id.is_none() && host.state.phase() == Phase::Unbound, "{act:?} {:?}", host.state);
                prop_assert!(!machine.written[record].is_empty(), "{act:?}: it was in no cluster");
                for disk in &request.disks {
                    prop_assert!(all_disks || machine.written[record].contains(&disk.id), "{act:?} {disk:?}");
                }
                let other = machine.records[1 - record].as_ref();
                let is_node = other.is_some_and(|other| {
                    matches!(other.state.phase(), Phase::Installing | Phase::Ended)
                });
                prop_assert!(machine.live != Some(record) || !is_node, "{act:?}: it is a node through the other");
            }
        }
    }
}
