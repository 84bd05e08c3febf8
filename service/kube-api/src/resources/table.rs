//! Computes the tables that `kubectl get` prints, so that any client can show any resource.

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Map, Value, json};

use crate::object::jsonpath::Path;
use crate::object::{self, Parts};

/// A column of a CRD (`additionalPrinterColumns`).
#[derive(Debug, Clone)]
pub struct Column {
    pub name: String,
    /// `string`, `integer`, `number`, `boolean` or `date`.
    pub kind: String,
    pub format: String,
    pub description: String,
    /// 0 is always shown, others only in wide tables.
    pub priority: i64,
    pub path: Path,
}

#[derive(Debug, Clone, Copy)]
pub struct BuiltInColumns {
    /// Name and priority.
    pub columns: &'static [(&'static str, i64)],
    pub cells: fn(&Value) -> Vec<Value>,
}

#[derive(Debug, Clone)]
pub enum Columns {
    /// Columns of a CRD; the name precedes them.
    Declared(Vec<Column>),
    BuiltIn(BuiltInColumns),
}

impl Columns {
    /// Columns of a CRD; without any, the age.
    pub fn declared(columns: Vec<Column>) -> Self {
        if !columns.is_empty() {
            return Self::Declared(columns);
        }
        let path = Path::parse(".metadata.creationTimestamp").expect("a path that tests parse");
        Self::Declared(vec![Column {
            name: "Age".into(),
            kind: "date".into(),
            format: String::new(),
            description:
                "CreationTimestamp is a timestamp representing the server time when this object was created."
                    .into(),
            priority: 0,
            path,
        }])
    }

    /// The parts of an object that the cells need; the whole object for built-in kinds.
    pub fn parts(&self) -> Parts {
        let Self::Declared(columns) = self else {
            return Parts::default();
        };
        let mut parts = Parts::metadata();
        for column in columns {
            parts.add(column.path.beginning());
        }
        parts
    }

    /// Describes the columns, as `columnDefinitions` of a table does.
    pub fn definitions(&self) -> Vec<Value> {
        let definition = |name: &str, kind: &str, format: &str, description: &str, priority: i64| json!({"name": name, "type": kind, "format": format, "description": description, "priority": priority});
        match self {
            Self::Declared(columns) => {
                let name = definition(
                    "Name",
                    "string",
                    "name",
                    "Name must be unique within a namespace.",
                    0,
                );
                let rest = columns.iter().map(|column| {
                    definition(
                        &column.name,
                        &column.kind,
                        &column.format,
                        &column.description,
                        column.priority,
                    )
                });
                std::iter::once(name).chain(rest).collect()
            }
            Self::BuiltIn(built_in) => {
                let columns = built_in.columns.iter().map(|(name, priority)| {
                    let format = if *name == "Name" { "name" } else { "" };
                    let kind = if matches!(*name, "Data" | "Secrets" | "Count") {
                        "integer"
                    } else {
                        "string"
                    };
                    definition(name, kind, format, "", *priority)
                });
                columns.collect()
            }
        }
    }

    fn cells(&self, object: &Value) -> Vec<Value> {
        match self {
            Self::Declared(columns) => {
                let cells = columns.iter().map(|column| cell(column, object));
                std::iter::once(Value::from(object::name(object)))
                    .chain(cells)
                    .collect()
            }
            Self::BuiltIn(built_in) => (built_in.cells)(object),
        }
    }
}

fn cell(column: &Column, object: &Value) -> Value {
    let found = column.path.find(object);
    let Some(first) = found.first() else {
        return Value::Null;
    };
    match (column.kind.as_str(), first) {
        ("string", _) => {
            let texts = found.iter().map(|value| match value {
                Value::String(text) => text.clone(),
                Value::Null => String::new(),
                other => other.to_string(),
            });
            texts.collect::<Vec<_>>().join(" ").into()
        }
        ("integer", Value::Number(number)) => number
            .as_f64()
            .map_or(Value::Null, |number| (number as i64).into()),
        ("number", Value::Number(_)) | ("boolean", Value::Bool(_)) => (*first).clone(),
        ("date", Value::String(timestamp)) => age_since(timestamp),
        _ => Value::Null,
    }
}

/// The part of each object that a row carries (`includeObject`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, strum::EnumString)]
pub enum IncludeObject {
    None,
    #[default]
    Metadata,
    Object,
}

