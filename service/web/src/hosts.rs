//! The list of hosts: filter, views, counts, order, groups, columns; one window after the other, or one plain table.

mod columns;
mod groups;
mod keys;
mod nearest;
mod row;
mod table;
mod trail;
mod view;

use askama::Template;
use axum::response::{IntoResponse, Redirect, Response};
use http::StatusCode;
use muster_api::ids::HostId;
use muster_api::search::FoundHosts;

use crate::html::{Frame, Gone, HOSTS, answer};
use crate::jobs::Kind;
use crate::rest::{Refusal, Visitor};
use crate::sign_in::frame;
use columns::{COLUMNS, Column, Content};
pub use columns::{stage, stage_text};
use groups::{GROUPINGS, Grouping};
use keys::KeyWords;
pub use row::{Row, Wait, address, mood};
use table::Found;
pub use trail::{Trail, query_from};
use view::{Link, View};

/// The keys with counts by value.
const FACETS: &str = "state,pool,cluster,role,model,finding,check,switch";

/// Hosts in a window.
const WINDOW: usize = 100;

/// Hosts that a request of the plain table reads, the most that REST returns.
const PART: usize = 1000;

/// Most hosts in the plain table.
const MOST: usize = 5000;

#[derive(Template)]
#[template(path = "hosts.html")]
struct HostsPage {
    frame: Frame,
    gone: Option<Gone>,
    ready: Vec<Link>,
    keys: Vec<KeyWords>,
    kinds: &'static [Kind],
    groupings: &'static [Grouping],
    choices: Vec<ColumnChoice>,
    headings: Vec<Heading>,
    view: View,
    /// What is wrong with the query.
    problem: Option<Problem>,
    found: Option<Found>,
}

struct Problem {
    reason: String,
    /// What was probably meant.
    corrected: Option<Link>,
}

/// A column that can be chosen.
struct ColumnChoice {
    name: &'static str,
    heading: &'static str,
    is_shown: bool,
    /// True if another one that is shown stands before it.
    may_be_earlier: bool,
}

impl ColumnChoice {
    /// Those that are shown first, in their order.
    fn all(view: &View) -> Vec<Self> {
        let shown = view.columns.iter().enumerate().map(|(index, column)| Self {
            name: column.name,
            heading: column.heading,
            is_shown: true,
            may_be_earlier: index > 0,
        });
        let is_shown = |name: &str| view.columns.iter().any(|column| column.name == name);
        let others = COLUMNS.iter().filter(|column| !is_shown(column.name));
        let others = others.map(|column| Self {
            name: column.name,
            heading: column.heading,
            is_shown: false,
            may_be_earlier: false,
        });
        shown.chain(others).collect()
    }
}

/// A heading of the table.
struct Heading {
    name: &'static str,
    /// The address of the page in the order of this column; `None`: it has no order.
    address: Option<String>,
    /// `ascending`, `descending` or `none`.
    order: &'static str,
}

impl Heading {
    fn new(name: &'static str, key: &str, view: &View) -> Self {
        let descending = format!("-{key}");
        let order = match view.order() {
            sort if sort == key || (sort.is_empty() && key == "name") => "ascending",
            sort if sort == descending => "descending",
            _ => "none",
        };
        let next = match order {
            "ascending" => descending,
            _ => key.to_owned(),
        };
        Self {
            name,
            address: (!key.is_empty()).then(|| view.in_order(next).address()),
            order,
        }
    }

    fn all(view: &View) -> Vec<Self> {
        let name = Self::new("Name", "name", view);
        let of = |column: &&'static Column| Self::new(column.heading, column.sort, view);
        std::iter::once(name).chain(view.columns.iter().map(of)).collect()
    }
}

pub async fn list(visitor: Visitor) -> Result<Response, Refusal> {
    let mut view = View::of(&visitor);
    let [open, choose, earlier] = visitor.parameters(["open", "choose", "earlier"]);
    if !(open.is_empty() && choose.is_empty() && earlier.is_empty()) {
        let address = match open.is_empty() {
            true => moved(&mut view, &earlier),
            false => opened(&visitor, &view).await.unwrap_or_else(|| view.address()),
        };
        return Ok(Redirect::to(&address).into_response());
    }
    // The gate reads the visitor's token for each: neither waits for the other.
    let (found, frame) = tokio::join!(find(&visitor, &view), frame(&visitor));
    let (found, problem) = match found {
        Ok(found) => (Some(Found::of(found, &view)), None),
        Err(refusal) if refusal.status == StatusCode::BAD_REQUEST => (None, Some(refusal.reason)),
        Err(refusal) => return Err(refusal),
    };
    let status = match problem {
        Some(_) => StatusCode::BAD_REQUEST,
        None => StatusCode::OK,
    };
    let problem = problem.map(|reason| Problem {
        corrected: nearest::corrected(&view.query, &reason).map(|query| Link {
            is_current: false,
            address: view.with_query(&query),
            name: query.into(),
        }),
        reason,
    });
    let page = HostsPage {
        frame: frame?,
        gone: gone(&visitor),
        ready: view.ready(),
        keys: keys::keys(),
        kinds: &Kind::ALL,
        groupings: &GROUPINGS,
        choices: ColumnChoice::all(&view),
        headings: Heading::all(&view),
        view,
        problem,
        found,
    };
    Ok(visitor.shown(HOSTS, (status, answer(&page)).into_response()))
}

/// The host that a form deleted.
fn gone(visitor: &Visitor) -> Option<Gone> {
    let id: HostId = visitor.notice(HOSTS)?.deleted()?;
    Some(Gone {
        what: "The host is deleted. A machine that is still on registers again by itself, as a new host.",
        command: format!("muster host delete {id}"),
    })
}

/// A window, or as many hosts as the plain table has.
async fn find(visitor: &Visitor, view: &View) -> Result<FoundHosts, Refusal> {
    if !view.is_all {
        return visitor.get(&view.path(&view.after, WINDOW, FACETS)).await;
    }
    let mut found: FoundHosts = visitor.get(&view.path("", PART, FACETS)).await?;
    while found.hosts.len() < MOST
        && let Some(after) = found.next.take()
    {
        let further: FoundHosts = visitor.get(&view.path(&after, PART, "")).await?;
        found.hosts.extend(further.hosts);
        found.next = further.next;
    }
    Ok(found)
}

/// The list after its form: with this column before the one that stood before it.
fn moved(view: &mut View, name: &str) -> String {
    let place = view.columns.iter().position(|column| column.name == name);
    match place {
        Some(place) if place > 0 => {
            view.columns.swap(place - 1, place);
            format!("{}#column-{name}", view.address())
        }
        _ => view.address(),
    }
}

/// The page of the only host that fits a word.
async fn opened(visitor: &Visitor, view: &View) -> Option<String> {
    if !view.is_word() {
        return None;
    }
    let found: FoundHosts = visitor.get(&view.path("", 1, "")).await.ok()?;
    let host = found.hosts.first().filter(|_| found.total == 1)?;
    Some(address(host.infra_env_id, host.id))
}
