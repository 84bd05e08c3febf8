//! The way from the list to the page of a host: its neighbours in the list, and the way back.

use http::StatusCode;
use muster_api::ids::{HostId, InfraEnvId};
use muster_api::search::{FoundHost, FoundHosts};
use url::form_urlencoded::byte_serialize;

use super::view::View;
use super::{PART, address};
use crate::html::HOSTS;
use crate::rest::{Refusal, Visitor};

/// Longest query of a list that its links pass on, bytes.
const LONGEST: usize = 300;

/// The list that led to the page of a host.
pub struct Trail {
    /// The address of the list.
    pub list: String,
    /// `None`: the host is the first one, or is not among the first 1,000 of the list.
    pub previous: Option<Neighbour>,
    pub next: Option<Neighbour>,
}

/// A host before or after another one in a list.
pub struct Neighbour {
    pub address: String,
    pub name: String,
}

/// The query that links of a list pass on, such as `?from=q%3Dcpu%253A8`; empty: it would be long.
pub fn query_of(view: &View) -> String {
    let address = view.address();
    // A list without a query of its own is a list, too.
    query(address.split_once('?').map_or("q=", |(_, query)| query))
}

/// The query by which a page of a host was opened, to be passed on; empty: by another way.
pub fn query_from(visitor: &Visitor) -> String {
    let [from] = visitor.parameters(["from"]);
    query(&from)
}

fn query(of_list: &str) -> String {
    match of_list.len() {
        1..=LONGEST => {
            let of_list: String = byte_serialize(of_list.as_bytes()).collect();
            format!("?from={of_list}")
        }
        _ => String::new(),
    }
}

impl Trail {
    /// `None`: the page was opened by another way, or only its part that follows changes is fetched again (`part`).
    ///
    /// # Errors
    /// As REST refuses.
    pub async fn of(
        visitor: &Visitor,
        infra_env_id: InfraEnvId,
        id: HostId,
    ) -> Result<Option<Self>, Refusal> {
        let [from, part] = visitor.parameters(["from", "part"]);
        if from.is_empty() || from.len() > LONGEST || !part.is_empty() {
            return Ok(None);
        }
        let view = View::of(&visitor.clone().at(&format!("{HOSTS}?{from}")));
        let found: FoundHosts = match visitor.get(&view.path("", PART, "")).await {
            Ok(found) => found,
            Err(refusal) if refusal.status == StatusCode::BAD_REQUEST => return Ok(None),
            Err(refusal) => return Err(refusal),
        };
        let query = query_of(&view);
        let is_it = |host: &FoundHost| host.id == id && host.infra_env_id == infra_env_id;
        let place = found.hosts.iter().position(is_it);
        let neighbour = |place: Option<usize>| {
            let host = found.hosts.get(place?)?;
            Some(Neighbour {
                address: format!("{}{query}", address(host.infra_env_id, host.id)),
                name: host.name.clone(),
            })
        };
        Ok(Some(Self {
            list: view.address(),
            previous: neighbour(place.and_then(|place| place.checked_sub(1))),
            next: neighbour(place.map(|place| place + 1)),
        }))
    }
}
