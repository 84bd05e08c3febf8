//! Every test here runs on SQLite and on PostgreSQL.

#![expect(clippy::unwrap_used, reason = "all of it is tests")]

mod world;

/// Makes of each `async fn(World)` two tests: `NAME::sqlite` and `NAME::postgres`.
macro_rules! on_both {
    ($($name:ident),* $(,)?) => {$(
        mod $name {
            use muster_store::Kind;
            use crate::world::World;

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn sqlite() {
                super::cases::$name(World::new(Kind::Sqlite).await).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn postgres() {
                super::cases::$name(World::new(Kind::Postgres).await).await;
            }
        }
    )*};
}

mod audit;
mod bmc_windows;
mod bmcs;
mod boot_requests;
mod clusters;
mod custom_resources;
mod database;
mod events;
mod host_jobs;
mod hosts;
mod infra_envs;
mod lists;
mod logs;
mod operator_sessions;
mod operator_tokens;
mod outbox;
mod replicas;
mod retention;
mod sealed;
mod secrets;
mod settings;
