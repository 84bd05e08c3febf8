//! The terminals that show the console: every kernel console, and the first display. Each has a thread of its
//! own, so that a serial line that nobody reads holds up nothing.

use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::time::Instant;

use super::screen::Screen;

const ACTIVE: &str = "/sys/class/tty/console/active";
/// Changes that come together are shown together.
const GATHER: Duration = Duration::from_millis(150);

/// A terminal.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Terminal {
    /// Under `/dev`.
    pub name: String,
}

impl Terminal {
    /// A display is drawn anew; anything else gets lines.
    pub fn is_display(&self) -> bool {
        self.name
            .strip_prefix("tty")
            .is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()))
    }

    /// Its device.
    pub fn device(&self) -> PathBuf {
        PathBuf::from("/dev").join(&self.name)
    }
}

/// The kernel's consoles and the first display. `active` is the text of `/sys/class/tty/console/active`.
pub fn terminals(active: &str) -> Vec<Terminal> {
    let mut names: BTreeSet<&str> = active.split_whitespace().collect();
    names.insert("tty0");
    names
        .into_iter()
        .map(|name| Terminal {
            name: name.to_owned(),
        })
        .collect()
}

/// The terminals of the running system.
pub fn present() -> Vec<Terminal> {
    let active = std::fs::read_to_string(ACTIVE).unwrap_or_default();
    terminals(&active)
        .into_iter()
        .filter(|terminal| terminal.device().exists())
        .collect()
}

/// Starts a thread that shows `screen` on a terminal until its sender is gone.
///
/// # Errors
/// No thread can be started.
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
            now.news(&before, next_try)
        };
        if text != last || !terminal.is_display() {
            write(terminal, &text);
        }
        let counting = terminal.is_display() && now.session.trouble.is_some();
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

/// A terminal that cannot be written to is passed over: there is nobody to tell it to.
fn write(terminal: &Terminal, text: &str) {
    if text.is_empty() {
        return;
    }
    let opened = OpenOptions::new()
        .write(true)
        .custom_flags(libc::O_NOCTTY)
        .open(terminal.device());
    if let Ok(mut file) = opened {
        let _ = file.write_all(text.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kernel_console_and_the_display_are_used_once() {
        let names: Vec<_> = terminals("tty0 ttyS1 ttyS0\n")
            .into_iter()
            .map(|one| (one.is_display(), one.name))
            .collect();
        let expected = [
            (true, "tty0".to_owned()),
            (false, "ttyS0".to_owned()),
            (false, "ttyS1".to_owned()),
        ];
        assert_eq!(names, expected);
        assert_eq!(terminals("").len(), 1);
        assert!(!Terminal { name: "hvc0".into() }.is_display());
    }
}
