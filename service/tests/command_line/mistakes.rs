//! Mistakes that people make, each with its error.

use std::process::Command;

use muster_tests::certificates::Authority;
use muster_tests::process::ports::ReservedPort;

use crate::golden::{all_agree, differs};
use crate::world::{World, program};

/// A mistake and its arguments.
type Mistake<'a> = (&'a str, &'a [&'a str]);

fn check(world: &World, mistakes: &[Mistake<'_>]) {
    check_commands(
        world,
        mistakes
            .iter()
            .map(|(name, arguments)| (*name, world.muster(arguments))),
    );
}

fn check_commands<'a>(world: &World, commands: impl IntoIterator<Item = (&'a str, Command)>) {
    let found = commands.into_iter().filter_map(|(name, muster)| {
        let text = world.transcript(muster);
        assert!(!text.ends_with("exit code 0\n"), "{text}");
        differs(&format!("mistake-{name}"), &text)
    });
    all_agree(found.collect());
}

#[test]
fn names_of_things() {
    // Without Agents for what REST made.
    let world = World::start(&["--no-mirror"]);
    let lab = world.infra_env("lab");
    world.infra_env("twin");
    world.infra_env("twin");
    world.host(&lab, 1, "worker-0");
    world.host(&lab, 2, "worker-1");
    check(
        &world,
        &[
            ("infra-env-unknown", &["infra-env", "show", "labb"]),
            ("infra-env-nothing-near", &["infra-env", "show", "zzz"]),
            (
                "infra-env-id-unknown",
                &["hosts", "--infra-env", "00000000-0000-0000-0000-000000000000"],
            ),
            ("infra-env-delete-inhabited", &["infra-env", "delete", "lab"]),
            (
                "infra-env-version-banana",
                &[
                    "infra-env",
                    "create",
                    "--name",
                    "x",
                    "--openshift-version",
                    "banana",
                ],
            ),
            ("infra-env-without-name", &["infra-env", "create"]),
            (
                "infra-env-two-names",
                &["infra-env", "create", "x", "--name", "y"],
            ),
            ("infra-env-empty-name", &["infra-env", "create", "--name", ""]),
            ("infra-env-update-nothing", &["infra-env", "update", "lab"]),
            (
                "infra-env-image-type",
                &["infra-env", "update", "lab", "--image-type", "usb"],
            ),
            (
                "infra-env-secret-missing",
                &[
                    "infra-env",
                    "create",
                    "--name",
                    "x",
                    "--pull-secret",
                    "no-such-file",
                ],
            ),
            ("host-unknown", &["host", "show", "worker-9"]),
            ("host-by-serial", &["host", "show", "sn-1"]),
            ("host-by-mac", &["host", "delete", "02-00-00-00-00-02"]),
            (
                "host-bind-cluster-unknown",
                &["host", "bind", "worker-0", "--cluster", "prod"],
            ),
            ("host-bind-without-cluster", &["host", "bind", "worker-0"]),
            ("host-without-name", &["host", "delete"]),
            ("host-set-nothing", &["host", "set", "worker-0"]),
            ("host-set-role", &["host", "set", "worker-0", "--role", "boss"]),
            (
                "host-set-name",
                &["host", "set", "worker-0", "--name", "Worker 0"],
            ),
            (
                "host-set-name-taken",
                &["host", "set", "worker-0", "--name", "worker-1"],
            ),
            ("host-set-disk", &["host", "set", "worker-0", "--disk", "sdz"]),
            (
                "host-set-disk-too-small",
                &["host", "set", "worker-0", "--disk", "sdb"],
            ),
            ("host-set-label", &["host", "set", "worker-0", "--label", "rack"]),
            ("host-unbind-unbound", &["host", "unbind", "worker-0"]),
            ("host-install-unbound", &["host", "install", "worker-0"]),
            ("host-one-of-two", &["host", "unbind", "worker-0", "worker-1"]),
            ("host-power-without-bmc", &["host", "power", "worker-0", "off"]),
            ("host-approve-without-agent", &["host", "approve", "worker-0"]),
            ("host-list-state", &["host", "list", "--state", "knwon"]),
            ("host-list-cluster", &["host", "list", "--cluster", "prod"]),
            ("completion-shell", &["completion", "tcsh"]),
            ("man-folder", &["man", "--dir", "/proc/nowhere"]),
            ("host-watch-json", &["host", "list", "--watch", "-o", "json"]),
            ("events-severity", &["events", "--severity", "bad"]),
            ("events-limit", &["events", "--limit", "0"]),
            ("cluster-unknown", &["cluster", "show", "prod"]),
            (
                "cluster-import-without-domain",
                &["cluster", "import", "--name", "prod"],
            ),
            (
                "cluster-import-name",
                &["cluster", "import", "--name", "Prod", "--domain", "example.com"],
            ),
            (
                "cluster-import-id",
                &[
                    "cluster", "import", "--name", "prod", "--domain", "x.com", "--id", "7",
                ],
            ),
            ("output-format-unknown", &["infra-env", "list", "-o", "xml"]),
            ("jsonpath-broken", &["infra-env", "list", "-o", "jsonpath={[}"]),
            ("command-unknown", &["statsu"]),
            ("command-list", &["list"]),
            ("command-doctor", &["doctor"]),
            ("command-logs", &["logs", "worker-0"]),
            ("command-upgrade", &["upgrade"]),
            ("command-iso", &["iso", "lab"]),
            ("command-show", &["show", "worker-0"]),
            ("command-version-option", &["-v"]),
            ("host-events", &["host", "events", "worker-0"]),
            ("host-reboot", &["host", "reboot", "worker-0"]),
            ("host-list-nobody", &["hosts", "worker-0", "wroker-1"]),
            ("infra-env-bind", &["infra-env", "bind", "worker-0"]),
            ("infra-env-status", &["infra-env", "status"]),
            ("subcommand-unknown", &["infra-env", "craete"]),
            ("option-unknown", &["hosts", "--infraenv", "lab"]),
        ],
    );
    world.prints(&["cluster", "import", "--name", "here", "--domain", "example.com"]);
    check(
        &world,
        &[
            (
                "infra-env-there-already",
                &["infra-env", "create", "--name", "lab"],
            ),
            (
                "cluster-there-already",
                &["cluster", "import", "--name", "here", "--domain", "example.com"],
            ),
            (
                "cluster-import-version",
                &[
                    "cluster",
                    "import",
                    "--name",
                    "x",
                    "--domain",
                    "example.com",
                    "--openshift-version",
                    "four",
                ],
            ),
        ],
    );
    let text = world.transcript(world.muster(&["infra-env", "show", "twin"]));
    assert!(
        text.contains("means 2 InfraEnvs")
            && text.contains("twin  created TIME, 0 hosts\n")
            && text.ends_with("exit code 2\n"),
        "{text}"
    );
    let secret = world.file("secret.json", "no JSON");
    let secret = secret.to_str().unwrap();
    check(
        &world,
        &[(
            "infra-env-secret-no-json",
            &["infra-env", "create", "--name", "x", "--pull-secret", secret],
        )],
    );
}

