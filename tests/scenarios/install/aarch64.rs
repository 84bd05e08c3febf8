//! An ARM server is installed, becomes a node of a real API server, and comes back: `node_pool` for another processor, kernel, firmware
//! and boot loader. Run by `make test-long` only: everything on its disk is compiled or unpacked for that processor first.

use muster_tests::qemu::{Architecture, Firmware, Slots};
use muster_tests::walk::{Host, Hub, NodePoolWalk};

#[test]
#[ignore = "it needs `make image-aarch64` and `.ci/needs install long`, which compile and emulate long"]
fn an_arm_server_becomes_a_node_and_a_host_again() {
    let slots = Slots::one();
    let hub = Hub::built_in_for(Architecture::Aarch64);
    let story = hub.story();
    let iso = hub.iso();
    let mut hosts = [Host::switch_on(
        "arm",
        Firmware::Aavmf,
        &iso,
        Vec::new(),
        slots.with(),
    )];
    let walk = NodePoolWalk::begin(hub);
    walk.announce("one");
    walk.hub.approve(&mut hosts);
    walk.publish("one");
    walk.scale(1);
    let done = walk.await_done(&mut hosts, 1);
    walk.assert_nodes(&done, "one");
    story.tell("one node");
    walk.scale(0);
    walk.await_empty(&mut hosts);
    story.tell("it is available again");
}
