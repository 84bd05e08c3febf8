//! A BMC that reads the image before it reports it as inserted.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};

use serde_json::json;

use crate::client::{Lab, Reply};

/// Responses to requests for an image.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Server {
    Good,
    Redirects,
    HasNoLength,
    HasNoRanges,
    IgnoresRanges,
    HasNothing,
}

const LENGTH: usize = 1 << 16;

/// Serves until the test program ends.
fn serve(server: Server) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            answer(&stream, server);
        }
    });
    address
}

fn answer(mut stream: &TcpStream, server: Server) {
    let mut lines = BufReader::new(stream).lines();
    let request = lines.next().unwrap().unwrap();
    let headers: Vec<String> = lines
        .map_while(Result::ok)
        .take_while(|line| !line.is_empty())
        .collect();
    let ranged = headers
        .iter()
        .any(|line| line.to_lowercase().starts_with("range:"));
    let ranges = if server == Server::HasNoRanges {
        ""
    } else {
        "Accept-Ranges: bytes\r\n"
    };
    let (status, length) = match server {
        Server::HasNothing => ("404 Not Found", 0),
        Server::Redirects => ("302 Found\r\nLocation: http://192.0.2.1/x.iso", 0),
        Server::IgnoresRanges => ("200 OK", LENGTH),
        _ if ranged => ("206 Partial Content", 2048),
        _ => ("200 OK", LENGTH),
    };
    let told = if server == Server::HasNoLength {
        String::new()
    } else {
        format!("Content-Length: {length}\r\n")
    };
    write!(
        stream,
        "HTTP/1.1 {status}\r\n{told}{ranges}Connection: close\r\n\r\n"
    )
    .unwrap();
    if request.starts_with("GET") {
        // A client that has read enough does not read on.
        let _ = stream.write_all(&vec![0; length]);
    }
}

fn insert_from(server: Server) -> (Reply, Option<String>) {
    let lab = Lab::new(|quirks| quirks.reads_image = true);
    let url = format!("http://{}/a.iso", serve(server));
    let reply = lab.insert(&json!({"Image": url}));
    (reply, lab.emulator.image())
}

#[test]
fn an_image_that_can_be_read_in_ranges_is_inserted() {
    let (reply, image) = insert_from(Server::Good);
    reply.expect(204);
    assert!(image.is_some());
}

#[test]
fn an_image_that_cannot_be_read_is_refused() {
    for (server, reason) in [
        (Server::Redirects, "redirects"),
        (Server::HasNoLength, "length"),
        (Server::HasNoRanges, "ranges"),
        (Server::IgnoresRanges, "200"),
        (Server::HasNothing, "404"),
    ] {
        let (reply, image) = insert_from(server);
        reply.refused(400, "GeneralError", "");
        assert!(reply.text.contains(reason), "{}", reply.text);
        assert_eq!(image, None);
    }
}
