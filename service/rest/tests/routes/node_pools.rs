//! Node pools and placements, as the reader of the controllers has them; requests of nodes.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use muster_api::node_pools::{MachinePlacement, NamespaceQuota, NodePool, ResourceProblem};
use muster_api::search::HostWait;
use muster_core::record::KubeRef;
use muster_operations::bridge::{BridgeStatus, PendingCsr};
use muster_operations::node_pools::{AgentSeen, MachineSeen, MachinesOf, NodePoolReader, Part};
use serde_json::json;

use crate::tokens::scopes::operator;
use crate::world::{World, host_id};

const LIST: &str = "/api/muster/v1/node-pools";
const POOL: &str = "/api/muster/v1/node-pools/clusters/workers";
const PLACEMENTS: &str = "/api/muster/v1/placements";

/// A Kubernetes API with one node pool of two Machines: one has a host, the other waits.
pub struct Played {
    /// The error that it answers to everything, in place of objects.
    pub refusal: Option<String>,
}

impl Played {
    fn answer<T: Send + 'static>(&self, part: Vec<T>) -> BoxFuture<'static, Result<Part<T>, String>> {
        let answer = match &self.refusal {
            Some(why) => Err(why.clone()),
            None => Ok(Part {
                items: part,
                more: false,
            }),
        };
        Box::pin(std::future::ready(answer))
    }
}

fn agent(number: u32) -> KubeRef {
    KubeRef::new("lab", host_id(number))
}

fn machine(name: &str) -> MachinePlacement {
    MachinePlacement {
        namespace: "clusters-east".to_owned(),
        name: name.to_owned(),
        machine: name.to_owned(),
        node_pool: "clusters/workers".to_owned(),
        ..MachinePlacement::default()
    }
}

impl NodePoolReader for Played {
    fn node_pools<'a>(&'a self, name: Option<&'a KubeRef>) -> BoxFuture<'a, Result<Part<NodePool>, String>> {
        let pool = NodePool {
            namespace: "clusters".to_owned(),
            name: "workers".to_owned(),
            cluster: "east".to_owned(),
            machines_namespace: "clusters-east".to_owned(),
            wanted: 2,
            there: 1,
            problems: vec![ResourceProblem {
                condition: "Ready".to_owned(),
                reason: "WaitingForNodes".to_owned(),
                message: "1 of 2 nodes are <available>".to_owned(),
                since: "2026-11-22T08:00:00.000Z".to_owned(),
            }],
            ..NodePool::default()
        };
        let is_wanted = name.is_none_or(|name| *name == KubeRef::new("clusters", "workers"));
        self.answer(if is_wanted { vec![pool] } else { Vec::new() })
    }

    fn cluster_problems<'a>(
        &'a self,
        name: &'a KubeRef,
    ) -> BoxFuture<'a, Result<Vec<ResourceProblem>, String>> {
        let problem = ResourceProblem {
            condition: "Available".to_owned(),
            reason: "KubeconfigMissing".to_owned(),
            message: format!("the kubeconfig of {name} is missing"),
            since: "2026-11-22T08:00:00.000Z".to_owned(),
        };
        Box::pin(std::future::ready(Ok(vec![problem])))
    }

    fn machines<'a>(&'a self, of: &'a MachinesOf) -> BoxFuture<'a, Result<Part<MachineSeen>, String>> {
        let named = |number: u32, reason: &str| AgentSeen {
            agent: agent(number),
            reason: reason.to_owned(),
            message: format!("why not {number} <b>"),
        };
        let has_host = MachineSeen {
            placement: MachinePlacement {
                ready: true,
                ..machine("workers-a")
            },
            agent: Some(agent(1)),
            ..MachineSeen::default()
        };
        let waits = MachineSeen {
            placement: MachinePlacement {
                wait: Some(HostWait {
                    what: "None of 7 Agents can be taken".to_owned(),
                    since: "2026-11-22T08:00:00.000Z".to_owned(),
                    until: Some("2026-11-22T08:20:00.000Z".to_owned()),
                    then: String::new(),
                    what_to_do: "Mend one".to_owned(),
                }),
                ..machine("workers-b")
            },
            agent: None,
            reasons: vec![
                ("NotApproved".to_owned(), 2),
                ("TakenBy".to_owned(), 1),
                ("NotConnected".to_owned(), 4),
            ],
            named: vec![
                named(2, "NotApproved"),
                named(3, "NotApproved"),
                named(1, "TakenBy"),
            ],
        };
        let all = vec![has_host, waits].into_iter();
        let found = all.filter(|seen| match of {
            MachinesOf::One(name) => {
                *name == KubeRef::new(seen.placement.namespace.clone(), seen.placement.name.clone())
            }
            MachinesOf::All | MachinesOf::NodePool { .. } => true,
        });
        self.answer(found.collect())
    }

    fn quotas<'a>(&'a self, machines: &'a str) -> BoxFuture<'a, Result<Vec<NamespaceQuota>, String>> {
        let quota = NamespaceQuota {
            namespace: "lab".to_owned(),
            name: "east".to_owned(),
            consumer: machines.to_owned(),
            limit: Some(2),
            used: 1,
            ..NamespaceQuota::default()
        };
        Box::pin(std::future::ready(Ok(vec![quota])))
    }
}

