//! The API as clients see it. Nearly every test here runs on SQLite and on PostgreSQL, with `kube::Client` in
//! the same process; `parity` and `runtime` do the same on a real Kubernetes API server.

#![expect(clippy::unwrap_used, reason = "all of it is tests")]

mod http;
mod machines;
mod world;

/// Makes of each `async fn(World)` two tests: `NAME::sqlite` and `NAME::postgres`.
macro_rules! on_both {
    ($($name:ident),* $(,)?) => {$(
        mod $name {
            use muster_kube_api::Kind;
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

/// Makes of `async fn(Peer)` three tests: on both databases, and on a real server.
macro_rules! on_each_server {
    ($($name:ident),* $(,)?) => {$(
        mod $name {
            use crate::peers::Peer;
            use muster_kube_api::Kind;

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn sqlite() {
                super::$name(Peer::built_in(Kind::Sqlite).await).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn postgres() {
                super::$name(Peer::built_in(Kind::Postgres).await).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn real_server() {
                super::$name(Peer::real().await).await;
            }
        }
    )*};
}

mod applying;
mod bounding;
mod converting;
mod deleting;
mod encrypting;
mod hiding;
mod keeping;
mod kubectl;
mod parity;
mod peers;
mod reading;
mod refusing;
mod runtime;
mod securing;
mod watching;
mod writing;
