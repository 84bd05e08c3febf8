//! Lists of events, by the rules of docs/protocol/rest-behaviour.md#7.

on_both! {
    a_limited_event_is_stored_once_in_its_time,
    every_field_of_an_event_comes_back,
    without_a_filter_all_user_events_are_listed_in_order,
    pages_cut_and_totals_do_not,
    severities_and_categories_filter,
    a_cluster_is_narrowed_by_hosts_deleted_hosts_and_its_own_level,
    messages_match_literally_in_any_case,
    hosts_win_over_the_infra_env_and_deleted_hosts_are_left_out,
    unknown_ids_give_an_empty_page,
    many_events_are_stored_at_once,
    events_by_id_are_listed_part_by_part_within_the_filters,
    a_client_that_follows_misses_no_event_that_appears_late,
    the_newest_events_come_with_those_of_the_last_seconds,
    events_before_one_are_listed_backwards_part_by_part,
    every_filter_holds_where_all_do,
}

mod cases {
    use std::time::Duration;

    use muster_api::event::{Category, Event, Severity};
    use muster_api::ids::{ClusterId, EventId, HostId, InfraEnvId};
    use muster_api::time::now;
    use muster_core::record::NewEvent;
    use muster_store::{EventPage, EventQuery, EventsById, Order};
    use serde_json::json;
    use strum::VariantArray;

    use crate::world::{World, at, cluster_event, event, event_of};

    /// More than the time in which events may appear late.
    const LONG: Duration = Duration::from_secs(60);

    fn messages(page: &EventPage) -> Vec<&str> {
        page.events.iter().map(|event| event.message.as_str()).collect()
    }

    async fn listed(world: &World, query: EventQuery) -> Vec<String> {
        let page = world.store.list_events(&query).await.unwrap();
        assert_eq!(page.total as usize, page.events.len());
        messages(&page).into_iter().map(str::to_owned).collect()
    }

    pub async fn a_limited_event_is_stored_once_in_its_time(world: World) {
        let of = |seconds, host_id| NewEvent {
            name: "upgrade_agent_started".into(),
            host_id,
            ..event(seconds, "asked to upgrade")
        };
        let one = Some(HostId::random());
        for (events, stored) in [
            (vec![of(0, one), of(1, one)], 1),
            (vec![of(60, one)], 1),
            (vec![of(60, None), of(61, Some(HostId::random()))], 3),
            (vec![of(3601, one)], 4),
        ] {
            world.store.insert_events(&events).await.unwrap();
            let page = world.store.list_events(&EventQuery::default()).await.unwrap();
            assert_eq!(page.total, stored, "{events:?}");
        }
    }

