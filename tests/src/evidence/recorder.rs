//! Records what an agent sends to a service, byte for byte.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::Value;

/// A port that agents can use before the service has one.
pub struct Reserved {
    listener: TcpListener,
}

impl Reserved {
    /// Address of the recorder.
    pub fn port(&self) -> u16 {
        self.listener
            .local_addr()
            .expect("a listener has an address")
            .port()
    }

    /// Relays to `service_port` of the loopback address until the test program ends.
    pub fn relay_to(self, service_port: u16) -> Recorder {
        let received = Received::default();
        let shared = Arc::clone(&received);
        std::thread::spawn(move || {
            for client in self.listener.incoming().flatten() {
                if let Ok(service) = TcpStream::connect((Ipv4Addr::LOCALHOST, service_port)) {
                    relay(client, service, &shared);
                }
            }
        });
        Recorder { received }
    }
}

/// Relays connections to a service and keeps what clients sent.
pub struct Recorder {
    received: Received,
}

/// Per connection, in order of arrival.
type Received = Arc<Mutex<Vec<Vec<u8>>>>;

/// A request with a JSON body.
#[derive(Debug, Clone)]
pub struct Request {
    /// The request line, e.g. `POST /api/... HTTP/1.1`.
    pub line: String,
    /// The body.
    pub body: Value,
}

impl Recorder {
    /// Takes a free port of the loopback address.
    ///
    /// # Panics
    /// If there is none.
    pub fn reserve() -> Reserved {
        let listener =
            TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port of the loopback address is free");
        Reserved { listener }
    }

    /// The requests with a complete JSON body so far.
    pub fn requests(&self) -> Vec<Request> {
        let received = self.received.lock().expect("relays do not panic with the lock");
        received.iter().flat_map(|bytes| requests(bytes)).collect()
    }
}

fn relay(client: TcpStream, service: TcpStream, received: &Received) {
    let index = {
        let mut received = received.lock().expect("relays do not panic with the lock");
        received.push(Vec::new());
        received.len() - 1
    };
    let (Ok(client_read), Ok(service_read)) = (client.try_clone(), service.try_clone()) else {
        return;
    };
    let received = Arc::clone(received);
    let keep = move |bytes: &[u8]| {
        received.lock().expect("relays do not panic with the lock")[index].extend_from_slice(bytes);
    };
    std::thread::spawn(move || copy(client_read, service, keep));
    std::thread::spawn(move || copy(service_read, client, |_| ()));
}

/// Copies until either side ends; the other side then sees the end too.
fn copy(mut from: TcpStream, mut to: TcpStream, keep: impl Fn(&[u8])) {
    let mut chunk = [0; 16384];
    while let Ok(read @ 1..) = from.read(&mut chunk) {
        keep(&chunk[..read]);
        if to.write_all(&chunk[..read]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}

/// Splits what one connection sent (HTTP/1.1, bodies with a `Content-Length`).
fn requests(mut bytes: &[u8]) -> Vec<Request> {
    let mut found = Vec::new();
    while let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
        let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let length = head.lines().filter_map(|line| line.split_once(':'));
        let length = length.filter(|(name, _)| name.eq_ignore_ascii_case("content-length"));
        let length: usize = length
            .filter_map(|(_, value)| value.trim().parse().ok())
            .next()
            .unwrap_or(0);
        let Some(body) = bytes.get(end + 4..end + 4 + length) else {
            break;
        };
        if let Ok(body) = serde_json::from_slice(body) {
            found.push(Request {
                line: head.lines().next().unwrap_or_default().to_owned(),
                body,
            });
        }
        bytes = &bytes[end + 4 + length..];
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_of_one_connection_are_told_apart() {
        let sent = b"GET /a HTTP/1.1\r\nHost: x\r\n\r\nPOST /b HTTP/1.1\r\ncontent-length: 7\r\n\r\n{\"c\":1}POST /d HTTP/1.1\r\nContent-Length: 9\r\n\r\n{\"cut";
        let found = requests(sent);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].line, "POST /b HTTP/1.1");
        assert_eq!(found[0].body["c"], 1);
    }
}
