//! A program that a test started: logged, checked for an early end, killed by its id when dropped.

pub mod ports;
pub mod python;

use std::ffi::OsStr;
use std::io::{Read, Write as _};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

pub use nix::sys::signal::Signal;
use nix::sys::signal::kill;
use nix::unistd::Pid;

use crate::condition::await_condition;
use crate::evidence::failures;
use crate::evidence::transcript::{NotFound, Transcript};

/// Interval between checks for the end of a short command.
const CHECK_INTERVAL: Duration = Duration::from_millis(2);

/// A running program with captured standard output and error.
pub struct Program {
    name: String,
    child: Child,
    transcript: Transcript,
}

/// A command that the kernel kills when the thread that starts it ends, so that an interrupted test leaves nothing
/// running. Its standard input is empty unless the caller sets one.
pub fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new("setpriv");
    command
        .args(["--pdeathsig", "KILL", "--"])
        .arg(program)
        .stdin(Stdio::null());
    command
}

/// Resident memory of a process, bytes.
///
/// # Panics
/// If there is no such process.
pub fn resident(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("the process is there");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kibibytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kibibytes.expect("Linux tells VmRSS") * 1024
}

type Start = Box<dyn FnOnce() + Send>;

/// Runs `start` in a thread that lives as long as this test program: for children that outlive the test that started
/// them.
fn in_lasting_thread<T: Send + 'static>(start: impl FnOnce() -> T + Send + 'static) -> T {
    static THREAD: OnceLock<Mutex<Sender<Start>>> = OnceLock::new();
    let thread = THREAD.get_or_init(|| {
        let (sender, starts) = channel::<Start>();
        std::thread::spawn(move || starts.into_iter().for_each(|start| start()));
        Mutex::new(sender)
    });
    let (done, result) = channel();
    let job: Start = Box::new(move || drop(done.send(start())));
    thread
        .lock()
        .expect("nothing panics with the lock")
        .send(job)
        .expect("the thread lasts");
    result.recv().expect("the thread lasts")
}

impl Program {
    /// Starts `command` (made by [`command`]) with its output in `log`.
    ///
    /// # Panics
    /// If it cannot be started; the message names the apt package group to install.
    #[track_caller]
    pub fn start(name: &str, command: &mut Command, log: &Path) -> Self {
        Self::started(
            name,
            log,
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn(),
        )
    }

    /// Like [`start`](Self::start), for a program that several tests share: it lasts as long as this test
    /// program at most.
    #[track_caller]
    pub fn start_shared(name: &str, mut command: Command, log: &Path) -> Self {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        Self::started(name, log, in_lasting_thread(move || command.spawn()))
    }

    #[track_caller]
    fn started(name: &str, log: &Path, spawned: std::io::Result<Child>) -> Self {
        failures::show_at_once();
        let transcript = Transcript::new(log);
        let mut child = spawned.unwrap_or_else(|error| {
            panic!("cannot start {name}: {error}; `make deps` installs what tests need")
        });
        transcript.follow(child.stdout.take().expect("stdout is piped"));
        transcript.follow(child.stderr.take().expect("stderr is piped"));
        Self {
            name: name.to_owned(),
            child,
            transcript,
        }
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Its output so far.
    pub fn transcript(&self) -> &Transcript {
        &self.transcript
    }

    /// Waits for a text in its output and returns the first group of `pattern`.
    ///
    /// # Panics
    /// If the program ends or the deadline passes first; shows the log's tail.
    #[track_caller]
    pub fn await_output(&mut self, pattern: &str, limit: Duration) -> String {
        match self.transcript.await_match(pattern, limit) {
            Ok(text) => text,
            Err(silence) => panic!("{}", self.report(pattern, silence)),
        }
    }

    fn report(&mut self, pattern: &str, silence: NotFound) -> String {
        let why = match silence {
            NotFound::Deadline => "did not print in time".to_owned(),
            NotFound::Ended => match self.child.wait() {
                Ok(status) => format!("ended ({status}) without saying"),
                Err(error) => format!("is lost ({error}) without saying"),
            },
        };
        format!(
            "{} {why} {pattern:?}; the end of its output:\n{}",
            self.name,
            self.transcript.tail()
        )
    }

    /// Sends a signal.
    pub fn signal(&self, signal: Signal) {
        // A program that has ended needs no signal.
        let _ = kill(Pid::from_raw(self.child.id().cast_signed()), signal);
    }

    /// Waits for its end.
    ///
    /// # Panics
    /// If it still runs after `limit`.
    #[track_caller]
    pub fn await_exit(&mut self, limit: Duration) -> ExitStatus {
        let Self {
            name,
            child,
            transcript,
        } = self;
        let status = await_condition(&format!("{name} to end"), limit, || match child.try_wait() {
            Ok(Some(status)) => Ok(status),
            Ok(None) => Err(format!("it runs; the end of its output:\n{}", transcript.tail())),
            Err(error) => Err(error.to_string()),
        });
        transcript.await_end(Duration::from_secs(5));
        status
    }

    /// True while it runs.
    pub fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Kills it.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.kill();
        if std::thread::panicking() {
            eprintln!(
                "---- {}: last lines of its log ----\n{}\n----",
                self.name,
                self.transcript.tail()
            );
        }
    }
}

