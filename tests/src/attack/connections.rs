//! Connections without any credential.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use nix::sys::resource::{Resource, getrlimit, setrlimit};

use super::victim::{Enough, Victim};
use crate::condition::{LEAST_LIMIT, await_condition};

/// Interval between two checks of open connections.
const PAUSE: Duration = Duration::from_millis(50);

/// The attacker needs a descriptor for each connection, too.
///
/// # Panics
/// If the system refuses a limit that it allows.
pub(super) fn raise_own_limit() {
    let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE).expect("a limit");
    setrlimit(Resource::RLIMIT_NOFILE, hard, hard).expect("the hard limit is allowed");
}

/// True if the other side has closed it.
pub(super) fn is_closed(stream: &TcpStream) -> bool {
    if stream.set_nonblocking(true).is_err() {
        return true;
    }
    let mut byte = [0];
    match (&mut &*stream).read(&mut byte) {
        Ok(0) => true,
        Ok(_) => false,
        Err(error) => error.kind() != ErrorKind::WouldBlock,
    }
}

/// Keeps so many connections open for as long as the attack lasts; closed ones are opened again. Each connection sends
/// `begin`.
fn keep_open(port: u16, count: usize, begin: &[u8], enough: &Enough<'_>) -> Vec<TcpStream> {
    let mut open: Vec<TcpStream> = Vec::new();
    while !enough() {
        open.retain(|stream| !is_closed(stream));
        while open.len() < count {
            let Ok(mut stream) = Victim::connect(port) else {
                break;
            };
            // It may be closed at once.
            let _ = stream.write_all(begin);
            open.push(stream);
        }
        std::thread::sleep(PAUSE);
    }
    open
}

pub(super) fn silent_to_boot(victim: &Victim, enough: &Enough<'_>) {
    let before = victim.open_files();
    let open = keep_open(victim.service.boot_port(), 1400, b"", enough);
    let held = victim.open_files();
    assert!(
        held < 1024 - 150,
        "{held} files are open: nothing is left for the rest"
    );
    await_condition("the log to say so", LEAST_LIMIT, || {
        let log = victim.service.log();
        let is_said = log.contains("connections of this listener are used up");
        is_said.then_some(()).ok_or(log)
    });
    drop(open);
    await_condition("descriptors to come back", LEAST_LIMIT, || {
        let open = victim.open_files();
        if open < before + 20 {
            Ok(())
        } else {
            Err(format!("{open} are open, {before} were"))
        }
    });
}

pub(super) fn half_heads_to_api(victim: &Victim, enough: &Enough<'_>) {
    let half = b"GET /health HTTP/1.1\r\nHost:";
    keep_open(victim.service.port(), 1400, half, enough);
}

pub(super) fn large_heads(victim: &Victim, enough: &Enough<'_>) {
    let mut head = b"GET /health HTTP/1.1\r\nHost: x\r\nX-Long: ".to_vec();
    head.resize(395_000, b'a');
    let mut open = Vec::new();
    for port in [victim.service.port(), victim.service.boot_port()] {
        for _ in 0..500 {
            let Ok(mut stream) = Victim::connect(port) else {
                continue;
            };
            // Refused before it is complete, or not read further.
            let _ = stream
                .set_write_timeout(Some(Duration::from_secs(5)))
                .and_then(|()| stream.write_all(&head));
            open.push(stream);
        }
    }
    hold(&open, enough);
}

/// Keeps connections for as long as the attack lasts.
pub(super) fn hold(_: &[TcpStream], enough: &Enough<'_>) {
    while !enough() {
        std::thread::sleep(PAUSE);
    }
}