#[test]
fn versions_without_an_image() {
    let images = r#"[{"openshift_version":"4.20","cpu_architecture":"x86_64","version":"420.1",
        "metal_url":"http://images.example.test/metal.raw.zst",
        "metal_sha256":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"}]"#;
    let world = World::start(&["--os-images", images]);
    world.infra_env("lab");
    check(
        &world,
        &[
            (
                "infra-env-version-unknown",
                &["infra-env", "create", "--name", "x", "--openshift-version", "4.7"],
            ),
            (
                "infra-env-update-version-unknown",
                &["infra-env", "update", "lab", "--openshift-version", "4.7"],
            ),
        ],
    );
    // The command line refuses this version itself; other clients get the error of the service.
    let refused = world.rest().post(
        "/infra-envs",
        &serde_json::json!({"name": "x", "openshift_version": "banana", "pull_secret": muster_tests::rest::PULL_SECRET}),
    );
    assert!(
        refused
            .expect(400)
            .error_message()
            .contains("\"banana\" is no version")
    );
}

#[test]
fn the_way_to_the_service() {
    let world = World::start(&["--auth", "local"]);
    let unused = ReservedPort::reserve();
    let down = format!("http://127.0.0.1:{}", unused.number());
    let bare = world.url.trim_start_matches("http://").to_owned();
    let secure = world.url.replacen("http:", "https:", 1);
    let not_there = world.transcript(world.muster(&["hosts", "--url", &down]));
    assert!(
        not_there.contains("nothing listens there") && not_there.ends_with("exit code 5\n"),
        "{not_there}"
    );
    let broken = world.file("broken.pem", "no certificate");
    let broken = broken.to_str().unwrap();
    check(
        &world,
        &[
            ("token-missing", &["hosts"]),
            ("token-malformed", &["hosts", "--token", "wrong"]),
            ("url-without-scheme", &["hosts", "--url", &bare]),
            (
                "url-localhost-without-scheme",
                &["hosts", "--url", "localhost:8090"],
            ),
            ("url-no-url", &["hosts", "--url", "no url"]),
            ("url-ftp", &["hosts", "--url", "ftp://127.0.0.1"]),
            ("url-https-on-http", &["hosts", "--url", &secure]),
            ("url-of-boot-listener", &["hosts", "--url", &world.boot_url]),
            (
                "url-name-unknown",
                &["hosts", "--url", "http://no-such-name.invalid:8090"],
            ),
            ("ca-missing", &["hosts", "--ca", "no-such-file"]),
            ("ca-no-pem", &["hosts", "--ca", broken]),
            (
                "token-create-no-data-dir",
                &["token", "create", "--operator", "--data-dir", "nowhere"],
            ),
            ("token-create-for-nobody", &["token", "create"]),
            (
                "token-create-infra-env-unknown",
                &["token", "--infra-env", "lab", "--data-dir", "data"],
            ),
        ],
    );
    let mut foreign = world.muster(&["hosts"]);
    // Signed by another service's key.
    let other = World::start(&["--auth", "local"]);
    foreign.env(
        "MUSTER_TOKEN",
        other
            .prints(&["token", "--operator", "--data-dir", "data"])
            .trim(),
    );
    check_commands(&world, [("token-of-another-service", foreign)]);
    // A known caller without the right is refused, as other requests are.
    let mut read_only = world.muster(&["infra-env", "create", "--name", "x"]);
    let token = world.prints(&[
        "token",
        "create",
        "--operator",
        "--read-only",
        "--data-dir",
        "data",
    ]);
    read_only.env("MUSTER_TOKEN", token.trim());
    check_commands(&world, [("token-read-only", read_only)]);
    // A token for one InfraEnv lists its events without an option that names it.
    let operator = world.prints(&["token", "create", "--operator", "--data-dir", "data"]);
    let mut own = world.muster(&["infra-env", "create", "--name", "own"]);
    assert!(
        own.env("MUSTER_TOKEN", operator.trim())
            .status()
            .unwrap()
            .success()
    );
    let confined = [
        "token",
        "create",
        "--operator",
        "--only",
        "own",
        "--data-dir",
        "data",
    ];
    let token = world.prints(&confined);
    let mut events = world.muster(&["events"]);
    let events = events.env("MUSTER_TOKEN", token.trim()).output().unwrap();
    let shown = String::from_utf8_lossy(&events.stdout);
    assert!(
        events.status.success() && shown.contains("InfraEnv own was made"),
        "{events:?}"
    );
}

