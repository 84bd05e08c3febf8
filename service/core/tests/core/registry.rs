//! Every check has a case for each of its outcomes, wherever the host is; `checks.tsv` lists the outcomes.

mod case;
mod cluster;
mod machine;
mod operators;
pub mod scene;

use std::collections::BTreeSet;

use case::{Case, Outcome};
use muster_api::host::HostStage;
use muster_api::steps::{NtpSource, NtpSourceState};
use muster_api::validation::ValidationStatus;
use muster_core::record::CheckId;
use muster_core::rules::checks;
use muster_core::rules::checks::{CheckContext, Conditions, Gate, Verdict};
use scene::{Place, Scene};

fn cases() -> Vec<Case> {
    let mut all = machine::cases();
    all.extend(cluster::cases());
    all.extend(operators::cases());
    all
}

/// A row of `checks.tsv`.
struct Row {
    id: &'static str,
    category: &'static str,
    gate: &'static str,
    outcomes: [(Place, BTreeSet<Outcome>); 2],
}

fn table() -> Vec<Row> {
    let outcomes = |letters: &str| {
        let of = |letter| match letter {
            's' => Outcome::Success,
            'f' => Outcome::Failure,
            'p' => Outcome::Pending,
            'e' => Outcome::Error,
            'h' => Outcome::Hidden,
            other => panic!("{other} is no outcome"),
        };
        letters.chars().map(of).collect()
    };
    let lines = include_str!("checks.tsv")
        .lines()
        .filter(|line| !line.starts_with('#'));
    lines
        .skip(1)
        .map(|line| {
            let mut fields = line.split('\t');
            let mut next = || fields.next().unwrap();
            Row {
                id: next(),
                category: next(),
                gate: next(),
                outcomes: [Place::Pool, Place::Cluster].map(|place| (place, outcomes(next()))),
            }
        })
        .collect()
}

fn judge(scene: &Scene, check: CheckId) -> Verdict {
    let facts = scene.facts();
    check.verdict(&CheckContext::new(&scene.host, &facts, scene.world.now))
}

fn evaluate(scene: &Scene) -> muster_api::validation::ValidationsInfo {
    checks::evaluate(&scene.host, &scene.facts(), scene.world.now)
}

#[test]
fn each_case_comes_out_as_it_should_and_has_words_for_it() {
    for (check, at, expected, change) in cases() {
        for place in at.places() {
            let mut scene = Scene::new(*place);
            change(&mut scene);
            let verdict = judge(&scene, check);
            assert_eq!(
                Outcome::of(&verdict),
                expected,
                "{} {place:?}: {verdict:?}",
                check.id()
            );
            match verdict {
                Verdict::Success(text)
                | Verdict::Failure(text)
                | Verdict::Pending(text)
                | Verdict::Error(text)
                | Verdict::Disabled(text) => assert!(!text.is_empty(), "{}", check.id()),
                Verdict::Hidden => {}
            }
        }
    }
}

#[test]
fn each_check_has_a_case_for_every_outcome_that_the_table_allows_and_for_no_other() {
    for row in table() {
        let check = CheckId::from_id(row.id).unwrap_or_else(|| panic!("{} is not made", row.id));
        for (place, allowed) in row.outcomes {
            let covered: BTreeSet<Outcome> = cases()
                .into_iter()
                .filter(|(id, at, _, _)| *id == check && at.places().contains(&place))
                .map(|(_, _, outcome, _)| outcome)
                .collect();
            assert_eq!(covered, allowed, "{} {place:?}", row.id);
        }
    }
}

#[test]
fn checks_categories_and_gates_are_those_of_the_table() {
    let rows = table();
    let known: BTreeSet<&str> = CheckId::ALL.iter().map(|check| check.id()).collect();
    assert_eq!(known, rows.iter().map(|row| row.id).collect());
    let of_gate = |gate: &str| -> BTreeSet<&str> {
        rows.iter()
            .filter(|row| row.gate == gate)
            .map(|row| row.id)
            .collect()
    };
    let ids = |gate: Gate| -> BTreeSet<&str> {
        let checks = CheckId::ALL.iter().filter(|check| check.gate() == gate);
        checks.map(|check| check.id()).collect()
    };
    assert_eq!(ids(Gate::Known), of_gate("gate"));
    assert_eq!(ids(Gate::MinHardware), of_gate("minHW"));
    assert_eq!(ids(Gate::Input), of_gate("input"));
    assert_eq!(ids(Gate::Apart), of_gate("apart"));
    for row in rows {
        assert_eq!(
            CheckId::from_id(row.id).unwrap().category(),
            row.category,
            "{}",
            row.id
        );
    }
}

fn shown(scene: &Scene, category: &str) -> Vec<String> {
    let rows = evaluate(scene).remove(category).unwrap_or_default();
    let ids = rows.into_iter().map(|row| row.id);
    ids.filter(|id| scene::is_upstream(id)).collect()
}

#[test]
fn rows_of_the_pool_stand_in_the_recorded_order() {
    let mut scene = Scene::new(Place::Pool);
    scene.world.infra_env.settings.ntp_sources = "198.51.100.1".into();
    let hardware = "has-inventory inventory-not-partially-truncated inventory-not-fully-truncated has-min-cpu-cores has-min-memory has-min-valid-disks has-cpu-cores-for-role has-memory-for-role hostname-valid sufficient-installation-disk-speed compatible-agent no-skip-installation-disk no-skip-missing-disk";
    let network = "connected media-connected valid-platform-network-settings ntp-synced time-synced-between-host-and-service container-images-available has-default-route no-ip-collisions-in-network";
    assert_eq!(shown(&scene, "hardware").join(" "), hardware);
    assert_eq!(shown(&scene, "network").join(" "), network);
    assert_eq!(shown(&scene, "operators").join(" "), "");
}

