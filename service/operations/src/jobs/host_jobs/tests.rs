//! Jobs run, go on after a restart, and end early; the tests claim them in the place of the service.

mod again;

use muster_api::host::{HostRole, HostRoleUpdate, HostUpdateParams};
use muster_api::ids::{ClusterId, HostId, InfraEnvId, JobId};
use muster_api::jobs::{HostSelection, Job, JobAction, JobRequest};
use muster_core::lifecycle::host::HostEvent;
use muster_core::record::{Host, HostData, HostState, Secret};
use muster_store::{JobRequester, OperatorToken};

use super::*;
use crate::OperationError;
use crate::host_jobs::{JobProblem, ResultsWindow};
use crate::testing::world::{MINUTE, World};

/// An InfraEnv with so many hosts.
async fn pool(world: &World, hosts: usize) -> (InfraEnvId, Vec<HostId>) {
    let infra_env_id = world.infra_env("hw", None).await;
    let mut ids = Vec::new();
    for _ in 0..hosts {
        ids.push(host(world, infra_env_id).await);
    }
    (infra_env_id, ids)
}

async fn host(world: &World, infra_env_id: InfraEnvId) -> HostId {
    let at = world.operations.now();
    let mut host = Host {
        id: HostId::random(),
        infra_env_id,
        cluster_id: None,
        state: HostState::KnownUnbound,
        version: 0,
        due_at: None,
        checked_in_at: at,
        inventory: None,
        reports: Default::default(),
        bootstrap_ignition: Secret::default(),
        data: HostData::new(at),
    };
    world.insert(&mut host).await;
    host.id
}

fn request(action: JobAction) -> JobRequest {
    JobRequest {
        action,
        selection: HostSelection {
            query: Some(String::new()),
            ..HostSelection::default()
        },
        dry_run: false,
        digest: None,
        confirm: None,
    }
}

fn workers() -> JobRequest {
    request(JobAction::Role {
        role: HostRoleUpdate::Worker,
    })
}

async fn begin(world: &World, request: &JobRequest) -> Result<Job, OperationError> {
    let requester = JobRequester::default();
    world.operations.begin_job(request, &requester).await
}

async fn problem(world: &World, request: &JobRequest) -> JobProblem {
    match begin(world, request).await {
        Err(OperationError::Job(problem)) => problem,
        other => panic!("{other:?}"),
    }
}

async fn claim(world: &World) -> (HostJob, String) {
    claimed(&world.operations).await.expect("a job runs")
}

async fn work_on((job, claim): (HostJob, String), world: &World) {
    let stop = CancellationToken::new();
    work(world.operations.clone(), job, claim, stop).await;
}

/// A job with all of its results.
async fn shown(world: &World, id: JobId) -> Job {
    let window = ResultsWindow {
        limit: 100,
        ..ResultsWindow::default()
    };
    world.operations.job(id, None, window).await.unwrap()
}

async fn roles(world: &World, infra_env_id: InfraEnvId, ids: &[HostId]) -> Vec<HostRole> {
    let mut roles = Vec::new();
    for id in ids {
        let host = world.operations.hosts.get(infra_env_id, *id).await.unwrap();
        roles.push(host.data.role);
    }
    roles
}

#[tokio::test]
async fn each_host_is_changed_and_has_its_result() {
    let world = World::new().await;
    let (infra_env_id, ids) = pool(&world, 40).await;
    let plan = world
        .operations
        .plan_job(&workers(), &JobRequester::default())
        .await
        .unwrap();
    assert_eq!((plan.total, plan.will_change, plan.already), (40, 40, 0));
    assert_eq!((plan.refused.len(), plan.confirmation), (0, None));
    let job = begin(&world, &workers()).await.unwrap();
    assert_eq!((job.state, job.counts.total), (JobState::Running, 40));
    work_on(claim(&world).await, &world).await;
    let job = shown(&world, job.id).await;
    assert_eq!((job.state, job.counts.changed), (JobState::Finished, 40));
    assert!(job.results.iter().all(|one| one.outcome == JobOutcome::Changed));
    assert_eq!(
        roles(&world, infra_env_id, &ids).await,
        vec![HostRole::Worker; 40]
    );
    let again = world
        .operations
        .plan_job(&workers(), &JobRequester::default())
        .await
        .unwrap();
    assert_eq!((again.will_change, again.already), (0, 40));
    assert!(claimed(&world.operations).await.is_none());
}

