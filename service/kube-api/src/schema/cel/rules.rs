//! The rules of a schema, and their faults. Source: `k8s.io/apiextensions-apiserver` 0.34 `validation.go`, `cel_validation.go`.

use std::collections::BTreeMap;
use std::sync::Arc;

use kube_cel::cel::IdedExpr;
use kube_cel::cel::parser::Parser;
use serde_json::{Map, Value};

use super::check::{Checker, Wrong};
use super::declared::{Declared, MOST_BYTES};
use super::literals;
use super::optional;
use super::tree::makes_objects;
use super::types::Type;

/// Cost of a rule for all the values that it is evaluated for in an object.
const MOST_OF_RULE: u64 = 10_000_000;
/// Cost of all rules of a schema.
const MOST_OF_SCHEMA: u64 = 100_000_000;

/// The rules at a place of a schema and below.
#[derive(Debug, Default)]
pub struct Node {
    pub rules: Vec<Rule>,
    pub properties: BTreeMap<String, Node>,
    pub items: Option<Box<Node>>,
    /// `additionalProperties`
    pub additional: Option<Box<Node>>,
}

/// A rule, ready to be evaluated.
#[derive(Debug)]
pub struct Rule {
    pub document: kube_cel::Rule,
    /// The reason why it cannot be evaluated, of a CRD that an earlier version of this server accepted.
    pub program: Result<IdedExpr, String>,
    pub message: Option<IdedExpr>,
    /// It compares with the previous value.
    pub is_transition: bool,
}

/// A fault in a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Below the schema, such as `.properties[spec].x-kubernetes-validations[0].rule`.
    pub path: String,
    pub sort: Sort,
    pub detail: String,
    /// The text of the rule.
    pub rule: String,
}

/// The reason of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sort {
    Invalid,
    Required,
    Forbidden,
}

/// The place of a node in the schema.
#[derive(Clone)]
pub(super) struct Place {
    path: String,
    is_root: bool,
    /// Values of this node in an object; `None` without a limit.
    most: Option<u64>,
    /// The part in which a value cannot be found again in the previous object.
    pub(super) uncorrelated: Option<String>,
}

impl Node {
    /// The rules of a schema; `None` without any. Their faults do not prevent the result.
    pub fn of(schema: &Value) -> (Option<Self>, Vec<Fault>) {
        let mut compiler = Compiler {
            faults: Vec::new(),
            total: 0,
            rule: String::new(),
        };
        let root = Place {
            path: String::new(),
            is_root: true,
            most: Some(1),
            uncorrelated: None,
        };
        let node = compiler.node(schema, &root);
        if compiler.total > MOST_OF_SCHEMA {
            let detail = over_budget(
                "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema",
                compiler.total,
                MOST_OF_SCHEMA,
            );
            compiler.fault("", Sort::Forbidden, detail);
        }
        (node, compiler.faults)
    }

    fn is_empty(&self) -> bool {
        self.rules.is_empty()
            && self.properties.is_empty()
            && self.items.is_none()
            && self.additional.is_none()
    }
}

pub(super) struct Compiler {
    pub(super) faults: Vec<Fault>,
    /// The cost of all rules so far.
    total: u64,
    /// The text of the rule that is looked at.
    rule: String,
}

impl Compiler {
    pub(super) fn fault(&mut self, path: impl Into<String>, sort: Sort, detail: impl Into<String>) {
        self.faults.push(Fault {
            path: path.into(),
            sort,
            detail: detail.into(),
            rule: self.rule.clone(),
        });
    }