/// Runs a short command to its end and returns its output.
///
/// # Panics
/// If it cannot be started or fails; shows its output.
#[track_caller]
pub fn run(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).output();
    let output =
        output.unwrap_or_else(|error| panic!("{command:?}: {error}; `make deps` installs what tests need"));
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "{command:?}: {}\n{stdout}{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    stdout
}

/// Runs a command to its end, with `input` on its standard input; returns its output, whatever its status.
///
/// # Panics
/// If it cannot be started, or runs longer than `limit`; shows its output until then.
#[track_caller]
pub fn output_within(command: &mut Command, input: &[u8], limit: Duration) -> Output {
    ended_within(command, Some(input), limit)
}

/// Runs a command to its end, with an open standard input without data, like that of a user who types nothing.
///
/// # Panics
/// As [`output_within`].
#[track_caller]
pub fn output_of_silent_user(command: &mut Command, limit: Duration) -> Output {
    ended_within(command, None, limit)
}

/// `input`: `None`: no data and no end.
#[track_caller]
fn ended_within(command: &mut Command, input: Option<&[u8]>, limit: Duration) -> Output {
    let pipes = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let child = pipes.spawn();
    let mut child =
        child.unwrap_or_else(|error| panic!("{command:?}: {error}; `make deps` installs what tests need"));
    let mut stdin = child.stdin.take().expect("stdin is piped");
    let (mut out, mut err) = (
        child.stdout.take().expect("stdout is piped"),
        child.stderr.take().expect("stderr is piped"),
    );
    let (input, end) = (input.map(<[u8]>::to_owned), Instant::now() + limit);
    let everything = |stream: &mut dyn Read| {
        let mut bytes = Vec::new();
        // The output ends at a broken pipe.
        let _ = stream.read_to_end(&mut bytes);
        bytes
    };
    std::thread::scope(|scope| {
        let open = match input {
            Some(input) => {
                // A program that does not read its input gets none.
                scope.spawn(move || drop(stdin.write_all(&input)));
                None
            }
            None => Some(stdin),
        };
        let out = scope.spawn(move || everything(&mut out));
        let err = scope.spawn(move || everything(&mut err));
        let (status, is_late) = loop {
            match child.try_wait() {
                Ok(Some(status)) => break (status, false),
                Ok(None) if Instant::now() < end => std::thread::sleep(CHECK_INTERVAL),
                _ => {
                    let _ = child.kill();
                    break (child.wait().expect("a child can be waited for"), true);
                }
            }
        };
        drop(open);
        let message = "reading a pipe does not panic";
        let output = Output {
            status,
            stdout: out.join().expect(message),
            stderr: err.join().expect(message),
        };
        assert!(
            !is_late,
            "{command:?} runs for more than {} s; its output:\n{}{}",
            limit.as_secs(),
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        output
    })
}