#[test]
fn rows_of_a_host_that_is_added_to_a_cluster_stand_in_the_recorded_order() {
    let mut scene = Scene::new(Place::Cluster);
    scene.host.data.ntp_sources = Some(vec![NtpSource {
        source_name: "198.51.100.1".into(),
        source_state: Some(NtpSourceState::Synced),
    }]);
    for row in evaluate(&scene).values().flatten() {
        assert_eq!(row.status, ValidationStatus::Success, "{}", row.id);
    }
    let hardware = "has-inventory inventory-not-partially-truncated inventory-not-fully-truncated has-min-cpu-cores has-min-memory has-min-valid-disks has-cpu-cores-for-role has-memory-for-role hostname-unique hostname-valid sufficient-installation-disk-speed compatible-with-cluster-platform compatible-agent no-skip-installation-disk no-skip-missing-disk";
    let network = "connected media-connected machine-cidr-defined belongs-to-machine-cidr ignition-downloadable belongs-to-majority-group mtu-valid valid-platform-network-settings ntp-synced time-synced-between-host-and-service container-images-available sufficient-network-latency-requirement-for-role sufficient-packet-loss-requirement-for-role has-default-route api-domain-name-resolved-correctly api-int-domain-name-resolved-correctly apps-domain-name-resolved-correctly dns-wildcard-not-configured non-overlapping-subnets no-ip-collisions-in-network";
    let operators = "amd-gpu authorino cluster-observability cnv fence-agents-remediation kmm kube-descheduler loki lso lvm mce metallb mtv nmstate node-feature-discovery node-healthcheck node-maintenance numa-resources nvidia-gpu oadp odf openshift-ai openshift-logging osc pipelines self-node-remediation serverless servicemesh";
    let operators: Vec<String> = operators
        .split(' ')
        .map(|name| format!("{name}-requirements-satisfied"))
        .collect();
    assert_eq!(shown(&scene, "hardware").join(" "), hardware);
    assert_eq!(shown(&scene, "network").join(" "), network);
    assert_eq!(shown(&scene, "operators"), operators);
}

#[test]
fn rows_that_nobody_can_help_disappear_as_the_installation_goes_on() {
    let mut scene = Scene::new(Place::Cluster);
    let all = evaluate(&scene);
    let gone = |scene: &Scene| -> Vec<String> {
        let now = evaluate(scene);
        let ids = all.values().flatten().map(|row| row.id.clone());
        ids.filter(|id| checks::find(&now, CheckId::from_id(id).unwrap()).is_none())
            .collect()
    };
    scene.stage(HostStage::WritingImageToDisk);
    assert_eq!(gone(&scene), ["compatible-agent"]);
    scene.stage(HostStage::Rebooting);
    assert_eq!(
        gone(&scene),
        [
            "compatible-agent",
            "connected",
            "media-connected",
            "ntp-synced",
            "time-synced-between-host-and-service"
        ]
    );
}

#[test]
fn a_disabled_check_counts_as_passed_until_the_cluster_ignores_some_by_itself() {
    let mut scene = Scene::new(Place::Cluster);
    scene.inventory().routes.clear();
    scene.world.requirements.disabled_checks =
        checks::parse_disabled("has-default-route,lso-requirements-satisfied").unwrap();
    assert_eq!(
        Outcome::of(&judge(&scene, CheckId::HasDefaultRoute)),
        Outcome::Disabled
    );
    assert!(checks::holds(&evaluate(&scene), CheckId::HasDefaultRoute));
    // Checks of operators cannot be disabled.
    assert_eq!(
        Outcome::of(&judge(&scene, CheckId::LsoRequirementsSatisfied)),
        Outcome::Success
    );
    scene.cluster().ignored_host_validations = vec!["mtu-valid".into()];
    assert_eq!(
        Outcome::of(&judge(&scene, CheckId::HasDefaultRoute)),
        Outcome::Failure
    );
}

#[test]
fn an_ignored_check_keeps_its_row_and_stands_in_nobodys_way() {
    let mut scene = Scene::new(Place::Cluster);
    scene.inventory().routes.clear();
    scene.peers[0].hostname = "host-1".into();
    let info = evaluate(&scene);
    let conditions = |ignored: &[&str]| {
        let ignored: Vec<String> = ignored.iter().map(|id| (*id).to_owned()).collect();
        Conditions::of(&info, &ignored)
    };
    let failed = |conditions: Conditions| conditions.failed(Gate::Known);
    assert_eq!(
        failed(conditions(&[])),
        [CheckId::HostnameUnique, CheckId::HasDefaultRoute]
    );
    assert_eq!(
        failed(conditions(&["has-default-route"])),
        [CheckId::HostnameUnique]
    );
    // The check of unique names cannot be ignored.
    assert_eq!(failed(conditions(&["all"])), [CheckId::HostnameUnique]);
    for gate in [Gate::MinHardware, Gate::Input] {
        assert_eq!(conditions(&[]).failed(gate), []);
    }
    assert!(conditions(&[]).holds(CheckId::HasInventory) && conditions(&[]).holds(CheckId::Connected));
    assert_eq!(conditions(&[]).failed_unbound(), []);
}

#[test]
fn texts_of_an_unchanged_host_do_not_change_with_time() {
    let mut scene = Scene::new(Place::Cluster);
    let before = evaluate(&scene);
    scene.world.wait(chrono::Duration::seconds(100));
    assert_eq!(evaluate(&scene), before);
}
