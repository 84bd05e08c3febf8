//! Evaluates queries in a child process: one that loops is killed, one that needs much memory reaches the limit
//! of that process, and its environment is empty, so that no query can read that of the service.
//!
//! On the pipe, a line each: `i` and an inventory as JSON, which is kept; `q` and a query as a JSON text,
//! which is evaluated for that inventory; its [`Outcome`] is returned as JSON.

use std::collections::HashMap;
use std::io::{self, BufRead, Write};
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Mutex as SyncMutex, PoisonError};
use std::time::Duration;

use jaq_json::{Val, read};
use rustix::process::{Resource, Rlimit, Signal, getrlimit, set_parent_process_death_signal, setrlimit};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};

use super::query::{Compiled, Outcome};

/// The subcommand that runs as the child: `muster ask-queries`.
pub const COMMAND: &str = "ask-queries";

/// Time limit of a query. Generous, since the machine may be busy; a query of an inventory takes less than a
/// millisecond.
const TIME_LIMIT: Duration = Duration::from_secs(3);

/// Limit of the child's address space, bytes; the program itself takes a quarter of it.
const MEMORY_LIMIT: u64 = 384 << 20;

/// Wait before a query that had to be stopped is evaluated again.
pub const STOPPED_QUERY_WAIT: Duration = Duration::from_secs(600);

/// Longest query, bytes.
const LONGEST_QUERY: usize = 16 << 10;

/// Runs the child: responds to requests until the pipe is closed.
///
/// # Errors
/// Fails if the limit cannot be set or the pipe breaks.
pub fn answer() -> io::Result<()> {
    // The child ends with the service, also in the middle of a query that loops.
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // A child that crashes leaves no core file.
    for (resource, limit) in [(Resource::As, MEMORY_LIMIT), (Resource::Core, 0)] {
        let allowed = getrlimit(resource).maximum.unwrap_or(u64::MAX);
        let limit = Some(limit.min(allowed));
        setrlimit(
            resource,
            Rlimit {
                current: limit,
                maximum: limit,
            },
        )?;
    }
    serve(io::stdin().lock(), io::stdout().lock())
}

fn serve(questions: impl BufRead, mut answers: impl Write) -> io::Result<()> {
    let mut compiled = Compiled::default();
    let mut inventory = Val::Null;
    for line in questions.split(b'\n') {
        let line = line?;
        match line.split_first() {
            Some((b'i', json)) => inventory = read::parse_single(json).map_err(invalid)?,
            Some((b'q', json)) => {
                let query: String = serde_json::from_slice(json)?;
                let outcome = compiled.ask(&query, &inventory);
                serde_json::to_writer(&mut answers, &outcome)?;
                answers.write_all(b"\n")?;
                answers.flush()?;
            }
            Some(_) | None => return Err(invalid("a line must begin with i or q")),
        }
    }
    Ok(())
}

fn invalid(why: impl ToString) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why.to_string())
}

/// Runs queries in the child process.
pub struct Queries {
    program: PathBuf,
    worker: Mutex<Option<Worker>>,
    condemned: SyncMutex<HashMap<String, (Instant, String)>>,
}

struct Worker {
    _child: Child,
    questions: ChildStdin,
    answers: Lines<BufReader<ChildStdout>>,
}

impl Default for Queries {
    /// Returns queries that run in this program, also after its file was replaced.
    fn default() -> Self {
        Self::by("/proc/self/exe")
    }
}

