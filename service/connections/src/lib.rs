//! Connections of a listener within a budget.
//!
//! A process has one table of descriptors for all its listeners, its database and its images. Without a budget, a client that opens
//! enough connections to one listener, without any credential, makes all of them unreachable. So each listener has its share, and one
//! network at most three quarters of that. When a share is used up, the connections that have been idle longest make room: first those
//! of the network that has most. A connection with a request in progress is never closed for another one.
//!
//! Requests that compute for long take a [`Turn`], because their connections share threads with all others; a [`KeyedLimiter`] and a [`SharedLimiter`] keep one client from
//! using what all need.

mod acceptor;
mod budget;
mod connection;
mod connections;
mod http1;
mod limiter;
mod listener;
mod network;
mod requests;
mod serve;
mod stall;
mod stream;
mod tune;
mod turn;

pub use acceptor::PlaceAcceptor;
pub use budget::Budgets;
pub use connections::Connections;
pub use limiter::{KeyedLimiter, SharedLimiter, SharedPermit};
pub use listener::Listener;
pub use network::network_of;
pub use requests::counted;
pub use serve::serve;
pub use stall::Stall;
pub use tune::tune;
pub use turn::Turn;
