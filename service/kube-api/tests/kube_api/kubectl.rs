//! Commands of the real `kubectl`, on this API and on a real server.

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use muster_tests::kube::program;
use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Command;

use crate::peers::Peer;
use crate::world::a_book;

on_each_server! {
    kubectl_works_as_with_a_real_server,
}

/// The namespace of these tests' objects.
const NAMESPACE: &str = "typed";

/// `kubectl` for one server.
pub struct Kubectl {
    arguments: Vec<String>,
    home: tempfile::TempDir,
}

impl Kubectl {
    /// With a kubeconfig.
    pub fn with_config(path: &Path) -> Self {
        Self {
            arguments: vec!["--kubeconfig".into(), path.display().to_string()],
            home: tempfile::tempdir().unwrap(),
        }
    }

    /// The same in a namespace.
    pub fn in_namespace(mut self, name: &str) -> Self {
        self.arguments.extend(["--namespace".to_owned(), name.to_owned()]);
        self
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(program("kubectl"));
        command
            .args(&self.arguments)
            .args(arguments)
            .env("HOME", self.home.path())
            .env_remove("KUBECONFIG")
            .stdin(Stdio::null())
            .kill_on_drop(true);
        command
    }

    /// Runs a command that must succeed; returns its output.
    pub async fn run(&self, arguments: &[&str]) -> String {
        let (good, out, err) = self.try_run(arguments).await;
        assert!(good, "kubectl {}: {out}{err}", arguments.join(" "));
        out
    }

