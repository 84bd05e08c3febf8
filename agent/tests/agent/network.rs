//! The checks that need a network, on real ones: network namespaces with virtual Ethernet on a bridge. Needs root.

mod addresses;
mod connectivity;
mod devices;
mod ending;
mod lab;
mod leases;
mod names;
mod path;
mod vips;