#[tokio::test]
async fn a_job_goes_on_after_a_restart_where_its_results_end() {
    let world = World::new().await;
    let (infra_env_id, ids) = pool(&world, 3).await;
    let job = begin(&world, &workers()).await.unwrap();
    let (stored, claim_of_it) = claim(&world).await;
    // The process ended after the operation of one host, and before its result was written.
    let changed = HostEvent::Edited(HostUpdateParams {
        host_role: Some(HostRoleUpdate::Worker),
        ..HostUpdateParams::default()
    });
    let hosts = &world.operations.hosts;
    hosts.apply(infra_env_id, ids[0], changed).await.unwrap();
    let stop = CancellationToken::new();
    stop.cancel();
    work(world.operations.clone(), stored, claim_of_it, stop).await;
    let pending = shown(&world, job.id).await;
    assert_eq!((pending.state, pending.counts.done), (JobState::Running, 0));

    let world = world.start_again(MINUTE).await;
    work_on(claim(&world).await, &world).await;
    let job = shown(&world, job.id).await;
    assert_eq!(job.state, JobState::Finished);
    assert_eq!((job.counts.changed, job.counts.already), (2, 1));
    assert_eq!(roles(&world, infra_env_id, &ids).await, [HostRole::Worker; 3]);
}

#[tokio::test]
async fn a_cancelled_job_leaves_the_hosts_that_it_has_not_begun_with() {
    let world = World::new().await;
    let (infra_env_id, ids) = pool(&world, 3).await;
    let job = begin(&world, &workers()).await.unwrap();
    let claimed_job = claim(&world).await;
    let cancelled = world.operations.cancel_job(job.id, None).await.unwrap();
    assert_eq!(cancelled.state, JobState::Cancelled);
    work_on(claimed_job, &world).await;
    let job = shown(&world, job.id).await;
    assert_eq!((job.state, job.counts.done), (JobState::Cancelled, 0));
    assert!(job.results.iter().all(|one| one.outcome == JobOutcome::Pending));
    assert_eq!(roles(&world, infra_env_id, &ids).await, [HostRole::AutoAssign; 3]);
    // To cancel it again changes nothing.
    let again = world.operations.cancel_job(job.id, None).await.unwrap();
    assert_eq!(again.ended_at, job.ended_at);
    let unknown = world.operations.cancel_job(JobId::random(), None).await;
    assert!(unknown.unwrap_err().is_missing());
}

#[tokio::test]
async fn a_replica_that_lost_its_claim_begins_with_no_further_host() {
    let world = World::new().await;
    let (infra_env_id, ids) = pool(&world, 3).await;
    let job = begin(&world, &workers()).await.unwrap();
    let lost = claim(&world).await;
    let store = &world.operations.store;
    store.release_host_job(job.id, &lost.1).await.unwrap();
    let present = claim(&world).await;
    work_on(lost, &world).await;
    let running = shown(&world, job.id).await;
    assert_eq!((running.state, running.counts.done), (JobState::Running, 0));
    assert_eq!(roles(&world, infra_env_id, &ids).await, [HostRole::AutoAssign; 3]);
    work_on(present, &world).await;
    let ended = shown(&world, job.id).await;
    assert_eq!((ended.state, ended.counts.changed), (JobState::Finished, 3));
}

