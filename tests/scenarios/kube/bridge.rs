//! The Kubernetes API of a service: the built-in one and a real one, the leader, and its state in `/ready`.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;

use muster_tests::artifacts::muster_program;
use muster_tests::condition::{LEAST_LIMIT, await_condition};
use muster_tests::database::postgres::Postgres;
use muster_tests::database::{Database, Served, on_each_database};
use muster_tests::kube::{ControlPlane, Kubectl};
use muster_tests::process::{command, output_within};
use muster_tests::service::{Service, Settings};
use nix::sys::signal::Signal;

on_each_database!(kubeconfigs_are_printed_for_elsewhere_and_end_when_keys_are_rotated);

/// The lease of the replica that leads.
const LEASE: &str = "77190dcb.agent-install.openshift.io";

fn settings() -> Settings {
    Settings::on_address("127.0.0.1").without_live_image()
}

/// The Kubernetes API's state as `/ready` reports it, with status 200.
fn leader_status(service: &Service) -> String {
    let ready = service.http().request("GET", "/ready", None).expect(200).json();
    ready["kubernetes"].as_str().unwrap().to_owned()
}

#[track_caller]
fn await_leader_status(service: &Service, text: &str) {
    await_condition(&format!("/ready to say {text:?}"), LEAST_LIMIT, || {
        let printed = leader_status(service);
        if printed.contains(text) {
            Ok(())
        } else {
            Err(printed)
        }
    });
}

/// Namespaces that `kubectl` sees.
#[track_caller]
fn namespaces(kubectl: &Kubectl) -> String {
    kubectl.run(&["get", "namespaces", "-o", "name"])
}

#[test]
fn the_kubeconfig_that_serve_writes_outlives_restarts() {
    let mut service = Database::Sqlite.serve();
    await_leader_status(&service, "ok, leading");
    let file = service.data_dir().join("kubeconfig");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let named = format!("export KUBECONFIG={}", file.display());
    // It leads before all of its output is written.
    let log = await_condition("it to say what to do next", LEAST_LIMIT, || {
        let log = service.log();
        if log.contains(&named) { Ok(log) } else { Err(log) }
    });
    let secret = service
        .kubectl()
        .run(&["config", "view", "--raw", "-o", "jsonpath={.users[0].user.token}"]);
    assert!(secret.len() > 40 && !log.contains(&secret));

    // A copy made earlier.
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("copy");
    fs::copy(&file, &copy).unwrap();
    let kubectl = Kubectl::new(&copy);
    assert!(namespaces(&kubectl).contains("namespace/default"));
    kubectl.run(&["create", "namespace", "kept"]);
    for kill in [true, false] {
        if kill {
            service.kill();
        } else {
            assert!(service.terminate().success());
        }
        service.start_again();
        assert!(namespaces(&kubectl).contains("namespace/kept"));
        await_leader_status(&service, "ok, leading");
    }
    let by_certificate = [
        "--context",
        "muster-certificate",
        "get",
        "namespaces",
        "-o",
        "name",
    ];
    assert!(kubectl.run(&by_certificate).contains("namespace/kept"));
    for kind in [
        "agents",
        "infraenvs",
        "agentclusterinstalls",
        "clusterdeployments",
    ] {
        let printed = kubectl.try_run(&["get", kind]);
        assert!(
            printed.succeeded && printed.err.contains("No resources found"),
            "{printed:?}"
        );
    }
    // No other token is accepted.
    let token = format!("--token={}x", &secret[1..]);
    let server = format!("--server=https://127.0.0.1:{}", service.kube_port());
    let anonymous = Kubectl::new(&folder.path().join("none"));
    let printed = anonymous.try_run(&["get", "namespaces", &server, &token, "--insecure-skip-tls-verify"]);
    assert!(
        !printed.succeeded && printed.err.contains("provide credentials"),
        "{printed:?}"
    );
}

