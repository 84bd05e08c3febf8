//! Lists events. Rules of the list: docs/protocol/rest-behaviour.md#7.

use muster_api::event::{Category, Severity};
use muster_api::ids::{ClusterId, EventId, HostId, InfraEnvId};
use muster_api::time::Timestamp;
use sqlx::Arguments;
use sqlx::any::{AnyArguments, AnyRow};
use strum::VariantArray;

use super::row::{EventRow, StoredEvent, event_from};
use crate::Result;
use crate::error::{StoreError, failed};
use crate::row::{Reading, micros, or_pass_over, readable};
use crate::store::Store;

/// A selection of events. `Default` selects the first 5000 user events of all records, oldest first.
///
/// With `cluster_id`: the events of that cluster, narrowed by `host_ids`, `deleted_hosts` and `cluster_level` (an event that fits
/// one of them is in) and by `message`. Without: `host_ids` wins over `infra_env_id`, skips deleted hosts, and the other three
/// are ignored. With `all_hold` neither `infra_env_id` nor `message` ever is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventQuery {
    /// Only events of this InfraEnv, whatever the other fields select: the caller's token opens nothing else.
    pub scope: Option<InfraEnvId>,
    /// Events of this cluster.
    pub cluster_id: Option<ClusterId>,
    /// Events of these hosts; empty: of any host.
    pub host_ids: Vec<HostId>,
    /// Events of this InfraEnv.
    pub infra_env_id: Option<InfraEnvId>,
    /// With `cluster_id`: also those of deleted hosts.
    pub deleted_hosts: bool,
    /// With `cluster_id`: also those of no host.
    pub cluster_level: bool,
    /// With `cluster_id`: the message contains this, in any case (on SQLite any ASCII case); `%` and `_` mean themselves.
    pub message: Option<String>,
    /// `message` and `infra_env_id` hold whatever else is selected.
    pub all_hold: bool,
    /// Only these severities; empty: all.
    pub severities: Vec<Severity>,
    /// Only these categories; empty: all.
    pub categories: Vec<Category>,
    pub order: Order,
    /// Most events; 0 gives counts only, negative is unlimited.
    pub limit: i64,
    /// Number of events to skip; negative is 0.
    pub offset: i64,
}

/// Order of a list of events.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Order {
    #[default]
    Ascending,
    Descending,
}

impl Default for EventQuery {
    fn default() -> Self {
        Self {
            scope: None,
            cluster_id: None,
            host_ids: Vec::new(),
            infra_env_id: None,
            deleted_hosts: false,
            cluster_level: false,
            message: None,
            all_hold: false,
            severities: Vec::new(),
            categories: vec![Category::User],
            order: Order::Ascending,
            limit: 5000,
            offset: 0,
        }
    }
}

/// Numbers of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventCounts {
    /// Events that match all filters, regardless of `limit` and `offset`.
    pub total: i64,
    /// Events of each [`Severity`] that match the other filters; all 0 without `cluster_id`.
    pub by_severity: [i64; 4],
}

/// A part of the selected events.
#[derive(Debug, Clone, PartialEq)]
pub struct EventPage {
    /// The part within `limit` and `offset`.
    pub events: Vec<StoredEvent>,
    /// Number of events that match all filters, regardless of `limit` and `offset`.
    pub total: i64,
    /// Number of events of each [`Severity`] that match the other filters; all 0 without `cluster_id`.
    pub by_severity: [i64; 4],
}

