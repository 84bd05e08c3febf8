//! Commands that succeed, in the order in which people use them.

use crate::golden::{all_agree, differs};
use crate::world::World;

#[test]
fn from_an_infra_env_to_a_host_in_a_cluster() {
    let world = World::start(&[]);
    let mut differences = Vec::new();
    let mut golden = |name: &str, arguments: &[&str]| {
        let text = world.transcript(world.muster(arguments));
        assert!(text.ends_with("exit code 0\n"), "{text}");
        differences.extend(differs(&format!("command-{name}"), &text));
    };
    golden("status-empty", &["status"]);
    golden(
        "infra-env-create",
        &[
            "infra-env",
            "create",
            "--name",
            "lab",
            "--ntp-sources",
            "192.0.2.1",
        ],
    );
    golden(
        "infra-env-create-again",
        &["infra-env", "create", "--name", "lab", "--another"],
    );
    let all: Vec<String> = world
        .prints(&["infra-env", "list", "-o", "name"])
        .lines()
        .map(str::to_owned)
        .collect();
    let first = world.prints(&[
        "infra-env",
        "list",
        "-o",
        "jsonpath={[?(@.additional_ntp_sources=='192.0.2.1')].id}",
    ]);
    let second = all.iter().find(|id| **id != first.trim()).unwrap();
    golden("infra-env-delete", &["infra-env", "delete", second]);
    golden(
        "infra-env-update",
        &[
            "infra-env",
            "update",
            "lab",
            "--proxy",
            "http://proxy.test:3128",
            "--no-proxy",
            "lab.test",
        ],
    );
    golden("infra-env-show", &["infra-env", "show", "lab"]);
    golden("infra-env-iso", &["infra-env", "iso", "lab"]);
    golden("infra-env-list", &["infra-env", "list"]);
    golden("infra-env-list-wide", &["infra-env", "list", "-o", "wide"]);
    golden("version", &["version"]);
    golden("host-list-empty", &["host", "list"]);

    let lab = format!("/infra-envs/{}", first.trim());
    for n in 1..=3 {
        world.host(&lab, n, &format!("worker-{n}"));
    }
    golden("host-list", &["host", "list"]);
    golden("hosts", &["hosts", "--mac", "02-00-00-00-00-02", "-o", "wide"]);
    golden("hosts-by-name", &["hosts", "worker-1", "sn-3"]);
    golden("search", &["search", "worker-2"]);
    // Reasons are not searched for words: all three hosts are "fit".
    let by = |word: &str| world.prints(&["hosts", word, "-o", "jsonpath={[*].inventory.hostname}"]);
    for word in ["02-00-00-00-00-02", "198.51.100.2", "SN-2", "worker-2", "ker-2"] {
        assert_eq!(by(word), "worker-2\n", "{word}");
    }
    let fit = world.muster(&["hosts", "fit"]).output().unwrap();
    assert_eq!(fit.status.code(), Some(3));
    golden("host-show", &["host", "show", "worker-1"]);
    let yaml = world.prints(&["host", "show", "worker-1", "-o", "yaml"]);
    assert!(yaml.contains("serial_number: SN-1"), "{yaml}");
    let json = world.prints(&["host", "list", "-o", "json"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json[0]["inventory"]["cpu"]["count"], 8);
    golden(
        "host-set-dry-run",
        &["host", "set", "worker-1", "--name", "node-1", "--dry-run"],
    );
    golden(
        "host-set",
        &[
            "host", "set", "worker-1", "--role", "worker", "--label", "rack=r1", "--name", "node-1",
        ],
    );
    golden(
        "host-history-changes",
        &["host", "history", "node-1", "--limit", "1"],
    );
    golden(
        "host-set-same",
        &["host", "set", "node-1", "--role", "worker", "--disk", "sda"],
    );
    golden("host-list-label", &["host", "list", "--label", "rack=r1"]);
    golden(
        "host-list-jsonpath",
        &[
            "host",
            "list",
            "-o",
            "jsonpath={[*].inventory.system_vendor.serial_number}",
        ],
    );

    golden(
        "cluster-import",
        &[
            "cluster",
            "import",
            "--name",
            "prod",
            "--domain",
            "example.com",
            "--openshift-version",
            "4.20",
        ],
    );
    golden(
        "cluster-import-again",
        &["cluster", "import", "--name", "prod", "--api", "192.0.2.7"],
    );
    let other = world.prints(&[
        "cluster",
        "list",
        "-o",
        "jsonpath={[?(@.api_vip_dns_name=='192.0.2.7')].id}",
    ]);
    golden("cluster-delete", &["cluster", "delete", other.trim()]);
    golden("cluster-list", &["cluster", "list"]);
    golden(
        "host-bind",
        &["host", "bind", "worker-2", "worker-3", "--cluster", "prod"],
    );
    golden("cluster-show", &["cluster", "show", "prod"]);
    // Its agent registers again by itself.
    world.host(&lab, 3, "worker-3");
    // Both have their former names, from the inventory that the move has cleared.
    golden("host-list-binding", &["hosts", "--cluster", "prod"]);
    golden("host-unbind", &["host", "unbind", "worker-3"]);
    golden("host-delete", &["host", "delete", "node-1"]);
    golden("token-revoke", &["token", "revoke", "--infra-env", "lab"]);
    golden("status", &["status"]);
    golden(
        "events",
        &[
            "events",
            "--infra-env",
            "lab",
            "--severity",
            "info",
            "--limit",
            "5",
            "-o",
            "wide",
        ],
    );
    golden(
        "host-history",
        &["host", "history", "worker-2", "--limit", "2", "-o", "wide"],
    );
    golden(
        "host-history-states",
        &[
            "host", "history", "worker-2", "--states", "--limit", "2", "-o", "wide",
        ],
    );
    all_agree(differences);
}

#[test]
fn many_hosts_are_changed_by_a_table_or_none() {
    let world = World::start(&[]);
    let lab = world.infra_env("lab");
    for n in 1..=3 {
        world.host(&lab, n, &format!("worker-{n}"));
    }
    world.file(
        "good.csv",
        "host,name,role,labels\nworker-1,node-1,,rack=r1\nworker-2,node-2,worker,\nworker-3,worker-3,,\n",
    );
    world.file(
        "wrong.csv",
        "host,name,disk\nworker-1,Node 1,sdz\nworker-9,,\nworker-2,,sdb\n,x,\nworker-3,worker-2,\nworker-3,,\nworker-1,y\n",
    );
    world.file("semicolons.csv", "host;name\nworker-1;node-1\n");
    world.file("columns.csv", "hots,nmae\n");
    // The service refuses a pool with such a long name; the command does not check that.
    let long = "x".repeat(8193);
    world.file(
        "late.csv",
        &format!("host,name,config_pool\nworker-3,late-3,\nnode-1,late-1,{long}\n"),
    );
    let names = || world.prints(&["host", "list", "-o", "jsonpath={[*].requested_hostname}"]);
    let mut differences = Vec::new();
    let mut golden = |name: &str, arguments: &[&str]| {
        let text = world.transcript(world.muster(arguments)).replace(&long, "LONG");
        differences.extend(differs(&format!("csv-{name}"), &text));
    };
    golden("wrong", &["host", "set", "--from-csv", "wrong.csv"]);
    golden("columns", &["host", "set", "--from-csv", "columns.csv"]);
    golden("semicolons", &["host", "set", "--from-csv", "semicolons.csv"]);
    golden("missing", &["host", "set", "--from-csv", "no-such.csv"]);
    golden("dry-run", &["host", "set", "--from-csv", "good.csv", "--dry-run"]);
    assert_eq!(names(), "worker-1\nworker-2\nworker-3\n");
    golden("good", &["host", "set", "--from-csv", "good.csv"]);
    assert_eq!(names(), "node-1\nnode-2\nworker-3\n");
    let dry_run = ["host", "set", "--from-csv", "late.csv", "--dry-run"];
    golden("dry-run-refused", &dry_run);
    let dry_run = ["host", "set", "node-1", "--config-pool", &long, "--dry-run"];
    golden("dry-run-refused-one", &dry_run);
    golden("refused-late", &["host", "set", "--from-csv", "late.csv"]);
    assert_eq!(
        names(),
        "node-1\nnode-2\nworker-3\n",
        "what was done before is taken back"
    );
    all_agree(differences);
}

#[test]
fn a_backup_of_a_running_service_is_restored_elsewhere() {
    let world = World::start(&["--auth", "local"]);
    let token = world.prints(&["token", "--operator", "--data-dir", "data"]);
    let with_token = |arguments: &[&str]| world.prints(&[arguments, &["--token", token.trim()]].concat());
    with_token(&["infra-env", "create", "--name", "before"]);
    world.prints(&["backup", "b.tar", "--data-dir", "data"]);
    with_token(&["infra-env", "create", "--name", "after"]);
    world.prints(&["restore", "b.tar", "--data-dir", "again"]);

    // The service of the restored data has the same keys, and the objects of that time.
    let folder = world.folder.path().join("again").display().to_string();
    let again = World::start(&["--auth", "local", "--data-dir", &folder]);
    let listed = again.prints(&[
        "infra-env",
        "list",
        "-o",
        "jsonpath={[*].name}",
        "--token",
        token.trim(),
    ]);
    assert_eq!(listed, "before\n");
    let ca = |folder: &str| {
        let kubeconfig = world.folder.path().join(folder).join("kubeconfig");
        let text = std::fs::read_to_string(kubeconfig).unwrap();
        let mut lines = text.lines().map(str::trim);
        lines
            .find(|line| line.starts_with("certificate-authority-data:"))
            .unwrap()
            .to_owned()
    };
    assert_eq!(ca("again"), ca("data"));
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::metadata(world.folder.path().join("b.tar"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);

    let mut damaged = std::fs::read(world.folder.path().join("b.tar")).unwrap();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    std::fs::write(world.folder.path().join("damaged.tar"), damaged).unwrap();
    world.file("no.tar", "no archive");
    let mut differences = Vec::new();
    let mut golden = |name: &str, arguments: &[&str]| {
        let text = world.transcript(world.muster(arguments));
        assert!(!text.ends_with("exit code 0\n"), "{text}");
        differences.extend(differs(&format!("mistake-{name}"), &text));
    };
    golden("backup-file-exists", &["backup", "b.tar", "--data-dir", "data"]);
    golden("backup-no-data", &["backup", "c.tar", "--data-dir", "nowhere"]);
    golden(
        "backup-postgres",
        &["backup", "c.dump", "--database-url", "postgres://a:secret@b/c"],
    );
    golden("restore-no-backup", &["restore", "no.tar", "--data-dir", "new"]);
    golden(
        "restore-damaged",
        &["restore", "damaged.tar", "--data-dir", "new"],
    );
    golden(
        "restore-missing",
        &["restore", "no-such.tar", "--data-dir", "new"],
    );
    golden(
        "restore-postgres",
        &["restore", "c.dump", "--database-url", "postgres://a:secret@b/c"],
    );
    let busy = world.transcript(world.muster(&["restore", "b.tar", "--data-dir", "data"]));
    assert!(
        busy.contains("has this data dir") && busy.ends_with("exit code 1\n"),
        "{busy}"
    );
    world.prints(&["restore", "b.tar", "--data-dir", "third"]);
    golden("restore-over-data", &["restore", "b.tar", "--data-dir", "third"]);
    assert!(!world.folder.path().join("new/muster.db").exists());
    all_agree(differences);
}

#[test]
fn contexts_name_services() {
    let world = World::start(&["--auth", "local"]);
    let token = world.prints(&["token", "create", "--operator", "--data-dir", "data"]);
    world.file("token", &token);
    let mut differences = Vec::new();
    let mut golden = |name: &str, arguments: &[&str]| {
        let mut muster = world.muster(arguments);
        muster.env_remove("MUSTER_URL");
        let text = world.transcript(muster);
        differences.extend(differs(&format!("config-{name}"), &text));
    };
    golden("list-empty", &["config", "list"]);
    golden(
        "set",
        &[
            "config",
            "set",
            "lab",
            "--url",
            &world.url,
            "--token-file",
            "token",
        ],
    );
    golden(
        "set-other",
        &["config", "set", "prod", "--url", "https://prod.example.test:8090"],
    );
    golden("list", &["config", "list"]);
    golden("hosts-in-context", &["infra-env", "list"]);
    golden("use-unknown", &["config", "use", "porduction"]);
    golden("use", &["config", "use", "prod"]);
    golden("context-option", &["infra-env", "list", "--context", "lab"]);
    golden("context-unknown", &["infra-env", "list", "--context", "x"]);
    // The token of a context is sent to its service only.
    golden("url-without-context", &["infra-env", "list", "--url", &world.url]);
    golden("set-without-url", &["config", "set", "new"]);
    golden("remove", &["config", "remove", "prod"]);
    world.file(".config/muster/config.toml", "contexts = 7");
    golden("file-broken", &["hosts"]);
    all_agree(differences);
}

#[test]
fn what_is_called_otherwise_elsewhere_is_understood() {
    let world = World::start(&[]);
    world.prints(&["infraenv", "new", "lab"]);
    world.prints(&["infra-env", "set", "lab", "--ntp-sources", "192.0.2.1"]);
    let lab = world.prints(&["infra-envs", "get", "lab", "-o", "jsonpath={.id}"]);
    world.host(&format!("/infra-envs/{}", lab.trim()), 1, "worker-1");
    world.prints(&["host", "update", "worker-1", "--name", "node-1"]);
    assert!(
        world
            .prints(&["host", "describe", "node-1"])
            .contains("known-unbound")
    );
    world.prints(&["host", "rm", "node-1"]);
}

#[test]
fn each_proxy_and_the_ignition_override_are_set_on_their_own() {
    let world = World::start(&["--no-mirror"]);
    let lab = world.infra_env("lab");
    let update = |options: &[&str]| world.prints(&[&["infra-env", "update", "lab"][..], options].concat());
    let shown = || world.rest().get(&lab).expect(200).json();
    let (one, other) = ("http://proxy.test:3128", "http://other.test:3128");
    update(&["--proxy", one, "--no-proxy", "lab.test"]);
    update(&["--https-proxy", other]);
    assert_eq!(
        shown()["proxy"],
        serde_json::json!({"http_proxy": one, "https_proxy": other, "no_proxy": "lab.test"})
    );
    // The more exact option counts; an empty text clears.
    update(&["--proxy", other, "--http-proxy", "", "--no-proxy", ""]);
    assert_eq!(shown()["proxy"], serde_json::json!({"https_proxy": other}));
    let config = r#"{"ignition":{"version":"3.2.0"}}"#;
    world.file("override.ign", config);
    update(&["--ignition-config-override", "override.ign"]);
    assert_eq!(shown()["ignition_config_override"], config);
    let option = ["--http-proxy", one, "--ignition-config-override", "override.ign"];
    world.prints(&[&["infra-env", "create", "rack"][..], &option].concat());
    let made = world.prints(&["infra-env", "show", "rack", "-o", "json"]);
    let made: serde_json::Value = serde_json::from_str(&made).unwrap();
    assert_eq!(
        (&made["proxy"], &made["ignition_config_override"]),
        (
            &serde_json::json!({"http_proxy": one}),
            &serde_json::json!(config)
        )
    );
}

#[test]
fn clusters_of_one_name_are_told_apart() {
    let world = World::start(&[]);
    let lab = world.infra_env("lab");
    world.host(&lab, 1, "worker-1");
    let import = |api: &'static str| world.prints(&["cluster", "import", "--name", "prod", "--api", api]);
    import("192.0.2.1");
    let first = world.prints(&["cluster", "list", "-o", "name"]);
    import("192.0.2.2");
    let refused = world.transcript(world.muster(&["host", "bind", "worker-1", "--cluster", "prod"]));
    assert!(
        refused.contains("means 2 clusters")
            && refused.contains("192.0.2.2")
            && refused.ends_with("exit code 2\n"),
        "{refused}"
    );
    world.prints(&["host", "bind", "worker-1", "--cluster", first.trim()]);
    let shown = world.prints(&["host", "show", "worker-1"]);
    assert!(shown.contains(&format!("prod ({})", &first[..8])), "{shown}");
}

#[test]
fn pages_are_written() {
    let world = World::start(&[]);
    world.prints(&["man", "--dir", "man"]);
    let page = std::fs::read_to_string(world.folder.path().join("man/muster-host-set.1")).unwrap();
    assert!(page.contains("from\\-csv"), "{page}");
}

/// A download is whole or not there.
#[test]
fn an_image_that_is_not_there_leaves_no_file() {
    // Machines reach the service by an address that leads nowhere from here, as QEMU's guests do.
    let world = World::start(&["--boot-url", "http://192.0.2.77:8091", "--auth", "none"]);
    world.infra_env("lab");
    let text = world.transcript(world.muster(&["infra-env", "iso", "lab", "--file", "lab.iso"]));
    assert!(
        text.contains("there is no live image") && text.ends_with("exit code 1\n"),
        "{text}"
    );
    assert!(!world.folder.path().join("lab.iso").exists());
}
