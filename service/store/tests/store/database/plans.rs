//! The plans of databases for look-ups.

on_both! {
    a_row_is_found_by_its_key_while_nothing_is_known_of_its_table,
    a_statement_that_reads_a_whole_table_is_not_compiled,
}

mod cases {
    use muster_store::Kind;
    use sqlx::any::AnyRow;
    use sqlx::{AnyConnection, AssertSqlSafe, Row};

    use crate::world::World;

    /// Look-ups, and the columns that each index has to compare.
    const LOOKUPS: [(&str, &[&str]); 5] = [
        (
            "SELECT data FROM hosts WHERE id IN ($1, $2, $3, $4, $5, $6, $7, $8) AND deleted_at IS NULL",
            &["id"],
        ),
        (
            "SELECT data FROM (VALUES ($1, $2), ($3, $4)) AS known CROSS JOIN hosts \
             WHERE hosts.id = known.column1 AND hosts.deleted_at IS NULL",
            &["id"],
        ),
        (
            "SELECT data FROM hosts WHERE id = $1 AND infra_env_id = $2 AND deleted_at IS NULL",
            &["id", "infra_env_id"],
        ),
        (
            "SELECT settings FROM infra_envs WHERE id = $1 AND deleted_at IS NULL",
            &["id"],
        ),
        (
            "SELECT data FROM clusters WHERE id = $1 AND deleted_at IS NULL",
            &["id"],
        ),
    ];

    pub async fn a_statement_that_reads_a_whole_table_is_not_compiled(world: World) {
        if world.store.kind() == Kind::Sqlite {
            return;
        }
        let (readers, _) = world.store.pools();
        let mut connection = readers.acquire().await.unwrap();
        let sql = "EXPLAIN (ANALYZE) SELECT count(*) FROM hosts WHERE data LIKE '%a%'";
        let rows = explain(&mut connection, sql).await;
        let lines: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
        assert!(lines.iter().any(|line| line.contains("Seq Scan")), "{lines:?}");
        assert!(!lines.iter().any(|line| line.contains("JIT")), "{lines:?}");
    }

    pub async fn a_row_is_found_by_its_key_while_nothing_is_known_of_its_table(world: World) {
        let (readers, _) = world.store.pools();
        let mut connection = readers.acquire().await.unwrap();
        for (sql, keys) in LOOKUPS {
            let plan = match world.store.kind() {
                Kind::Sqlite => {
                    let rows = explain(&mut connection, &format!("EXPLAIN QUERY PLAN {sql}")).await;
                    rows.iter().map(|row| row.get::<String, _>("detail")).collect()
                }
                Kind::Postgres => {
                    // Planned once for all parameters.
                    let parameters = sql.matches('$').count();
                    let types = vec!["text"; parameters].join(",");
                    let values = vec!["'a'"; parameters].join(",");
                    let prepare = format!(
                        "SET plan_cache_mode = force_generic_plan; PREPARE lookup ({types}) AS {sql}"
                    );
                    sqlx::raw_sql(AssertSqlSafe(prepare))
                        .execute(&mut *connection)
                        .await
                        .unwrap();
                    let rows = explain(&mut connection, &format!("EXPLAIN EXECUTE lookup ({values})")).await;
                    sqlx::raw_sql("DEALLOCATE lookup")
                        .execute(&mut *connection)
                        .await
                        .unwrap();
                    let lines = rows.iter().map(|row| row.get::<String, _>(0));
                    lines.filter(|line| line.contains("Index Cond")).collect()
                }
            };
            let plan: Vec<String> = plan;
            let compares = |line: &String| keys.iter().all(|key| compares(line, key));
            assert!(plan.iter().any(compares), "{sql}: {plan:?}");
        }
    }

    async fn explain(connection: &mut AnyConnection, sql: &str) -> Vec<AnyRow> {
        let sql = AssertSqlSafe(sql.to_owned());
        sqlx::raw_sql(sql).fetch_all(connection).await.unwrap()
    }

    /// `(id = $1)` of PostgreSQL, `id=?` of SQLite.
    fn compares(line: &str, key: &str) -> bool {
        [format!("({key} = "), format!("({key}="), format!(" {key}=")]
            .iter()
            .any(|text| line.contains(text.as_str()))
    }
}
