//! Jobs of hosts that failed: each gets the name and the disk that the plan before had for it.

use std::collections::BTreeMap;

use muster_api::jobs::DiskRule;
use muster_core::record::InstalledAs;

use super::*;

fn hostname(pattern: Option<&str>, names: &[(&str, &str)]) -> JobRequest {
    let names = names
        .iter()
        .map(|(host, name)| ((*host).to_owned(), (*name).to_owned()));
    request(JobAction::Hostname {
        pattern: pattern.map(str::to_owned),
        names: names.collect(),
    })
}

async fn again(world: &World, id: JobId) -> Job {
    let requester = JobRequester::default();
    world.operations.retry_job(id, None, &requester).await.unwrap()
}

/// One that has ended, as it is stored.
fn job(action: JobAction) -> HostJob {
    HostJob {
        id: JobId::random(),
        requester: JobRequester::default(),
        action,
        state: JobState::Finished,
        reason: String::new(),
        retry_of: None,
        created_at: now(),
        ended_at: Some(now()),
        total: 1,
        changed: 0,
        already: 0,
        failed: 1,
    }
}

/// A host of it that was refused.
fn member(infra_env_id: InfraEnvId, place: i64) -> JobMember {
    JobMember {
        place,
        infra_env_id,
        host_id: HostId::random(),
        pool: "hw".into(),
        name: "host".into(),
        value: String::new(),
        outcome: JobOutcome::Refused,
        reason: "it was installed".into(),
        ended_at: Some(now()),
    }
}

/// The values of a job, by host.
async fn values(world: &World, id: JobId) -> BTreeMap<HostId, String> {
    let members = world.operations.store.list_job_members(id, None, 0, 100).await;
    let members = members.unwrap().into_iter();
    members.map(|member| (member.host_id, member.value)).collect()
}

#[tokio::test]
async fn refused_hosts_are_tried_again_by_another_job() {
    let world = World::new().await;
    pool(&world, 2).await;
    let requester = JobRequester::default();
    // They belong to no cluster.
    let plan = world
        .operations
        .plan_job(&request(JobAction::Install), &requester)
        .await
        .unwrap();
    assert_eq!((plan.refused.len(), plan.refused[0].count), (1, 2));
    assert_eq!(plan.refused[0].examples.len(), 2);
    let first = begin(&world, &request(JobAction::Install)).await.unwrap();
    work_on(claim(&world).await, &world).await;
    let first = shown(&world, first.id).await;
    assert_eq!((first.state, first.counts.failed), (JobState::Finished, 2));
    let reasons: Vec<&str> = first.results.iter().map(|one| one.reason.as_str()).collect();
    assert!(
        reasons.iter().all(|why| why.contains("no cluster")),
        "{reasons:?}"
    );

    let again = world.operations.retry_job(first.id, None, &requester).await;
    let again = again.unwrap();
    assert_eq!((again.retry_of, again.counts.total), (Some(first.id), 2));
    let roles = begin(&world, &workers()).await.unwrap();
    while let Some(claimed) = claimed(&world.operations).await {
        work_on(claimed, &world).await;
    }
    let none = world.operations.retry_job(roles.id, None, &requester).await;
    assert!(matches!(
        none,
        Err(OperationError::Job(JobProblem::NoneFailed(_)))
    ));
}

#[tokio::test]
async fn a_host_that_could_not_be_named_keeps_its_number() {
    let world = World::new().await;
    let (infra_env_id, ids) = pool(&world, 3).await;
    // They have reported no serial number.
    let first = begin(&world, &hostname(Some("{serial}-{n}"), &[])).await.unwrap();
    assert_eq!(first.counts.failed, 3);
    let planned = values(&world, first.id).await;
    let mut kept: Vec<&str> = planned.values().map(String::as_str).collect();
    kept.sort_unstable();
    assert_eq!(kept, ["{serial}-1", "{serial}-2", "{serial}-3"]);
    assert_eq!(values(&world, again(&world, first.id).await.id).await, planned);

    let gone = *planned.iter().find(|(_, value)| value.ends_with("-1")).unwrap().0;
    world.operations.hosts.delete(infra_env_id, gone).await.unwrap();
    let fewer = again(&world, first.id).await;
    let left = values(&world, fewer.id).await;
    assert_eq!(left.len(), 2);
    for id in ids.iter().filter(|id| **id != gone) {
        assert_eq!(left[id], planned[id]);
    }
}

#[tokio::test]
async fn hosts_that_a_table_lacks_are_refused_with_the_reason_again() {
    let world = World::new().await;
    pool(&world, 2).await;
    let first = begin(&world, &hostname(None, &[("SN-1", "node-1")]))
        .await
        .unwrap();
    assert_eq!(first.counts.failed, 2);
    let second = again(&world, first.id).await;
    assert_eq!((second.counts.total, second.counts.failed), (2, 2));
    let results = shown(&world, second.id).await.results;
    assert!(
        results
            .iter()
            .all(|one| one.reason.contains("the job before had no name for it")),
        "{results:?}"
    );
}