fn kubeconfigs_are_printed_for_elsewhere_and_end_when_keys_are_rotated(database: Database) {
    let mut service = database.serve();
    let folder = tempfile::tempdir().unwrap();
    let server = format!("https://127.0.0.1:{}", service.kube_port());
    let printed = |service: &Served, name: &str, options: &[&str]| {
        let place = service.token_arguments();
        let mut arguments = vec!["kubeconfig", "--server", &server];
        arguments.extend(options);
        arguments.extend(place.iter().map(String::as_str));
        let file = folder.path().join(name);
        fs::write(&file, service.muster(&arguments)).unwrap();
        Kubectl::new(&file)
    };
    let administrator = printed(&service, "administrator", &[]);
    let viewer = printed(&service, "viewer", &["--viewer"]);
    administrator.run(&["create", "namespace", "kept"]);
    assert!(namespaces(&viewer).contains("namespace/kept"));
    let refused = viewer.try_run(&["create", "namespace", "other"]);
    assert!(
        !refused.succeeded && refused.err.contains("Forbidden"),
        "{refused:?}"
    );

    let new = printed(&service, "new", &["--rotate"]);
    assert!(service.terminate().success());
    service.start_again();
    assert!(namespaces(&new).contains("namespace/kept"));
    assert!(namespaces(&service.kubectl()).contains("namespace/kept"));
    let by_certificate = ["--context", "muster-certificate", "get", "namespaces"];
    new.run(&by_certificate);
    let unverified = ["get", "namespaces", "--insecure-skip-tls-verify"];
    for earlier in [&administrator, &viewer] {
        for arguments in [&unverified[..2], &unverified] {
            let refused = earlier.try_run(arguments);
            assert!(!refused.succeeded, "{arguments:?}: {refused:?}");
        }
    }
    let refused = administrator.try_run(&[&by_certificate[..], &unverified[2..]].concat());
    assert!(!refused.succeeded, "{refused:?}");
}

#[test]
fn a_taken_port_of_the_kubernetes_api_is_reported_with_its_flag() {
    let service = settings().start();
    let taken = format!("127.0.0.1:{}", service.kube_port());
    let folder = tempfile::tempdir().unwrap();
    let mut serve = command(muster_program());
    serve.args([
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--boot-listen",
        "127.0.0.1:0",
        "--kube-listen",
        &taken,
    ]);
    serve.arg("--data-dir").arg(folder.path());
    let output = output_within(&mut serve, b"", LEAST_LIMIT);
    let printed = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    for word in ["--kube-listen", &taken, "--kube-api off"] {
        assert!(printed.contains(word), "{word}: {printed}");
    }
}

/// Often another local cluster has the usual port.
#[test]
fn a_usual_port_that_is_taken_is_no_reason_to_stop() {
    // If another program has it already, that is sufficient.
    let _taken = std::net::TcpListener::bind("127.0.0.1:6443");
    let folder = tempfile::tempdir().unwrap();
    let mut serve = command(muster_program());
    serve.args([
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--boot-listen",
        "127.0.0.1:0",
        "--data-dir",
    ]);
    serve.arg(folder.path()).stdout(std::process::Stdio::piped());
    let mut running = serve.spawn().unwrap();
    let lines = BufReader::new(running.stdout.take().unwrap()).lines();
    let address = lines
        .map_while(Result::ok)
        .find_map(|line| line.strip_prefix("kubernetes API on https://").map(str::to_owned));
    let kubectl = muster_tests::kube::Kubectl::new(&folder.path().join("kubeconfig"));
    let namespaces = kubectl.try_run(&["get", "namespaces", "-o", "name"]);
    running.kill().unwrap();
    running.wait().unwrap();
    let address = address.expect("the address is told");
    assert!(
        address.starts_with("127.0.0.1:") && !address.ends_with(":6443"),
        "{address}"
    );
    assert!(namespaces.out.contains("namespace/default"), "{}", namespaces.err);
}

