//! CEL rules of CRDs (`x-kubernetes-validations`): compiled against the schema, judged as an API server does when a CRD is made, and
//! evaluated for objects.
//!
//! `kube-cel` has the functions and `cel` parses and evaluates. Types, costs and the conversion of values are ours: neither crate checks
//! types, and the validator of `kube-cel` 0.8 escapes names otherwise than an API server (`_` alone is not escaped). What works is in
//! docs/kube-api.md.

mod call_cost;
mod calls;
mod check;
mod comprehension;
mod declared;
mod evaluate;
mod form;
mod found;
mod functions;
mod library;
mod literals;
mod optional;
pub mod rules;
mod tree;
mod types;
mod values;
#[cfg(test)]
mod verdicts;

pub use evaluate::errors;
pub use rules::{Fault, Node, Sort};
