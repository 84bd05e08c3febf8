//! Jobs over many hosts, and the results of their hosts.

on_both! {
    a_job_is_read_as_it_was_stored,
    results_are_written_once_and_counted,
    a_job_is_claimed_by_one_replica_at_a_time,
    an_ended_job_is_not_claimed_and_stays_ended,
    a_job_of_a_newer_version_ends_and_the_others_go_on,
    few_jobs_run_and_few_are_kept,
    old_jobs_go_with_their_hosts,
    other_replicas_are_notified_of_progress,
}

mod cases {
    use std::sync::{Arc, Mutex};
    use std::time::Duration;

    use muster_api::ids::{ClusterId, HostId, InfraEnvId, JobId};
    use muster_api::jobs::{JobAction, JobOutcome, JobState};
    use muster_store::{
        Aging, HostJob, JobMember, JobRequester, Kind, MOST_RUNNING_JOBS, MemberResult, StoreError, Subject,
    };

    use crate::world::{World, at};

    const MINUTE: Duration = Duration::from_secs(60);

    fn job(seconds: i64, scope: Option<InfraEnvId>) -> HostJob {
        HostJob {
            id: JobId::random(),
            requester: JobRequester {
                scope,
                token_id: Some("t".into()),
                token_name: Some("ci".into()),
                token_expires_at: Some(at(1000)),
            },
            action: JobAction::Bind {
                cluster: ClusterId::random(),
            },
            state: JobState::Running,
            reason: String::new(),
            retry_of: None,
            created_at: at(seconds),
            ended_at: None,
            total: 3,
            changed: 0,
            already: 0,
            failed: 1,
        }
    }

    fn members() -> Vec<JobMember> {
        let member = |place: i64, outcome: JobOutcome| JobMember {
            place,
            infra_env_id: InfraEnvId::random(),
            host_id: HostId::random(),
            pool: "lab".into(),
            name: format!("host-{place}"),
            value: "node".into(),
            outcome,
            reason: String::new(),
            ended_at: None,
        };
        let refused = JobMember {
            reason: "its name is taken".into(),
            ended_at: Some(at(0)),
            ..member(2, JobOutcome::Refused)
        };
        vec![
            member(1, JobOutcome::Pending),
            refused,
            member(3, JobOutcome::Pending),
        ]
    }

    fn result(place: i64, outcome: JobOutcome, reason: &str) -> MemberResult {
        MemberResult {
            place,
            outcome,
            reason: reason.into(),
        }
    }

    pub async fn a_job_is_read_as_it_was_stored(world: World) {
        let store = &world.store;
        let own = InfraEnvId::random();
        let first = job(0, None);
        let second = HostJob {
            retry_of: Some(first.id),
            action: JobAction::Labels {
                set: [("rack".to_owned(), "r1".to_owned())].into(),
                remove: vec!["zone".into()],
            },
            ..job(1, Some(own))
        };
        let hosts = members();
        assert!(store.insert_host_job(&first, &hosts).await.unwrap());
        assert!(store.insert_host_job(&second, &[]).await.unwrap());
        let other = world.another_store().await;
        assert_eq!(other.find_host_job(first.id).await.unwrap(), Some(first.clone()));
        assert_eq!(other.find_host_job(JobId::random()).await.unwrap(), None);
        let all = other.list_host_jobs(None).await.unwrap();
        assert_eq!(all, [second.clone(), first.clone()]);
        assert_eq!(other.list_host_jobs(Some(own)).await.unwrap(), [second]);

        let listed = async |only, after, limit| store.list_job_members(first.id, only, after, limit).await;
        assert_eq!(listed(None, 0, 9).await.unwrap(), hosts);
        assert_eq!(listed(None, 1, 1).await.unwrap(), hosts[1..2]);
        let pending = listed(Some(JobOutcome::Pending), 1, 9).await.unwrap();
        assert_eq!(pending, hosts[2..]);
        let refused = listed(Some(JobOutcome::Refused), 0, 9).await.unwrap();
        assert_eq!(refused, hosts[1..2]);
    }