    /// Runs a command that reads the OpenAPI document, in which a real server shows a new CRD some time after it is established.
    async fn run_when_published(&self, arguments: &[&str]) -> String {
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            let (good, out, err) = self.try_run(arguments).await;
            if good {
                return out;
            }
            assert!(
                Instant::now() < deadline,
                "kubectl {}: {out}{err}",
                arguments.join(" ")
            );
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    pub async fn try_run(&self, arguments: &[&str]) -> (bool, String, String) {
        let output = tokio::time::timeout(Duration::from_secs(60), self.command(arguments).output());
        let output = output.await.expect("kubectl ends").unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        (output.status.success(), text(output.stdout), text(output.stderr))
    }

    pub fn file(&self, name: &str, content: &str) -> String {
        let path = self.home.path().join(name);
        std::fs::write(&path, content).unwrap();
        path.display().to_string()
    }
}

fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

async fn kubectl_works_as_with_a_real_server(peer: Peer) {
    peer.shelf(NAMESPACE).await;
    let folder = tempfile::tempdir().unwrap();
    let kubectl = Kubectl::with_config(&peer.kubeconfig_in(folder.path())).in_namespace(NAMESPACE);
    discovers(&kubectl).await;
    asks_who_it_is(&kubectl).await;
    creates_and_gets(&kubectl).await;
    changes(&kubectl).await;
    waits_and_deletes(&kubectl).await;
    secrets(&kubectl).await;
}

async fn discovers(kubectl: &Kubectl) {
    let resources = kubectl.run(&["api-resources", "--no-headers"]).await;
    let books = resources
        .lines()
        .find(|line| line.starts_with("books"))
        .expect("books are listed");
    assert_eq!(
        words(books),
        ["books", "bk", "library.example.com/v1", "true", "Book"]
    );
    assert!(kubectl.run(&["api-versions"]).await.contains("events.k8s.io/v1"));
    assert!(kubectl.run(&["version"]).await.contains("Server Version: v1.34"));
    let explained = kubectl.run_when_published(&["explain", "books.spec.title"]).await;
    assert!(explained.contains("What is on the cover."), "{explained}");
    assert!(kubectl.run(&["explain", "secret"]).await.contains("stringData"));
}

/// Reviews, which kubectl sends in protobuf, as the commands that people type first.
async fn asks_who_it_is(kubectl: &Kubectl) {
    let groups = "jsonpath={.status.userInfo.groups}";
    let groups = kubectl.run(&["auth", "whoami", "-o", groups]).await;
    assert!(groups.contains("system:masters"), "{groups}");
    for question in [
        &["create", "books.library.example.com"][..],
        &["list", "books", "-A"],
        &["get", "/version"],
    ] {
        let command = [&["auth", "can-i"], question].concat();
        assert_eq!(kubectl.run(&command).await.trim(), "yes", "{question:?}");
    }
    let rules = kubectl.run(&["auth", "can-i", "--list"]).await;
    assert!(
        rules
            .lines()
            .any(|line| words(line) == ["*.*", "[]", "[]", "[*]"]),
        "{rules}"
    );
    assert!(kubectl.run(&["cluster-info"]).await.contains("is running at"));
    let (_, services, said) = kubectl.try_run(&["get", "services"]).await;
    assert!(
        services.is_empty() && said.contains("No resources found in typed namespace."),
        "{said}"
    );
}

async fn creates_and_gets(kubectl: &Kubectl) {
    let file = kubectl.file("a.yaml", &a_book("a", 10).to_string());
    assert_eq!(
        kubectl.run(&["create", "-f", &file]).await.trim(),
        "book.library.example.com/a created"
    );
    let (good, _, err) = kubectl.try_run(&["create", "-f", &file]).await;
    assert!(!good && err.contains("(AlreadyExists)"), "{err}");
    let table = kubectl.run(&["get", "books"]).await;
    let lines: Vec<Vec<&str>> = table.lines().map(words).collect();
    assert_eq!(
        lines,
        [vec!["NAME", "TITLE", "LENT"], vec!["a", "About", "a", "false"]]
    );
    assert!(kubectl.run(&["get", "bk", "-o", "wide"]).await.contains("READY"));
    assert_eq!(
        kubectl
            .run(&["get", "book", "a", "-o", "jsonpath={.spec.pages}"])
            .await,
        "10"
    );
    for (size, expected) in [("small", "book.library.example.com/a"), ("large", "")] {
        let selector = format!("size={size}");
        let names = kubectl
            .run(&["get", "books", "-l", &selector, "-o", "name"])
            .await;
        assert_eq!(names.trim(), expected);
    }
    assert!(
        kubectl
            .run(&["get", "books", "--field-selector", "metadata.name=a"])
            .await
            .contains("About a")
    );
    assert!(
        kubectl
            .run(&["get", "books", "-A"])
            .await
            .starts_with("NAMESPACE")
    );
    assert!(
        kubectl
            .run(&["get", "all", "-o", "name"])
            .await
            .contains("book.library.example.com/a")
    );
    let (good, _, err) = kubectl.try_run(&["get", "book", "none"]).await;
    assert!(
        !good && err.contains("Error from server (NotFound): books.library.example.com \"none\" not found"),
        "{err}"
    );
    let wrong = json!({"apiVersion": "library.example.com/v1", "kind": "Book", "metadata": {"name": "w"}, "spec": {"title": "t", "weight": 1}});
    let (good, _, err) = kubectl
        .try_run(&["create", "-f", &kubectl.file("w.yaml", &wrong.to_string())])
        .await;
    assert!(!good && err.contains("unknown field \"spec.weight\""), "{err}");
}

async fn changes(kubectl: &Kubectl) {
    let mut wanted = a_book("b", 10);
    for (pages, said) in [(10, "created"), (10, "unchanged"), (11, "configured")] {
        wanted["spec"]["pages"] = pages.into();
        let file = kubectl.file("b.yaml", &wanted.to_string());
        assert_eq!(
            kubectl.run(&["apply", "-f", &file]).await.trim(),
            format!("book.library.example.com/b {said}")
        );
    }
    // No document of OpenAPI v3 has this kind.
    let list = json!({"apiVersion": "v1", "kind": "List", "items": [wanted, a_book("c", 1)]});
    let file = kubectl.file("list.json", &list.to_string());
    assert_eq!(
        kubectl.run(&["apply", "-f", &file]).await.trim(),
        "book.library.example.com/b unchanged\nbook.library.example.com/c created"
    );
    kubectl.run(&["delete", "book", "c", "--wait=false"]).await;
    let file = kubectl.file("b.yaml", &wanted.to_string());
    let applied = kubectl
        .run(&["apply", "--server-side", "--force-conflicts", "-f", &file])
        .await;
    assert_eq!(applied.trim(), "book.library.example.com/b serverside-applied");
    assert!(
        kubectl
            .run(&["diff", "--server-side", "--force-conflicts", "-f", &file])
            .await
            .is_empty()
    );
    kubectl
        .run(&[
            "patch",
            "book",
            "b",
            "--type",
            "merge",
            "-p",
            r#"{"spec":{"lent":true}}"#,
        ])
        .await;
    assert_eq!(
        kubectl
            .run(&["get", "book", "b", "-o", "jsonpath={.spec.lent}"])
            .await,
        "true"
    );
    let (good, _, err) = kubectl.try_run(&["patch", "book", "b", "-p", "{}"]).await;
    assert!(!good && err.contains("is not supported by"), "{err}");
    kubectl
        .run(&["label", "book", "b", "size=huge", "--overwrite"])
        .await;
    kubectl.run(&["annotate", "book", "b", "note=x"]).await;
    kubectl.run(&["scale", "book", "b", "--replicas", "3"]).await;
    assert_eq!(
        kubectl
            .run(&[
                "get",
                "book",
                "b",
                "-o",
                "jsonpath={.spec.copies} {.metadata.labels.size}"
            ])
            .await,
        "3 huge"
    );
    let mut edit = kubectl.command(&["edit", "book", "b"]);
    let edited = edit
        .env("KUBE_EDITOR", "sed -i 's/pages: 11/pages: 12/'")
        .output()
        .await
        .unwrap();
    assert!(
        edited.status.success(),
        "{}",
        String::from_utf8_lossy(&edited.stderr)
    );
    assert_eq!(
        kubectl
            .run(&["get", "book", "b", "-o", "jsonpath={.spec.pages}"])
            .await,
        "12"
    );
    let wrong = kubectl
        .try_run(&[
            "patch",
            "book",
            "b",
            "--type",
            "merge",
            "-p",
            r#"{"spec":{"genre":"poem"}}"#,
        ])
        .await;
    assert!(
        !wrong.0 && wrong.2.contains("Unsupported value: \"poem\""),
        "{}",
        wrong.2
    );
}

async fn waits_and_deletes(kubectl: &Kubectl) {
    let mut watching = kubectl
        .command(&["get", "books", "-w", "--no-headers"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(watching.stdout.take().unwrap()).lines();
    let mut next = async || {
        let line = tokio::time::timeout(Duration::from_secs(60), lines.next_line())
            .await
            .expect("a line in time");
        line.unwrap().expect("a line")
    };
    assert!(next().await.starts_with("a "));
    assert!(next().await.starts_with("b "));
    kubectl
        .run(&[
            "patch",
            "book",
            "a",
            "--type",
            "merge",
            "-p",
            r#"{"spec":{"lent":true}}"#,
        ])
        .await;
    let line = next().await;
    assert_eq!(words(&line), ["a", "About", "a", "true"]);
    let waiting = kubectl
        .command(&["wait", "--for=condition=Ready", "--timeout=30s", "book/a"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let status = r#"{"status":{"conditions":[{"type":"Ready","status":"True"}]}}"#;
    kubectl
        .run(&[
            "patch",
            "book",
            "a",
            "--subresource=status",
            "--type",
            "merge",
            "-p",
            status,
        ])
        .await;
    let waited = waiting.wait_with_output().await.unwrap();
    assert!(waited.status.success() && String::from_utf8_lossy(&waited.stdout).contains("condition met"));
    kubectl
        .run(&[
            "wait",
            "--for=jsonpath={.spec.lent}=true",
            "--timeout=30s",
            "book/a",
        ])
        .await;
    assert!(kubectl.run(&["describe", "book", "a"]).await.contains("Title:"));
    assert_eq!(
        kubectl.run(&["delete", "book", "a"]).await.trim(),
        "book.library.example.com \"a\" deleted from typed namespace"
    );
    kubectl
        .run(&["wait", "--for=delete", "--timeout=30s", "book/a"])
        .await;
    kubectl.run(&["delete", "books", "--all"]).await;
    assert_eq!(kubectl.run(&["get", "books", "-o", "name"]).await, "");
}

async fn secrets(kubectl: &Kubectl) {
    let pull = kubectl.file("pull.json", r#"{"auths":{}}"#);
    kubectl
        .run(&[
            "create",
            "secret",
            "generic",
            "pull",
            &format!("--from-file=.dockerconfigjson={pull}"),
        ])
        .await;
    let line = kubectl.run(&["get", "secret", "pull", "--no-headers"]).await;
    assert_eq!(words(&line)[..3], ["pull", "Opaque", "1"]);
    let secret = |value: &str| {
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"k": value}})
            .to_string()
    };
    for (value, said) in [("1", "created"), ("2", "configured")] {
        let (good, out, err) = kubectl
            .try_run(&["apply", "-f", &kubectl.file("s.yaml", &secret(value))])
            .await;
        assert!(good && err.is_empty(), "{err}");
        assert_eq!(out.trim(), format!("secret/s {said}"));
    }
    assert_eq!(
        kubectl
            .run(&["get", "secret", "s", "-o", "jsonpath={.data.k}"])
            .await,
        "Mg=="
    );
    kubectl
        .run(&["create", "configmap", "c", "--from-literal=a=b"])
        .await;
    kubectl.run(&["create", "namespace", "other"]).await;
    kubectl
        .run(&["-n", "other", "create", "configmap", "c", "--from-literal=a=b"])
        .await;
    assert_eq!(
        kubectl.run(&["delete", "namespace", "other"]).await.trim(),
        "namespace \"other\" deleted"
    );
    let (good, _, _) = kubectl.try_run(&["get", "namespace", "other"]).await;
    assert!(!good);
}
