//! Machines of two InfraEnvs of a namespace report anything about themselves: no host passes from one InfraEnv to the
//! other.

use std::collections::{BTreeMap, BTreeSet};

use chrono::TimeDelta;
use muster_api::fingerprint::Fingerprint;
use muster_api::host::HostStage;
use muster_api::ids::{ClusterId, HostId, InfraEnvId};
use muster_api::inventory::Inventory;
use muster_core::lifecycle::host::{HostEvent, Machine, key};
use muster_core::record::{Host, HostState, KubeRef, Phase, Secret};
use muster_core::rules::stages::has_agent;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use crate::testing::world::World;

/// A registration or another event.
#[derive(Debug, Clone)]
enum Act {
    /// The machine `parts` registers in one of two pools, with the host id that all claim.
    Registers {
        pool: usize,
        parts: u8,
        key: u8,
    },
    Approves(usize),
    /// A host moves through a cluster.
    Becomes(usize, usize),
    /// A person gives it Ignition of its own.
    Ignites(usize),
    /// Every machine with this key polls.
    Polls {
        key: u8,
    },
    /// Whoever may speak for hosts with this key reports these parts, and a stage: without a key each machine of a pool may.
    Reports {
        key: u8,
        parts: u8,
        stage: Option<usize>,
    },
    Passes {
        seconds: i64,
    },
    Deletes(usize),
}

const STAGES: [HostStage; 4] = [
    HostStage::WritingImageToDisk,
    HostStage::Rebooting,
    HostStage::Done,
    HostStage::Failed,
];

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![
        6 => (0..2_usize, 0..3_u8, 0..4_u8).prop_map(|(pool, parts, key)| Act::Registers { pool, parts, key }),
        2 => (0..4_usize).prop_map(Act::Approves),
        2 => (0..4_usize, any::<usize>()).prop_map(|(host, state)| Act::Becomes(host, state)),
        1 => (0..4_usize).prop_map(Act::Ignites),
        2 => (0..4_u8).prop_map(|key| Act::Polls { key }),
        2 => (0..4_u8, 0..3_u8, prop::option::of(0..STAGES.len())).prop_map(|(key, parts, stage)| Act::Reports { key, parts, stage }),
        3 => (1..200_i64).prop_map(|seconds| Act::Passes { seconds }),
        1 => (0..4_usize).prop_map(Act::Deletes),
    ];
    prop::collection::vec(act, 1..30)
}

/// Key 0 means no key.
fn machine(parts: u8, key: u8) -> Machine {
    Machine {
        fingerprint: Some(Fingerprint {
            system_serial: format!("S{parts}"),
            macs: vec![format!("ec:f4:bb:00:00:{parts:02x}")],
            ..Fingerprint::default()
        }),
        public_key: match key {
            0 => String::new(),
            _ => format!("{key:064x}"),
        },
    }
}

struct Walls {
    world: World,
    pools: [InfraEnvId; 2],
    cluster: ClusterId,
    claimed: HostId,
    /// Approved by a user.
    approved: BTreeSet<(InfraEnvId, HostId)>,
    bound: BTreeSet<(InfraEnvId, HostId)>,
    ignition: BTreeMap<(InfraEnvId, HostId), String>,
}

impl Walls {
    async fn new() -> Self {
        let world = World::new().await;
        let pools = [
            world.infra_env("a", Some(KubeRef::new("hw", "a"))).await,
            world.infra_env("b", Some(KubeRef::new("hw", "b"))).await,
        ];
        let cluster = world.cluster().await;
        Self {
            pools,
            cluster,
            claimed: HostId::random(),
            approved: BTreeSet::new(),
            bound: BTreeSet::new(),
            ignition: BTreeMap::new(),
            world,
        }
    }

    async fn hosts(&self) -> Vec<Host> {
        let mut hosts = Vec::new();
        for pool in self.pools {
            let keys = self.world.operations.store.list_host_keys(pool).await;
            for (infra_env_id, id) in keys.unwrap() {
                hosts.push(self.world.operations.hosts.get(infra_env_id, id).await.unwrap());
            }
        }
        hosts
    }

    async fn nth(&self, number: usize) -> Option<Host> {
        let hosts = self.hosts().await;
        let at = number.checked_rem(hosts.len())?;
        hosts.into_iter().nth(at)
    }

