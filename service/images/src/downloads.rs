//! Limits how many downloads run at once: in total, and to one address. Further clients wait; if too many of one address wait, or a
//! client waits for too long, the client gets a 503 and has to retry later.

use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use metrics::Gauge;
use muster_connections::network_of;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::buffers::Buffers;

/// Longest time that a client waits for its turn. A fleet that starts at once gets through in that time; firmware gives up earlier.
const PATIENCE: Duration = Duration::from_secs(300);

/// One slot for clients without a credential for so many slots for machines.
const MACHINES_TO_A_STRANGER: usize = 8;

/// The most that runs at once.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Bodies, at least one.
    pub most: usize,
    /// Bodies to one address, at least one. As many more wait.
    pub to_one_address: usize,
    /// Longest time that a client waits.
    pub patience: Duration,
}

impl Limits {
    /// At most `most`, and `to_one_address`, by default half of them, to one address.
    pub fn new(most: usize, to_one_address: Option<usize>) -> Self {
        Self {
            most,
            to_one_address: to_one_address.unwrap_or(most / 2),
            patience: PATIENCE,
        }
    }
}

/// The service's download slots and the buffers that all downloads share.
///
/// Only responses with a body take a slot: HEAD, 304 and 416 never wait. Slots are given in the order of requests.
#[derive(Debug, Clone)]
pub struct Downloads {
    pool: Arc<Pool>,
    strangers: Arc<Pool>,
    patience: Duration,
    buffers: Buffers,
}

/// Slots that share a limit.
#[derive(Debug)]
struct Pool {
    /// The metric of its gauges.
    gauges: &'static str,
    slots: Arc<Semaphore>,
    most: usize,
    to_one_address: usize,
    waiting: AtomicUsize,
    addresses: Mutex<HashMap<IpAddr, Address>>,
}

/// The clients of an address.
#[derive(Debug)]
struct Address {
    slots: Arc<Semaphore>,
    /// Clients that wait or have a slot.
    clients: usize,
}

/// The right to send one body; given back when dropped.
#[derive(Debug)]
pub struct Slot {
    place: Place,
    _permits: [OwnedSemaphorePermit; 2],
}

/// A client among those of its address.
#[derive(Debug)]
struct Place {
    pool: Arc<Pool>,
    address: IpAddr,
}

/// Counts a waiting client until it has a slot or leaves.
struct Waiting<'a>(&'a Pool);

/// The reason why a client has to come back later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// Too many clients of its address run and wait.
    AddressFull,
    /// Its turn did not come in time.
    WaitedTooLong,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AddressFull => {
                "too many downloads to this address run and wait already; try again, or raise --max-downloads-per-address"
            }
            Self::WaitedTooLong => "other downloads did not end in time; try again, or raise --max-downloads",
        })
    }
}

impl<'a> Waiting<'a> {
    fn new(pool: &'a Pool) -> Self {
        pool.waiting.fetch_add(1, Ordering::Relaxed);
        pool.gauge("waiting").increment(1);
        Self(pool)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::Relaxed);
        self.0.gauge("waiting").decrement(1);
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.place.pool.gauge("running").decrement(1);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut addresses = self.pool.addresses();
        if let Some(address) = addresses.get_mut(&self.address) {
            address.clients -= 1;
            if address.clients == 0 {
                addresses.remove(&self.address);
            }
        }
    }
}

impl Pool {
    fn new(gauges: &'static str, most: usize, to_one_address: usize) -> Arc<Self> {
        let most = most.clamp(1, Semaphore::MAX_PERMITS);
        let pool = Self {
            gauges,
            slots: Arc::new(Semaphore::new(most)),
            most,
            to_one_address: to_one_address.clamp(1, most),
            waiting: AtomicUsize::default(),
            addresses: Mutex::default(),
        };
        pool.gauge("running").set(0);
        pool.gauge("waiting").set(0);
        pool.refused().absolute(0);
        Arc::new(pool)
    }

    fn gauge(&self, state: &'static str) -> Gauge {
        metrics::gauge!(self.gauges, "state" => state)
    }

    fn refused(&self) -> metrics::Counter {
        metrics::counter!(format!("{}_refused_total", self.gauges))
    }

    fn addresses(&self) -> std::sync::MutexGuard<'_, HashMap<IpAddr, Address>> {
        self.addresses.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place among the clients of an address, and the slots of that address.
    fn enter(self: &Arc<Self>, address: IpAddr) -> Result<(Place, Arc<Semaphore>), Refused> {
        let mut addresses = self.addresses();
        let known = addresses.entry(address).or_insert_with(|| Address {
            slots: Arc::new(Semaphore::new(self.to_one_address)),
            clients: 0,
        });
        if known.clients >= 2 * self.to_one_address {
            return Err(Refused::AddressFull);
        }
        known.clients += 1;
        let place = Place {
            pool: self.clone(),
            address,
        };
        Ok((place, known.slots.clone()))
    }

