//! A Kubernetes API server as a library.
//!
//! It serves any resource that a CustomResourceDefinition declares, and the built-in kinds that clients expect (namespaces, secrets, config
//! maps, events, leases, nodes, signing requests), from the database of the program that embeds it. It has no rules of that program.
//!
//! [`KubeApi::router`] is for `kubectl` and other programs, [`KubeApi::service`] for `kube::Client` in the
//! same process.
//!
//! The path of a write: body → [`write`] (place, pruning, defaults, validation, managed fields, generation) →
//! one transaction of [`storage`], which gives it a revision → [`watch_cache`] → watches, and
//! [`garbage_collector`](background::garbage_collector) after deletions.

// JSON objects and the errors that clients see.
mod error;
mod object;
mod pieces;

// Stored versions and recent changes.
mod storage;
mod watch_cache;

// Resources: what is served, and the rules of each.
mod fields;
mod resources;
mod schema;

// Requests: parsed, carried out, answered.
mod endpoints;
mod openapi;
mod read;
mod request;
mod server;
mod watch;
mod write;

// The API as a service, its background tasks, and access control.
mod access;
mod api;
mod background;

pub use access::{Authority, Credentials, Identity, TlsError, Tokens, kubeconfig, write_private};
pub use api::{KubeApi, LocalService};
pub use error::ApiError;
pub use muster_sql::Kind;
pub use object::jsonpath;
pub use request::{Caller, Hide};
pub use resources::{Conversion, Conversions};
pub use storage::{Cipher, CipherError, Key, Revision, SqlStorage};
