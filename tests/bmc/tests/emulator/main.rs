//! Each switch of the emulator, seen by a plain HTTP client.

#![expect(
    clippy::unwrap_used,
    reason = "a client that gets no answer has failed its test"
)]

mod boot;
mod client;
mod faults;
mod inventory;
mod login;
mod media;
mod power;
mod presets;
mod reading_images;
mod tags;
mod tasks;
mod tls;
