//! The registry of a listener's connections.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use crate::connection::Connection;
use crate::network::network_of;

/// Least time between two warnings that a budget is used up.
const WARNING_INTERVAL: Duration = Duration::from_secs(60);

/// The connections of one listener. Clones share it.
#[derive(Debug, Clone)]
pub struct Connections(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    listener: &'static str,
    budget: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    networks: HashMap<IpAddr, HashMap<u64, Arc<Connection>>>,
    count: usize,
    next_id: u64,
    warned: Option<Instant>,
}

impl Connections {
    /// `budget` is the number of connections that the listener may have at once; `listener` names it in metrics and in the log.
    pub fn new(listener: &'static str, budget: usize) -> Self {
        Self(Arc::new(Shared {
            listener,
            budget,
            state: Mutex::default(),
        }))
    }

    /// The place of a new connection; `None` when all are taken by connections with requests in progress.
    pub(crate) fn admit(&self, peer: IpAddr) -> Option<Place> {
        let network = network_of(peer);
        let mut state = self.state();
        let of_network = state.networks.get(&network).map_or(0, HashMap::len);
        let full = if of_network >= (self.0.budget * 3 / 4).max(1) {
            Some(state.close_oldest(|found| found == network, self.batch()))
        } else if state.count >= self.0.budget {
            Some(state.close_oldest(|_| true, self.batch()))
        } else {
            None
        };
        if let Some(closed) = full {
            self.tell_full(&mut state, closed);
            if closed == 0 {
                return None;
            }
        }
        let connection = Arc::new(Connection::new());
        let id = state.next_id;
        state.next_id += 1;
        state.count += 1;
        let of_network = state.networks.entry(network).or_default();
        of_network.insert(id, connection.clone());
        self.tell_count(&state);
        drop(state);
        Some(Place {
            connections: self.clone(),
            network,
            id,
            connection,
        })
    }

    /// Connections that are closed together when there is no room: finding them is work, which a flood should not cause each time.
    fn batch(&self) -> usize {
        (self.0.budget / 64).max(1)
    }

    fn tell_count(&self, state: &State) {
        #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
        let count = state.count as f64;
        metrics::gauge!("muster_connections", "listener" => self.0.listener).set(count);
    }

    fn tell_full(&self, state: &mut State, closed: usize) {
        let listener = self.0.listener;
        if closed == 0 {
            metrics::counter!("muster_connections_refused_total", "listener" => listener).increment(1);
        } else {
            let closed = closed as u64;
            metrics::counter!("muster_connections_idle_closed_total", "listener" => listener)
                .increment(closed);
        }
        if state.warned.is_none_or(|at| at.elapsed() > WARNING_INTERVAL) {
            state.warned = Some(Instant::now());
            let most = state.networks.iter().max_by_key(|(_, found)| found.len());
            let most = most.map(|(network, found)| format!("{network} has {}", found.len()));
            tracing::warn!(
                listener,
                budget = self.0.budget,
                most,
                "the connections of this listener are used up: idle ones are closed for new ones; more are possible with a \
                 higher limit of open files (LimitNOFILE=, ulimit -n)"
            );
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0
            .state
            .lock()
            .expect("no code panics while holding the lock")
    }
}

impl State {
    /// Closes idle connections, at most `most`, the longest idle first, of the largest network that has some; their number.
    fn close_oldest(&mut self, of: impl Fn(IpAddr) -> bool, most: usize) -> usize {
        let mut networks: Vec<_> = self
            .networks
            .iter()
            .filter(|(network, _)| of(**network))
            .collect();
        networks.sort_by_key(|(_, found)| std::cmp::Reverse(found.len()));
        let chosen = networks.into_iter().find_map(|(network, found)| {
            let idle = found
                .iter()
                .filter_map(|(id, found)| Some((found.idle_since()?, *id)));
            let mut idle: Vec<_> = idle.collect();
            idle.sort_unstable();
            idle.truncate(most);
            (!idle.is_empty()).then_some((*network, idle))
        });
        let Some((network, idle)) = chosen else { return 0 };
        for (_, id) in &idle {
            if let Some(connection) = self.remove(network, *id) {
                connection.close();
            }
        }
        idle.len()
    }

    fn remove(&mut self, network: IpAddr, id: u64) -> Option<Arc<Connection>> {
        let found = self.networks.get_mut(&network)?;
        let removed = found.remove(&id)?;
        if found.is_empty() {
            self.networks.remove(&network);
        }
        self.count -= 1;
        Some(removed)
    }
}

/// The place of a connection, free again when it is dropped.
#[derive(Debug)]
pub struct Place {
    connections: Connections,
    network: IpAddr,
    id: u64,
    pub(crate) connection: Arc<Connection>,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut state = self.connections.state();
        state.remove(self.network, self.id);
        self.connections.tell_count(&state);
    }
}

#[cfg(test)]
mod tests {
    use std::task::{Context, Waker};

    use super::*;

    fn peer(last: u8) -> IpAddr {
        [192, 0, 2, last].into()
    }

    fn is_closed(place: &Place) -> bool {
        let context = Context::from_waker(Waker::noop());
        place.connection.poll_closed(&context).is_ready()
    }

    #[test]
    fn a_network_that_fills_the_budget_loses_its_longest_idle_connections_to_others() {
        let connections = Connections::new("test", 8);
        let mut greedy: Vec<Place> = (0..6).filter_map(|_| connections.admit(peer(1))).collect();
        assert_eq!(greedy.len(), 6);
        greedy[0].connection.begin_request();
        let others = [2, 3].map(|last| connections.admit(peer(last)).expect("there is room"));
        let another = connections.admit(peer(4)).expect("an idle one makes room");
        assert!(!is_closed(&greedy[0]), "its request is being answered");
        assert!(is_closed(&greedy[1]));
        assert!(!is_closed(&greedy[2]) && others.iter().all(|place| !is_closed(place)));
        greedy.clear();
        assert_eq!(connections.state().count, 3);
        drop((others, another));
        assert!(connections.state().networks.is_empty());
    }

    #[test]
    fn one_network_never_has_more_than_three_quarters() {
        let connections = Connections::new("test", 8);
        let places: Vec<Place> = (0..6).filter_map(|_| connections.admit(peer(1))).collect();
        places.iter().for_each(|place| place.connection.begin_request());
        assert!(connections.admit(peer(1)).is_none(), "all of its are busy");
        assert!(connections.admit(peer(2)).is_some());
        places[5].connection.end_request();
        assert!(connections.admit(peer(1)).is_some());
        assert!(is_closed(&places[5]));
    }

    #[test]
    fn a_prefix_of_ipv6_counts_as_one_and_mapped_addresses_as_ipv4() {
        let of = |text: &str| network_of(text.parse().expect("an address"));
        assert_eq!(of("2001:db8::1"), of("2001:db8::ffff:2"));
        assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
        assert_eq!(of("::ffff:192.0.2.1"), of("192.0.2.1"));
    }
}
