use std::sync::Arc;

use muster_bmc_emulator::{Certificate, Hardware, InMemory, Setup};
use reqwest::tls::TlsInfo;
use sha2::{Digest as _, Sha256};

use crate::client::Client;

/// SHA-256 of the certificate that the BMC shows.
fn shown(client: &Client) -> [u8; 32] {
    let reply = client.send("GET", "/redfish/v1", None).unwrap();
    assert_eq!(reply.status(), 200);
    let info = reply.extensions().get::<TlsInfo>().unwrap();
    Sha256::digest(info.peer_certificate().unwrap()).into()
}

#[test]
fn a_certificate_is_replaced_while_the_bmc_runs() {
    let machine = Arc::new(InMemory::new(Hardware::example(1)));
    let (first, second) = (
        Certificate::self_signed(&["127.0.0.1"]),
        Certificate::self_signed(&["127.0.0.1"]),
    );
    let emulator = Setup::new(machine).tls(first.clone()).start().unwrap();
    assert!(emulator.url().starts_with("https://"));
    let client = Client::new(&emulator.url()).with("connection", "close");
    assert_eq!(shown(&client), first.sha256());
    emulator.set_certificate(&second);
    assert_eq!(shown(&client), second.sha256());
    assert_ne!(first.sha256(), second.sha256());
}
