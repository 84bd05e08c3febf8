//! Attacks of hostile clients, which must not affect others ([`muster_tests::attack`]). `make bench` measures the
//! effect, one by one and all at once.

use muster_tests::attack;
use muster_tests::database::{Database, infra_env, inventory, register, reply};
use serde_json::json;

/// Makes a test of each attack.
macro_rules! withstands {
    ($($name:ident: $attack:ident),* $(,)?) => {
        $(#[test] fn $name() { attack::$attack.is_withstood(); })*
    };
}

withstands!(
    silent_connections_to_the_boot_listener_close_neither_it_nor_the_others: SILENT_BOOT,
    half_heads_to_the_api_leave_room_for_agents: HALF_HEADS,
    large_heads_take_no_memory: LARGE_HEADS,
    bodies_that_are_held_open_fill_no_memory_and_leave_room_for_other_infra_envs: HELD_BODIES,
    an_infra_env_that_lists_its_hosts_all_the_time_holds_up_no_other: LISTS,
    patches_that_copy_themselves_are_refused: COPYING_PATCHES,
    rules_and_defaults_take_no_more_than_their_turn: NESTED_RULES,
    watches_that_never_read_hold_no_copies: IDLE_WATCHES,
    connections_to_kubernetes_that_say_nothing_end: SILENT_KUBERNETES,
);

#[test]
fn an_infra_env_stores_no_more_than_its_share() {
    let service = Database::Sqlite.serve_with(|settings| settings.argument("--max-inventories=1"));
    let client = service.http();
    let path = infra_env(&client);
    // Texts of different lengths that do not compress, so that no database stores them shorter.
    let noise = |n: u64| {
        (0..40_000)
            .map(|k| format!("{:x}", (n + 7) * 2_654_435_761 % (k + 1_000_003)))
            .collect::<String>()
    };
    let report = |n: u64, smart: String| {
        let host = register(&client, &path, n);
        let mut large = inventory(n);
        large["disks"][0]["smart"] = json!(smart);
        client.post(&format!("{host}/instructions"), &reply("inventory", &large))
    };
    let answers: Vec<_> = (1..8).map(|n| report(n, noise(n))).collect();
    let taken = answers.iter().filter(|answer| answer.status == 204).count();
    assert!((2..7).contains(&taken), "{taken} were taken");
    let refused = answers.iter().find(|answer| answer.status == 400).unwrap();
    assert!(
        refused.error_message().contains("--max-inventories"),
        "{}",
        refused.text()
    );
    // Reports of hosts that are unchanged are accepted, and so are those of others.
    report(9, String::new()).expect(204);
    let other = infra_env(&client);
    let host = register(&client, &other, 20);
    client
        .post(
            &format!("{host}/instructions"),
            &reply("inventory", &inventory(20)),
        )
        .expect(204);
}
