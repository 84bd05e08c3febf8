//! Checks of the machine's surroundings: connection, routes, names, clocks, what it downloads.

pub(super) mod connection;
pub(super) mod domains;
pub(super) mod ignition;
pub(super) mod images;
pub(super) mod quality;
pub(super) mod routes;
pub(super) mod subnets;
pub(super) mod time;
