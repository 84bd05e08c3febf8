//! Outages of the service never count against hosts, whatever the cause.

use muster_api::host::HostStatus;
use muster_api::ids::HostId;
use muster_core::lifecycle::host::HostEvent;

use super::*;
use crate::hosts::check_ins::Seen;
use crate::testing::world::{Clocks, MINUTE, World};

#[tokio::test]
async fn hosts_that_are_silent_are_lost_and_those_that_poll_are_not() {
    let world = World::new().await;
    let hosts = world.hosts().await;
    world.run(MINUTE * 10, &[&hosts.0, &hosts.1]).await;
    world.all_is_well(&hosts).await;
    world.silence_is_noticed(&hosts).await;
}

#[tokio::test]
async fn a_stop_for_any_time_is_charged_to_nobody() {
    for stop in [MINUTE * 4, TimeDelta::hours(30)] {
        let world = World::new().await;
        let hosts = world.hosts().await;
        // The process was stopped, or its database was unavailable: no beat, and the deadline loop runs first.
        world.clocks.pass(stop);
        world.judge().await;
        world.all_is_well(&hosts).await;
        // Other events may be first, too.
        world.clocks.pass(stop);
        for host in [&hosts.0, &hosts.1] {
            let event = HostEvent::FactsChanged;
            world
                .operations
                .hosts
                .apply(host.infra_env_id, host.id, event)
                .await
                .unwrap();
        }
        world.all_is_well(&hosts).await;
        world.silence_is_noticed(&hosts).await;
    }
}

#[tokio::test]
async fn a_clock_that_is_set_either_way_loses_nobody_and_hides_nobody() {
    for by in [
        TimeDelta::minutes(4),
        TimeDelta::hours(9),
        -TimeDelta::minutes(4),
        -TimeDelta::hours(9),
    ] {
        let world = World::new().await;
        let hosts = world.hosts().await;
        world.clocks.set(by);
        world.judge().await;
        world.all_is_well(&hosts).await;
        world.run(MINUTE, &[&hosts.0, &hosts.1]).await;
        world.all_is_well(&hosts).await;
        let heard = world.operations.outages.heard();
        assert_eq!(
            (heard.clock_was_set_by, heard.clock_set_by),
            (TimeDelta::zero(), by)
        );
        world.silence_is_noticed(&hosts).await;
    }
}

#[tokio::test]
async fn a_poll_that_was_under_way_while_the_clock_was_set_back_hides_no_silence() {
    let world = World::new().await;
    let hosts = world.hosts().await;
    world.run(MINUTE, &[&hosts.0, &hosts.1]).await;
    let of_before = Seen {
        at: world.operations.now(),
        host_clock: None,
        agent_version: None,
    };
    world.clocks.set(-TimeDelta::hours(2));
    world.judge().await;
    let key = (hosts.0.infra_env_id, hosts.0.id);
    world.operations.check_ins.note(key, of_before);
    world.run(MINUTE * 4, &[&hosts.1]).await;
    assert_eq!(world.status(&hosts.0).await, HostStatus::DisconnectedUnbound);
}

#[tokio::test]
async fn a_stage_has_its_time_without_the_time_in_which_nothing_was_heard() {
    let world = World::new().await;
    let hosts = world.hosts().await;
    let polling = [&hosts.0, &hosts.1];
    world.run(MINUTE * 20, &polling).await;
    world.clocks.pass(MINUTE * 15);
    world.run(MINUTE * 7, &polling).await;
    let world = world.start_again(MINUTE * 25).await;
    world.judge().await;
    world.clocks.set(-TimeDelta::hours(2));
    world.run(TimeDelta::seconds(30), &polling).await;
    // Of its 30 minutes 28 had passed before the clock was set back, and they begin again from there.
    world.all_is_well(&hosts).await;
    world.run(MINUTE * 29, &polling).await;
    world.all_is_well(&hosts).await;
    world.run(MINUTE * 2, &polling).await;
    assert_eq!(world.status(&hosts.1).await, HostStatus::Error);
    assert_eq!(world.status(&hosts.0).await, HostStatus::DiscoveringUnbound);
}

