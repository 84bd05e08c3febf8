//! Alert rules and the dashboard use metrics that the program has. What Prometheus makes of the rules: tests/scenarios/clients/monitoring.rs.

#![expect(clippy::unwrap_used, reason = "a test stops where a file has another form")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use muster_api::host::HostStatus;
use regex::Regex;
use serde_json::Value;

use super::{get, root, with_component};
use crate::world::World;

/// A metric's name in a source, between quotes.
static IN_A_SOURCE: LazyLock<Regex> = LazyLock::new(|| {
    let beginnings =
        "muster|process|service_assisted_installer|controller_runtime|rest_client|leader_election";
    Regex::new(&format!("\"((?:{beginnings})_[a-z_]+)\"")).unwrap()
});

fn folder() -> PathBuf {
    root().join("deploy/monitoring")
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn yaml(path: &Path) -> Value {
    serde_saphyr::from_str(&read(path)).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn list(value: &Value) -> &Vec<Value> {
    value.as_array().unwrap()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text"))
}

/// Every rule of `alerts.yaml`.
fn rules() -> Vec<Value> {
    let file = yaml(&folder().join("alerts.yaml"));
    let groups = list(&file["groups"]).iter();
    groups.flat_map(|group| list(&group["rules"]).clone()).collect()
}

fn dashboard() -> Value {
    serde_json::from_str(&read(&folder().join("dashboard.json"))).unwrap()
}

/// The names in the sources that record metrics.
fn recorded(folder: &Path, found: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("tests") {
            recorded(&path, found);
        } else if path.extension().is_some_and(|end| end == "rs") {
            let source = read(&path);
            if source.contains("metrics::") {
                let names = IN_A_SOURCE.captures_iter(&source);
                found.extend(names.map(|name| name[1].to_owned()));
            }
        }
    }
}

/// All metrics: those of sources, and those that a service has from its start, as some names are put together when it runs. A histogram has
/// the names of its parts.
fn exported() -> BTreeSet<String> {
    let mut found = BTreeSet::from(["up".to_owned()]);
    recorded(&root().join("service"), &mut found);
    let answer = World::start().rest().request("GET", "/metrics", None).expect(200);
    let shown = answer.text();
    let types = shown.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    found.extend(types.filter_map(|line| line.split(' ').next()).map(str::to_owned));
    let times: Vec<String> = found
        .iter()
        .filter(|name| name.ends_with("_seconds"))
        .cloned()
        .collect();
    for name in times {
        found.extend(["bucket", "sum", "count"].map(|part| format!("{name}_{part}")));
    }
    found
}

/// The metrics that an expression of PromQL names: what is left of it without texts, labels, ranges, words of the language and functions.
fn metrics_of(expression: &str) -> BTreeSet<String> {
    let mut left = expression.to_owned();
    // In this order: braces are in texts, too, and a function stands before its brackets once its labels are gone.
    for no_metric in [
        r#""[^"]*""#,
        r"\{[^}]*\}|\[[^\]]*\]",
        r"\b(?:by|without|on|ignoring) *\([^)]*\)|\b(?:and|or|unless|bool|offset)\b",
        r"\b[a-z_]+\s*\(",
    ] {
        left = Regex::new(no_metric)
            .unwrap()
            .replace_all(&left, " ")
            .into_owned();
    }
    let names = Regex::new(r"\b[a-zA-Z_][a-zA-Z0-9_:]*").unwrap();
    names
        .find_iter(&left)
        .map(|name| name.as_str().to_owned())
        .collect()
}

#[test]
fn an_expression_names_its_metrics() {
    let of = |expression: &str| metrics_of(expression).into_iter().collect::<Vec<_>>();
    assert_eq!(
        of(r#"sum by (le, kind) (rate(a_total{x="}", y=~"b|c"}[5m])) * 60 > 1 or d unless d offset 1h"#),
        ["a_total", "d"]
    );
    assert_eq!(
        of("histogram_quantile(0.99, sum(e_bucket)) / f"),
        ["e_bucket", "f"]
    );
}

/// The expressions of rules and dashboard, with the place of each.
fn expressions() -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> = rules()
        .iter()
        .map(|rule| (text(&rule["alert"]).to_owned(), text(&rule["expr"]).to_owned()))
        .collect();
    let dashboard = dashboard();
    for panel in list(&dashboard["panels"]) {
        for target in panel["targets"].as_array().into_iter().flatten() {
            all.push((text(&panel["title"]).to_owned(), text(&target["expr"]).to_owned()));
        }
    }
    let values = Regex::new(r"^label_values\((.*), *[a-z_]+\)$").unwrap();
    for variable in list(&dashboard["templating"]["list"]) {
        if let Some(found) = values.captures(text(&variable["query"])) {
            all.push((text(&variable["name"]).to_owned(), found[1].to_owned()));
        }
    }
    all
}

#[test]
fn rules_and_dashboard_name_metrics_that_the_program_has_and_the_page_describes() {
    let exported = exported();
    let page = read(&root().join("docs/operations.md"));
    let expressions = expressions();
    assert!(expressions.len() > 50, "{expressions:?}");
    let statuses = Regex::new(r#"status=~"([^"]*)""#).unwrap();
    for (place, expression) in &expressions {
        for metric in metrics_of(expression) {
            assert!(
                exported.contains(&metric),
                "{place}: the program has no metric {metric}"
            );
            let of_whole = ["_bucket", "_count"]
                .iter()
                .find_map(|part| metric.strip_suffix(*part));
            let described = of_whole.unwrap_or(&metric);
            // The page joins names that have a beginning in common.
            let is_joined = ["muster_agent_quota_", "muster_database_"]
                .iter()
                .any(|beginning| described.starts_with(*beginning));
            assert!(
                is_joined || described == "up" || page.contains(&format!("`{described}")),
                "{place}: docs/operations.md#metrics does not describe {described}"
            );
        }
        for named in statuses.captures_iter(expression) {
            for status in named[1].split('|') {
                assert!(
                    status.parse::<HostStatus>().is_ok(),
                    "{place}: no host is {status}"
                );
            }
        }
    }
}

#[test]
fn each_alert_has_what_to_do_and_is_tried_quiet_and_firing() {
    let mut tried: BTreeMap<String, BTreeSet<bool>> = BTreeMap::new();
    for entry in std::fs::read_dir(folder().join("tests")).unwrap() {
        for test in list(&yaml(&entry.unwrap().path())["tests"]) {
            for case in list(&test["alert_rule_test"]) {
                let fires = !list(&case["exp_alerts"]).is_empty();
                let name = text(&case["alertname"]).to_owned();
                tried.entry(name).or_default().insert(fires);
            }
        }
    }
    let page = read(&root().join("docs/monitoring.md"));
    let mut names = BTreeSet::new();
    for rule in rules() {
        let name = text(&rule["alert"]).to_owned();
        for (what, least) in [("summary", 20), ("description", 60)] {
            assert!(text(&rule["annotations"][what]).len() >= least, "{name}: {what}");
        }
        assert!(!text(&rule["for"]).is_empty(), "{name}");
        let severity = text(&rule["labels"]["severity"]);
        assert!(
            ["critical", "warning", "info"].contains(&severity),
            "{name}: {severity}"
        );
        assert!(
            page.contains(&format!("`{name}`")),
            "docs/monitoring.md lacks {name}"
        );
        assert_eq!(tried.get(&name), Some(&BTreeSet::from([false, true])), "{name}");
        assert!(names.insert(name.clone()), "{name} is there twice");
    }
    assert_eq!(
        names,
        tried.into_keys().collect(),
        "a test of an alert that is gone"
    );
}

/// The rules as an object of the operator.
fn prometheus_rule() -> String {
    let rules = read(&folder().join("alerts.yaml"));
    let groups = rules.lines().filter(|line| !line.starts_with('#'));
    let groups: Vec<String> = groups.map(|line| format!("  {line}")).collect();
    format!(
        "# alerts.yaml for the Prometheus operator. Written by `MUSTER_BLESS=1 cargo test -p muster --test muster monitoring`; do not edit.\n\
         apiVersion: monitoring.coreos.com/v1\nkind: PrometheusRule\nmetadata:\n  name: muster\nspec:\n{}\n",
        groups.join("\n")
    )
}

#[test]
fn the_component_has_the_same_rules_and_the_dashboard() {
    let place = folder().join("prometheus-rule.yaml");
    let wanted = prometheus_rule();
    if std::env::var_os("MUSTER_BLESS").is_some() {
        std::fs::write(&place, &wanted).unwrap();
    }
    assert!(
        read(&place) == wanted,
        "alerts.yaml has changed: MUSTER_BLESS=1 cargo test -p muster --test muster monitoring"
    );
    let objects = with_component("monitoring");
    let rule = get(&objects, "PrometheusRule", "muster");
    assert_eq!(rule["spec"], yaml(&folder().join("alerts.yaml")));
    let map = get(&objects, "ConfigMap", "muster-dashboard");
    let shipped: Value = serde_json::from_str(text(&map["data"]["muster.json"])).unwrap();
    assert_eq!(shipped, dashboard());
    assert_eq!(map["metadata"]["labels"]["grafana_dashboard"], "1");
}

#[test]
fn panels_of_the_dashboard_lie_side_by_side() {
    let dashboard = dashboard();
    let mut ids = BTreeSet::new();
    let mut taken: BTreeMap<(u64, u64), String> = BTreeMap::new();
    for panel in list(&dashboard["panels"]) {
        let title = text(&panel["title"]);
        assert!(ids.insert(panel["id"].as_u64().unwrap()), "{title}");
        let place = |side: &str| panel["gridPos"][side].as_u64().unwrap();
        assert!(place("x") + place("w") <= 24, "{title}");
        for y in place("y")..place("y") + place("h") {
            for x in place("x")..place("x") + place("w") {
                let other = taken.insert((x, y), title.to_owned());
                assert_eq!(other, None, "{title} covers another panel");
            }
        }
    }
}
