//! Standard output of commands: a reader that goes away (`| head`) ends the command, quietly.

use std::io::{ErrorKind, Write};

/// Prints `text` as it is.
pub fn print(text: &str) {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::BrokenPipe => std::process::exit(0),
        Err(error) => {
            eprintln!("standard output: {error}");
            std::process::exit(1);
        }
    }
}
