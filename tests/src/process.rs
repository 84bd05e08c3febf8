//! A program that a test started: logged, found dead when it dies, killed by its id when dropped.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::condition::await_condition;
use crate::transcript::{Silence, Transcript};

/// A running program whose standard output and error are followed.
pub struct Program {
    name: String,
    child: Child,
    transcript: Transcript,
}

/// A command that the kernel kills when the thread that starts it ends, so that an interrupted test leaves nothing running.
pub fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "--"]).arg(program);
    command
}

type Start = Box<dyn FnOnce() + Send>;

/// Does `start` in a thread that lives as long as this test program: for children that outlive the test that started them.
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
    /// If it cannot be started; says which apt package group to install.
    #[track_caller]
    pub fn start(name: &str, command: &mut Command, log: &Path) -> Self {
        Self::started(
            name,
            log,
            command
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn(),
        )
    }

    /// Like [`start`](Self::start), for a program that several tests share: it lasts as long as this test program at most.
    #[track_caller]
    pub fn start_shared(name: &str, mut command: Command, log: &Path) -> Self {
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        Self::started(name, log, in_lasting_thread(move || command.spawn()))
    }

    #[track_caller]
    fn started(name: &str, log: &Path, spawned: std::io::Result<Child>) -> Self {
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

    /// What it has said.
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

    fn report(&mut self, pattern: &str, silence: Silence) -> String {
        let why = match silence {
            Silence::Deadline => "did not say in time".to_owned(),
            Silence::Ended => match self.child.wait() {
                Ok(status) => format!("ended ({status}) without saying"),
                Err(error) => format!("is lost ({error}) without saying"),
            },
        };
        format!(
            "{} {why} {pattern:?}; its last words:\n{}",
            self.name,
            self.transcript.tail()
        )
    }

    /// Sends a signal.
    pub fn signal(&self, signal: Signal) {
        // A program that is gone already needs no signal.
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
            Ok(None) => Err(format!("it runs; its last words:\n{}", transcript.tail())),
            Err(error) => Err(error.to_string()),
        });
        transcript.await_end(Duration::from_secs(5));
        status
    }

    /// Whether it runs.
    pub fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Ends it without asking.
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
/// If it cannot be started or fails; shows what it said.
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
