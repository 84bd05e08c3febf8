//! A minimal HTTP client, so that the server is measured: one connection, `Content-Length` bodies.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// One connection, kept alive.
pub struct Connection {
    reader: BufReader<TcpStream>,
    port: u16,
    scratch: Vec<u8>,
}

/// A response's length, and the time from the request to its last byte.
pub struct Timed {
    pub length: u64,
    pub whole: Duration,
}

impl Connection {
    /// Connects to a port of the loopback address.
    pub fn open(port: u16) -> Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port)).context("connect")?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(120)))?;
        Ok(Self {
            reader: BufReader::with_capacity(16 << 10, stream),
            port,
            scratch: vec![0; 1 << 20],
        })
    }

    /// Requests `path` and drops the body.
    pub fn get(&mut self, path: &str) -> Result<Timed> {
        let (start, _, length) = self.ask(path)?;
        let mut left = length;
        while left > 0 {
            let want = self.scratch.len().min(usize::try_from(left)?);
            let read = self.reader.read(&mut self.scratch[..want])?;
            if read == 0 {
                bail!("the connection ended {left} bytes before the end of {path}");
            }
            left -= u64::try_from(read)?;
        }
        Ok(Timed {
            length,
            whole: start.elapsed(),
        })
    }

    /// Requests `path` and returns the time to the first byte of the response; the connection cannot be used
    /// afterwards.
    pub fn first_byte(mut self, path: &str) -> Result<Duration> {
        self.ask(path).map(|(_, first_byte, _)| first_byte)
    }

    fn ask(&mut self, path: &str) -> Result<(Instant, Duration, u64)> {
        let request = format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n\r\n", self.port);
        let start = Instant::now();
        self.reader.get_mut().write_all(request.as_bytes())?;
        if self.reader.fill_buf()?.is_empty() {
            bail!("the server closed the connection instead of answering {path}");
        }
        let first_byte = start.elapsed();
        let (mut line, mut length) = (String::new(), None);
        loop {
            line.clear();
            self.reader.read_line(&mut line)?;
            if line.starts_with("HTTP/") && line.split(' ').nth(1) != Some("200") {
                bail!("{path}: {}", line.trim());
            }
            match line.split_once(':') {
                Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                    length = value.trim().parse().ok()
                }
                Some(_) => (),
                None if line.trim().is_empty() => break,
                None => (),
            }
        }
        let length = length.with_context(|| format!("{path} has no Content-Length"))?;
        Ok((start, first_byte, length))
    }
}

/// The value in the middle.
pub fn median<T: PartialOrd + Copy>(values: &[T]) -> T {
    percentile(values, 50)
}

/// The value that so many of a hundred do not exceed.
pub fn percentile<T: PartialOrd + Copy>(values: &[T], percent: usize) -> T {
    let mut sorted = values.to_vec();
    sorted.sort_by(|a, b| a.partial_cmp(b).expect("measurements are numbers"));
    sorted[(sorted.len() * percent / 100).min(sorted.len() - 1)]
}
