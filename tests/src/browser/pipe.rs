//! Sends commands over the pipe, and keeps what comes back.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::condition::LEAST_LIMIT;
use crate::process::command;

/// The browser reads commands from descriptor 3 and writes answers to 4, which a shell makes of its standard ones.
const SHELL: &str = r#"exec "$@" 3<&0 4>&1 </dev/null >/dev/null"#;

pub(super) struct Pipe {
    browser: Child,
    commands: ChildStdin,
    answers: Receiver<Value>,
    events: Vec<Value>,
    last: u64,
}

impl Pipe {
    #[track_caller]
    pub(super) fn open(program: &Path, profile: &Path, arguments: &[&str]) -> Self {
        assert!(
            program.exists(),
            "{} is missing; `.ci/deps web` installs it",
            program.display()
        );
        let mut starting = command("sh");
        starting
            .args(["-c", SHELL, "browser"])
            .arg(program)
            // Root has no sandbox of its own; pages are this service's.
            .args([
                "--no-sandbox",
                "--remote-debugging-pipe",
                "--disable-gpu",
                "--hide-scrollbars",
            ])
            .arg(format!("--user-data-dir={}", profile.display()))
            .args(arguments)
            .env("HOME", profile)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut browser = starting.spawn().expect("there is a shell");
        let commands = browser.stdin.take().expect("it is piped");
        let output = browser.stdout.take().expect("it is piped");
        let (sender, answers) = channel();
        std::thread::spawn(move || {
            for message in BufReader::new(output).split(0).map_while(Result::ok) {
                let message = serde_json::from_slice(&message).expect("messages are JSON");
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        Self {
            browser,
            commands,
            answers,
            events: Vec::new(),
            last: 0,
        }
    }

    /// The result of a command.
    ///
    /// # Panics
    /// If the browser refuses it, ends, or does not answer. A page that goes during the command returns `null`.
    #[track_caller]
    pub(super) fn command(&mut self, session: Option<&str>, method: &str, parameters: Value) -> Value {
        self.last += 1;
        let mut message = json!({"id": self.last, "method": method, "params": parameters});
        if let Some(session) = session {
            message["sessionId"] = session.into();
        }
        let mut text = message.to_string().into_bytes();
        text.push(0);
        let sent = self
            .commands
            .write_all(&text)
            .and_then(|()| self.commands.flush());
        sent.unwrap_or_else(|error| panic!("the browser takes no commands: {error}"));
        let until = Instant::now() + LEAST_LIMIT;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let message = match self.answers.recv_timeout(left) {
                Ok(message) => message,
                Err(RecvTimeoutError::Timeout) => panic!("the browser does not answer {method}"),
                Err(RecvTimeoutError::Disconnected) => panic!("the browser ended at {method}"),
            };
            if message["id"] != self.last {
                self.events.push(message);
                continue;
            }
            let error = message["error"]["message"].as_str();
            // Of a navigation meanwhile.
            let went = [
                "Cannot find context",
                "Inspected target navigated",
                "Execution context was destroyed",
            ];
            return match error {
                None => message["result"].clone(),
                Some(error) if went.iter().any(|text| error.contains(text)) => Value::Null,
                Some(error) => panic!("{method}: {error}"),
            };
        }
    }

    pub(super) fn events(&mut self) -> &[Value] {
        while let Ok(message) = self.answers.recv_timeout(Duration::ZERO) {
            self.events.push(message);
        }
        &self.events
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        let _ = self.browser.kill();
        let _ = self.browser.wait();
    }
}
