//! Static networks of images and installed systems.

mod network_script;
mod nmstate;
