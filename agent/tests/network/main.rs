//! The checks that need a network, on real ones: network namespaces with virtual Ethernet on a bridge. Needs root.

#![allow(clippy::unwrap_used, reason = "a test stops where it goes wrong")]

mod addresses;
mod connectivity;
mod ending;
mod lab;
mod names;
mod path;
mod vips;
