//! Compares the verdicts of this server on rules with those of an API server's own code (`facts/cel/verdicts.json`).

use serde::Deserialize;
use serde_json::{Value, json};

use super::rules::Node;
use crate::schema::{Schema, validate};

#[derive(Deserialize)]
struct Table {
    spec: Value,
    rules: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    rule: Value,
    objects: Vec<Value>,
}

#[derive(Deserialize)]
struct Verdict {
    rule: Value,
    errors: Vec<String>,
    objects: Vec<Vec<String>>,
}

/// Features of an API server that this one refuses by name (docs/kube-api.md).
const NOT_HERE: [&str; 15] = [
    "self.tags.all(i, t, t == 'a')",
    "self.labels.exists(k, v, v == 'b')",
    "self.labels.transformMap(k, v, v + 'x').size() == 1",
    "self.tags.transformList(i, t, t + 'x').size() == 1",
    "self.tags.existsOne(i, t, t == 'a')",
    "self.tags.transformMapEntry(i, t, {t: i}).size() == 1",
    "self.numbers.first() == optional.of(1)",
    "self.numbers.last().hasValue()",
    "google.protobuf.Timestamp{seconds: 1} == self.at",
    "Foo{a: 1} == 1",
    "self.at.getHours('+01:00') == 6",
    "self.?name.optMap(v, v + 'x').orValue('') == 'ax'",
    "self.?name.optFlatMap(v, self.?text).hasValue()",
    "optional.unwrap([self.?name]).size() == 1",
    "format.named('uuid').value().validate(self.name).hasValue()",
];

/// Rules that `kube-cel` evaluates differently: it loses the port of a URL if it is the scheme's default.
const OTHERWISE: [&str; 2] = [
    "isURL(self.text) && url(self.text).getHost() == 'a.b:80'",
    "url(self.text).getHostname() == 'a.b' && url(self.text).getPort() == '80' && url(self.text).getScheme() == 'http' && \
     url(self.text).getEscapedPath() == '/c'",
];

#[test]
fn rules_are_taken_and_evaluated_as_an_api_server_does() {
    let table: Table = serde_json::from_str(include_str!("../../../facts/cel/rules.json")).unwrap();
    let verdicts: Vec<Verdict> =
        serde_json::from_str(include_str!("../../../facts/cel/verdicts.json")).unwrap();
    assert_eq!(table.rules.len(), verdicts.len());
    let (mut differ, mut left_out) = (Vec::new(), Vec::new());
    for (row, verdict) in table.rules.iter().zip(&verdicts) {
        assert_eq!(row.rule, verdict.rule);
        let text = row.rule["rule"].as_str().unwrap();
        let mut spec = table.spec.clone();
        spec["x-kubernetes-validations"] = json!([row.rule]);
        let document = json!({"type": "object", "properties": {"spec": spec}});
        let (_, faults) = Node::of(&document);
        if faults
            .iter()
            .any(|fault| fault.detail.contains("this server cannot evaluate"))
        {
            left_out.push(text);
            continue;
        }
        if faults.is_empty() != verdict.errors.is_empty() {
            differ.push(format!(
                "{}: {faults:?}, a server: {:?}",
                row.rule, verdict.errors
            ));
            continue;
        }
        let schema = Schema::of_crd(&document).unwrap();
        for (spec, expected) in row.objects.iter().zip(&verdict.objects) {
            let object = json!({"apiVersion": "rules.example.com/v1", "kind": "Thing", "metadata": {"name": "a"}, "spec": spec});
            let found = validate(&schema, &object, None);
            if (found.is_empty() != expected.is_empty()) != OTHERWISE.contains(&text) {
                differ.push(format!(
                    "{} of {spec}: {found:?}, a server: {expected:?}",
                    row.rule
                ));
            }
        }
    }
    assert!(differ.is_empty(), "{}:\n{}", differ.len(), differ.join("\n"));
    assert_eq!(left_out, NOT_HERE);
}
