//! A Kubernetes API server as a library.
//!
//! It serves any resource that a CustomResourceDefinition declares, and the built-in kinds that everybody expects (namespaces,
//! secrets, config maps, events, leases, service accounts, nodes, signing requests), from the database of the program around it.
//! It knows no rule of that program.
//!
//! [`KubeApi::router`] is for `kubectl` and other programs, [`KubeApi::service`] for `kube::Client` in the same process.
//!
//! How a write goes: body → [`write`] (place, pruning, defaults, rules, managed fields, generation) → one transaction of
//! [`storage`], which gives it a revision → [`log`] → watches, and [`collect`] for what follows from deletions.

mod auth;
mod body;
mod builtin;
mod collect;
mod crd;
mod discovery;
mod error;
mod event;
mod field_selector;
mod fields;
mod glance;
mod jsonpath;
mod listen;
mod log;
mod metadata;
mod negotiate;
mod object;
mod openapi;
mod protobuf;
mod read;
mod registry;
mod request;
mod resource;
mod review;
mod schema;
mod selector;
mod serve;
mod server;
mod storage;
mod table;
mod tls;
mod watch;
mod write;

pub use auth::Tokens;
pub use error::ApiError;
pub use log::{Change, ChangeKind};
pub use request::Caller;
pub use server::{KubeApi, LocalService};
pub use storage::{
    Answer, Database, Expected, Key, ListQuery, Page, Revision, SqlStorage, Storage, StorageError, Stored,
    Write, Written,
};
pub use tls::{Authority, Credentials, Identity, TlsError, kubeconfig, write_private};
