//! `ntp-synchronizer`: adds the service's time sources, queries all, and reports the state of each. Source:
//! docs/protocol/agent-protocol.md#6.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{BoxFuture, join_all};
use muster_api::steps::{NtpSource, NtpSynchronizationRequest, NtpSynchronizationResponse};

use crate::step::{Running, StepHandler, StepOutput, StepType, one_argument, reply};
use crate::time::agreement::states;
use crate::time::sources::{Asked, TimeSources};

pub struct NtpSynchronizer {
    sources: TimeSources,
}

impl NtpSynchronizer {
    /// Uses the host's shared sources.
    pub fn new(sources: TimeSources) -> Self {
        Self { sources }
    }
}

impl StepHandler for NtpSynchronizer {
    fn step_type(&self) -> StepType {
        StepType::NtpSynchronizer
    }

    fn deadline(&self) -> Duration {
        Duration::from_secs(30)
    }

    fn run(&self, args: Vec<String>, running: Arc<Running>) -> BoxFuture<'static, StepOutput> {
        let sources = self.sources.clone();
        reply(running, async move {
            let request: NtpSynchronizationRequest = one_argument(StepType::NtpSynchronizer, &args)?;
            for source in request.ntp_source.split(',') {
                sources.add(source);
            }
            let asked = sources.ask().await;
            let measurements: Vec<_> = asked.iter().map(|one| one.measurement).collect();
            let states = states(&measurements);
            let named = join_all(asked.iter().map(|one| shown(&sources, one))).await;
            let ntp_sources = named
                .into_iter()
                .zip(states)
                .map(|(source_name, state)| NtpSource {
                    source_name,
                    source_state: Some(state),
                })
                .collect();
            Ok(StepOutput::json(&NtpSynchronizationResponse { ntp_sources }))
        })
    }
}

/// The name to display: as configured, or the reverse name of an address.
async fn shown(sources: &TimeSources, asked: &Asked) -> String {
    match asked.source.parse() {
        Ok(address) => {
            let name = tokio::time::timeout(Duration::from_secs(3), sources.names().name_of(address)).await;
            name.ok().flatten().unwrap_or_else(|| asked.source.clone())
        }
        Err(_) => asked.source.clone(),
    }
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;

    use super::*;
    use crate::net::names::Names;

    /// A server on a thread that sends one kind of reply until the test ends; returns its port.
    fn server(stratum: u8) -> u16 {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let port = socket.local_addr().unwrap().port();
        std::thread::spawn(move || {
            let mut packet = [0u8; 48];
            while let Ok((_, from)) = socket.recv_from(&mut packet) {
                let sent = packet;
                packet[0] = 0b00_100_100; // no warning, version 4, server
                packet[1] = stratum;
                packet[24..32].copy_from_slice(&sent[40..48]); // originate
                packet[32..40].copy_from_slice(&sent[40..48]); // receive: same clock
                let _ = socket.send_to(&packet, from);
            }
        });
        port
    }

    async fn run(sources: TimeSources, arg: &str) -> StepOutput {
        NtpSynchronizer::new(sources)
            .run(vec![arg.to_owned()], Arc::new(Running))
            .await
    }

    #[tokio::test]
    async fn a_source_that_answers_is_synced_and_one_without_address_is_unreachable() {
        let names = Names::configured_by("/nonexistent/resolv.conf");
        let sources = TimeSources::new(names).on_port(server(2));
        let reply = run(sources, r#"{"ntp_source":"127.0.0.1, no.such.example"}"#).await;
        assert_eq!(reply.exit_code, 0, "{reply:?}");
        let reply: serde_json::Value = serde_json::from_str(&reply.output).unwrap();
        let expected = serde_json::json!({"ntp_sources": [
            {"source_name": "127.0.0.1", "source_state": "synced"},
            {"source_name": "no.such.example", "source_state": "unreachable"},
        ]});
        assert_eq!(reply, expected);
    }

    #[tokio::test]
    async fn an_unsynchronised_server_is_unreachable() {
        let sources = TimeSources::new(Names::configured_by("/nonexistent")).on_port(server(16));
        let reply = run(sources, r#"{"ntp_source":"127.0.0.1"}"#).await;
        assert!(reply.output.contains("unreachable"), "{reply:?}");
    }

    #[tokio::test]
    async fn no_source_is_an_empty_list() {
        let reply = run(TimeSources::new(Names::system()), r#"{"ntp_source":""}"#).await;
        assert_eq!(reply, StepOutput::good(r#"{"ntp_sources":[]}"#.to_owned()));
    }

    #[tokio::test]
    async fn wrong_arguments_are_refused() {
        for args in [
            vec![],
            vec!["{}".to_owned()],
            vec!["x".to_owned()],
            vec!["{}".to_owned(); 2],
        ] {
            let step = NtpSynchronizer::new(TimeSources::new(Names::system()));
            let reply = step.run(args, Arc::new(Running)).await;
            assert_eq!(reply.exit_code, -1);
            assert!(reply.error.contains("ntp-synchronizer"), "{}", reply.error);
        }
    }
}
