//! `kubectl`, as users type it.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use tempfile::TempDir;

use crate::condition::await_condition;
use crate::http::HttpClient;
use crate::process::{Program, command, output_within};

use super::programs::program;

/// Time limit of one command. Commands that wait have a shorter limit of their own (`--timeout`), which only a hang reaches, too.
const LIMIT: Duration = Duration::from_secs(180);

/// Output of a command.
#[derive(Debug, Clone)]
pub struct Output {
    /// True when it succeeded.
    pub succeeded: bool,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

/// `kubectl` for one kubeconfig (and namespace), with a home of its own.
#[derive(Debug, Clone)]
pub struct Kubectl {
    kubeconfig: PathBuf,
    namespace: Option<String>,
    home: Arc<TempDir>,
}

impl Kubectl {
    /// `kubectl` for a user with that kubeconfig.
    pub fn new(kubeconfig: &Path) -> Self {
        let home = tempfile::Builder::new().prefix("muster-kubectl-").tempdir();
        let home = home.unwrap_or_else(|error| panic!("no temporary folder: {error}"));
        Self {
            kubeconfig: kubeconfig.to_owned(),
            namespace: None,
            home: Arc::new(home),
        }
    }

    /// The same in a namespace, like `--namespace`.
    #[must_use]
    pub fn namespace(&self, name: &str) -> Self {
        Self {
            namespace: Some(name.to_owned()),
            ..self.clone()
        }
    }

    /// A client of the API server, with the authority and the token of the kubeconfig (that of the built-in API has
    /// both inside).
    ///
    /// # Panics
    /// If the kubeconfig has another form.
    #[track_caller]
    pub fn http(&self) -> HttpClient {
        let text = self.run(&["config", "view", "--raw", "--minify", "-o", "json"]);
        let config: Value = serde_json::from_str(&text).expect("kubectl prints JSON");
        let member = |pointer: &str| {
            let found = config.pointer(pointer).and_then(Value::as_str);
            found.unwrap_or_else(|| panic!("{}: no {pointer}", self.kubeconfig.display()))
        };
        let authority = STANDARD.decode(member("/clusters/0/cluster/certificate-authority-data"));
        let authority = authority.expect("certificate-authority-data is base64");
        let client = HttpClient::trusting(member("/clusters/0/cluster/server"), &authority);
        client.with_token(member("/users/0/user/token"))
    }

    /// The kubeconfig.
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// The command with these arguments; the caller starts it. It sees no proxy.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut kubectl = command(program("kubectl"));
        for (variable, _) in std::env::vars_os() {
            let name = variable.to_string_lossy().to_ascii_lowercase();
            if name.ends_with("_proxy") || name.starts_with("kube") {
                kubectl.env_remove(variable);
            }
        }
        kubectl
            .env("HOME", self.home.path())
            .env("KUBECONFIG", &self.kubeconfig);
        if let Some(namespace) = &self.namespace {
            kubectl.args(["--namespace", namespace]);
        }
        kubectl.args(arguments).current_dir(self.home.path());
        kubectl
    }

    /// Runs it; returns its output.
    ///
    /// # Panics
    /// If it fails; shows its output.
    #[track_caller]
    pub fn run(&self, arguments: &[&str]) -> String {
        let output = self.try_run(arguments);
        assert!(
            output.succeeded,
            "kubectl {}: {}{}",
            arguments.join(" "),
            output.out,
            output.err
        );
        output.out
    }

    /// Runs it, whatever its status.
    ///
    /// # Panics
    /// If it does not end in time.
    #[track_caller]
    pub fn try_run(&self, arguments: &[&str]) -> Output {
        run_to_end(&mut self.command(arguments), b"")
    }

    /// Runs it with these arguments and text on standard input, e.g. `apply -f -`.
    ///
    /// # Panics
    /// If it fails; shows its output.
    #[track_caller]
    pub fn run_with(&self, arguments: &[&str], input: &str) -> String {
        let output = run_to_end(&mut self.command(arguments), input.as_bytes());
        assert!(
            output.succeeded,
            "kubectl {}: {}{}\n{input}",
            arguments.join(" "),
            output.out,
            output.err
        );
        output.out
    }

