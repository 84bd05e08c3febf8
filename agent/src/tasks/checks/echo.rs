//! Echo requests (ping) over ICMP and ICMPv6: one socket, any number of requests under way.

use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use etherparse::{IcmpEchoHeader, Icmpv4Header, Icmpv4Type, Icmpv6Header, Icmpv6Type};
use futures_util::future::join_all;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::icmp_socket::{Family, IcmpSocket};

/// Payload of an ordinary request, as `ping` sends it, bytes.
pub const ORDINARY: usize = 56;
/// IP and ICMP header of a request without options, bytes.
const HEADERS_V4: usize = 28;
const HEADERS_V6: usize = 48;
/// No message is larger.
const LONGEST: usize = 65_536;

/// The number and timing of requests.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    /// Requests.
    pub count: u32,
    /// From one to the next.
    pub gap: Duration,
    /// Longest wait for the reply to each.
    pub patience: Duration,
}

/// The results of several requests to one address.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Requests, whether they could be sent or not.
    pub sent: u32,
    /// Round trips of requests with a reply.
    pub answered: Vec<Duration>,
}

impl Series {
    /// Mean round trip in ms, to the µs; 0 when nothing came back.
    pub fn average_rtt_ms(&self) -> f64 {
        let total: Duration = self.answered.iter().sum();
        let count = self.answered.len().max(1) as f64;
        (total.as_secs_f64() * 1e6 / count).round() / 1e3
    }

    /// Percentage of requests without a reply.
    pub fn loss_percentage(&self) -> f64 {
        let answered = self.answered.len() as f64;
        let sent = f64::from(self.sent.max(1));
        100.0 * (sent - answered) / sent
    }
}

/// Sends echo requests and matches their replies.
#[derive(Debug)]
pub struct Pinger {
    socket: Arc<IcmpSocket>,
    family: Family,
    identifier: u16,
    waiting: Arc<Mutex<Waiting>>,
    reader: JoinHandle<()>,
}

/// Requests that wait for a reply, by sequence number.
#[derive(Debug, Default)]
struct Waiting {
    last: u16,
    requests: HashMap<u16, (IpAddr, oneshot::Sender<Instant>)>,
}

impl Waiting {
    /// A free number; `None` when all are taken.
    fn number(&mut self) -> Option<u16> {
        let number = (0..=u16::MAX)
            .map(|step| self.last.wrapping_add(step).wrapping_add(1))
            .find(|number| !self.requests.contains_key(number))?;
        self.last = number;
        Some(number)
    }
}

/// Releases its sequence number when dropped.
struct Request<'a> {
    waiting: &'a Mutex<Waiting>,
    number: u16,
}

impl Drop for Request<'_> {
    fn drop(&mut self) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.requests.remove(&self.number);
    }
}

impl Pinger {
    /// Opens a socket, bound to one card or following the routes. Needs a tokio runtime.
    ///
    /// # Errors
    /// Fails if the kernel refuses the socket; `PermissionDenied` without CAP_NET_RAW.
    pub fn open(family: Family, nic: Option<&str>) -> io::Result<Self> {
        let socket = Arc::new(IcmpSocket::open(family, nic)?);
        let waiting = Arc::<Mutex<Waiting>>::default();
        let identifier = rand::random();
        let reader = tokio::spawn(receive_replies(
            Arc::clone(&socket),
            family,
            identifier,
            Arc::clone(&waiting),
        ));
        Ok(Self {
            socket,
            family,
            identifier,
            waiting,
            reader,
        })
    }

    /// Sends one request with `payload` bytes; returns the round trip, `None` without a reply.
    pub async fn echo(&self, to: IpAddr, payload: usize, patience: Duration) -> Option<Duration> {
        let (sender, reply) = oneshot::channel();
        let number = {
            let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            let number = waiting.number()?;
            waiting.requests.insert(number, (to, sender));
            number
        };
        let _request = Request {
            waiting: &self.waiting,
            number,
        };
        let message = request(self.family, self.identifier, number, payload);
        let began = Instant::now();
        if let Err(error) = self.socket.send(to, &message).await {
            tracing::debug!(%to, payload, %error, "an echo request cannot be sent");
            return None;
        }
        let answered = tokio::time::timeout(patience, reply).await.ok()?.ok()?;
        Some(answered.saturating_duration_since(began))
    }

    /// Sends several ordinary requests without waiting for replies in between.
    pub async fn series(&self, to: IpAddr, pace: Pace) -> Series {
        let requests = (0..pace.count).map(|turn| async move {
            tokio::time::sleep(pace.gap * turn).await;
            self.echo(to, ORDINARY, pace.patience).await
        });
        Series {
            sent: pace.count,
            answered: join_all(requests).await.into_iter().flatten().collect(),
        }
    }

    /// True if at least one of `count` requests with `payload` bytes gets a reply; stops at the first one.
    pub async fn any(&self, to: IpAddr, payload: usize, count: u32, patience: Duration) -> bool {
        for _ in 0..count {
            if self.echo(to, payload, patience).await.is_some() {
                return true;
            }
        }
        false
    }
}

