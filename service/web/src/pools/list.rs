//! The list of InfraEnvs, and the form that makes one.

use std::collections::HashMap;

use askama::Template;
use axum::response::{IntoResponse, Redirect, Response};
use http::StatusCode;
use muster_api::ids::InfraEnvId;
use muster_api::infra_env::{CpuArchitecture, InfraEnv};
use serde_json::{Map, Value};

use super::{address, hosts_of, visible};
use crate::html::{Frame, Gone, POOLS, answer};
use crate::rest::{Form, Refusal, Visitor};
use crate::sign_in::{frame_of, session};
use crate::words;

/// InfraEnvs on one page: REST counts the hosts of so many in one answer.
const WINDOW: usize = 100;

/// The architectures that the form offers.
const ARCHITECTURES: [CpuArchitecture; 2] = [CpuArchitecture::X86_64, CpuArchitecture::Arm64];

#[derive(Template)]
#[template(path = "pools.html")]
struct PoolsPage {
    frame: Frame,
    gone: Option<Gone>,
    pools: Vec<Row>,
    total: usize,
    /// The addresses of the windows around this one.
    before: Option<String>,
    next: Option<String>,
    problem: Option<String>,
    typed: Typed,
    architectures: [CpuArchitecture; 2],
    /// The place in the stream of changes.
    revision: String,
}

/// An InfraEnv as a row.
struct Row {
    address: String,
    name: String,
    architecture: &'static str,
    image: &'static str,
    hosts: String,
    hosts_address: String,
}

/// The typed values of the form, without the secret.
#[derive(Default)]
struct Typed {
    name: String,
    architecture: String,
    ssh_key: String,
}

pub async fn list(visitor: Visitor) -> Result<Response, Refusal> {
    let page = PoolsPage {
        gone: gone(&visitor),
        ..page(&visitor, None, Typed::default()).await?
    };
    Ok(visitor.shown(POOLS, answer(&page)))
}

/// The pool that a form deleted.
fn gone(visitor: &Visitor) -> Option<Gone> {
    let id: InfraEnvId = visitor.notice(POOLS)?.deleted()?;
    Some(Gone {
        what: "The pool is deleted, with its images, addresses and BMCs.",
        command: format!("muster infra-env delete {id}"),
    })
}

async fn page(visitor: &Visitor, problem: Option<String>, typed: Typed) -> Result<PoolsPage, Refusal> {
    let session = session(visitor).await?;
    let mut pools = visible(visitor, &session).await?;
    pools.sort_by_cached_key(|pool| (pool.name.to_lowercase(), pool.id));
    let [from] = visitor.parameters(["from"]);
    let from = from.parse().unwrap_or(0_usize).min(pools.len());
    let at = |from: usize| match from {
        0 => POOLS.to_owned(),
        from => format!("{POOLS}?from={from}"),
    };
    let end = from.saturating_add(WINDOW);
    let (total, before) = (pools.len(), (from > 0).then(|| at(from.saturating_sub(WINDOW))));
    let next = (end < total).then(|| at(end));
    let shown: Vec<InfraEnv> = pools.into_iter().skip(from).take(WINDOW).collect();
    let (counts, revision) = counts(visitor, &shown).await?;
    Ok(PoolsPage {
        pools: shown.iter().map(|pool| Row::of(pool, &counts)).collect(),
        total,
        before,
        next,
        frame: frame_of(session),
        gone: None,
        problem,
        typed,
        architectures: ARCHITECTURES,
        revision,
    })
}

/// The number of hosts by the id of their InfraEnv, among at most [`WINDOW`] of these, and the place in the stream of changes.
async fn counts(visitor: &Visitor, pools: &[InfraEnv]) -> Result<(HashMap<String, usize>, String), Refusal> {
    let ids: Vec<String> = pools.iter().map(|pool| pool.id.to_string()).collect();
    let query = match ids.is_empty() {
        true => String::new(),
        false => format!("pool:{}", ids.join(",")),
    };
    let found = visitor.hosts(&query, 1, "pool").await?;
    let counted = found.facets.into_iter().flat_map(|facet| facet.values);
    let counted = counted.filter_map(|value| Some((value.id?, value.hosts)));
    Ok((counted.collect(), found.revision))
}

impl Row {
    fn of(pool: &InfraEnv, counts: &HashMap<String, usize>) -> Self {
        let hosts = counts.get(&pool.id.to_string()).copied().unwrap_or(0);
        Self {
            address: address(pool.id),
            name: pool.name.clone(),
            architecture: pool.cpu_architecture.name(),
            image: pool.image_type.name(),
            hosts: words::count(hosts, "host"),
            hosts_address: hosts_of(pool.id),
        }
    }
}

/// Why no pool of this name is made here: people distinguish pools by name, though REST allows several of one.
async fn is_taken(visitor: &Visitor, name: &str) -> Result<Option<String>, Refusal> {
    // With a token for one pool REST refuses to make another.
    let confined = [StatusCode::FORBIDDEN];
    let pools: Option<Vec<InfraEnv>> = visitor.get_unless(&confined, "/infra-envs").await?;
    let mut pools = pools.iter().flatten();
    Ok(pools.any(|pool| pool.name == name).then(|| {
        format!(
            "there is a pool {name} already: give this one another name (muster infra-env create --another makes a second one of a name)"
        )
    }))
}

pub async fn add(visitor: Visitor, form: Form) -> Result<Response, Refusal> {
    let fields = ["name", "cpu_architecture", "ssh_authorized_key", "pull_secret"];
    let mut wanted = Map::new();
    for name in fields {
        let value = form.field(name).replace("\r\n", "\n");
        if !value.is_empty() || name == "name" {
            wanted.insert(name.to_owned(), Value::String(value));
        }
    }
    let made = match is_taken(&visitor, &form.field("name")).await {
        Ok(None) => {
            visitor
                .create::<InfraEnv>("/infra-envs", &Value::Object(wanted))
                .await
        }
        Ok(Some(reason)) => Err(visitor.refusal(StatusCode::CONFLICT, reason)),
        Err(refusal) => Err(refusal),
    };
    match made {
        Ok(made) => Ok(Redirect::to(&address(made.id)).into_response()),
        Err(refusal) if refusal.status == StatusCode::UNAUTHORIZED => Err(refusal),
        Err(refusal) => {
            let typed = Typed {
                name: form.field("name"),
                architecture: form.field("cpu_architecture"),
                ssh_key: form.field("ssh_authorized_key"),
            };
            let page = page(&visitor, Some(refusal.reason), typed).await?;
            Ok((refusal.status, answer(&page)).into_response())
        }
    }
}