    async fn slot(self: &Arc<Self>, address: IpAddr, patience: Duration) -> Result<Slot, Refused> {
        let (place, of_address) = self.enter(address)?;
        let _waiting = Waiting::new(self);
        let permits = timeout(patience, async {
            let first = of_address.acquire_owned().await;
            [first, self.slots.clone().acquire_owned().await]
        });
        let permits = permits.await.map_err(|_| Refused::WaitedTooLong)?;
        self.gauge("running").increment(1);
        Ok(Slot {
            place,
            _permits: permits.map(|permit| permit.expect("the semaphores are never closed")),
        })
    }
}

impl Downloads {
    /// Clients without a credential have slots of their own, an eighth as many.
    pub fn new(limits: Limits) -> Self {
        let Limits {
            most,
            to_one_address,
            patience,
        } = limits;
        let of_strangers = |slots: usize| slots.div_ceil(MACHINES_TO_A_STRANGER);
        Self {
            pool: Pool::new("muster_downloads", most, to_one_address),
            strangers: Pool::new(
                "muster_downloads_of_strangers",
                of_strangers(most),
                of_strangers(to_one_address),
            ),
            patience,
            buffers: Buffers::default(),
        }
    }

    /// The slots of clients without a credential: however many they are, they take none from the machines of an InfraEnv.
    #[must_use]
    pub fn of_strangers(&self) -> Self {
        Self {
            pool: self.strangers.clone(),
            ..self.clone()
        }
    }

    /// Waits for a slot. Dropping the future gives up the place in the queue.
    ///
    /// # Errors
    /// When the client has to come back later.
    pub async fn slot(&self, client: IpAddr) -> Result<Slot, Refused> {
        let slot = self.pool.slot(network_of(client), self.patience).await;
        slot.inspect_err(|refused| {
            self.pool.refused().increment(1);
            tracing::debug!(%client, %refused, "a download was refused");
        })
    }

    /// Bodies being sent now.
    pub fn running(&self) -> usize {
        self.pool.most - self.pool.slots.available_permits()
    }

    /// Clients waiting for a slot now.
    pub fn waiting(&self) -> usize {
        self.pool.waiting.load(Ordering::Relaxed)
    }

    pub(super) fn buffers(&self) -> &Buffers {
        &self.buffers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn downloads(most: usize, to_one_address: usize) -> Downloads {
        Downloads::new(Limits {
            most,
            to_one_address,
            patience: Duration::from_millis(20),
        })
    }

    fn client(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[tokio::test]
    async fn one_address_takes_its_share_and_no_more() {
        let downloads = downloads(4, 2);
        let greedy = client("2001:db8::1");
        let neighbour = client("2001:db8::ffff:1");
        let held = [
            downloads.slot(greedy).await.unwrap(),
            downloads.slot(neighbour).await.unwrap(),
        ];
        assert_eq!(downloads.slot(greedy).await.unwrap_err(), Refused::WaitedTooLong);
        let (first, second, third) = tokio::join!(
            downloads.slot(greedy),
            downloads.slot(neighbour),
            downloads.slot(greedy)
        );
        assert_eq!(first.unwrap_err(), Refused::WaitedTooLong);
        assert_eq!(second.unwrap_err(), Refused::WaitedTooLong);
        assert_eq!(third.unwrap_err(), Refused::AddressFull);
        for other in ["2001:db8:0:1::1", "192.0.2.1"] {
            drop(downloads.slot(client(other)).await.unwrap());
        }
        assert_eq!((downloads.running(), downloads.waiting()), (2, 0));
        drop(held);
        drop(downloads.slot(greedy).await.unwrap());
        assert!(downloads.pool.addresses().is_empty(), "nobody is remembered");
    }

    #[tokio::test]
    async fn strangers_take_nothing_from_machines() {
        let downloads = downloads(8, 8);
        let strangers = downloads.of_strangers();
        let _held = strangers.slot(client("192.0.2.1")).await.unwrap();
        let refused = strangers.slot(client("192.0.2.2")).await.unwrap_err();
        assert_eq!(refused, Refused::WaitedTooLong);
        let mut machines = Vec::new();
        for _ in 0..8 {
            machines.push(downloads.slot(client("192.0.2.3")).await.unwrap());
        }
        assert_eq!((downloads.running(), strangers.running()), (8, 1));
    }

    #[test]
    fn an_address_in_its_other_form_is_the_same() {
        assert_eq!(network_of(client("::ffff:192.0.2.1")), client("192.0.2.1"));
        assert_eq!(
            network_of(client("2001:db8:1:2:3:4:5:6")),
            client("2001:db8:1:2::")
        );
    }
}