    pub async fn every_field_of_an_event_comes_back(world: World) {
        let full = NewEvent {
            severity: Severity::Critical,
            category: Category::Metrics,
            props: json!({"from": "a", "count": 2}).as_object().unwrap().clone(),
            host_id: Some(HostId::random()),
            infra_env_id: Some(InfraEnvId::random()),
            cluster_id: Some(ClusterId::random()),
            ..event(7, "über \"all\" ☃")
        };
        world
            .store
            .on_behalf_of("request-1")
            .insert_events(std::slice::from_ref(&full))
            .await
            .unwrap();
        let query = EventQuery {
            categories: vec![Category::Metrics],
            ..Default::default()
        };
        let stored = world.store.list_events(&query).await.unwrap().events.remove(0);
        assert_eq!(
            (stored.at, stored.name.as_str(), stored.message.as_str()),
            (at(7), &*full.name, full.message.as_str())
        );
        assert_eq!(
            (stored.severity, stored.category, &stored.props),
            (full.severity, full.category, &full.props)
        );
        assert_eq!(stored.host_id, full.host_id);
        assert_eq!(
            (stored.infra_env_id, stored.cluster_id),
            (full.infra_env_id, full.cluster_id)
        );
        assert_eq!(stored.request_id.as_deref(), Some("request-1"));
        let wire = Event::from(stored);
        assert_eq!(wire.props.as_deref(), Some(r#"{"count":2,"from":"a"}"#));
        assert!(wire.event_time.ends_with(".123Z"), "{}", wire.event_time);
    }

    pub async fn without_a_filter_all_user_events_are_listed_in_order(world: World) {
        // The second and third at the same moment: in the order in which they were stored.
        let metrics = NewEvent {
            category: Category::Metrics,
            ..event(4, "metrics")
        };
        let events = [
            event(9, "d"),
            event(2, "b"),
            event(2, "c"),
            metrics,
            event(1, "a"),
        ];
        world.store.insert_events(&events).await.unwrap();
        assert_eq!(listed(&world, EventQuery::default()).await, ["a", "b", "c", "d"]);
        let newest = EventQuery {
            order: Order::Descending,
            ..Default::default()
        };
        assert_eq!(listed(&world, newest).await, ["d", "c", "b", "a"]);
    }

    pub async fn pages_cut_and_totals_do_not(world: World) {
        let events: Vec<_> = (0..7).map(|n| event(n, &n.to_string())).collect();
        world.store.insert_events(&events).await.unwrap();
        for (limit, offset, want) in [
            (3, 0, vec!["0", "1", "2"]),
            (3, 6, vec!["6"]),
            (3, 7, vec![]),
            (0, 0, vec![]),
            (-1, 5, vec!["5", "6"]),
            (-9, -3, vec!["0", "1", "2", "3", "4", "5", "6"]),
        ] {
            let query = EventQuery {
                limit,
                offset,
                ..Default::default()
            };
            let page = world.store.list_events(&query).await.unwrap();
            assert_eq!(
                (messages(&page), page.total),
                (want, 7),
                "limit {limit} offset {offset}"
            );
        }
    }

    pub async fn severities_and_categories_filter(world: World) {
        let cluster_id = ClusterId::random();
        let mut events = Vec::new();
        for (n, &severity) in Severity::VARIANTS.iter().enumerate() {
            for _ in 0..=n {
                events.push(NewEvent {
                    severity,
                    ..cluster_event(cluster_id, None, 0, severity.name())
                });
            }
        }
        events.push(NewEvent {
            category: Category::Metrics,
            ..cluster_event(cluster_id, None, 0, "metrics")
        });
        world.store.insert_events(&events).await.unwrap();
        let query = EventQuery {
            cluster_id: Some(cluster_id),
            severities: vec![Severity::Info, Severity::Error],
            ..Default::default()
        };
        let page = world.store.list_events(&query).await.unwrap();
        assert_eq!(messages(&page), ["info", "error", "error", "error"]);
        assert_eq!(
            (page.total, page.by_severity),
            (4, [1, 2, 3, 4]),
            "counts ignore the severities asked for"
        );
        let both = EventQuery {
            categories: vec![Category::User, Category::Metrics],
            ..Default::default()
        };
        let page = world.store.list_events(&both).await.unwrap();
        assert_eq!(
            (page.total, page.by_severity),
            (11, [0; 4]),
            "counts need a cluster"
        );
    }

    pub async fn a_cluster_is_narrowed_by_hosts_deleted_hosts_and_its_own_level(world: World) {
        let (cluster_id, other) = (ClusterId::random(), ClusterId::random());
        let infra_env = world.infra_env().await;
        let (living, deleted) = (world.host(infra_env.id).await, world.host(infra_env.id).await);
        world
            .store
            .delete_host(infra_env.id, deleted.id, at(1), &[])
            .await
            .unwrap();
        let events = [
            cluster_event(cluster_id, None, 1, "cluster"),
            cluster_event(cluster_id, Some(living.id), 2, "living"),
            cluster_event(cluster_id, Some(deleted.id), 3, "deleted"),
            cluster_event(other, Some(living.id), 4, "elsewhere"),
        ];
        world.store.insert_events(&events).await.unwrap();
        let of_cluster = EventQuery {
            cluster_id: Some(cluster_id),
            ..Default::default()
        };
        let with = |host_ids: &[HostId], deleted_hosts, cluster_level| EventQuery {
            host_ids: host_ids.to_vec(),
            deleted_hosts,
            cluster_level,
            ..of_cluster.clone()
        };
        assert_eq!(
            listed(&world, with(&[], false, false)).await,
            ["cluster", "living", "deleted"]
        );
        assert_eq!(listed(&world, with(&[living.id], false, false)).await, ["living"]);
        assert_eq!(listed(&world, with(&[], true, false)).await, ["deleted"]);
        assert_eq!(listed(&world, with(&[], false, true)).await, ["cluster"]);
        assert_eq!(
            listed(&world, with(&[living.id], true, true)).await,
            ["cluster", "living", "deleted"]
        );
        assert_eq!(
            listed(&world, with(&[deleted.id], false, true)).await,
            ["cluster", "deleted"]
        );
    }

    pub async fn messages_match_literally_in_any_case(world: World) {
        let cluster_id = ClusterId::random();
        let texts = [
            "Host is 50% ready",
            "host_a",
            "hostXa",
            r"a back\slash",
            "50 percent",
        ];
        let events: Vec<_> = texts
            .iter()
            .map(|text| cluster_event(cluster_id, None, 0, text))
            .collect();
        world.store.insert_events(&events).await.unwrap();
        let matching = |text: &str| EventQuery {
            cluster_id: Some(cluster_id),
            message: Some(text.into()),
            ..Default::default()
        };
        assert_eq!(listed(&world, matching("50%")).await, ["Host is 50% ready"]);
        assert_eq!(listed(&world, matching("HOST_A")).await, ["host_a"]);
        assert_eq!(listed(&world, matching(r"\")).await, [r"a back\slash"]);
        assert_eq!(listed(&world, matching("")).await.len(), texts.len());
        let without_cluster = EventQuery {
            cluster_id: None,
            ..matching("50%")
        };
        assert_eq!(
            listed(&world, without_cluster).await.len(),
            texts.len(),
            "ignored without a cluster"
        );
    }

    pub async fn hosts_win_over_the_infra_env_and_deleted_hosts_are_left_out(world: World) {
        let infra_env = world.infra_env().await;
        let (living, deleted) = (world.host(infra_env.id).await, world.host(infra_env.id).await);
        world
            .store
            .delete_host(infra_env.id, deleted.id, at(1), &[])
            .await
            .unwrap();
        let of_infra_env = NewEvent {
            infra_env_id: Some(infra_env.id),
            ..event(0, "infra-env")
        };
        let events = [
            of_infra_env,
            event_of(&living, "living"),
            event_of(&deleted, "deleted"),
        ];
        world.store.insert_events(&events).await.unwrap();
        let query = EventQuery {
            infra_env_id: Some(infra_env.id),
            ..Default::default()
        };
        assert_eq!(
            listed(&world, query.clone()).await,
            ["infra-env", "living", "deleted"]
        );
        let query = EventQuery {
            host_ids: vec![living.id, deleted.id],
            ..query
        };
        assert_eq!(listed(&world, query).await, ["living"]);
    }

    pub async fn unknown_ids_give_an_empty_page(world: World) {
        world.store.insert_events(&[event(0, "some")]).await.unwrap();
        for query in [
            EventQuery {
                cluster_id: Some(ClusterId::random()),
                ..Default::default()
            },
            EventQuery {
                host_ids: vec![HostId::random()],
                ..Default::default()
            },
            EventQuery {
                infra_env_id: Some(InfraEnvId::random()),
                ..Default::default()
            },
        ] {
            assert_eq!(listed(&world, query).await, Vec::<String>::new());
        }
    }

    pub async fn many_events_are_stored_at_once(world: World) {
        let events: Vec<_> = (0..1201).map(|n| event(n, &n.to_string())).collect();
        world.store.insert_events(&events).await.unwrap();
        world.store.insert_events(&[]).await.unwrap();
        let page = world
            .store
            .list_events(&EventQuery {
                limit: -1,
                ..Default::default()
            })
            .await
            .unwrap();
        assert_eq!(page.total, 1201);
        assert!(
            page.events
                .iter()
                .enumerate()
                .all(|(n, event)| event.message == n.to_string())
        );
    }

    fn texts(found: &EventsById) -> Vec<&str> {
        found.events.iter().map(|event| event.message.as_str()).collect()
    }

    pub async fn events_by_id_are_listed_part_by_part_within_the_filters(world: World) {
        let infra_env = world.infra_env().await;
        let (living, other) = (world.host(infra_env.id).await, world.host(infra_env.id).await);
        let cluster_id = ClusterId::random();
        let mut events: Vec<_> = (0..5).map(|n| event_of(&living, &n.to_string())).collect();
        // The last that is stored, by its time the first.
        events.push(NewEvent {
            at: at(-9),
            ..event_of(&living, "5")
        });
        events.push(event_of(&other, "of the other host"));
        events.push(cluster_event(cluster_id, Some(living.id), 0, "of the cluster"));
        world.store.insert_events(&events).await.unwrap();
        let of_host = EventQuery {
            host_ids: vec![living.id],
            infra_env_id: Some(infra_env.id),
            scope: Some(infra_env.id),
            ..Default::default()
        };
        let (mut next, mut parts) = (EventId(uuid::Uuid::nil()), Vec::new());
        for more in [true, true, false] {
            let part = world
                .store
                .events_after(&of_host, next, 2, now() + LONG)
                .await
                .unwrap();
            assert_eq!(part.more, more, "{parts:?}");
            parts.extend(part.events.iter().map(|event| event.message.clone()));
            next = part.next;
        }
        assert_eq!(parts, ["0", "1", "2", "3", "4", "5"]);
        let rest = world.store.events_after(&of_host, next, 2, now()).await.unwrap();
        assert_eq!((texts(&rest), rest.more), (vec![], false));

        let all = |query: EventQuery| {
            let store = world.store.clone();
            async move {
                let first = EventId(uuid::Uuid::nil());
                store.events_after(&query, first, 100, now()).await.unwrap()
            }
        };
        let of_cluster = EventQuery {
            cluster_id: Some(cluster_id),
            host_ids: vec![living.id],
            ..Default::default()
        };
        assert_eq!(texts(&all(of_cluster).await), ["of the cluster"]);
        let of_infra_env = EventQuery {
            infra_env_id: Some(infra_env.id),
            ..Default::default()
        };
        assert_eq!(all(of_infra_env).await.events.len(), 7);
        let warnings = EventQuery {
            severities: vec![Severity::Warning],
            ..Default::default()
        };
        assert!(all(warnings).await.events.is_empty());
    }

    /// An event whose id was made before others and that is committed after them.
    async fn appears_late(world: &World, id: EventId, message: &str) {
        let (at, category) = (at(0).timestamp_micros(), Category::User.name());
        let sql = format!(
            "INSERT INTO events (id, at, name, severity, category, message) VALUES ('{id}', {at}, 'n', 'info', '{category}', '{message}')"
        );
        world.sql(&sql).await;
    }

    pub async fn a_client_that_follows_misses_no_event_that_appears_late(world: World) {
        let query = EventQuery::default();
        let begun = world.store.newest_events(&query, 10, now()).await.unwrap();
        assert!(begun.events.is_empty());
        // The ids of some seconds ago: the ends of lists at later times.
        let id_of = async |seconds| {
            let then = now() + Duration::from_secs(10) - Duration::from_secs(seconds);
            let found = world.store.newest_events(&query, 1, then).await.unwrap();
            found.next
        };
        let (late, later) = (id_of(3).await, id_of(8).await);
        world
            .store
            .insert_events(&[event(0, "first"), event(0, "second")])
            .await
            .unwrap();
        let seen = world
            .store
            .events_after(&query, begun.next, 10, now())
            .await
            .unwrap();
        assert_eq!(texts(&seen), ["first", "second"]);
        appears_late(&world, late, "late").await;
        appears_late(&world, later, "later").await;
        let again = world
            .store
            .events_after(&query, seen.next, 10, now())
            .await
            .unwrap();
        assert_eq!(texts(&again), ["later", "late", "first", "second"]);
        assert!(!again.more && again.next >= begun.next);
        // After a while they come no more.
        let settled = world
            .store
            .events_after(&query, again.next, 10, now() + LONG)
            .await
            .unwrap();
        let none = world
            .store
            .events_after(&query, settled.next, 10, now() + LONG)
            .await
            .unwrap();
        assert_eq!(texts(&none), Vec::<&str>::new());
    }

    pub async fn events_before_one_are_listed_backwards_part_by_part(world: World) {
        let query = EventQuery::default();
        let events: Vec<_> = (0..5).map(|n| event(n, &n.to_string())).collect();
        world.store.insert_events(&events).await.unwrap();
        // Stored last, and by its time the first.
        world.store.insert_events(&[event(-9, "old")]).await.unwrap();
        let (mut before, mut parts) = (EventId(uuid::Uuid::max()), Vec::new());
        for more in [true, true, false] {
            let part = world.store.events_before(&query, before, 2).await.unwrap();
            assert_eq!(part.more, more, "{parts:?}");
            parts.extend(part.events.iter().map(|event| event.message.clone()));
            before = part.next;
        }
        assert_eq!(parts, ["4", "3", "2", "1", "0", "old"]);
        let none = world.store.events_before(&query, before, 2).await.unwrap();
        assert_eq!((texts(&none), none.more, none.next), (vec![], false, before));
        let all = world
            .store
            .events_before(&query, EventId(uuid::Uuid::max()), 6)
            .await
            .unwrap();
        assert_eq!((all.events.len(), all.more), (6, false));
        let nothing = world
            .store
            .events_before(&query, EventId(uuid::Uuid::nil()), 2)
            .await
            .unwrap();
        assert_eq!(texts(&nothing), Vec::<&str>::new());
    }

    pub async fn every_filter_holds_where_all_do(world: World) {
        let (one, other) = (world.infra_env().await, world.infra_env().await);
        let (host, guest) = (world.host(one.id).await, world.host(other.id).await);
        let events = [
            event_of(&host, "up"),
            event_of(&host, "down"),
            event_of(&guest, "up"),
        ];
        world.store.insert_events(&events).await.unwrap();
        let query = EventQuery {
            host_ids: vec![host.id, guest.id],
            infra_env_id: Some(one.id),
            message: Some("UP".into()),
            ..Default::default()
        };
        assert_eq!(listed(&world, query.clone()).await, ["up", "down", "up"]);
        let query = EventQuery {
            all_hold: true,
            ..query
        };
        assert_eq!(listed(&world, query).await, ["up"]);
    }

    pub async fn the_newest_events_come_with_those_of_the_last_seconds(world: World) {
        let query = EventQuery::default();
        let events: Vec<_> = (0..5).map(|n| event(9 - n, &n.to_string())).collect();
        world.store.insert_events(&events).await.unwrap();
        let at_once = world.store.newest_events(&query, 2, now()).await.unwrap();
        assert_eq!(texts(&at_once), ["0", "1", "2", "3", "4"]);
        assert!(!at_once.more);
        let later = world.store.newest_events(&query, 2, now() + LONG).await.unwrap();
        assert_eq!(texts(&later), ["0", "1"]);
        let next = world
            .store
            .events_after(&query, at_once.next, 9, now())
            .await
            .unwrap();
        assert_eq!(next.events, at_once.events);
    }
}