/// A table of objects. `metadata` is that of the list.
pub fn table(
    columns: &Columns,
    objects: &[Value],
    metadata: Value,
    include: IncludeObject,
    with_headings: bool,
) -> Value {
    let rows = objects.iter().map(|object| row(columns, object, include));
    let rows: Vec<Value> = rows.collect();
    let definitions = if with_headings {
        columns.definitions()
    } else {
        Vec::new()
    };
    json!({
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": metadata,
        "columnDefinitions": definitions,
        "rows": rows,
    })
}

/// The row of an object.
pub fn row(columns: &Columns, object: &Value, include: IncludeObject) -> Value {
    let mut row = json!({"cells": columns.cells(object)});
    match include {
        IncludeObject::None => {}
        IncludeObject::Metadata => row["object"] = partial_object(object),
        IncludeObject::Object => row["object"] = object.clone(),
    }
    row
}

/// The metadata of an object as `PartialObjectMetadata`.
pub fn partial_object(object: &Value) -> Value {
    let metadata = object::metadata(object).cloned().unwrap_or_else(Map::new);
    json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": metadata})
}

pub fn age(object: &Value) -> Value {
    age_since(object::metadata_text(object, "creationTimestamp"))
}

/// The time since a timestamp.
pub fn age_since(timestamp: &str) -> Value {
    if timestamp.is_empty() {
        return "<unknown>".into();
    }
    match DateTime::parse_from_rfc3339(timestamp) {
        Ok(time) => human_duration(Utc::now().signed_duration_since(time)).into(),
        Err(_) => "<invalid>".into(),
    }
}

/// A duration with two or three significant digits. Source:
/// `k8s.io/apimachinery/pkg/util/duration.HumanDuration`.
pub fn human_duration(duration: TimeDelta) -> String {
    let (seconds, minutes, hours) = (
        duration.num_seconds(),
        duration.num_minutes(),
        duration.num_hours(),
    );
    let two = |large: i64, large_unit: &str, small: i64, small_unit: &str| match small {
        0 => format!("{large}{large_unit}"),
        small => format!("{large}{large_unit}{small}{small_unit}"),
    };
    const YEAR: i64 = 365 * 24;
    match () {
        () if seconds < -1 => "<invalid>".into(),
        () if seconds < 0 => "0s".into(),
        () if seconds < 120 => format!("{seconds}s"),
        () if minutes < 10 => two(minutes, "m", seconds % 60, "s"),
        () if minutes < 180 => format!("{minutes}m"),
        () if hours < 8 => two(hours, "h", minutes % 60, "m"),
        () if hours < 48 => format!("{hours}h"),
        () if hours < 192 => two(hours / 24, "d", hours % 24, "h"),
        () if hours < 2 * YEAR => format!("{}d", hours / 24),
        () if hours < 8 * YEAR => two(hours / YEAR, "y", (hours / 24) % 365, "d"),
        () => format!("{}y", hours / YEAR),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_told_as_kubectl_users_know_them() {
        let cases = [
            (-5, "<invalid>"),
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (130, "2m10s"),
            (3600, "60m"),
            (3 * 3600, "3h"),
            (3 * 3600 + 120, "3h2m"),
            (30 * 3600, "30h"),
            (49 * 3600, "2d1h"),
            (200 * 3600, "8d"),
            (800 * 24 * 3600, "2y70d"),
        ];
        for (seconds, expected) in cases {
            assert_eq!(human_duration(TimeDelta::seconds(seconds)), expected);
        }
    }

    #[test]
    fn declared_columns_show_values_by_their_type() {
        let column = |name: &str, kind: &str, path: &str| Column {
            name: name.into(),
            kind: kind.into(),
            format: String::new(),
            description: String::new(),
            priority: 0,
            path: Path::parse(path).unwrap(),
        };
        let columns = Columns::declared(vec![
            column("Cluster", "string", ".spec.cluster.name"),
            column("Approved", "boolean", ".spec.approved"),
            column(
                "Ready",
                "string",
                ".status.conditions[?(@.type==\"Ready\")].status",
            ),
            column("Count", "integer", ".spec.count"),
        ]);
        let object = json!({"metadata": {"name": "a"}, "spec": {"approved": false, "count": 3},
            "status": {"conditions": [{"type": "Ready", "status": "True"}]}});
        let table = table(
            &columns,
            &[object],
            json!({"resourceVersion": "5"}),
            IncludeObject::None,
            true,
        );
        assert_eq!(table["rows"][0]["cells"], json!(["a", null, false, "True", 3]));
        assert_eq!(table["columnDefinitions"][0]["name"], "Name");
        assert_eq!(Columns::declared(vec![]).definitions()[1]["name"], "Age");
    }
}
