//! Waits for the power button. A BMC presses it for a graceful shutdown (docs/protocol/redfish.md#2.4).
//!
//! Firmware shows the button to the kernel by ACPI or a device tree, the kernel as an input device that has the key `KEY_POWER`. Devices
//! come with their drivers, so they are looked for repeatedly.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use tokio::sync::Notify;
use tracing::{info, warn};

/// Milliseconds between two searches for new devices.
const LOOK_INTERVAL: u16 = 2000;

/// From `linux/input-event-codes.h`.
const EV_KEY: u16 = 1;
const KEY_POWER: u16 = 116;
const PRESSED: i32 = 1;

/// `struct input_event` on 64-bit systems: seconds, microseconds, type, code, value.
const EVENT_SIZE: usize = 24;

/// Listens from now on; the returned value is notified of each press.
pub fn listen() -> Arc<Notify> {
    let pressed = Arc::new(Notify::new());
    let told = pressed.clone();
    let thread = std::thread::Builder::new()
        .name("power button".to_owned())
        .stack_size(128 << 10)
        .spawn(move || follow(&told));
    if let Err(error) = thread {
        warn!("presses of the power button are not received: {error}");
    }
    pressed
}

fn follow(pressed: &Notify) {
    let mut buttons: HashMap<PathBuf, File> = HashMap::new();
    loop {
        for node in present(Path::new("/sys/class/input")) {
            if buttons.contains_key(&node) {
                continue;
            }
            let opened = OpenOptions::new()
                .read(true)
                .custom_flags(libc::O_NONBLOCK)
                .open(&node);
            // The node may appear a moment later.
            if let Ok(file) = opened {
                info!(device = %node.display(), "a power button");
                buttons.insert(node, file);
            }
        }
        let mut waited: Vec<PollFd<'_>> = buttons
            .values()
            .map(|file| PollFd::new(file.as_fd(), PollFlags::POLLIN))
            .collect();
        if let Err(error) = poll(&mut waited, PollTimeout::from(LOOK_INTERVAL)) {
            info!("the power button: {error}");
        }
        drop(waited);
        buttons.retain(|node, file| match read(file) {
            Ok(is_pressed) => {
                if is_pressed {
                    info!(device = %node.display(), "the power button was pressed");
                    pressed.notify_one();
                }
                true
            }
            // The device was unplugged.
            Err(_) => false,
        });
    }
}

/// The device nodes of input devices that have a power key.
fn present(class: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(class).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = entries
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let keys = std::fs::read_to_string(entry.path().join("device/capabilities/key"));
            let is_button = name.starts_with("event") && has_key(&keys.ok()?, KEY_POWER);
            is_button.then(|| Path::new("/dev/input").join(name))
        })
        .collect();
    found.sort();
    found
}

/// The kernel prints a bitmap as words of 64 bits in hexadecimal, the highest first.
fn has_key(bitmap: &str, key: u16) -> bool {
    let (word, bit) = (usize::from(key) / 64, u32::from(key) % 64);
    let words = bitmap.split_whitespace().rev();
    let found = words.map(|text| u64::from_str_radix(text, 16)).nth(word);
    matches!(found, Some(Ok(bits)) if bits >> bit & 1 == 1)
}

/// True if a press is among the events of the device.
fn read(device: &mut impl Read) -> std::io::Result<bool> {
    let mut is_pressed = false;
    let mut buffer = [0; EVENT_SIZE * 16];
    loop {
        match device.read(&mut buffer) {
            Ok(0) => return Ok(is_pressed),
            Ok(length) => is_pressed |= buffer[..length].chunks_exact(EVENT_SIZE).any(is_press),
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(is_pressed),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn is_press(event: &[u8]) -> bool {
    let [.., k0, k1, c0, c1, v0, v1, v2, v3] = event else {
        return false;
    };
    let kind = u16::from_ne_bytes([*k0, *k1]);
    let code = u16::from_ne_bytes([*c0, *c1]);
    let value = i32::from_ne_bytes([*v0, *v1, *v2, *v3]);
    (kind, code, value) == (EV_KEY, KEY_POWER, PRESSED)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(kind: u16, code: u16, value: i32) -> Vec<u8> {
        let mut bytes = vec![7; 16];
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(code.to_ne_bytes());
        bytes.extend(value.to_ne_bytes());
        bytes
    }

    #[test]
    fn a_press_is_heard_among_other_events_and_a_release_is_none() {
        let told = |events: &[(u16, u16, i32)]| {
            let bytes: Vec<u8> = events
                .iter()
                .flat_map(|(kind, code, value)| event(*kind, *code, *value))
                .collect();
            read(&mut bytes.as_slice()).unwrap()
        };
        assert!(told(&[(EV_KEY, 30, 1), (EV_KEY, KEY_POWER, 1), (0, 0, 0)]));
        assert!(!told(&[
            (EV_KEY, KEY_POWER, 0),
            (4, KEY_POWER, 1),
            (EV_KEY, 30, 1)
        ]));
        assert!(!told(&[]));
    }

    #[test]
    fn buttons_are_the_devices_with_a_power_key_which_keyboards_may_have() {
        let folder = tempfile::tempdir().unwrap();
        // The keys of QEMU's ACPI button, its keyboard and its mouse.
        for (name, keys) in [
            ("event0", "10000000000000 0\n"),
            (
                "event1",
                "402000000 3803078f800d001 feffffdfffefffff fffffffffffffffe\n",
            ),
            ("event2", "70000 0 0 0 0\n"),
            ("input0", "10000000000000 0\n"),
        ] {
            let place = folder.path().join(name).join("device/capabilities");
            std::fs::create_dir_all(&place).unwrap();
            std::fs::write(place.join("key"), keys).unwrap();
        }
        let found = ["event0", "event1"].map(|name| Path::new("/dev/input").join(name));
        assert_eq!(present(folder.path()), found);
        assert!(present(Path::new("/nowhere")).is_empty());
    }
}
