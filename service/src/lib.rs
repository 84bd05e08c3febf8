//! The Muster service: shells around the decisions of `muster-core`.
//!
//! [`serve`] opens everything; [`http`] speaks REST; [`images`] and [`boot`] serve what machines boot;
//! [`hosts`] is the one writer of hosts; [`controllers`] are the bridge to custom resources; [`background`] is what goes on by itself; [`cli`] are the other commands.

pub mod app;
pub mod auth;
pub mod background;
pub mod boot;
pub mod builtin_api;
pub mod check_ins;
pub mod cli;
pub mod clusters;
pub mod controllers;
pub mod hosts;
pub mod http;
pub mod images;
pub mod infra_envs;
pub mod kubernetes;
pub mod listen;
pub mod logging;
pub mod random;
pub mod requirements;
pub mod serve;
pub mod settings;
pub mod urls;
