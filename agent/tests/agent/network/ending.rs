//! A check that is dropped leaves nothing behind.

use std::sync::Arc;
use std::time::Duration;

use muster_agent::session::steps::connectivity::ConnectivityCheck;
use muster_agent::step::{Running, StepHandler};
use serde_json::json;

use super::connectivity::{B, remote};
use super::lab::{Switch, runtime};

/// Sockets of this kind in the namespace of the calling thread.
fn sockets(kind: &str) -> usize {
    let table = std::fs::read_to_string(format!("/proc/thread-self/net/{kind}")).unwrap();
    table.lines().count() - 1
}

#[test]
fn cancelling_closes_every_socket() {
    let mut switch = Switch::new();
    let a = switch.host(1);
    let arg = json!([remote(B, 9, &["10.77.0.99", "fd77::99"])]).to_string();
    a.run(move || {
        runtime().block_on(async {
            let task = tokio::spawn(ConnectivityCheck.run(vec![arg], Arc::new(Running)));
            let open = async {
                while sockets("packet") == 0 || sockets("raw") == 0 || sockets("raw6") == 0 {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
            };
            let opened = tokio::time::timeout(Duration::from_secs(60), open).await;
            opened.expect("the check opens its sockets");
            task.abort();
            assert!(task.await.unwrap_err().is_cancelled());
            // The task that receives replies ends at its next turn.
            let closed = async {
                while sockets("packet") + sockets("raw") + sockets("raw6") > 0 {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
            };
            let closed = tokio::time::timeout(Duration::from_secs(60), closed).await;
            closed.expect("its sockets are closed");
        });
    });
}
