//! Who requested which change, in windows.

use muster_api::MUSTER_PATH;
use muster_api::audit::{AuditObject, AuditPage, AuditedChange};

use super::ADDRESS;
use crate::rest::{Refusal, Visitor};
use crate::{bmcs, hosts, pools, words};

/// Entries in one window.
const WINDOW: usize = 100;

/// A window, the newest entry first.
pub struct Audit {
    pub rows: Vec<AuditRow>,
    /// The address of the window before.
    pub older: Option<String>,
    /// The address of the newest window; `None`: this is it.
    pub newest: Option<&'static str>,
    /// The address of all entries as lines.
    pub lines: String,
}

pub struct AuditRow {
    pub at: String,
    pub when: String,
    pub who: String,
    pub session: String,
    pub operation: String,
    pub kind: String,
    /// The name of the object, or its id.
    pub object: String,
    /// The address of its page, if it has one.
    pub address: Option<String>,
    pub outcome: String,
    /// `good` or `bad`.
    pub mood: &'static str,
    pub request: String,
}

impl Audit {
    /// The window of the visitor's address. `now`: the time from which ages count.
    ///
    /// # Errors
    /// As REST refuses.
    pub async fn read(visitor: &Visitor, now: &str) -> Result<Self, Refusal> {
        let [before] = visitor.parameters(["before"]);
        let before: Option<i64> = before.parse().ok().filter(|number| *number > 0);
        let part = before
            .map(|number| format!("&before={number}"))
            .unwrap_or_default();
        let path = format!("{MUSTER_PATH}/audit?limit={WINDOW}{part}");
        let page: AuditPage = visitor.get(&path).await?;
        let oldest = page.entries.first().filter(|_| page.more);
        Ok(Self {
            older: oldest.map(|entry| format!("{ADDRESS}?before={}#audit", entry.number)),
            newest: before.map(|_| ADDRESS),
            lines: format!("{MUSTER_PATH}/audit?format=jsonl"),
            rows: page
                .entries
                .into_iter()
                .rev()
                .map(|entry| AuditRow::of(entry, now))
                .collect(),
        })
    }
}

impl AuditRow {
    fn of(entry: AuditedChange, now: &str) -> Self {
        let object = entry.object.as_ref();
        let name = object.map(|object| match object.name.as_str() {
            "" => object.id.clone(),
            name => name.to_owned(),
        });
        Self {
            when: words::relative(&entry.at, now),
            kind: object.map(|object| object.kind.clone()).unwrap_or_default(),
            address: object.and_then(address),
            object: name.unwrap_or_default(),
            outcome: match entry.status {
                0 => "done".to_owned(),
                status => status.to_string(),
            },
            mood: if entry.status < 400 { "good" } else { "bad" },
            at: entry.at,
            who: entry.who,
            session: entry.session_id.unwrap_or_default(),
            operation: entry.operation,
            request: entry.request_id,
        }
    }
}

/// The address of an object's page.
fn address(object: &AuditObject) -> Option<String> {
    match object.kind.as_str() {
        "host" => Some(hosts::address(object.infra_env_id?, object.id.parse().ok()?)),
        "bmc" => Some(bmcs::address(object.infra_env_id?, object.id.parse().ok()?)),
        "infra-env" => Some(pools::address(object.id.parse().ok()?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use muster_api::ids::{HostId, InfraEnvId};

    use super::*;

    fn object(kind: &str, id: &str, infra_env_id: Option<InfraEnvId>) -> AuditObject {
        AuditObject {
            kind: kind.to_owned(),
            id: id.to_owned(),
            name: String::new(),
            infra_env_id,
        }
    }

    #[test]
    fn objects_lead_to_their_pages() {
        let (host, pool) = (HostId::random(), InfraEnvId::random());
        assert_eq!(
            address(&object("host", &host.to_string(), Some(pool))),
            Some(hosts::address(pool, host))
        );
        assert_eq!(
            address(&object("infra-env", &pool.to_string(), None)),
            Some(pools::address(pool))
        );
        assert_eq!(address(&object("host", &host.to_string(), None)), None);
        assert_eq!(address(&object("infra-env", "no id", None)), None);
        assert_eq!(address(&object("token", "abcd2345", None)), None);
    }
}
