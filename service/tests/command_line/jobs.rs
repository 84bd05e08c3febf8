//! Jobs over many hosts: planned, confirmed, followed to their end, shown and repeated.

use crate::world::World;

/// A service with three hosts of the InfraEnv lab.
fn with_hosts() -> World {
    let world = World::start(&[]);
    world.prints(&["infra-env", "create", "--name", "lab"]);
    let id = world.prints(&["infra-env", "list", "-o", "name"]);
    for number in 1..=3 {
        world.host(
            &format!("/infra-envs/{}", id.trim()),
            number,
            &format!("worker-{number}"),
        );
    }
    world
}

/// Exit code, standard output and errors of a command.
fn outcome(world: &World, arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = world.muster(arguments).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn a_query_begins_a_job_that_is_followed_to_its_end() {
    let world = with_hosts();
    let naming = ["host", "hostname", "node-{n:02}", "--query", "pool:lab"];
    let dry = [&naming[..], &["--dry-run"]].concat();
    let plan = world.prints(&dry);
    assert!(
        plan.starts_with("of 3 hosts 3 would change, 0 are so already, 0 would be refused\n"),
        "{plan}"
    );
    assert!(plan.contains("worker-3") && plan.contains("node-03"), "{plan}");
    let (code, _, errors) = outcome(&world, &naming);
    assert_eq!(code, Some(2), "{errors}");
    assert!(errors.contains("--yes"), "{errors}");
    assert_eq!(world.prints(&["jobs", "-o", "name"]), "");

    let done = world.prints(&[&naming[..], &["--yes"]].concat());
    assert!(
        done.contains("finished: of 3 hosts 3 changed, 0 were so already, 0 failed"),
        "{done}"
    );
    let jobs = world.prints(&["jobs", "-o", "name"]);
    let job = world.prints(&["job", "show", jobs.trim()]);
    assert!(job.contains("hostname") && job.contains("3 of 3 done"), "{job}");
    let again = world.prints(&dry);
    assert!(again.contains("3 are so already"), "{again}");
    let ended = world.prints(&["job", "cancel", jobs.trim()]);
    assert!(ended.contains("had ended: finished"), "{ended}");
}

#[test]
fn refused_hosts_end_the_command_with_an_error() {
    let world = with_hosts();
    // Without a cluster.
    let (code, plan, errors) = outcome(&world, &["host", "install", "--query", "", "--yes"]);
    assert_eq!(code, Some(4), "{errors}");
    assert!(plan.contains("3 refused:"), "{plan}");
    let power = ["host", "power", "off", "--query", "pool:lab", "--yes"];
    let (code, plan, errors) = outcome(&world, &power);
    assert_eq!(code, Some(4), "{errors}");
    assert!(plan.contains("no BMC has booted it"), "{plan}");
    let (code, _, errors) = outcome(&world, &["host", "delete", "worker-1", "--query", "pool:lab"]);
    assert_eq!(code, Some(2), "{errors}");
    let (code, _, errors) = outcome(&world, &["host", "role", "worker"]);
    assert_eq!(code, Some(2), "{errors}");
    let labels = [
        "host", "labels", "rack=r1", "--query", "", "--except", "worker-2", "--yes",
    ];
    let done = world.prints(&labels);
    assert!(done.contains("of 2 hosts 2 changed"), "{done}");
    let racks = world.prints(&["hosts", "--label", "rack=r1", "-o", "name"]);
    assert_eq!(racks.lines().count(), 2);
    let deleted = world.prints(&["host", "delete", "--query", "worker-2", "--yes"]);
    assert!(deleted.contains("of 1 hosts 1 changed"), "{deleted}");
}