#[test]
fn certificates() {
    let authority = Authority::new("the company");
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    let other_name = authority.server(&["muster.example.test"]);
    write("ca.pem", authority.certificate());
    write("cert.pem", &other_name.certificate);
    write("key.pem", &other_name.key);
    let (cert, key, ca) = (path("cert.pem"), path("key.pem"), path("ca.pem"));
    let world = World::start_in(folder, &["--tls-cert", &cert, "--tls-key", &key]);
    let plain = world.url.replacen("https:", "http:", 1);
    check(
        &world,
        &[
            ("certificate-unknown", &["hosts"]),
            ("certificate-other-name", &["hosts", "--ca", &ca]),
            ("url-http-on-https", &["hosts", "--url", &plain]),
        ],
    );
    world.prints(&["hosts", "--insecure"]);
}

#[test]
fn a_certificate_that_is_its_own_authority_is_taken_when_it_is_given() {
    // As `openssl req -x509` makes it.
    let mut parameters = rcgen::CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
    parameters.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let key = rcgen::KeyPair::generate().unwrap();
    let made = parameters.self_signed(&key).unwrap();
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("c.pem"), made.pem()).unwrap();
    std::fs::write(folder.path().join("k.pem"), key.serialize_pem()).unwrap();
    let (cert, key) = (folder.path().join("c.pem"), folder.path().join("k.pem"));
    let (cert, key) = (cert.display().to_string(), key.display().to_string());
    let world = World::start_in(folder, &["--tls-cert", &cert, "--tls-key", &key]);
    world.prints(&["hosts", "--ca", &cert]);
    world.prints(&["infra-env", "create", "--name", "lab", "--ca", &cert]);
    check(&world, &[("certificate-self-signed", &["hosts"])]);
}