    pub async fn results_are_written_once_and_counted(world: World) {
        let store = &world.store;
        let job = job(0, None);
        store.insert_host_job(&job, &members()).await.unwrap();
        let first = [result(1, JobOutcome::Changed, "")];
        store.add_job_results(&job, &first, at(5)).await.unwrap();
        let again = [
            result(1, JobOutcome::Refused, "once more"),
            result(2, JobOutcome::Changed, ""),
            result(3, JobOutcome::Already, ""),
        ];
        store.add_job_results(&job, &again, at(6)).await.unwrap();
        let found = store.find_host_job(job.id).await.unwrap().unwrap();
        assert_eq!((found.changed, found.already, found.failed), (1, 1, 1));
        let hosts = store.list_job_members(job.id, None, 0, 9).await.unwrap();
        let results: Vec<_> = hosts
            .iter()
            .map(|host| (host.outcome, &*host.reason, host.ended_at))
            .collect();
        assert_eq!(
            results,
            [
                (JobOutcome::Changed, "", Some(at(5))),
                (JobOutcome::Refused, "its name is taken", Some(at(0))),
                (JobOutcome::Already, "", Some(at(6))),
            ]
        );
    }

    pub async fn a_job_is_claimed_by_one_replica_at_a_time(world: World) {
        let store = &world.store;
        let other = world.another_store().await;
        let (first, second) = (job(0, None), job(1, None));
        for job in [&second, &first] {
            store.insert_host_job(job, &members()).await.unwrap();
        }
        let claimed = store.claim_host_job("a", at(10), MINUTE).await.unwrap();
        assert_eq!(claimed, Some(first.clone()));
        let claimed = other.claim_host_job("b", at(10), MINUTE).await.unwrap();
        assert_eq!(claimed, Some(second.clone()));
        assert_eq!(other.claim_host_job("b", at(69), MINUTE).await.unwrap(), None);

        assert!(store.renew_host_job(first.id, "a", at(60), MINUTE).await.unwrap());
        assert!(!other.renew_host_job(first.id, "b", at(60), MINUTE).await.unwrap());
        // The second replica died.
        let claimed = store.claim_host_job("c", at(71), MINUTE).await.unwrap();
        assert_eq!(claimed.map(|job| job.id), Some(second.id));
        assert!(store.holds_host_job(second.id, "c").await.unwrap());
        assert!(!other.holds_host_job(second.id, "b").await.unwrap());
        assert!(
            !other
                .renew_host_job(second.id, "b", at(71), MINUTE)
                .await
                .unwrap()
        );
        other.release_host_job(second.id, "b").await.unwrap();
        assert_eq!(other.claim_host_job("b", at(71), MINUTE).await.unwrap(), None);
        store.release_host_job(second.id, "c").await.unwrap();
        let claimed = other.claim_host_job("b", at(71), MINUTE).await.unwrap();
        assert_eq!(claimed.map(|job| job.id), Some(second.id));
        store.release_host_jobs().await.unwrap();
        let claimed = store.claim_host_job("d", at(71), MINUTE).await.unwrap();
        assert_eq!(claimed.map(|job| job.id), Some(first.id));
    }

    pub async fn an_ended_job_is_not_claimed_and_stays_ended(world: World) {
        let store = &world.store;
        let job = job(0, None);
        store.insert_host_job(&job, &members()).await.unwrap();
        let state = async || store.find_host_job(job.id).await.unwrap().map(|job| job.state);
        assert_eq!(state().await, Some(JobState::Running));
        store.claim_host_job("b", at(6), MINUTE).await.unwrap();
        assert!(store.holds_host_job(job.id, "b").await.unwrap());
        let ended = store
            .end_host_job(&job, JobState::Stopped, "token revoked", at(7))
            .await;
        assert!(ended.unwrap());
        let again = store.end_host_job(&job, JobState::Finished, "", at(8)).await;
        assert!(!again.unwrap());
        assert_eq!(state().await, Some(JobState::Stopped));
        let found = store.find_host_job(job.id).await.unwrap().unwrap();
        assert_eq!((&*found.reason, found.ended_at), ("token revoked", Some(at(7))));
        assert!(!store.holds_host_job(job.id, "b").await.unwrap());
        assert_eq!(store.claim_host_job("a", at(99), MINUTE).await.unwrap(), None);
        assert!(!store.holds_host_job(JobId::random(), "b").await.unwrap());
    }