#[tokio::test]
async fn a_job_stops_with_its_token() {
    let world = World::new().await;
    let (infra_env_id, _) = pool(&world, 2).await;
    for (scope, revoked, lifetime, reason) in [
        (None, true, None, "token revoked"),
        (Some(infra_env_id), false, Some(-MINUTE), "token expired"),
    ] {
        let token = OperatorToken {
            id: random::short_id(),
            name: "ci".into(),
            read_only: false,
            infra_env_id: scope,
            created_at: now(),
            expires_at: lifetime.map(|time| now() + time),
            revoked_at: None,
        };
        let store = &world.operations.store;
        store.insert_operator_token(&token).await.unwrap();
        let requester = JobRequester {
            scope,
            token_id: Some(token.id.clone()),
            token_name: Some(token.name),
            token_expires_at: None,
        };
        let job = world.operations.begin_job(&workers(), &requester).await.unwrap();
        if revoked {
            store.revoke_operator_token(&token.id, now()).await.unwrap();
        }
        work_on(claim(&world).await, &world).await;
        let job = shown(&world, job.id).await;
        assert_eq!((job.state, &*job.reason), (JobState::Stopped, reason));
        assert_eq!((job.counts.done, job.requested_by.as_deref()), (0, Some("ci")));
    }
}

#[tokio::test]
async fn a_plan_of_other_hosts_is_refused_with_the_difference() {
    let world = World::new().await;
    let (infra_env_id, ids) = pool(&world, 3).await;
    let planned = world
        .operations
        .plan_job(&workers(), &JobRequester::default())
        .await
        .unwrap();
    let with_digest = JobRequest {
        digest: Some(planned.digest.clone()),
        ..workers()
    };
    world.operations.hosts.delete(infra_env_id, ids[0]).await.unwrap();
    for _ in 0..2 {
        host(&world, infra_env_id).await;
    }
    assert_eq!(
        problem(&world, &with_digest).await,
        JobProblem::Changed { came: 2, went: 1 }
    );
    let other_action = JobRequest {
        digest: Some(planned.digest),
        ..request(JobAction::Role {
            role: HostRoleUpdate::Master,
        })
    };
    assert_eq!(
        problem(&world, &other_action).await,
        JobProblem::Changed { came: 2, went: 1 }
    );
    let unknown = JobRequest {
        digest: Some("00".into()),
        ..workers()
    };
    assert_eq!(problem(&world, &unknown).await, JobProblem::Stale);
    assert_eq!(world.operations.jobs(None).await.unwrap().jobs, []);
}

#[tokio::test]
async fn what_cannot_be_undone_is_confirmed_by_its_number() {
    let world = World::new().await;
    let (infra_env_id, ids) = pool(&world, 2).await;
    let delete = |confirm| JobRequest {
        confirm,
        ..request(JobAction::Delete)
    };
    for typed in [None, Some(1), Some(3)] {
        let refused = problem(&world, &delete(typed)).await;
        assert_eq!(refused, JobProblem::NotConfirmed { hosts: 2, typed });
    }
    let job = begin(&world, &delete(Some(2))).await.unwrap();
    work_on(claim(&world).await, &world).await;
    assert_eq!(shown(&world, job.id).await.counts.changed, 2);
    for id in ids {
        assert!(!world.operations.hosts.exists(infra_env_id, id).await.unwrap());
    }
    assert_eq!(problem(&world, &delete(None)).await, JobProblem::Empty);
}