    /// Types a line with `kubectl` in it into a shell; returns its output.
    ///
    /// # Panics
    /// If it fails; shows its output.
    #[track_caller]
    pub fn shell(&self, line: &str) -> String {
        let script = format!(
            "kubectl() {{ '{}' \"$@\"; }}; {line}",
            program("kubectl").display()
        );
        let mut shell = command("sh");
        shell.args(["-c", &script]).current_dir(self.home.path());
        shell
            .env("HOME", self.home.path())
            .env("KUBECONFIG", &self.kubeconfig);
        let output = run_to_end(&mut shell, b"");
        assert!(output.succeeded, "{line}: {}{}", output.out, output.err);
        output.out
    }

    /// Applies objects as `kubectl apply` does.
    ///
    /// # Panics
    /// If the server refuses.
    #[track_caller]
    pub fn apply(&self, objects: &[Value]) -> String {
        let list = serde_json::json!({"apiVersion": "v1", "kind": "List", "items": objects});
        self.run_with(&["apply", "-f", "-"], &list.to_string())
    }

    /// The output of `get -o json` with these arguments.
    ///
    /// # Panics
    /// If it fails.
    #[track_caller]
    pub fn get(&self, arguments: &[&str]) -> Value {
        let text = self.run(&[&["get", "-o", "json"], arguments].concat());
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("kubectl get: {error} in {text}"))
    }

    /// Waits until `find` returns a value for the output of `get -o json` with these arguments.
    ///
    /// # Panics
    /// After `limit`, with the last error.
    #[track_caller]
    pub fn await_that<T>(
        &self,
        what: &str,
        arguments: &[&str],
        limit: Duration,
        mut find: impl FnMut(&Value) -> Option<T>,
    ) -> T {
        await_condition(what, limit, || {
            let output = self.try_run(&[&["get", "-o", "json"], arguments].concat());
            let seen: Option<Value> = serde_json::from_str(&output.out).ok();
            let seen = seen.filter(|_| output.succeeded);
            let found = seen.and_then(|seen| find(&seen));
            found.ok_or_else(|| format!("{}{}", output.out, output.err))
        })
    }

    /// Waits until every applied kind is served.
    ///
    /// # Panics
    /// If one is not.
    #[track_caller]
    pub fn await_kinds(&self) {
        let all = ["--for=condition=Established", "crd", "--all", "--timeout=120s"];
        self.run(&[&["wait"], &all[..]].concat());
    }

    /// Edits an object like a user: `script` is the editor, a shell command that gets the file's name as its last word.
    ///
    /// # Panics
    /// If it fails.
    #[track_caller]
    pub fn edit(&self, arguments: &[&str], script: &str) -> String {
        let mut edit = self.command(&[&["edit"], arguments].concat());
        let output = run_to_end(edit.env("EDITOR", script), b"");
        assert!(
            output.succeeded,
            "kubectl edit {}: {}{}",
            arguments.join(" "),
            output.out,
            output.err
        );
        output.out
    }

    /// Starts it, e.g. `get -w`; its output is followed.
    #[track_caller]
    pub fn start(&self, arguments: &[&str]) -> Program {
        let log = tempfile::Builder::new()
            .prefix("output-")
            .tempfile_in(self.home.path())
            .and_then(|file| Ok(file.into_temp_path().keep()?));
        let log = log.unwrap_or_else(|error| panic!("{}: {error}", self.home.path().display()));
        let name = format!("kubectl {}", arguments.join(" "));
        Program::start(&name, &mut self.command(arguments), &log)
    }

    /// Writes a file that commands can name; returns its path.
    ///
    /// # Panics
    /// If it cannot be written.
    #[track_caller]
    pub fn file(&self, name: &str, content: &str) -> String {
        let path = self.home.path().join(name);
        let written = std::fs::File::create(&path).and_then(|mut file| file.write_all(content.as_bytes()));
        written.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        path.display().to_string()
    }
}

#[track_caller]
fn run_to_end(command: &mut Command, input: &[u8]) -> Output {
    let output = output_within(command.stdin(Stdio::piped()), input, LIMIT);
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Output {
        succeeded: output.status.success(),
        out: text(output.stdout),
        err: text(output.stderr),
    }
}
