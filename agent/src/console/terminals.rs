//! The terminals that show the console: every kernel console, and the first display. Each has a thread of its
//! own, so that a serial line that blocks delays no other.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::time::Duration;

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::termios::{self, ControlFlags, SetArg};
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::time::Instant;

use super::screen::Screen;
use crate::config::live::KernelArguments;

const ACTIVE: &str = "/sys/class/tty/console/active";
const PORTS: &str = "/proc/tty/driver/serial";
/// Changes within this time are shown together.
const GATHER: Duration = Duration::from_millis(150);

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Terminal {
    /// Under `/dev`.
    pub name: String,
    /// Bits per second to set, when the kernel does not use the terminal as a console and so has not set its
    /// speed.
    pub speed: Option<u32>,
}

impl Terminal {
    /// True for a display, which is redrawn; other terminals receive lines.
    pub fn is_display(&self) -> bool {
        self.name
            .strip_prefix("tty")
            .is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()))
    }

    pub fn device(&self) -> PathBuf {
        PathBuf::from("/dev").join(&self.name)
    }
}

/// The kernel's consoles, the first display, and the serial lines that kernel arguments name: of several
/// `console=ttyS...` the kernel takes only the first, even if that port has no hardware.
///
/// `active` is the text of `/sys/class/tty/console/active`, `arguments` the values of `console=`, `ports` the text of
/// `/proc/tty/driver/serial`.
pub fn terminals<'a>(active: &str, arguments: impl Iterator<Item = &'a str>, ports: &str) -> Vec<Terminal> {
    let mut terminals: BTreeMap<String, Option<u32>> = BTreeMap::from([("tty0".to_owned(), None)]);
    for argument in arguments {
        let (name, options) = argument.split_once(',').unwrap_or((argument, ""));
        if name.starts_with("ttyS") && has_hardware(name, ports) {
            let digits: String = options.chars().take_while(char::is_ascii_digit).collect();
            terminals.insert(name.to_owned(), Some(digits.parse().unwrap_or(115_200)));
        }
    }
    let without_hardware =
        |name: &str| name.starts_with("ttyS") && !ports.is_empty() && !has_hardware(name, ports);
    terminals.extend(
        active
            .split_whitespace()
            .filter(|name| !without_hardware(name))
            .map(|name| (name.to_owned(), None)),
    );
    terminals
        .into_iter()
        .map(|(name, speed)| Terminal { name, speed })
        .collect()
}

/// `1: uart:16550A port:000002F8 irq:3 ...`; a port without hardware is `uart:unknown`.
fn has_hardware(name: &str, ports: &str) -> bool {
    let Some(number) = name.strip_prefix("ttyS") else {
        return false;
    };
    ports.lines().any(|line| {
        line.split_once(':')
            .is_some_and(|(port, rest)| port.trim() == number && !rest.contains("uart:unknown"))
    })
}

/// The terminals of the running system.
pub fn present(kernel: &KernelArguments) -> Vec<Terminal> {
    let active = std::fs::read_to_string(ACTIVE).unwrap_or_default();
    let ports = std::fs::read_to_string(PORTS).unwrap_or_default();
    let all = terminals(&active, kernel.values("console"), &ports);
    all.into_iter()
        .filter(|terminal| terminal.device().exists())
        .collect()
}

/// Starts a thread that shows `screen` on a terminal until its sender is gone.
///
/// # Errors
/// Fails if no thread can be started.
pub fn show(terminal: Terminal, screen: watch::Receiver<Screen>, runtime: Handle) -> std::io::Result<()> {
    std::thread::Builder::new()
        .name(format!("console {}", terminal.name))
        .spawn(move || runtime.block_on(keep_showing(&terminal, screen)))
        .map(drop)
}