impl Store {
    /// The selected events, and their number. Unknown ids give an empty page.
    ///
    /// A row that cannot be read is left out, logged and counted.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn list_events(&self, query: &EventQuery) -> Result<EventPage> {
        let EventCounts { total, by_severity } = self.count_events(query).await?;
        let events = if query.limit == 0 || total == 0 {
            Vec::new()
        } else {
            self.read_events(query, None, i64::MAX).await?
        };
        Ok(EventPage {
            events,
            total,
            by_severity,
        })
    }

    /// Number of the selected events.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn count_events(&self, query: &EventQuery) -> Result<EventCounts> {
        let mut connection = self.reader().await?;
        let counted = Filter::of(query, false)?;
        let sql = format!(
            "SELECT severity, COUNT(*) AS events FROM events{} GROUP BY severity",
            counted.sql
        );
        let rows = sqlx::query_with(sqlx::AssertSqlSafe(sql), counted.arguments)
            .fetch_all(&mut *connection)
            .await
            .map_err(failed("counting events"))?;
        let mut by_severity = [0; 4];
        for row in &rows {
            let reading = Reading::new(row, "events", &["severity"]);
            if let Some(severity) = or_pass_over(reading.get::<Severity>("severity")) {
                by_severity[severity as usize] = reading.get("events")?;
            }
        }
        let wanted = |severity: Severity| query.severities.is_empty() || query.severities.contains(&severity);
        let total = Severity::VARIANTS
            .iter()
            .filter(|severity| wanted(**severity))
            .map(|severity| by_severity[*severity as usize])
            .sum();
        if query.cluster_id.is_none() {
            by_severity = [0; 4];
        }
        Ok(EventCounts { total, by_severity })
    }

    /// At most `limit` of the selected events: from the beginning, or those after one of them.
    ///
    /// A row that cannot be read is left out, logged and counted.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn read_events(
        &self,
        query: &EventQuery,
        after: Option<&StoredEvent>,
        most: i64,
    ) -> Result<Vec<StoredEvent>> {
        let after = after.map(|event| (event.at, event.id));
        let rows = self.rows_beyond(query, after, most).await?;
        Ok(readable(&rows, event_from))
    }

    /// The rows of at most `most` of the selected events: from the beginning, or those after a place in the query's order.
    pub(super) async fn rows_beyond(
        &self,
        query: &EventQuery,
        place: Option<(Timestamp, EventId)>,
        most: i64,
    ) -> Result<Vec<AnyRow>> {
        let mut filter = Filter::of(query, true)?;
        let (direction, beyond) = match query.order {
            Order::Ascending => ("ASC", '>'),
            Order::Descending => ("DESC", '<'),
        };
        if let Some((at, id)) = place {
            let at = filter.add(micros(at))?;
            let id = filter.add(id.to_string())?;
            filter.and(&format!("(at {beyond} {at} OR (at = {at} AND id {beyond} {id}))"));
        }
        let asked = if query.limit < 0 { i64::MAX } else { query.limit };
        let offset = if place.is_some() { 0 } else { query.offset.max(0) };
        let order = format!("at {direction}, id {direction}");
        self.event_rows(filter, &order, most.min(asked), offset).await
    }

    /// The rows of events that fit.
    pub(super) async fn event_rows(
        &self,
        mut filter: Filter,
        order: &str,
        limit: i64,
        offset: i64,
    ) -> Result<Vec<AnyRow>> {
        let limit = filter.add(limit)?;
        let offset = filter.add(offset)?;
        let mut connection = self.reader().await?;
        let sql = format!(
            "SELECT {} FROM events{} ORDER BY {order} LIMIT {limit} OFFSET {offset}",
            EventRow::COLUMNS,
            filter.sql
        );
        sqlx::query_with(sqlx::AssertSqlSafe(sql), filter.arguments)
            .fetch_all(&mut *connection)
            .await
            .map_err(failed("listing events"))
    }
}

/// A `WHERE` clause with its values.
pub(super) struct Filter {
    sql: String,
    arguments: AnyArguments,
}

impl Filter {
    /// All events.
    pub(super) fn everything() -> Self {
        Self {
            sql: String::new(),
            arguments: AnyArguments::default(),
        }
    }

    fn of(query: &EventQuery, with_severities: bool) -> Result<Self> {
        Self::by(query, with_severities, "")
    }

