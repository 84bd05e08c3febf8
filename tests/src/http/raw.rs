//! HTTP as bytes on a connection, for requests that no client sends.

#![expect(clippy::unwrap_used, reason = "a test stops where it goes wrong")]

use std::io::{Read, Write};
use std::net::TcpStream;

use crate::http::TIMEOUT;

/// Connects to a port of the loopback address and sends these bytes.
#[track_caller]
pub fn connect(port: u16, bytes: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(TIMEOUT)).unwrap();
    stream.set_write_timeout(Some(TIMEOUT)).unwrap();
    stream.write_all(bytes).unwrap();
    stream
}

/// Everything that is received until the service closes the connection. A reset after a response counts as its end.
pub fn read_to_end(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let mut piece = [0; 4096];
    while let Ok(length @ 1..) = stream.read(&mut piece) {
        bytes.extend_from_slice(&piece[..length]);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Reads until `text` was received.
#[track_caller]
pub fn read_until(stream: &mut TcpStream, text: &str) -> String {
    let mut bytes = Vec::new();
    let mut byte = [0];
    while !bytes.ends_with(text.as_bytes()) {
        let length = stream.read(&mut byte).unwrap_or_default();
        assert!(
            length == 1,
            "the connection ended before {text:?}: {}",
            String::from_utf8_lossy(&bytes)
        );
        bytes.push(byte[0]);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The status in the first line of a response.
#[track_caller]
pub fn status_of(answer: &str) -> u16 {
    answer
        .split_whitespace()
        .nth(1)
        .and_then(|code| code.parse().ok())
        .unwrap_or_else(|| panic!("no HTTP answer: {answer:?}"))
}
