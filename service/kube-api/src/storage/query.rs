//! Lists of objects: the query, its SQL statement, and the page it returns.

use std::sync::Arc;

use super::records::{Revision, Stored};

/// Selects objects of one resource.
#[derive(Debug, Clone, Default)]
pub struct ListQuery {
    /// [`Key::resource`](super::Key::resource).
    pub resource: Arc<str>,
    pub namespace: Option<String>,
    pub name: Option<String>,
    /// Start after this namespace and name.
    pub after: Option<(String, String)>,
    pub limit: Option<usize>,
    /// Read at this revision; otherwise at the current one.
    pub at: Option<Revision>,
    /// True to count the objects without `limit`. Not counted `at` a revision.
    pub counts: bool,
}

impl ListQuery {
    /// All objects of a resource as they are now.
    pub fn all(resource: &str) -> Self {
        Self {
            resource: resource.into(),
            ..Self::default()
        }
    }
}

/// Objects of one revision, ordered by namespace and name.
#[derive(Debug)]
pub struct Page {
    pub revision: Revision,
    /// Revisions before this one were compacted and cannot be read.
    pub compacted: Revision,
    /// Those that can be read.
    pub objects: Vec<Stored>,
    /// The number of objects, including those that cannot be read.
    pub rows: usize,
    /// Namespace and name of the last object, whether it can be read or not.
    pub last: Option<(String, String)>,
    /// The number of objects without the limit, if [`ListQuery::counts`] is set.
    pub total: Option<usize>,
}

/// A parameter of a statement.
pub(super) enum Bind {
    Text(String),
    Number(i64),
}

/// The SELECT of a list and its parameters after the resource, which is `$1`.
/// Columns: namespace, name, revision, document.
pub(super) fn list_statement(query: &ListQuery) -> (String, Vec<Bind>) {
    let mut binds = Vec::new();
    let mut bind = |value: Bind| {
        binds.push(value);
        format!("${}", binds.len() + 1)
    };
    let mut sql = String::from("SELECT v.namespace, v.name, v.revision, v.document FROM ");
    let table = match query.at {
        None => {
            sql.push_str(
                "kube_objects o JOIN kube_versions v ON v.revision = o.revision WHERE o.resource = $1",
            );
            "o"
        }
        Some(at) => {
            let at = bind(Bind::Number(at as i64));
            sql.push_str(&format!(
                "kube_versions v WHERE v.resource = $1 \
                 AND v.change <> 'DELETED' AND v.revision = (SELECT MAX(w.revision) FROM kube_versions w \
                 WHERE w.resource = v.resource AND w.namespace = v.namespace AND w.name = v.name \
                 AND w.revision <= {at})"
            ));
            "v"
        }
    };
    if let Some(namespace) = &query.namespace {
        let namespace = bind(Bind::Text(namespace.clone()));
        sql.push_str(&format!(" AND {table}.namespace = {namespace}"));
    }
    if let Some(name) = &query.name {
        let name = bind(Bind::Text(name.clone()));
        sql.push_str(&format!(" AND {table}.name = {name}"));
    }
    if let Some((namespace, name)) = &query.after {
        let namespace = bind(Bind::Text(namespace.clone()));
        let name = bind(Bind::Text(name.clone()));
        sql.push_str(&format!(
            " AND ({table}.namespace, {table}.name) > ({namespace}, {name})"
        ));
    }
    sql.push_str(&format!(" ORDER BY {table}.namespace, {table}.name"));
    if let Some(limit) = query.limit {
        let limit = bind(Bind::Number(i64::try_from(limit).unwrap_or(i64::MAX)));
        sql.push_str(&format!(" LIMIT {limit}"));
    }
    (sql, binds)
}
