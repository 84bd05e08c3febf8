//! Runs the agent as process 1 of the live image: mounts, drivers, network, time, console, and the session.
//! The agent never ends there; a part that fails is started again.

pub mod early;
pub mod entropy;
pub mod log;
pub mod mounts;
mod power_button;
pub mod rescue;
mod ssh;
pub mod supervisor;
pub mod system;
mod watchdog;

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use crate::drivers::{self, devices};

/// Runs the live image until the machine is powered off.
pub fn main() -> ! {
    mounts::all();
    log::to_kernel();
    entropy::gather();
    system::prepare();
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        let text = panic.payload_as_str().unwrap_or("a panic without text");
        tracing::error!("panic at {place}: {text}");
    }));
    let (events, devices) = devices::channel();
    drivers::start(events, driver_loaded);
    watchdog::start();
    let power_button = power_button::listen();
    loop {
        let (devices, power_button) = (devices.clone(), power_button.clone());
        let ended =
            std::panic::catch_unwind(AssertUnwindSafe(move || supervisor::run(devices, &power_button)));
        match ended {
            Ok(Ok(ending)) => system::end(ending),
            Ok(Err(error)) => tracing::error!("the agent broke and starts again: {error:#}"),
            Err(_) => tracing::error!("the agent broke and starts again"),
        }
        std::thread::sleep(Duration::from_secs(1));
    }
}

/// Uses the file system that a driver offers.
fn driver_loaded(module: &str) {
    match module {
        drivers::EFI_VARIABLES => mounts::efi_variables(),
        drivers::PANIC_STORE => system::read_last_panic(),
        _ => {}
    }
}