    async fn act(&mut self, act: &Act) {
        match act {
            Act::Registers { pool, parts, key } => self.register(*pool, *parts, *key).await,
            Act::Approves(number) => {
                if let Some(host) = self.nth(*number).await {
                    let hosts = &self.world.operations.hosts;
                    // Events that the state refuses do not happen.
                    let _ = hosts
                        .apply(host.infra_env_id, host.id, HostEvent::Approved(true))
                        .await;
                    self.approved.insert((host.infra_env_id, host.id));
                }
            }
            Act::Becomes(number, state) => {
                if let Some(mut host) = self.nth(*number).await {
                    let states = HostState::one_of_each();
                    host.state = states[state % states.len()].clone();
                    host.cluster_id = (host.state.phase() != Phase::Unbound).then_some(self.cluster);
                    if host.cluster_id.is_some() {
                        self.bound.insert((host.infra_env_id, host.id));
                    }
                    self.save(&host).await;
                }
            }
            Act::Ignites(number) => {
                if let Some(mut host) = self.nth(*number).await {
                    let own = format!("{} {} {}", host.infra_env_id, host.id, host.version);
                    host.data.ignition_config_overrides = Secret::new(&own);
                    self.ignition.insert((host.infra_env_id, host.id), own);
                    self.save(&host).await;
                }
            }
            Act::Reports { key, parts, stage } => self.report(*key, *parts, *stage).await,
            Act::Polls { key } => {
                let key = machine(0, *key).public_key;
                for host in self.hosts().await {
                    if host.data.public_key == key {
                        self.world.poll(&host).await;
                    }
                }
            }
            Act::Passes { seconds } => self.world.run(TimeDelta::seconds(*seconds), &[]).await,
            Act::Deletes(number) => {
                if let Some(host) = self.nth(*number).await {
                    let hosts = &self.world.operations.hosts;
                    hosts.delete(host.infra_env_id, host.id).await.unwrap();
                    self.forget(&host);
                }
            }
        }
        for host in self.hosts().await {
            let key = (host.infra_env_id, host.id);
            assert!(
                !host.data.approved || self.approved.contains(&key),
                "nobody approved {host:?}"
            );
            assert!(
                host.cluster_id.is_none() || self.bound.contains(&key),
                "nobody bound {host:?}"
            );
            let ignition = host.data.ignition_config_overrides.reveal();
            let is_own = self.ignition.get(&key).is_some_and(|own| own == ignition);
            assert!(ignition.is_empty() || is_own, "has another's ignition: {host:?}");
        }
    }

    async fn save(&self, host: &Host) {
        let store = &self.world.operations.store;
        store.save_host(host, None, &[]).await.unwrap();
    }

    fn forget(&mut self, host: &Host) {
        let key = (host.infra_env_id, host.id);
        self.approved.remove(&key);
        self.bound.remove(&key);
        self.ignition.remove(&key);
    }

    async fn report(&self, key: u8, parts: u8, stage: Option<usize>) {
        let hosts = &self.world.operations.hosts;
        let key = machine(0, key).public_key;
        for host in self.hosts().await {
            if host.data.public_key != key {
                continue;
            }
            let inventory = HostEvent::InventoryReported(Inventory {
                hostname: format!("machine-{parts}"),
                ..Inventory::default()
            });
            let progress = stage.map(|stage| HostEvent::Progressed {
                stage: Some(STAGES[stage]),
                info: String::new(),
            });
            for event in [Some(inventory), progress].into_iter().flatten() {
                // What its state refuses does not happen.
                let _ = hosts.apply(host.infra_env_id, host.id, event).await;
            }
        }
    }

    async fn register(&mut self, pool: usize, parts: u8, key: u8) {
        let before = self.hosts().await;
        let operations = self.world.operations.clone();
        let hosts = &operations.hosts;
        let came = machine(parts, key);
        // It may be refused.
        let _ = hosts
            .register(self.pools[pool], self.claimed, "v", came.clone())
            .await;
        let now = self.world.operations.now();
        for was in before {
            let is = hosts.find(was.infra_env_id, was.id).await.unwrap();
            let Some(is) = is else {
                let heard = was.checked_in_at;
                assert!(
                    was.infra_env_id != self.pools[pool],
                    "a host went by a registration in its own InfraEnv"
                );
                assert!(!key::stays(&was.state, &was.data, heard, now), "lost: {was:?}");
                self.forget(&was);
                continue;
            };
            assert_eq!(
                is.data.fingerprint, was.data.fingerprint,
                "another machine has {was:?}"
            );
            assert_eq!(is.cluster_id, was.cluster_id);
            if is.data.public_key != was.data.public_key {
                assert_eq!(is.infra_env_id, self.pools[pool]);
                assert_eq!(was.data.fingerprint, came.fingerprint);
                let may_be_taken = match was.state {
                    // It reboots in the middle of its installation, which loses its key.
                    HostState::InstallingInProgress => !has_agent(&was.data),
                    HostState::InstallingPendingUserAction { .. } => true,
                    _ => !matches!(was.state.phase(), Phase::Installing | Phase::Ended),
                };
                assert!(
                    was.data.public_key.is_empty() || may_be_taken,
                    "took the place of {was:?}"
                );
            }
        }
    }
}

#[test]
fn nothing_passes_from_one_machine_to_another_by_what_they_report() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let cases = ProptestConfig {
        cases: 48,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    TestRunner::new(cases)
        .run(&acts(), |acts| {
            runtime.block_on(async {
                let mut walls = Walls::new().await;
                for act in &acts {
                    Box::pin(walls.act(act)).await;
                }
            });
            Ok(())
        })
        .unwrap();
}