async fn keep_showing(terminal: &Terminal, mut screen: watch::Receiver<Screen>) {
    let mut before = Screen::default();
    let mut last = String::new();
    loop {
        let now = screen.borrow_and_update().clone();
        let next_try = now
            .session
            .next_request
            .map(|due| due.saturating_duration_since(Instant::now()));
        let text = if terminal.is_display() {
            now.display(next_try)
        } else {
            now.new_lines(&before, next_try)
        };
        if text != last || !terminal.is_display() {
            write(terminal, &text);
        }
        let counting = terminal.is_display() && now.session.problem.is_some();
        last = text;
        before = now;
        tokio::select! {
            changed = screen.changed() => {
                if changed.is_err() {
                    return;
                }
                tokio::time::sleep(GATHER).await;
            }
            () = tokio::time::sleep(Duration::from_secs(1)), if counting => {}
        }
    }
}

/// Ignores errors: there is no other place to report them.
fn write(terminal: &Terminal, text: &str) {
    if text.is_empty() {
        return;
    }
    let opened = OpenOptions::new()
        .write(true)
        .custom_flags(libc::O_NOCTTY | libc::O_NONBLOCK)
        .open(terminal.device());
    let Ok(mut file) = opened else { return };
    if let Some(speed) = terminal.speed {
        set_speed(&file, speed);
    }
    // Opened without waiting for a modem; from here on writes block.
    let flags = OFlag::O_NOCTTY;
    if fcntl(&file, FcntlArg::F_SETFL(flags)).is_ok() {
        let _ = file.write_all(text.as_bytes());
    }
}

/// Sets speed, no modem lines and raw bytes. On failure the line keeps the kernel's default.
fn set_speed(line: &File, speed: u32) {
    let Ok(mut settings) = termios::tcgetattr(line) else {
        return;
    };
    let rate = match speed {
        9600 => libc::B9600,
        19200 => libc::B19200,
        38400 => libc::B38400,
        57600 => libc::B57600,
        _ => libc::B115200,
    };
    // Not `cfsetspeed`: it is bound to a version of the C library, which a static program cannot link.
    settings.control_flags.remove(ControlFlags::CBAUD);
    settings.control_flags |= ControlFlags::CLOCAL | ControlFlags::from_bits_retain(rate);
    let _ = termios::tcsetattr(line, SetArg::TCSADRAIN, &settings);
}

#[cfg(test)]
mod tests {
    use super::*;

    const PORTS: &str = "serinfo:1.0 driver revision:\n0: uart:16550A port:000003F8 irq:4 tx:0 rx:0\n\
        1: uart:unknown port:000002F8 irq:3\n2: uart:16550A port:000003E8 irq:4\n";

    fn named(active: &str, arguments: &[&str]) -> Vec<(String, Option<u32>)> {
        let all = terminals(active, arguments.iter().copied(), PORTS);
        all.into_iter().map(|one| (one.name, one.speed)).collect()
    }

    #[test]
    fn a_serial_line_that_the_kernel_passed_over_is_used_and_one_without_hardware_is_not() {
        let arguments = ["tty0", "ttyS1,115200n8", "ttyS0,115200n8", "ttyS2,9600"];
        let expected = [("tty0", None), ("ttyS0", Some(115_200)), ("ttyS2", Some(9600))];
        assert_eq!(
            named("tty0 ttyS1\n", &arguments),
            expected.map(|(name, speed)| (name.to_owned(), speed))
        );
    }

    #[test]
    fn the_kernels_own_consoles_and_the_display_are_used_as_they_are() {
        let expected = [("hvc0", None), ("tty0", None), ("ttyS0", None)];
        let expected = expected.map(|(name, speed)| (name.to_owned(), speed));
        assert_eq!(named("hvc0 ttyS0", &["ttyS0,115200n8"]), expected);
        let display = |name: &str| {
            Terminal {
                name: name.into(),
                speed: None,
            }
            .is_display()
        };
        assert!(display("tty0") && !display("ttyS0") && !display("hvc0"));
    }
}
