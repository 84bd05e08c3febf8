//! Clusters that hosts are added to, with the node pools of those that have some.

mod list;
mod one;
mod pool;

use http::StatusCode;
use muster_api::MUSTER_PATH;
use muster_api::ids::ClusterId;
use muster_api::node_pools::{NodePool, NodePools, ResourceProblem};

use crate::html::CLUSTERS;
use crate::rest::{Refusal, Visitor};
use crate::words;

pub use list::{add, list};
pub use one::show;
pub use pool::show as show_pool;

/// The address of a cluster's page.
pub fn address(id: ClusterId) -> String {
    format!("{CLUSTERS}/{id}")
}

/// The address of a node pool's page.
pub fn pool_address(namespace: &str, name: &str) -> String {
    format!("/ui/node-pools/{namespace}/{name}")
}

/// A node pool as a row.
pub struct PoolRow {
    address: String,
    name: String,
    cluster: String,
    there: i64,
    /// Nodes that it shall have, as a number or a range.
    wanted: String,
    /// The first condition that is not as it should be; empty: all are.
    problem: String,
}

impl PoolRow {
    fn of(pool: &NodePool) -> Self {
        Self {
            address: pool_address(&pool.namespace, &pool.name),
            name: format!("{}/{}", pool.namespace, pool.name),
            cluster: pool.cluster.clone(),
            there: pool.there,
            wanted: wanted(pool),
            problem: pool.problems.first().map(problem_text).unwrap_or_default(),
        }
    }
}

/// `3`, or `1 to 5`.
fn wanted(pool: &NodePool) -> String {
    match pool.most {
        Some(most) => format!("{} to {most}", pool.wanted),
        None => pool.wanted.to_string(),
    }
}

/// A condition that is not as it should be, in words.
fn problem_text(problem: &ResourceProblem) -> String {
    match problem.message.is_empty() {
        true => format!("{}: {}", problem.condition, problem.reason),
        false => problem.message.clone(),
    }
}

/// The same with its time.
struct Problem {
    condition: String,
    text: String,
    since: String,
    since_at: String,
}

impl Problem {
    fn of(problem: &ResourceProblem, now: &str) -> Self {
        Self {
            condition: problem.condition.clone(),
            text: problem_text(problem),
            since: words::relative(&problem.since, now),
            since_at: problem.since.clone(),
        }
    }
}

/// The node pools, where the visitor may see any.
///
/// # Errors
/// Other refusals of REST.
async fn node_pools(visitor: &Visitor) -> Result<Option<NodePools>, Refusal> {
    let path = format!("{MUSTER_PATH}/node-pools");
    visitor.get_unless(&[StatusCode::FORBIDDEN], &path).await
}