#[tokio::test]
async fn the_same_id_in_two_infra_envs_is_two_hosts() {
    let world = World::new().await;
    let (own, ids) = pool(&world, 1).await;
    let other = world.infra_env("other", None).await;
    let mut twin = world.operations.hosts.get(own, ids[0]).await.unwrap();
    (twin.infra_env_id, twin.version) = (other, 0);
    world.insert(&mut twin).await;
    let first = begin(&world, &hostname(Some("{serial}-{n}"), &[])).await.unwrap();
    let second = again(&world, first.id).await;
    let members = world
        .operations
        .store
        .list_job_members(second.id, None, 0, 9)
        .await;
    let mut values: Vec<String> = members.unwrap().into_iter().map(|one| one.value).collect();
    values.sort();
    assert_eq!(values, ["{serial}-1", "{serial}-2"]);
}

#[tokio::test]
async fn disks_of_a_table_are_with_their_hosts() {
    let world = World::new().await;
    let (_, ids) = pool(&world, 2).await;
    let disk = |disks: BTreeMap<String, String>| {
        request(JobAction::Disk {
            rule: DiskRule::List { disks },
        })
    };
    let table = BTreeMap::from([(ids[0].to_string(), "/dev/sdb".to_owned())]);
    let first = begin(&world, &disk(table)).await.unwrap();
    let second = again(&world, first.id).await;
    for id in [first.id, second.id] {
        let values = values(&world, id).await;
        assert_eq!((&*values[&ids[0]], &*values[&ids[1]]), ("/dev/sdb", ""));
    }
    let without = JobAction::Disk {
        rule: DiskRule::List {
            disks: BTreeMap::new(),
        },
    };
    assert_eq!((first.action, second.action), (without.clone(), without));
    let empty = begin(&world, &disk(BTreeMap::new())).await;
    assert!(matches!(empty, Err(OperationError::Invalid(_))), "{empty:?}");
}

#[tokio::test]
async fn a_long_action_is_refused() {
    let world = World::new().await;
    pool(&world, 1).await;
    let labels = |bytes: usize| {
        request(JobAction::Labels {
            set: BTreeMap::from([("rack".to_owned(), "r".repeat(bytes))]),
            remove: Vec::new(),
        })
    };
    let long = begin(&world, &labels(16 << 10)).await;
    assert!(matches!(long, Err(OperationError::Invalid(_))), "{long:?}");
    assert!(begin(&world, &labels(60)).await.is_ok());
}

#[tokio::test]
async fn disks_that_the_plan_did_not_count_are_not_erased() {
    let world = World::new().await;
    let infra_env_id = world.infra_env("hw", None).await;
    let cluster = world.cluster().await;
    let mut members = Vec::new();
    for (place, value) in [(1, ""), (2, "erased")] {
        let id = host(&world, infra_env_id).await;
        let mut installed = world.operations.hosts.get(infra_env_id, id).await.unwrap();
        (installed.id, installed.version) = (HostId::random(), 0);
        (installed.cluster_id, installed.state) = (Some(cluster), HostState::AddedToExistingCluster);
        installed.data.installed_as = Some(InstalledAs::default());
        world.insert(&mut installed).await;
        members.push(JobMember {
            host_id: installed.id,
            ended_at: None,
            outcome: JobOutcome::Pending,
            value: value.into(),
            ..member(infra_env_id, place)
        });
    }
    let job = HostJob {
        state: JobState::Running,
        ended_at: None,
        ..job(JobAction::Unbind)
    };
    let store = &world.operations.store;
    assert!(store.insert_host_job(&job, &members).await.unwrap());
    work_on(claim(&world).await, &world).await;
    let results = shown(&world, job.id).await.results;
    let refused: Vec<bool> = results
        .iter()
        .map(|one| one.reason.contains("would be erased"))
        .collect();
    assert_eq!(refused, [true, false], "{results:?}");
}

#[tokio::test]
async fn a_disk_is_that_of_the_plan_before() {
    let world = World::new().await;
    let (infra_env_id, ids) = pool(&world, 1).await;
    let action = JobAction::Disk {
        rule: DiskRule::SmallestSsdAbove { bytes: 1 },
    };
    let job = job(action);
    let failed = JobMember {
        host_id: ids[0],
        value: "/dev/disk/by-id/wwn-1".into(),
        ..member(infra_env_id, 1)
    };
    let store = &world.operations.store;
    assert!(store.insert_host_job(&job, &[failed]).await.unwrap());
    let second = again(&world, job.id).await;
    assert_eq!(values(&world, second.id).await[&ids[0]], "/dev/disk/by-id/wwn-1");
}