#[test]
fn without_the_bridge_nothing_listens_and_ready_says_so() {
    let service = settings().without_kube_api().start();
    assert_eq!(leader_status(&service), "off");
    assert!(TcpStream::connect(("127.0.0.1", service.kube_port())).is_err());
    assert!(!service.data_dir().join("kubeconfig").exists());
}

/// Finds the leader, and checks that the others report its name.
fn leader(services: &[&Service]) -> Result<usize, String> {
    let printed: Vec<String> = services.iter().map(|service| leader_status(service)).collect();
    let leading = |printed: &String| printed == "ok, leading";
    let following = |printed: &String| printed.starts_with("ok, ") && printed.ends_with(" leads");
    match printed.iter().position(leading) {
        Some(index) if printed.iter().filter(|printed| following(printed)).count() == printed.len() - 1 => {
            Ok(index)
        }
        _ => Err(format!("{printed:?}")),
    }
}

#[test]
fn of_two_replicas_one_leads_and_the_other_takes_over() {
    let cluster = Postgres::shared();
    let url = cluster.create_database();
    let mut services = [
        settings().database(&url).start(),
        settings().database(&url).start(),
    ];
    let find = |services: &[Service; 2]| leader(&[&services[0], &services[1]]);
    let first = await_condition("one of two to lead", LEAST_LIMIT, || find(&services));
    let second = 1 - first;

    // What is written through one is seen through the other.
    services[first].kubectl().run(&["create", "namespace", "shared"]);
    await_condition("the other replica to see it", LEAST_LIMIT, || {
        let seen = namespaces(&services[second].kubectl());
        if seen.contains("shared") {
            Ok(())
        } else {
            Err(seen)
        }
    });

    services[first].kill();
    await_leader_status(&services[second], "ok, leading");

    // The lease is not taken back.
    services[first].start_again();
    assert_eq!(
        await_condition("one of two to lead", LEAST_LIMIT, || find(&services)),
        second
    );

    // A replica that stops in an orderly way has released the lease by then: it has no holder, or the other replica.
    let holder = |service: &Service| holder(&service.kubectl(), "default");
    let before = holder(&services[first]);
    assert!(services[second].terminate().success());
    assert_ne!(holder(&services[first]), before);
    await_leader_status(&services[first], "ok, leading");
}

/// The name of the leading replica; empty: the lease has no holder.
#[track_caller]
fn holder(kubectl: &Kubectl, namespace: &str) -> String {
    let shown = "jsonpath={.spec.holderIdentity}";
    kubectl.run(&["-n", namespace, "get", "lease", LEASE, "-o", shown])
}

#[test]
fn a_real_api_server_may_lack_kinds_and_go_away_and_rest_works_on() {
    let mut plane = ControlPlane::start();
    let service = settings().kubeconfig(&plane.service_kubeconfig()).start();
    await_leader_status(&service, "does not know agents.agent-install.openshift.io");
    assert!(leader_status(&service).contains("muster crds --all | kubectl apply -f -"));
    plane
        .kubectl()
        .run_with(&["apply", "-f", "-"], &service.muster(&["crds", "--all"]));
    await_leader_status(&service, "ok, leading");
    let holder = holder(&plane.kubectl(), "muster");
    assert!(!holder.is_empty());

    let client = service.http();
    for hang in [false, true] {
        if hang {
            plane.signal_server(Signal::SIGSTOP);
        } else {
            plane.kill_server();
        }
        await_leader_status(&service, "no answer since");
        let path = muster_tests::database::infra_env(&client);
        client.get(&path).expect(200);
        if hang {
            plane.signal_server(Signal::SIGCONT);
        } else {
            plane.start_server_again();
        }
        await_leader_status(&service, "ok, leading");
    }

    // A second service on the same server follows, whatever its database.
    let other = settings().kubeconfig(&plane.service_kubeconfig()).start();
    await_leader_status(&other, &format!("ok, {holder} leads"));
}
