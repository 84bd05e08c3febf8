#!/usr/bin/env bash
# kube-cel 0.8 names the member `my_field` `self.my__field` in rules, which an API server refuses, and counts the bytes of a text. It knows
# `math.abs`, which no API server has for rules of CRDs, and takes a rule about a member that the schema does not declare.
. "$(dirname "$0")/lib/cargo.sh"
dependencies 'kube-cel = { version = "=0.8.0", features = ["validation"] }
cel = "=0.13.0"
serde_json = "=1.0.154"'
program <<'RUST'
use serde_json::json;

fn main() {
    println!("kube-cel 0.8.0 with cel 0.13.0");
    // Rule, member that it is about, value, and whether kube-cel finds that it holds.
    for (rule, value, holds) in [
        ("self.my_field == 1", json!({"my_field": 1}), false),
        ("self.my__field == 1", json!({"my_field": 1}), true),
        ("self.name.size() == 3", json!({"name": "äöü"}), false),
        ("self.name.size() == 6", json!({"name": "äöü"}), true),
        ("math.abs(self.n) == 1", json!({"n": -1}), true),
    ] {
        let schema = json!({"type": "object", "x-kubernetes-validations": [{"rule": rule}], "properties": {
            "my_field": {"type": "integer"}, "name": {"type": "string"}, "n": {"type": "integer"}}});
        let outcome = kube_cel::Validator::new().validate(&schema, &value, None);
        println!("{rule} of {value}: {}", outcome.as_ref().map_or_else(ToString::to_string, |()| "holds\n".into()));
        assert_eq!(outcome.is_ok(), holds, "{rule} has changed");
    }
    let undeclared = json!({"type": "object", "properties": {}, "x-kubernetes-validations": [{"rule": "self.nothing == 1"}]});
    let compiled = kube_cel::compile_schema(&undeclared);
    println!("a rule about a member that is not declared: {} errors of compilation", compiled.compilation_errors().len());
    assert!(compiled.compilation_errors().is_empty());
}
RUST
"$program"