    /// For a statement with a range of ids. An index of the columns that the query names would lead to all events of a record, however few
    /// have such an id: neither database uses one for `column || ''`.
    pub(super) fn within_ids(query: &EventQuery) -> Result<Self> {
        Self::by(query, true, " || ''")
    }

    /// `suffix`: behind columns that have an index.
    fn by(query: &EventQuery, with_severities: bool, suffix: &str) -> Result<Self> {
        let mut filter = Self::everything();
        let host_id = format!("host_id{suffix}");
        if let Some(cluster_id) = query.cluster_id {
            let cluster = filter.add(cluster_id.to_string())?;
            filter.and(&format!("cluster_id{suffix} = {cluster}"));
            let mut any = Vec::new();
            if !query.host_ids.is_empty() {
                any.push(filter.among(&host_id, query.host_ids.iter().map(HostId::to_string))?);
            }
            if query.deleted_hosts {
                any.push(host_is("NOT NULL"));
            }
            if query.cluster_level {
                any.push("host_id IS NULL".into());
            }
            if !any.is_empty() {
                filter.and(&format!("({})", any.join(" OR ")));
            }
        } else if !query.host_ids.is_empty() {
            let among = filter.among(&host_id, query.host_ids.iter().map(HostId::to_string))?;
            filter.and(&among);
            filter.and(&host_is("NULL"));
        } else if let Some(id) = query.infra_env_id {
            let infra_env = filter.add(id.to_string())?;
            filter.and(&format!("infra_env_id{suffix} = {infra_env}"));
        }
        let of_infra_env = query.infra_env_id.filter(|_| query.all_hold);
        for id in query.scope.into_iter().chain(of_infra_env) {
            let infra_env = filter.add(id.to_string())?;
            filter.and(&format!("infra_env_id{suffix} = {infra_env}"));
        }
        let message_holds = query.all_hold || query.cluster_id.is_some();
        let message = query
            .message
            .as_deref()
            .filter(|text| message_holds && !text.is_empty());
        if let Some(message) = message {
            let pattern = filter.add(format!("%{}%", escaped(message)))?;
            filter.and(&format!("LOWER(message) LIKE LOWER({pattern}) ESCAPE '\\'"));
        }
        if !query.categories.is_empty() {
            let among = filter.among("category", query.categories.iter().map(|c| c.name().to_owned()))?;
            filter.and(&among);
        }
        if with_severities && !query.severities.is_empty() {
            let among = filter.among("severity", query.severities.iter().map(|s| s.name().to_owned()))?;
            filter.and(&among);
        }
        Ok(filter)
    }

    pub(super) fn and(&mut self, condition: &str) {
        self.sql
            .push_str(if self.sql.is_empty() { " WHERE " } else { " AND " });
        self.sql.push_str(condition);
    }

    /// Binds a value; returns its placeholder.
    pub(super) fn add<T>(&mut self, value: T) -> Result<String>
    where
        T: for<'t> sqlx::Encode<'t, sqlx::Any> + sqlx::Type<sqlx::Any>,
    {
        self.arguments.add(value).map_err(|error| StoreError::Statement {
            doing: "binding a filter",
            source: sqlx::Error::Encode(error),
        })?;
        Ok(format!("${}", self.arguments.len()))
    }

    fn among(&mut self, column: &str, values: impl Iterator<Item = String>) -> Result<String> {
        let places = values.map(|value| self.add(value)).collect::<Result<Vec<_>>>()?;
        Ok(format!("{column} IN ({})", places.join(", ")))
    }
}

/// The event's host exists, with `deleted_at` as given.
fn host_is(deleted_at: &str) -> String {
    format!(
        "EXISTS (SELECT 1 FROM hosts WHERE hosts.id = events.host_id AND hosts.deleted_at IS {deleted_at} \
         AND (events.infra_env_id IS NULL OR events.infra_env_id = hosts.infra_env_id))"
    )
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.replace('\0', "").chars() {
        if ['%', '_', '\\'].contains(&character) {
            out.push('\\');
        }
        out.push(character);
    }
    out
}
