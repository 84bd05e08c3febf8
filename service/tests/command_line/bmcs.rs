//! BMCs by the command line. No request is sent to a BMC: the discovery of their machines stays off.

use crate::golden::{all_agree, differs};
use crate::world::World;

#[test]
fn bmcs_are_added_shown_changed_and_deleted() {
    let world = World::start(&[]);
    world.infra_env("lab");
    world.file("password", "hunter2\n");
    let mut differences = Vec::new();
    let mut golden = |name: &str, arguments: &[&str]| {
        let text = world.transcript(world.muster(&[&["bmc"], arguments].concat()));
        assert!(!text.contains("hunter2"), "{text}");
        differences.extend(differs(&format!("bmc-{name}"), &text));
    };
    let lab = ["--infra-env", "lab", "--no-discover"];
    let add = |more: &[&'static str]| [&["add"], more, &lab].concat();
    golden("add-without-user", &add(&["192.0.2.17"]));
    golden("add-without-password", &add(&["192.0.2.17", "--user", "root"]));
    let one = [
        "192.0.2.17",
        "--name",
        "r1u7",
        "--user",
        "root",
        "--password-file",
        "password",
    ];
    golden("add", &add(&one));
    golden("add-again", &add(&one));
    golden("list", &["list"]);
    golden("show", &["show", "r1u7"]);
    golden(
        "set",
        &[
            "set",
            "r1u7",
            "--name",
            "r1u8",
            "--boot",
            "uefi-http",
            "--system",
            "2",
        ],
    );
    golden("set-nothing", &["set", "r1u8"]);
    golden("set-accept-nothing", &["set", "r1u8", "--accept-certificate"]);
    golden("stop", &["stop", "r1u8"]);
    golden("power-what", &["power", "r1u8", "cycle"]);
    golden("power-no-wait", &["power", "r1u8", "off", "--no-wait"]);

    world.file(
        "rack.csv",
        "address,name,user,password\n192.0.2.18,a,root,hunter2\n192.0.2.19,b,root,hunter2\n",
    );
    world.file(
        "wrong.csv",
        "address,name,user,password,boot\n,a,root,hunter2,\n192.0.2.19,b,,hunter2,cd\n192.0.2.20,c,root,,\n",
    );
    world.file(
        "taken.yaml",
        "- address: 192.0.2.21\n  user: root\n  password: hunter2\n- address: 192.0.2.17\n  system: '2'\n  user: root\n  password: hunter2\n",
    );
    let import = |more: &[&'static str]| [&["import"], more, &lab].concat();
    golden("import-wrong", &import(&["wrong.csv"]));
    golden("import-taken", &import(&["taken.yaml"]));
    golden("import-dry-run", &import(&["rack.csv", "--dry-run"]));
    golden("list-before-import", &["list", "-o", "jsonpath={[*].name}"]);
    golden("import", &import(&["rack.csv"]));
    golden("delete", &["delete", "a", "b", "r1u8"]);
    golden("list-empty", &["list"]);
    all_agree(differences);
}