    fn node(&mut self, schema: &Value, place: &Place) -> Option<Node> {
        let members = schema.as_object()?;
        let mut node = Node::default();
        let below = |path: String| Place {
            path,
            is_root: false,
            ..place.clone()
        };
        let atomic = members
            .get("x-kubernetes-map-type")
            .is_some_and(|kind| kind == "atomic");
        let in_objects = place
            .uncorrelated
            .clone()
            .or_else(|| atomic.then(|| place.path.clone()));
        for (name, child) in objects(members.get("properties")) {
            let place = Place {
                uncorrelated: in_objects.clone(),
                ..below(format!("{}.properties[{name}]", place.path))
            };
            if let Some(found) = self.node(child, &place) {
                node.properties.insert(name.clone(), found);
            }
        }
        let times = |limit: &str| Some(place.most?.saturating_mul(members.get(limit)?.as_u64()?));
        if let Some(child) = members.get("additionalProperties") {
            let place = Place {
                most: times("maxProperties"),
                uncorrelated: in_objects,
                ..below(format!("{}.additionalProperties", place.path))
            };
            node.additional = self.node(child, &place).map(Box::new);
        }
        if let Some(child) = members.get("items") {
            let is_map = members
                .get("x-kubernetes-list-type")
                .is_some_and(|kind| kind == "map");
            let place = Place {
                most: times("maxItems"),
                uncorrelated: place
                    .uncorrelated
                    .clone()
                    .or_else(|| (!is_map).then(|| place.path.clone())),
                ..below(format!("{}.items", place.path))
            };
            node.items = self.node(child, &place).map(Box::new);
        }
        self.branches(members, place);
        node.rules = self.rules(schema, members, place);
        (!node.is_empty()).then_some(node)
    }

    /// Rules are not allowed at alternatives of a schema.
    fn branches(&mut self, members: &Map<String, Value>, place: &Place) {
        for name in ["allOf", "anyOf", "oneOf"] {
            let branches = members.get(name).and_then(Value::as_array).into_iter().flatten();
            for (index, branch) in branches.enumerate() {
                self.without_rules(branch, &format!("{}.{name}[{index}]", place.path));
            }
        }
        if let Some(branch) = members.get("not") {
            self.without_rules(branch, &format!("{}.not", place.path));
        }
    }

    fn without_rules(&mut self, schema: &Value, path: &str) {
        if schema["x-kubernetes-validations"]
            .as_array()
            .is_some_and(|rules| !rules.is_empty())
        {
            let path = format!("{path}.x-kubernetes-validations");
            self.fault(path, Sort::Forbidden, "must be empty to be structural");
        }
        for (name, child) in objects(schema.get("properties")) {
            self.without_rules(child, &format!("{path}.properties[{name}]"));
        }
        for name in ["items", "additionalProperties", "not"] {
            if let Some(child) = schema.get(name).filter(|child| child.is_object()) {
                self.without_rules(child, &format!("{path}.{name}"));
            }
        }
        for name in ["allOf", "anyOf", "oneOf"] {
            for (index, branch) in schema[name].as_array().into_iter().flatten().enumerate() {
                self.without_rules(branch, &format!("{path}.{name}[{index}]"));
            }
        }
    }

    fn rules(&mut self, schema: &Value, members: &Map<String, Value>, place: &Place) -> Vec<Rule> {
        let Some(documents) = members.get("x-kubernetes-validations").and_then(Value::as_array) else {
            return Vec::new();
        };
        if documents.is_empty() {
            return Vec::new();
        }
        let declared = Declared::of(schema, "self", place.is_root).map(Arc::new);
        let mut rules = Vec::new();
        for (index, document) in documents.iter().enumerate() {
            let path = format!("{}.x-kubernetes-validations[{index}]", place.path);
            match serde_json::from_value::<kube_cel::Rule>(document.clone()) {
                Ok(document) => rules.push(self.rule(document, schema, declared.as_ref(), place, &path)),
                Err(error) => self.fault(path, Sort::Invalid, error.to_string()),
            }
        }
        rules
    }

