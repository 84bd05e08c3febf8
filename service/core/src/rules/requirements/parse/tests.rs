use super::*;

/// All roles of a `default` entry with these numbers.
const LEAST: &str = r#"{"version":"default",
    "master":{"cpu_cores":4,"ram_mib":16384,"disk_size_gb":100,"network_latency_threshold_ms":100,"packet_loss_percentage":0},
    "worker":{"cpu_cores":2,"ram_mib":8192,"disk_size_gb":100,"installation_disk_speed_threshold_ms":10},
    "sno":{"cpu_cores":8,"ram_mib":16384,"disk_size_gb":100}}"#;

fn read(entries: &[&str]) -> Result<Requirements, BadRequirements> {
    parse(&format!("[{}]", entries.join(",")))
}

fn refusal(entries: &[&str]) -> String {
    read(entries).unwrap_err().to_string()
}

#[test]
fn arbiters_and_edge_workers_of_the_default_are_as_its_workers() {
    let default = read(&[LEAST]).unwrap().default;
    assert_eq!(default.arbiter, default.worker);
    assert_eq!(default.edge_worker, default.worker);
    assert_eq!(default.master.network_latency_threshold_ms, Some(100.0));
    assert_eq!(default.worker.network_latency_threshold_ms, None);
}

#[test]
fn other_entries_are_merged_over_the_default_field_by_field() {
    let later = r#"{"version":"4.20","match_type":"min_version","sno":{"cpu_cores":4},"arbiter":{"disk_size_gb":50}}"#;
    let only = r#"{"version":"4.20.7","worker":{"packet_loss_percentage":5}}"#;
    let all = read(&[LEAST, later, only]).unwrap();
    let later = all.of("4.21.0-rc.1");
    assert_eq!((later.sno.cpu_cores, later.sno.ram_mib), (4, 16384));
    assert_eq!((later.arbiter.disk_size_gb, later.arbiter.ram_mib), (50, 8192));
    let only = all.of("4.20.7");
    assert_eq!(only.worker.packet_loss_percentage, Some(5.0));
    // Based on the default and not on the entry since 4.20.
    assert_eq!(only.sno.cpu_cores, 8);
    assert_eq!(all.of("4.19.9"), &all.default);
    assert_eq!(all.of(""), &all.default);
}

#[test]
fn of_several_least_versions_the_highest_not_above_counts() {
    let since = |version: &str, cores: u8| {
        format!(r#"{{"version":"{version}","match_type":"min_version","worker":{{"cpu_cores":{cores}}}}}"#)
    };
    let all = read(&[LEAST, &since("4.9", 9), &since("4.10", 10)]).unwrap();
    let cores = |version: &str| all.of(version).worker.cpu_cores;
    assert_eq!(
        ["4.8", "4.9", "4.9.50", "4.10.0", "5"].map(cores),
        [2, 9, 9, 10, 10]
    );
}

#[test]
fn an_empty_list_and_versions_without_an_entry_mean_what_is_shipped() {
    assert_eq!(parse("[]"), Ok(Requirements::default()));
    let only = LEAST.replace("default", "4.18.1");
    let all = read(&[&only]).unwrap();
    assert_eq!(all.of("4.18.1").arbiter.disk_size_gb, 100);
    assert_eq!(all.of("4.18.2"), &RoleTable::default());
}

#[test]
fn what_cannot_be_used_is_refused_with_entry_role_and_number() {
    assert!(parse("{}").unwrap_err().to_string().contains("JSON list"));
    assert!(parse("[] []").is_err());
    assert!(refusal(&[r#"{"min_version":"4.20"}"#]).contains("min_version"));
    assert!(refusal(&[LEAST, r#"{"sno":{}}"#]).contains("entry 2 has no version"));
    assert!(refusal(&[LEAST, LEAST]).contains("default are given twice"));
    let odd = LEAST.replacen("\"default\"", "\"4.20\",\"match_type\":\"least\"", 1);
    assert!(refusal(&[&odd]).contains("match_type \"least\""));
    let since = r#"{"version":"4.20","match_type":"min_version"}"#;
    assert!(refusal(&[since]).contains("\"default\""));
    assert!(refusal(&[LEAST, since, since]).contains("4.20 are given twice"));
    let nothing = r#"{"version":"newest","match_type":"min_version"}"#;
    assert!(refusal(&[LEAST, nothing]).contains("\"newest\" is not a version"));
    let no_sno = r#"{"version":"default","master":{"cpu_cores":4,"ram_mib":1,"disk_size_gb":1},"worker":{"cpu_cores":4,"ram_mib":1,"disk_size_gb":1}}"#;
    assert_eq!(
        refusal(&[no_sno]),
        "hardware requirements for default: sno.cpu_cores is 0, and must be more than 0"
    );
    let negative = r#"{"version":"4.20","worker":{"packet_loss_percentage":-1}}"#;
    assert!(refusal(&[LEAST, negative]).contains("worker.packet_loss_percentage is -1"));
    let text = r#"{"version":"4.20","worker":{"ram_mib":"8 GiB"}}"#;
    assert!(
        refusal(&[LEAST, text]).contains("worker.ram_mib"),
        "{}",
        refusal(&[LEAST, text])
    );
}
