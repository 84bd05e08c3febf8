//! A connection to a server with a delay.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;

/// Opens a port of the loopback address that leads to `server`, also a port of it; data arrives after `delay`, in
/// either direction. Threads carry the bytes, since they can sleep for fractions of a millisecond. The port is open
/// until this program ends.
///
/// # Errors
/// If no port is free.
pub fn way_to(server: u16, delay: Duration) -> Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let port = listener.local_addr()?.port();
    thread::spawn(move || {
        for near in listener.incoming().map_while(Result::ok) {
            // The client sees that the server is gone, since its connection is dropped here.
            let _ =
                TcpStream::connect((Ipv4Addr::LOCALHOST, server)).and_then(|far| join(&near, &far, delay));
        }
    });
    Ok(port)
}

fn join(near: &TcpStream, far: &TcpStream, delay: Duration) -> std::io::Result<()> {
    for (from, to) in [(near, far), (far, near)] {
        from.set_nodelay(true)?;
        let (sender, receiver) = channel();
        let (from, to) = (from.try_clone()?, to.try_clone()?);
        thread::spawn(move || take(from, delay, &sender));
        thread::spawn(move || give(to, &receiver));
    }
    Ok(())
}

/// Bytes and the time at which they arrive.
type OnTheWay = (Instant, Vec<u8>);

fn take(mut from: TcpStream, delay: Duration, way: &Sender<OnTheWay>) {
    let mut buffer = vec![0; 64 << 10];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        if way
            .send((Instant::now() + delay, buffer[..length].to_vec()))
            .is_err()
        {
            return;
        }
    }
}

fn give(mut to: TcpStream, way: &Receiver<OnTheWay>) {
    while let Ok((at, bytes)) = way.recv() {
        thread::sleep(at.saturating_duration_since(Instant::now()));
        if to.write_all(&bytes).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
}
