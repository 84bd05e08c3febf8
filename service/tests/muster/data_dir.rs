//! A data dir belongs to one service.

use std::fs;
use std::time::Duration;

use muster_tests::process::output_within;

use crate::world::{World, serve};

#[test]
fn a_second_service_is_told_who_has_the_data_dir_and_breaks_nothing() {
    let mut world = World::start();
    let kubeconfig = world.data_dir().join("kubeconfig");
    let before = fs::read_to_string(&kubeconfig).unwrap();
    let second = output_within(&mut serve(&world.data_dir()), b"", Duration::from_secs(60));
    let said = String::from_utf8_lossy(&second.stderr).into_owned();
    assert!(!second.status.success(), "{said}");
    let expected = format!("the service with pid {} has this data dir", world.service.id());
    assert!(said.contains(&expected) && said.contains("--data-dir"), "{said}");
    assert_eq!(fs::read_to_string(&kubeconfig).unwrap(), before);
    world.kubectl().run(&["get", "namespaces"]);

    // Whoever is gone has it no longer, however it went.
    world.service.kill();
    let again = world.start_again();
    again.kubectl().run(&["get", "namespaces"]);
}