/// A service whose controllers read that API, with the hosts of an InfraEnv of the namespace `lab`; and the id of the InfraEnv.
pub async fn played(refusal: Option<&str>) -> (World, muster_api::ids::InfraEnvId) {
    let world = World::open().await;
    let infra_env = world.infra_env(json!({"name": "hw"})).await;
    for number in 1..=3 {
        world.host(infra_env, number).await;
    }
    let operations = &world.operations;
    operations
        .infra_envs
        .change(infra_env, |found| {
            let mut next = found.clone();
            next.kube = Some(KubeRef::new("lab", "hw"));
            Ok(Some((next, Vec::new())))
        })
        .await
        .unwrap();
    operations.bridge.set(BridgeStatus::Leading);
    operations.bridge.read_node_pools_by(Arc::new(Played {
        refusal: refusal.map(str::to_owned),
    }));
    (world, infra_env)
}

#[tokio::test]
async fn the_funnel_of_a_machine_has_the_numbers_of_the_controllers_and_queries_that_find_the_hosts() {
    let (world, infra_env) = played(None).await;
    let list = world.get(&world.operator, LIST).await.expect(200).json();
    assert_eq!(list["controllers"], "here");
    assert_eq!(
        (
            &list["node_pools"][0]["wanted"],
            &list["node_pools"][0]["there"],
            &list["note"]
        ),
        (&json!(2), &json!(1), &json!(null))
    );
    let pool = world.get(&world.operator, POOL).await.expect(200).json();
    assert_eq!(pool["quotas"][0]["limit"], 2);
    assert_eq!(pool["cluster_problems"][0]["reason"], "KubeconfigMissing");
    let [first, second] = [&pool["machines"][0], &pool["machines"][1]];
    assert_eq!(
        (&first["host"]["name"], &first["considered"]),
        (&json!("host-1"), &json!(1))
    );
    assert_eq!(second["wait"]["what_to_do"], "Mend one");
    let steps: Vec<_> = second["candidates"].as_array().unwrap().iter().collect();
    let shown: Vec<_> = steps
        .iter()
        .map(|step| {
            (
                step["reason"].clone(),
                step["hosts"].clone(),
                step["left"].clone(),
            )
        })
        .collect();
    assert_eq!(
        shown,
        [
            (json!("TakenBy"), json!(1), json!(6)),
            (json!("NotApproved"), json!(2), json!(4)),
            (json!("NotConnected"), json!(4), json!(0))
        ]
    );
    // The query lists the hosts that are named.
    for (step, names) in steps.iter().zip([vec!["host-1"], vec!["host-2", "host-3"]]) {
        assert_eq!(step["listed"], names.len());
        let query = step["query"]
            .as_str()
            .unwrap()
            .replace(':', "%3A")
            .replace(',', "%2C");
        let path = format!("/api/muster/v1/hosts?q={query}");
        let found = world.get(&world.operator, &path).await.expect(200).json();
        let found: Vec<&str> = found["hosts"]
            .as_array()
            .unwrap()
            .iter()
            .map(|host| host["name"].as_str().unwrap())
            .collect();
        assert_eq!(found, names);
    }
    assert_eq!(second["named"][0]["name"], "host-2");
    // Of these none is named.
    assert_eq!(
        (&steps[2]["query"], &steps[2]["listed"]),
        (&json!(format!("pool:{infra_env} state:disconnected*")), &json!(0))
    );
}