#[test]
fn options_of_serve() {
    let world = World::start(&[]);
    let serve = |options: &[&str]| {
        let mut serve = program(world.folder.path());
        serve.arg("serve").args(options);
        serve
    };
    let taken = world.url.trim_start_matches("http://").to_owned();
    check_commands(
        &world,
        [
            ("serve-listen-url", serve(&["--listen", "http://127.0.0.1:8090"])),
            ("serve-listen-port", serve(&["--listen", "127.0.0.1:banana"])),
            (
                "serve-listen-name",
                serve(&["--listen", "no-such-name.invalid:1"]),
            ),
            ("serve-public-url", serve(&["--public-url", "192.0.2.10:8090"])),
            (
                "serve-kubeconfig-and-builtin",
                serve(&["--kube-api", "builtin", "--kubeconfig", "x", "--data-dir", "new"]),
            ),
            ("serve-tls-cert-alone", serve(&["--tls-cert", "x.pem"])),
            ("serve-drain-timeout", serve(&["--drain-timeout", "long"])),
            ("serve-auth", serve(&["--auth", "yes"])),
            ("serve-log-format", serve(&["--log-format", "xml"])),
        ],
    );
    // A start that fails leaves no data dir behind.
    std::fs::write(world.folder.path().join("empty.json"), "{}").unwrap();
    for (option, value, names) in [
        ("--listen", &*taken, "--listen"),
        ("--boot-listen", &taken, "--boot-listen"),
        ("--service-ca", "no-such.pem", "no-such.pem"),
        ("--auth-key", "no-such.pem", "--auth-key no-such.pem"),
        ("--secrets-key", "no-such.key", "--secrets-key no-such.key"),
        ("--secrets-key", "empty.json", "--secrets-key empty.json"),
        ("--hw-requirements", "empty.json", "--hw-requirements empty.json"),
        ("--disabled-host-validations", "ntp", "\"ntp\" is not the id"),
        ("--os-images", "no-such.json", "--os-images no-such.json"),
        ("--kubeconfig", "no-such.yaml", "--kubeconfig no-such.yaml"),
        ("--kube-api", "elsewhere", "SQLite has no other replicas"),
        ("--database-url", "mysql://x/y", "sqlite:// or postgres://"),
    ] {
        let mut start = serve(&[option, value, "--data-dir", "new/data"]);
        start.envs(["MUSTER_LISTEN", "MUSTER_BOOT_LISTEN"].map(|name| (name, "127.0.0.1:0")));
        let failed = world.transcript(start);
        let (_, printed) = failed.split_once('\n').unwrap_or_default();
        assert!(
            printed.contains(names) && printed.ends_with("exit code 1\n"),
            "{failed}"
        );
        assert!(!world.folder.path().join("new").exists(), "{failed}");
    }
    let there = world.folder.path().join("data");
    let there = there.to_str().unwrap();
    let named = world.transcript(serve(&["--listen", &taken, "--data-dir", there]));
    assert!(named.contains("has this data dir"), "{named}");
}
