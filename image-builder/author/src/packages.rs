//! Gets and opens the ingredients, which are packages of the distribution.
//!
//! They are downloaded, never installed, through a separate apt root ([`apt`]), so that the machine's package lists (often without
//! `non-free-firmware`) do not matter.

pub mod apt;
pub mod borrowed;
pub mod deb;
pub mod gather;
pub mod lock;
pub mod release;
pub mod selection;
