//! The record of what happened: the change feed, events with the requests that caused them, and logs of hosts.

pub mod changes;
pub mod events;
pub mod logs;
pub mod request_id;