    pub async fn a_job_of_a_newer_version_ends_and_the_others_go_on(world: World) {
        let store = &world.store;
        let (newer, other) = (job(0, None), job(1, None));
        for job in [&newer, &other] {
            store.insert_host_job(job, &members()).await.unwrap();
        }
        let dance = r#"{"kind": "dance"}"#;
        let id = newer.id;
        world
            .sql(&format!(
                "UPDATE host_jobs SET action = '{dance}' WHERE id = '{id}'"
            ))
            .await;
        let unreadable = store.claim_host_job("a", at(10), MINUTE).await;
        assert!(
            matches!(
                unreadable,
                Err(StoreError::Corrupt {
                    table: "host_jobs",
                    ..
                })
            ),
            "{unreadable:?}"
        );
        let claimed = store.claim_host_job("b", at(10), MINUTE).await.unwrap();
        assert_eq!(claimed.map(|job| job.id), Some(other.id));
        assert_eq!(store.claim_host_job("c", at(69), MINUTE).await.unwrap(), None);
        // Its row goes as those of other jobs that ended.
        assert_eq!(
            store.delete_old(Aging::HostJobs, at(11)).await.unwrap(),
            (1, true)
        );
    }

    pub async fn few_jobs_run_and_few_are_kept(world: World) {
        let store = &world.store;
        let mut oldest = Vec::new();
        for seconds in 0..105 {
            let job = job(seconds, None);
            assert!(store.insert_host_job(&job, &members()).await.unwrap());
            let ended = store
                .end_host_job(&job, JobState::Finished, "", at(seconds))
                .await;
            assert!(ended.unwrap());
            oldest.push(job.id);
        }
        assert_eq!(store.list_host_jobs(None).await.unwrap().len(), 100);
        for (place, id) in oldest.iter().enumerate() {
            let is_kept = store.find_host_job(*id).await.unwrap().is_some();
            assert_eq!(is_kept, place >= 5, "{place}");
        }
        let hosts = store.list_job_members(oldest[0], None, 0, 9).await.unwrap();
        assert_eq!(hosts, []);

        for place in 0..MOST_RUNNING_JOBS {
            let job = job(200 + place, None);
            assert!(store.insert_host_job(&job, &[]).await.unwrap());
        }
        let more = job(300, None);
        assert!(!store.insert_host_job(&more, &members()).await.unwrap());
        assert_eq!(store.find_host_job(more.id).await.unwrap(), None);
    }

    pub async fn old_jobs_go_with_their_hosts(world: World) {
        let store = &world.store;
        let (old, running) = (job(0, None), job(1, None));
        for job in [&old, &running] {
            store.insert_host_job(job, &members()).await.unwrap();
        }
        store
            .end_host_job(&old, JobState::Cancelled, "", at(10))
            .await
            .unwrap();
        let deleted = async |before| store.delete_old(Aging::HostJobs, at(before)).await.unwrap();
        assert_eq!(deleted(10).await, (0, false));
        assert_eq!(deleted(11).await, (1, true));
        assert_eq!(deleted(1000).await, (0, false));
        assert_eq!(store.list_job_members(old.id, None, 0, 9).await.unwrap(), []);
        assert_eq!(
            store
                .list_job_members(running.id, None, 0, 9)
                .await
                .unwrap()
                .len(),
            3
        );
    }

    pub async fn other_replicas_are_notified_of_progress(world: World) {
        let other = Arc::new(world.another_store().await);
        let seen: Arc<Mutex<Vec<Subject>>> = Arc::default();
        let noted = seen.clone();
        other.on_change(move |change| noted.lock().unwrap().push(change.subject));
        let listener = other.clone();
        let listening = tokio::spawn(async move { listener.receive_notifications().await });
        if world.store.kind() == Kind::Postgres {
            while !other.has_notifications() {
                tokio::task::yield_now().await;
            }
        }
        let scope = InfraEnvId::random();
        let job = job(0, Some(scope));
        let own: Arc<Mutex<Vec<Subject>>> = Arc::default();
        let noted = own.clone();
        world
            .store
            .on_change(move |change| noted.lock().unwrap().push(change.subject));
        world.store.insert_host_job(&job, &members()).await.unwrap();
        let done = [result(1, JobOutcome::Changed, "")];
        world.store.add_job_results(&job, &done, at(1)).await.unwrap();
        let subject = Subject::Job {
            infra_env_id: Some(scope),
            id: job.id,
        };
        assert_eq!(*own.lock().unwrap(), [subject, subject]);
        if world.store.kind() == Kind::Postgres {
            while seen.lock().unwrap().len() < 2 {
                tokio::task::yield_now().await;
            }
            assert_eq!(*seen.lock().unwrap(), [subject, subject]);
        }
        listening.abort();
    }
}