impl Drop for Pinger {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

/// The payload size that makes a request fill a packet of `mtu` bytes; `None` for an MTU too small for any
/// request.
pub fn filling(mtu: usize, family: Family) -> Option<usize> {
    mtu.checked_sub(match family {
        Family::V4 => HEADERS_V4,
        Family::V6 => HEADERS_V6,
    })
}

/// Ends only when the socket breaks.
async fn receive_replies(
    socket: Arc<IcmpSocket>,
    family: Family,
    identifier: u16,
    waiting: Arc<Mutex<Waiting>>,
) {
    let mut buffer = vec![0; LONGEST];
    loop {
        let (from, place) = match socket.receive(&mut buffer).await {
            Ok(received) => received,
            Err(error) => {
                tracing::debug!(%error, "echo replies can no longer be received");
                return;
            }
        };
        let now = Instant::now();
        let Some(number) = buffer
            .get(place)
            .and_then(|message| read_reply(family, identifier, message))
        else {
            continue;
        };
        let mut waiting = waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let ours = waiting.requests.get(&number).is_some_and(|(to, _)| *to == from);
        if ours && let Some((_, sender)) = waiting.requests.remove(&number) {
            // The waiter is gone when its timeout has just passed.
            let _ = sender.send(now);
        }
    }
}

fn request(family: Family, id: u16, seq: u16, payload: usize) -> Vec<u8> {
    let header = IcmpEchoHeader { id, seq };
    let payload: Vec<u8> = (0..payload).map(|place| place.to_le_bytes()[0]).collect();
    let mut message = match family {
        Family::V4 => Icmpv4Header::with_checksum(Icmpv4Type::EchoRequest(header), &payload)
            .to_bytes()
            .to_vec(),
        // The checksum covers the IP header, so the kernel computes it.
        Family::V6 => Icmpv6Header::new(Icmpv6Type::EchoRequest(header))
            .to_bytes()
            .to_vec(),
    };
    message.extend(payload);
    message
}

/// The sequence number, if this is a reply to a request of this pinger.
fn read_reply(family: Family, identifier: u16, message: &[u8]) -> Option<u16> {
    let echo = match family {
        Family::V4 => match Icmpv4Header::from_slice(message).ok()?.0.icmp_type {
            Icmpv4Type::EchoReply(echo) => echo,
            _ => return None,
        },
        Family::V6 => match Icmpv6Header::from_slice(message).ok()?.0.icmp_type {
            Icmpv6Type::EchoReply(echo) => echo,
            _ => return None,
        },
    };
    (echo.id == identifier).then_some(echo.seq)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_packet_is_as_long_as_the_mtu() {
        assert_eq!(filling(1500, Family::V4), Some(1472));
        assert_eq!(filling(9000, Family::V6), Some(8952));
        assert_eq!(filling(20, Family::V4), None);
        assert_eq!(request(Family::V4, 1, 1, 1472).len() + 20, 1500);
        assert_eq!(request(Family::V6, 1, 1, 8952).len() + 40, 9000);
    }

    #[test]
    fn a_request_carries_a_right_checksum() {
        let message = request(Family::V4, 0x1234, 7, 3);
        let sum: u32 = message
            .chunks(2)
            .map(|pair| u32::from(pair[0]) << 8 | u32::from(pair.get(1).copied().unwrap_or(0)))
            .sum();
        assert_eq!((sum & 0xffff) + (sum >> 16), 0xffff);
    }

    #[test]
    fn replies_to_others_and_requests_are_passed_over() {
        let mut message = request(Family::V4, 5, 77, 8);
        assert_eq!(read_reply(Family::V4, 5, &message), None, "a request");
        message[0] = 0;
        assert_eq!(read_reply(Family::V4, 5, &message), Some(77));
        assert_eq!(read_reply(Family::V4, 6, &message), None, "another program's");
        for length in 0..8 {
            assert_eq!(read_reply(Family::V4, 5, &message[..length]), None);
        }
        let mut message = request(Family::V6, 5, 78, 8);
        message[0] = 129;
        assert_eq!(read_reply(Family::V6, 5, &message), Some(78));
    }

    #[test]
    fn loss_and_mean_are_of_all_requests_and_of_the_answered_ones() {
        let series = Series {
            sent: 10,
            answered: vec![Duration::from_micros(1000), Duration::from_micros(2001)],
        };
        assert_eq!(series.loss_percentage(), 80.0);
        assert_eq!(series.average_rtt_ms(), 1.501);
        let nothing = Series {
            sent: 10,
            answered: Vec::new(),
        };
        assert_eq!(
            (nothing.loss_percentage(), nothing.average_rtt_ms()),
            (100.0, 0.0)
        );
    }

    #[test]
    fn numbers_under_way_are_not_given_twice() {
        let mut waiting = Waiting {
            last: u16::MAX - 1,
            ..Waiting::default()
        };
        let someone = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);
        waiting.requests.insert(0, (someone, oneshot::channel().0));
        assert_eq!(waiting.number(), Some(u16::MAX));
        assert_eq!(waiting.number(), Some(1));
    }
}
