//! Deletes Events that were not repeated for a while, as a Kubernetes API server does.

use chrono::{DateTime, Utc};
use serde_json::Value;

use crate::error::Result;
use crate::object::{self, Parts};
use crate::request::RequestInfo;
use crate::server::Server;
use crate::storage::ListQuery;
use crate::write::Deletion;

/// Events per read.
const CHUNK: usize = 200;

/// Times of an Event. A repetition sets the later ones.
const TIMES: [&[&str]; 5] = [
    &["lastTimestamp"],
    &["series", "lastObservedTime"],
    &["eventTime"],
    &["firstTimestamp"],
    &["metadata", "creationTimestamp"],
];

impl Server {
    /// Deletes the Events that last occurred before this time; returns how many.
    ///
    /// # Errors
    /// If the database does not respond.
    pub(crate) async fn expire_events(&self, before: DateTime<Utc>) -> Result<usize> {
        let request = self.internal_request("", "events", "")?;
        let mut query = ListQuery {
            limit: Some(CHUNK),
            ..ListQuery::all(&request.resource.storage_name)
        };
        let mut parts = Parts::metadata();
        for path in TIMES {
            parts.add(&path.iter().map(|&step| step.to_owned()).collect::<Vec<_>>());
        }
        let mut expired = 0;
        loop {
            let page = self.storage.list(query.clone()).await?;
            for stored in &page.objects {
                let event = stored.parts(&parts)?;
                if last_time(&event).is_some_and(|time| time < before) {
                    self.expire(&request, &event).await?;
                    expired += 1;
                }
            }
            query.after = page.last;
            if page.rows < CHUNK {
                return Ok(expired);
            }
        }
    }

    /// Deletes an Event, unless it was repeated since it was read.
    async fn expire(&self, request: &RequestInfo, event: &Value) -> Result<()> {
        let one = RequestInfo {
            namespace: object::namespace(event).to_owned(),
            name: object::name(event).to_owned(),
            ..request.clone()
        };
        let deletion = Deletion {
            resource_version: Some(object::resource_version(event).to_owned()),
            ..Deletion::default()
        };
        match self.delete(&one, &deletion).await {
            Err(error) if matches!(error.reason(), "NotFound" | "Conflict") => Ok(()),
            outcome => outcome.map(drop),
        }
    }
}

fn last_time(event: &Value) -> Option<DateTime<Utc>> {
    let times = TIMES.iter().filter_map(|path| object::at(event, path)?.as_str());
    times
        .filter_map(|time| DateTime::parse_from_rfc3339(time).ok())
        .map(|time| time.to_utc())
        .max()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_last_time_of_an_event_counts_whoever_wrote_it() {
        let core = json!({"metadata": {"creationTimestamp": "2026-11-24T10:00:00Z"}, "firstTimestamp": "2026-11-24T10:00:00Z",
            "lastTimestamp": "2026-11-24T12:00:00Z", "eventTime": null});
        assert_eq!(
            last_time(&core).unwrap().to_rfc3339(),
            "2026-11-24T12:00:00+00:00"
        );
        let series = json!({"metadata": {}, "eventTime": "2026-11-24T10:00:00.000001Z",
            "series": {"lastObservedTime": "2026-11-24T13:00:00.5Z"}});
        assert_eq!(
            last_time(&series).unwrap().to_rfc3339(),
            "2026-11-24T13:00:00.500+00:00"
        );
        assert_eq!(last_time(&json!({"metadata": {}})), None);
    }
}
