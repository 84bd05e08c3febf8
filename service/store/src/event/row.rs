//! Converts events to rows of `events` and back.

use std::borrow::Cow;

use muster_api::event::{Category, Event, FollowedEvent, Severity};
use muster_api::ids::{ClusterId, EventId, HostId, InfraEnvId};
use muster_api::time::{Timestamp, millis};
use muster_core::record::NewEvent;
use serde_json::{Map, Value};
use sqlx::any::AnyRow;
use uuid::Uuid;

use crate::Result;
use crate::row::{Json, Reading, row};

/// A stored event: a [`NewEvent`] with its own id and the request that caused it.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredEvent {
    pub id: EventId,
    pub at: Timestamp,
    pub name: String,
    pub severity: Severity,
    pub category: Category,
    pub message: String,
    pub props: Map<String, Value>,
    pub host_id: Option<HostId>,
    pub infra_env_id: Option<InfraEnvId>,
    pub cluster_id: Option<ClusterId>,
    pub request_id: Option<String>,
}

impl From<StoredEvent> for Event {
    fn from(event: StoredEvent) -> Self {
        Self {
            cluster_id: event.cluster_id,
            event_time: millis(Some(event.at)),
            host_id: event.host_id,
            infra_env_id: event.infra_env_id,
            message: event.message,
            name: Some(event.name),
            props: (!event.props.is_empty()).then(|| Value::Object(event.props).to_string()),
            severity: event.severity,
        }
    }
}

impl From<StoredEvent> for FollowedEvent {
    fn from(event: StoredEvent) -> Self {
        Self {
            id: event.id,
            event: event.into(),
        }
    }
}

row! {
    EventRow<'a> of "events" by [id] {
        id: EventId,
        at: Timestamp,
        name: String,
        severity: Severity,
        category: Category,
        message: String,
        props: Option<Json<Cow<'a, Map<String, Value>>>>,
        host_id: Option<HostId>,
        infra_env_id: Option<InfraEnvId>,
        cluster_id: Option<ClusterId>,
        request_id: Option<String>,
    }
}

impl<'a> EventRow<'a> {
    pub(super) fn of(event: &'a NewEvent, request_id: Option<String>) -> Self {
        Self {
            id: EventId(Uuid::now_v7()),
            at: event.at,
            name: event.name.to_string(),
            severity: event.severity,
            category: event.category,
            message: event.message.clone(),
            props: (!event.props.is_empty()).then_some(Json(Cow::Borrowed(&event.props))),
            host_id: event.host_id,
            infra_env_id: event.infra_env_id,
            cluster_id: event.cluster_id,
            request_id,
        }
    }
}

pub(super) fn event_from(row: &AnyRow) -> Result<StoredEvent> {
    let row = EventRow::read(&Reading::new(row, EventRow::TABLE, &["id"]))?;
    Ok(StoredEvent {
        id: row.id,
        at: row.at,
        name: row.name,
        severity: row.severity,
        category: row.category,
        message: row.message,
        props: row.props.map(|props| props.0.into_owned()).unwrap_or_default(),
        host_id: row.host_id,
        infra_env_id: row.infra_env_id,
        cluster_id: row.cluster_id,
        request_id: row.request_id,
    })
}
