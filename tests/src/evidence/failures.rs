//! Reports failures at once. The test harness shows them only after the last test, an hour later, so a truncated log of
//! a run has only the names.

use std::io::Write as _;
use std::sync::Once;

/// Lines that are shown: the harness shows the whole.
const MOST_LINES: usize = 6;
const MOST_CHARS: usize = 1000;

/// Shows panics of this test program at once from now on, in a few lines; the harness still shows the whole at the end.
pub fn show_at_once() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            let whole = panic.payload_as_str().unwrap_or("a panic without a text");
            let start: String = whole.chars().take(MOST_CHARS).collect();
            let shown: Vec<&str> = start.lines().take(MOST_LINES).collect();
            let thread = std::thread::current();
            let name = thread.name().unwrap_or("a thread");
            let place = panic.location().map(ToString::to_string).unwrap_or_default();
            // Past the harness, which captures `println!`. Without a reader the text is lost.
            let _ = writeln!(
                std::io::stdout().lock(),
                "\n{name} failed at {place}: {}\n  ({})",
                shown.join("\n  "),
                load()
            );
            before(panic);
        }));
    });
}

/// The load of the computer: many tests wait for machines that share it.
fn load() -> String {
    let read = |file: &str| std::fs::read_to_string(file).unwrap_or_default();
    let memory = read("/proc/meminfo");
    let line = |name: &str| {
        let line = memory.lines().find(|line| line.starts_with(name));
        line.unwrap_or_default()
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
    };
    format!(
        "load {}; {}, {}",
        read("/proc/loadavg").trim(),
        line("MemTotal"),
        line("MemAvailable")
    )
}
