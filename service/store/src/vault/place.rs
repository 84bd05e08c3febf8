//! Names the places of sealed values: table, column and row.

/// The value of a column in one row.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    pub table: &'static str,
    pub column: &'static str,
    /// The key of the row, its parts joined by `/`.
    pub id: &'a str,
}

impl Place<'_> {
    /// No part holds the character U+0000, which PostgreSQL refuses.
    pub(super) fn associated_data(&self) -> String {
        let Self { table, column, id } = self;
        format!("{table}\0{column}\0{id}")
    }
}

/// Resources of the built-in Kubernetes API with sealed objects: Secrets, and those that may hold a password, a token or Ignition in their
/// specification.
pub const KUBE_RESOURCES: [&str; 5] = [
    "secrets",
    "agents.agent-install.openshift.io",
    "infraenvs.agent-install.openshift.io",
    "nmstateconfigs.agent-install.openshift.io",
    "agentclusterinstalls.extensions.hive.openshift.io",
];

/// A column of sealed values.
pub(crate) struct SealedColumn {
    pub(crate) table: &'static str,
    pub(crate) column: &'static str,
    /// The columns that make up [`Place::id`].
    pub(crate) key: &'static [&'static str],
    /// Selects one row by its key, with the parts `$1`, `$2`, ...
    pub(crate) row: &'static str,
    /// Selects the rows that hold secrets, as SQL.
    pub(crate) condition: fn() -> String,
}

/// Names of settings that hold the check values of keys, which belong to one key each.
pub(crate) const CHECK: &str = "secrets-key/";

/// All columns of sealed values.
pub(crate) const SEALED: [SealedColumn; 9] = [
    by_id("infra_envs", "settings"),
    by_id("infra_envs", "mirror"),
    by_id("clusters", "data"),
    by_id("clusters", "mirror"),
    by_id("bmcs", "password"),
    SealedColumn {
        table: "hosts",
        column: "data",
        key: &["infra_env_id", "id"],
        row: "infra_env_id = $1 AND id = $2",
        condition: all,
    },
    SealedColumn {
        table: "host_bootstrap_data",
        column: "document",
        key: &["infra_env_id", "host_id"],
        row: "infra_env_id = $1 AND host_id = $2",
        condition: all,
    },
    SealedColumn {
        table: "settings",
        column: "value",
        key: &["name"],
        row: "name = $1",
        condition: || format!("name NOT LIKE '{CHECK}%'"),
    },
    SealedColumn {
        table: "kube_versions",
        column: "document",
        key: &["resource", "namespace", "name", "revision"],
        row: "resource = $1 AND namespace = $2 AND name = $3 AND revision = CAST($4 AS BIGINT)",
        condition: || format!("resource IN ('{}')", KUBE_RESOURCES.join("', '")),
    },
];

fn all() -> String {
    "1 = 1".to_owned()
}

const fn by_id(table: &'static str, column: &'static str) -> SealedColumn {
    SealedColumn {
        table,
        column,
        key: &["id"],
        row: "id = $1",
        condition: all,
    }
}