#[tokio::test]
async fn the_plan_decides_about_hosts_that_the_typed_number_does_not_count() {
    let world = World::new().await;
    pool(&world, 2).await;
    // They belong to no cluster.
    let unbind = begin(&world, &request(JobAction::Unbind)).await.unwrap();
    assert_eq!((unbind.counts.already, unbind.counts.done), (2, 2));
    let install = begin(&world, &request(JobAction::Install)).await.unwrap();
    assert_eq!((install.counts.failed, install.counts.done), (2, 2));
    let results = shown(&world, install.id).await.results;
    assert!(results.iter().all(|one| one.at.is_some()), "{results:?}");
    while let Some(claimed) = claimed(&world.operations).await {
        work_on(claimed, &world).await;
    }
    let ended = shown(&world, unbind.id).await;
    assert_eq!((ended.state, ended.counts.already), (JobState::Finished, 2));
    // Where nothing is confirmed, a host is decided about when it is its turn.
    let logs = begin(&world, &request(JobAction::Logs)).await.unwrap();
    assert_eq!(logs.counts.done, 0);
}

#[tokio::test]
async fn names_by_a_pattern_are_given_once() {
    let world = World::new().await;
    let (infra_env_id, ids) = pool(&world, 3).await;
    let taken = HostEvent::Edited(HostUpdateParams {
        host_name: Some("node-02".into()),
        ..HostUpdateParams::default()
    });
    let other = world.infra_env("other", None).await;
    let outside = host(&world, other).await;
    let hosts = &world.operations.hosts;
    hosts.apply(other, outside, taken).await.unwrap();
    let named = JobRequest {
        selection: HostSelection {
            ids: ids.clone(),
            ..HostSelection::default()
        },
        ..request(JobAction::Hostname {
            pattern: Some("node-{n:02}".into()),
            names: Default::default(),
        })
    };
    // Hosts of another InfraEnv have names of their own.
    let requester = JobRequester::default();
    let plan = world.operations.plan_job(&named, &requester).await.unwrap();
    assert_eq!((plan.will_change, plan.refused.len()), (3, 0));
    let names: Vec<&str> = plan.previews.iter().map(|one| one.to.as_str()).collect();
    assert_eq!(names, ["node-01", "node-02", "node-03"]);
    begin(&world, &named).await.unwrap();
    work_on(claim(&world).await, &world).await;
    let mut given = Vec::new();
    for id in ids {
        let host = hosts.get(infra_env_id, id).await.unwrap();
        given.push((host.data.requested_hostname.unwrap(), id));
    }
    given.sort();
    let names: Vec<&str> = given.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["node-01", "node-02", "node-03"]);
    let first = given[0].1;
    let one = JobRequest {
        selection: HostSelection {
            ids: vec![first],
            ..HostSelection::default()
        },
        ..request(JobAction::Hostname {
            pattern: None,
            names: [(first.to_string(), "node-03".to_owned())].into(),
        })
    };
    let plan = world.operations.plan_job(&one, &requester).await.unwrap();
    assert_eq!(plan.refused.len(), 1);
    assert_eq!(
        plan.refused[0].reason,
        "another host has the name node-03, and keeps it"
    );
}

#[tokio::test]
async fn a_token_for_one_infra_env_reaches_its_hosts_alone() {
    let world = World::new().await;
    let (own, _) = pool(&world, 1).await;
    pool(&world, 2).await;
    let requester = JobRequester {
        scope: Some(own),
        ..JobRequester::default()
    };
    let operations = &world.operations;
    let plan = operations.plan_job(&workers(), &requester).await.unwrap();
    assert_eq!(plan.total, 1);
    let bind = request(JobAction::Bind {
        cluster: ClusterId::random(),
    });
    let refused = operations.plan_job(&bind, &requester).await;
    let beyond = |scope: InfraEnvId| scope == own;
    assert!(matches!(refused, Err(OperationError::Job(JobProblem::BeyondScope { scope })) if beyond(scope)));
    let job = operations.begin_job(&workers(), &requester).await.unwrap();
    let window = ResultsWindow::default();
    assert!(operations.job(job.id, Some(own), window).await.is_ok());
    let other = InfraEnvId::random();
    let hidden = operations.job(job.id, Some(other), window).await;
    assert!(hidden.unwrap_err().is_missing());
    assert_eq!(operations.jobs(Some(other)).await.unwrap().jobs, []);
}