#[tokio::test]
async fn one_machine_is_found_and_no_other_name_is() {
    let (world, _) = played(None).await;
    let of = |query: &str| format!("{PLACEMENTS}{query}");
    let all = world.get(&world.operator, PLACEMENTS).await.expect(200).json();
    assert_eq!(all["placements"].as_array().unwrap().len(), 2);
    let one = world
        .get(&world.operator, &of("?machine=clusters-east/workers-b"))
        .await
        .expect(200)
        .json();
    assert_eq!(one["placements"][0]["name"], "workers-b");
    assert_eq!(one["placements"].as_array().unwrap().len(), 1);
    for wrong in ["?machine=workers-b", "?machine=a/b/c", "?machine=A/b"] {
        world.get(&world.operator, &of(wrong)).await.expect(400);
    }
    world
        .get(&world.operator, &format!("{LIST}/clusters/others"))
        .await
        .expect(404);
    world
        .get(&world.operator, &format!("{LIST}/A/b"))
        .await
        .expect(404);
}

#[tokio::test]
async fn where_nothing_can_be_read_the_answer_has_the_reason() {
    let (world, infra_env) = played(Some("the Kubernetes API has no NodePools")).await;
    for path in [LIST, POOL, PLACEMENTS] {
        let answer = world.get(&world.operator, path).await.expect(200).json();
        assert_eq!(
            (&answer["controllers"], &answer["note"]),
            (&json!("here"), &json!("the Kubernetes API has no NodePools")),
            "{path}"
        );
    }
    let bare = World::open().await;
    for (status, place, words) in [
        (BridgeStatus::Off, "off", "--kube-api off"),
        (BridgeStatus::Elsewhere, "elsewhere", "--kube-api elsewhere"),
        (BridgeStatus::Starting, "here", "starting"),
    ] {
        bare.operations.bridge.set(status);
        for path in [LIST, POOL, PLACEMENTS] {
            let answer = bare.get(&bare.operator, path).await.expect(200).json();
            assert_eq!(answer["controllers"], place);
            assert!(answer["note"].as_str().unwrap().contains(words), "{answer}");
        }
    }
    let (_, confined) = operator(&world, false, Some(infra_env)).await;
    for path in [LIST, POOL, PLACEMENTS] {
        world.get(&confined, path).await.expect(403);
    }
    let (_, reader) = operator(&world, true, None).await;
    world.get(&reader, LIST).await.expect(200);
}

#[tokio::test]
async fn requests_that_nobody_approved_are_troubles_of_those_who_see_clusters() {
    let (world, infra_env) = played(None).await;
    let cluster = world.cluster().await;
    let request = PendingCsr {
        name: "csr-1".to_owned(),
        node: "worker-0".to_owned(),
        kind: "client",
        since: None,
        reason: "it is another machine's".to_owned(),
    };
    world.operations.bridge.requests().set(cluster, vec![request]);
    let path = "/api/muster/v1/troubles";
    let all = world.get(&world.operator, path).await.expect(200).json();
    assert_eq!(
        all["certificate_requests"],
        json!([{
            "cluster_id": cluster, "cluster": "day2", "name": "csr-1", "node": "worker-0", "kind": "client",
            "reason": "it is another machine's",
        }])
    );
    assert_eq!(all["certificate_requests_total"], 1);
    let of = format!("{path}?cluster={cluster}");
    let one = world.get(&world.operator, &of).await.expect(200).json();
    assert_eq!(one["certificate_requests"][0]["name"], "csr-1");
    assert_eq!(one["certificate_requests_total"], 1);
    let other = format!("{path}?cluster={}", muster_api::ids::ClusterId::random());
    let other = world.get(&world.operator, &other).await.expect(200).json();
    assert_eq!(other["certificate_requests"], json!([]));
    world
        .get(&world.operator, &format!("{path}?cluster=no-id"))
        .await
        .expect(400);
    let (_, confined) = operator(&world, false, Some(infra_env)).await;
    let own = world.get(&confined, &of).await.expect(200).json();
    assert_eq!(own["certificate_requests"], json!([]));
    let own = world.get(&confined, path).await.expect(200).json();
    assert_eq!(own["certificate_requests"], json!([]));
    assert_eq!(own["certificate_requests_total"], 0);
}