impl Queries {
    /// Returns queries that run in `program`, which must have the subcommand [`COMMAND`].
    pub fn by(program: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            worker: Mutex::default(),
            condemned: SyncMutex::default(),
        }
    }

    /// Runs each of `queries` on `inventory`, which is JSON.
    ///
    /// # Errors
    /// Fails if the child process cannot be started. An error of a query is its outcome.
    pub async fn ask(&self, inventory: &str, queries: &[&str]) -> io::Result<Vec<Outcome>> {
        let mut outcomes = Vec::with_capacity(queries.len());
        let mut worker = self.worker.lock().await;
        let mut told = false;
        for query in queries {
            if let Some(outcome) = self.known(query) {
                outcomes.push(outcome);
                continue;
            }
            // Taken out, so that the child is killed when this future is dropped before the response is complete.
            let mut asked = match worker.take() {
                Some(running) => running,
                None => {
                    told = false;
                    self.start()?
                }
            };
            let answer = asked.ask((!told).then_some(inventory), query);
            match timeout(TIME_LIMIT, answer).await {
                Ok(Ok(outcome)) => {
                    outcomes.push(outcome);
                    told = true;
                    *worker = Some(asked);
                }
                Ok(Err(error)) => {
                    tracing::warn!(%error, "an AgentClassification's query ended the process that evaluates it");
                    outcomes.push(self.condemn(
                        query,
                        "the query was stopped: it needs too much memory, calls itself too deeply, or halts".into(),
                    ));
                }
                Err(_) => {
                    let seconds = TIME_LIMIT.as_secs();
                    outcomes.push(self.condemn(
                        query,
                        format!("the query was stopped: it took longer than {seconds} seconds"),
                    ));
                }
            }
        }
        Ok(outcomes)
    }

    fn start(&self) -> io::Result<Worker> {
        let mut child = Command::new(&self.program)
            .arg(COMMAND)
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()?;
        let (Some(questions), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::Error::other("the child process has no pipes"));
        };
        Ok(Worker {
            _child: child,
            questions,
            answers: BufReader::new(answers).lines(),
        })
    }

    fn known(&self, query: &str) -> Option<Outcome> {
        if query.len() > LONGEST_QUERY {
            let why = format!(
                "the query has {} bytes; at most {LONGEST_QUERY} are taken",
                query.len()
            );
            return Some(Outcome::Fails(why));
        }
        let mut condemned = self.condemned.lock().unwrap_or_else(PoisonError::into_inner);
        condemned.retain(|_, (until, _)| *until > Instant::now());
        condemned.get(query).map(|(_, why)| Outcome::Stopped(why.clone()))
    }

    fn condemn(&self, query: &str, why: String) -> Outcome {
        let mut condemned = self.condemned.lock().unwrap_or_else(PoisonError::into_inner);
        condemned.insert(
            query.to_owned(),
            (Instant::now() + STOPPED_QUERY_WAIT, why.clone()),
        );
        Outcome::Stopped(why)
    }
}

impl Worker {
    async fn ask(&mut self, inventory: Option<&str>, query: &str) -> io::Result<Outcome> {
        let mut text = String::new();
        if let Some(inventory) = inventory {
            text.push('i');
            text.push_str(inventory);
            text.push('\n');
        }
        text.push('q');
        text.push_str(&serde_json::to_string(query)?);
        text.push('\n');
        self.questions.write_all(text.as_bytes()).await?;
        let answer = self.answers.next_line().await?;
        let answer = answer.ok_or(io::ErrorKind::UnexpectedEof)?;
        Ok(serde_json::from_str(&answer)?)
    }
}

#[cfg(test)]
mod tests {
    use super::serve;

    #[test]
    fn questions_are_answered_line_by_line() {
        let questions = b"i{\"a\":1}\nq\".a == 1\"\nq\".a == 2\"\ni{\"a\":2}\nq\".a == 2\"\nq\"empty\"\n";
        let mut answers = Vec::new();
        serve(&questions[..], &mut answers).expect("well-formed questions");
        let answers = String::from_utf8(answers).expect("text");
        let answers: Vec<&str> = answers.lines().collect();
        assert_eq!(answers[..3], ["\"matches\"", "\"differs\"", "\"matches\""]);
        assert!(answers[3].starts_with("{\"fails\":"), "{}", answers[3]);
        assert!(serve(&b"nonsense\n"[..], &mut Vec::new()).is_err());
    }
}