#[tokio::test]
async fn a_poll_that_the_database_cannot_answer_is_heard() {
    let world = World::new().await;
    let (pooled, _) = world.hosts().await;
    world.clocks.pass(MINUTE);
    world.operations.store.close().await;
    let at = world.operations.now();
    let seen = Seen {
        at,
        host_clock: None,
        agent_version: None,
    };
    let key = (pooled.infra_env_id, pooled.id);
    let hosts = &world.operations.hosts;
    // The first poll may be answered from memory.
    let _ = hosts.poll(key.0, key.1, seen.clone(), None).await;
    assert_eq!(world.operations.check_ins.last(key).unwrap().at, at);
    let stranger = HostId::random();
    assert!(hosts.poll(key.0, stranger, seen, None).await.is_err());
    assert_eq!(world.operations.check_ins.last((key.0, stranger)), None);
}

/// Two replicas on one database, with clocks of their own.
struct Pair {
    world: World,
    other: Outages,
    clocks: Arc<Clocks>,
    this: Outages,
}

impl Pair {
    async fn new() -> Self {
        let world = World::new().await;
        let clocks = Clocks::at(world.clocks.wall());
        let outages = |clocks: &Arc<Clocks>| {
            let shared: Arc<dyn Clock> = clocks.clone();
            Outages::new((shared, Arc::default()), false, MINUTE * 3, clocks.wall())
        };
        let pair = Self {
            this: outages(&world.clocks),
            other: outages(&clocks),
            clocks,
            world,
        };
        let store = &pair.world.operations.store;
        // The previous service has left.
        pair.world.operations.outages.leave(store).await.unwrap();
        pair.this.beat(store).await.unwrap();
        pair.pass(MINUTE * 5, true).await;
        pair
    }

    /// Time passes for both; this one beats, and the other if `both`.
    async fn pass(&self, time: TimeDelta, both: bool) {
        let store = &self.world.operations.store;
        for _ in 0..time.num_seconds() / 10 {
            for clocks in [&self.world.clocks, &self.clocks] {
                clocks.pass(TimeDelta::seconds(10));
            }
            self.this.beat(store).await.unwrap();
            if both {
                self.other.beat(store).await.unwrap();
            }
        }
    }

    fn heard_for(&self) -> TimeDelta {
        self.this.now() - self.this.heard().since
    }
}

#[tokio::test]
async fn silence_is_not_judged_while_another_replica_is_stopped_and_counts_from_its_return() {
    let pair = Pair::new().await;
    assert!(pair.heard_for() >= MINUTE * 5);
    pair.pass(MINUTE * 4, false).await;
    assert_eq!(pair.heard_for(), TimeDelta::zero());
    pair.pass(MINUTE, true).await;
    let heard = pair.heard_for();
    assert!(
        heard > TimeDelta::seconds(30) && heard < TimeDelta::seconds(70),
        "{heard}"
    );
    let deaf: TimeDelta = pair
        .this
        .heard()
        .deaf
        .iter()
        .map(|deaf| deaf.to - deaf.from)
        .sum();
    assert!(deaf >= MINUTE * 4 && deaf < MINUTE * 5, "{deaf}");
}

#[tokio::test]
async fn a_replica_that_left_or_never_comes_back_holds_nothing_up() {
    let pair = Pair::new().await;
    let store = &pair.world.operations.store;
    pair.other.leave(store).await.unwrap();
    pair.pass(MINUTE * 4, false).await;
    assert!(pair.heard_for() >= MINUTE * 9, "{}", pair.heard_for());

    let pair = Pair::new().await;
    pair.pass(MINUTE * 15, false).await;
    let heard = pair.heard_for();
    assert!(heard > MINUTE * 4 && heard < MINUTE * 6, "{heard}");
    let store = &pair.world.operations.store;
    let beats = store
        .beat("third", pair.this.now(), None, Timestamp::UNIX_EPOCH)
        .await
        .unwrap();
    assert_eq!(beats.replicas.len(), 2, "{beats:?}");
}

#[tokio::test]
async fn polls_that_cannot_be_written_for_the_others_stop_the_beat() {
    let pair = Pair::new().await;
    pair.this.polls_are_written(false);
    pair.pass(MINUTE, true).await;
    assert!(pair.this.is_in_doubt());
    assert_eq!(pair.heard_for(), TimeDelta::zero());
    assert_eq!(
        pair.other.heard().since,
        pair.other.now(),
        "the other waits for it"
    );
    pair.this.polls_are_written(true);
    pair.pass(MINUTE, true).await;
    assert!(!pair.this.is_in_doubt());
}