    fn rule(
        &mut self,
        document: kube_cel::Rule,
        schema: &Value,
        declared: Option<&Arc<Declared>>,
        place: &Place,
        path: &str,
    ) -> Rule {
        self.rule.clone_from(&document.rule);
        let is_well_formed = self.form(&document, schema, path);
        let optional_old = document.optional_old_self == Some(true);
        let parsed = parse(&document.rule);
        let mut is_transition = false;
        if let (true, Ok(expression)) = (is_well_formed, &parsed) {
            match declared {
                Some(declared) => {
                    let (used, cost) =
                        self.expression(expression, declared, optional_old, (path, "rule", &Type::Bool));
                    is_transition = used;
                    let least = MOST_BYTES / (declared.least_bytes + 1);
                    let cost = cost.saturating_mul(place.most.unwrap_or(least));
                    self.pay(cost, "estimated rule cost", format!("{path}.rule"));
                }
                None => self.fault(
                    format!("{path}.rule"),
                    Sort::Invalid,
                    "rules cannot be about values whose type the schema leaves open",
                ),
            }
            self.old_self(&document, is_transition, place, path);
        }
        if let (true, Err(error)) = (is_well_formed, &parsed) {
            let detail = format!("compilation failed: {error}");
            self.fault(format!("{path}.rule"), Sort::Invalid, detail);
        }
        let message = document.message_expression.as_deref();
        let message = message.filter(|text| !text.trim().is_empty()).map(parse);
        match (&message, declared) {
            (Some(Ok(expression)), Some(declared)) => {
                let (_, cost) = self.expression(
                    expression,
                    declared,
                    optional_old,
                    (path, "messageExpression", &Type::String),
                );
                self.pay(
                    cost,
                    "estimated messageExpression cost",
                    format!("{path}.messageExpression"),
                );
            }
            (Some(Err(error)), _) => {
                let detail = format!("messageExpression compilation failed: {error}");
                self.fault(format!("{path}.messageExpression"), Sort::Invalid, detail);
            }
            _ => {}
        }
        let ready = |mut expression: IdedExpr| {
            optional::rewrite(&mut expression, optional_old);
            expression
        };
        Rule {
            is_transition: is_transition
                || parsed
                    .as_ref()
                    .is_ok_and(|of| of.references().has_variable("oldSelf")),
            program: parsed.map(ready),
            message: message.and_then(Result::ok).map(ready),
            document,
        }
    }

    /// Checks an expression; returns whether it uses `oldSelf`, and its cost.
    fn expression(
        &mut self,
        expression: &IdedExpr,
        declared: &Arc<Declared>,
        optional_old: bool,
        (path, member, wanted): (&str, &str, &Type),
    ) -> (bool, u64) {
        let mut checker = Checker::new(declared, optional_old);
        let found = checker.check(expression);
        let begin = if member == "rule" {
            ""
        } else {
            "messageExpression "
        };
        let whole = format!("{path}.{member}");
        for wrong in &checker.wrong {
            let detail = match wrong {
                Wrong::Invalid(why) => format!("{begin}compilation failed: ERROR: {why}"),
                Wrong::NotHere { what, instead } => not_here(what, instead),
            };
            self.fault(whole.clone(), Sort::Invalid, detail);
        }
        if checker.wrong.is_empty() && found.kind != *wanted {
            let detail = match wanted {
                Type::Bool => "cel expression must evaluate to a bool",
                _ => "messageExpression must evaluate to a string",
            };
            self.fault(whole, Sort::Invalid, detail);
        }
        (checker.uses_old_self, found.cost)
    }

    fn pay(&mut self, cost: u64, what: &str, path: String) {
        self.total = self.total.saturating_add(cost);
        if cost > MOST_OF_RULE {
            self.fault(path, Sort::Forbidden, over_budget(what, cost, MOST_OF_RULE));
        }
    }
}

fn objects(value: Option<&Value>) -> impl Iterator<Item = (&String, &Value)> {
    value.and_then(Value::as_object).into_iter().flatten()
}

fn parse(source: &str) -> Result<IdedExpr, String> {
    let parsed = Parser::new().enable_optional_syntax(true).parse(source);
    let mut expression = parsed.map_err(|errors| errors.to_string())?;
    if makes_objects(&mut expression) {
        return Err(not_here(
            "objects of named types",
            "use timestamp() and duration()",
        ));
    }
    if let Some(why) = literals::wrong(&mut expression) {
        return Err(format!("ERROR: {why}"));
    }
    Ok(expression)
}

fn not_here(what: &str, instead: &str) -> String {
    format!("this server cannot evaluate {what}, which a Kubernetes API server does; instead, {instead}")
}

fn over_budget(what: &str, cost: u64, most: u64) -> String {
    let factor = cost as f64 / most as f64;
    let factor = match factor {
        more if more > 100.0 => "more than 100x".to_owned(),
        little if little < 1.5 => format!("{little:.6}x"),
        other => format!("{other:.1}x"),
    };
    format!(
        "{what} exceeds budget by factor of {factor} (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where \
         arrays, maps, and strings are declared)"
    )
}
