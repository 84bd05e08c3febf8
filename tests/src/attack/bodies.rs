//! Bodies that are held open, with the token of one InfraEnv.

use std::io::Write as _;
use std::net::TcpStream;
use std::time::Duration;

use serde_json::json;

use super::connections::hold;
use super::victim::{Enough, Victim};
use crate::hosts::plain::{inventory, reply};

/// Bytes that are sent of each body of 8 MiB; the rest is never sent.
const SENT: usize = 6_000_000;

/// Bodies that each thread begins at once, and number of threads.
const THREADS: usize = 10;
const OF_EACH: usize = 15;

pub(super) fn held_open(victim: &Victim, enough: &Enough<'_>) {
    let open: Vec<TcpStream> = std::thread::scope(|scope| {
        let begun: Vec<_> = (0..THREADS).map(|_| scope.spawn(|| begin(victim))).collect();
        let begun = begun
            .into_iter()
            .flat_map(|some| some.join().expect("nothing panics"));
        begun.collect()
    });
    hold(&open, enough);

    // Another InfraEnv's host has a long inventory of its own to report.
    let mut large = inventory(1);
    let disk = json!({"id": "", "name": "sda", "path": "/dev/sda", "size_bytes": 1_000_000_000_u64, "smart": "x".repeat(2000)});
    large["disks"] = json!(vec![disk; 300]);
    let path = format!("{}/instructions", victim.host());
    let answer = victim.client.post(&path, &reply("inventory", &large));
    assert_eq!(answer.status, 204, "{}", answer.text());
}

/// Bodies without their rest.
fn begin(victim: &Victim) -> Vec<TcpStream> {
    let head = format!(
        "POST /api/assisted-install/v2{}/instructions HTTP/1.1\r\nHost: x\r\nX-Secret-Key: {}\r\n\
         Content-Type: application/json\r\nContent-Length: 8388608\r\n\r\n",
        victim.attackers_host, victim.attackers_token
    );
    let piece = vec![b' '; 1 << 16];
    let begun = (0..OF_EACH).filter_map(|_| {
        let mut stream = Victim::connect(victim.service.port()).ok()?;
        let sent = stream
            .set_write_timeout(Some(Duration::from_millis(200)))
            .and_then(|()| stream.write_all(head.as_bytes()));
        // A body without a place is not read: only the kernel's buffers accept bytes.
        let pieces = (0..SENT / piece.len()).map_while(|_| stream.write_all(&piece).ok());
        let _ = sent.map(|()| pieces.count());
        Some(stream)
    });
    begun.collect()
}
