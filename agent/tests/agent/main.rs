//! The agent's library against services, disks and networks that are made for the tests. One program for all of them: each
//! is linked again after every change.

#![allow(clippy::unwrap_used, reason = "a test stops where it goes wrong")]

mod erase;
mod handover;
mod install;
mod network;
mod session;
mod steps;

use std::time::Duration;

use muster_agent::config::{Settings, Token};
use muster_api::live::LiveProxy;
use url::Url;

pub const HOST: &str = "bbf2dead-3746-54cb-b32a-917afd236656";
pub const INFRA_ENV: &str = "0f3e7a52-0b0d-4c3c-9a9e-111111111111";

/// The settings of an agent of the service with this URL.
pub fn settings(service_url: Url, token: &str) -> Settings {
    Settings {
        service_url,
        infra_env_id: INFRA_ENV.parse().unwrap(),
        infra_env_name: String::new(),
        token: Token::new(token),
        ca_certificates: String::new(),
        insecure: false,
        proxy: LiveProxy::default(),
        ntp_sources: Vec::new(),
        interval: Duration::from_secs(60),
        agent_version: "0.0.9".into(),
        host_id: None,
    }
}
