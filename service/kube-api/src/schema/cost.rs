//! Estimates the steps of CEL rules before they run: an evaluation that has begun cannot be stopped.
//!
//! Only loops matter. The number of steps is the product of the sizes of nested ranges. The limits are those of a Kubernetes API server.
//! The cost of rules by their schema is checked when a CRD is created (`cel/call_cost.rs`).

use kube_cel::cel::common::ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr, LiteralValue};
use serde_json::Value;

use super::cel::rules::Node;

/// Steps that a rule may take for one value.
const MOST_OF_RULE: u64 = 1_000_000;
/// Steps that all rules may take for an object.
const MOST_OF_OBJECT: u64 = 10_000_000;
/// The size of everything, to see whether there is a loop.
const MANY: u64 = 100_000;

/// The path of a value with a rule that would cost too much.
#[derive(Debug, PartialEq, Eq)]
pub struct TooCostly {
    pub path: String,
}

/// True when the steps of a rule depend on the size of an object.
pub fn has_loops(node: &Node) -> bool {
    let nothing = InValue {
        value: &Value::Null,
        largest: 0,
    };
    let mut own = steps_of_rules(node, &nothing).zip(steps_of_rules(node, &Many));
    let children = node.properties.values().chain(node.items.as_deref());
    let mut children = children.chain(node.additional.as_deref());
    own.any(|(none, many)| none != many) || children.any(has_loops)
}

/// Finds the value for which the rules cost too much. `old` is the object that it replaces.
pub fn for_object(node: &Node, object: &Value, old: Option<&Value>) -> Option<TooCostly> {
    let largest = largest(object).max(old.map_or(0, largest));
    let mut total = 0;
    of_value(node, object, "", largest, &mut total)
}

fn of_value(node: &Node, value: &Value, path: &str, largest: u64, total: &mut u64) -> Option<TooCostly> {
    for steps in steps_of_rules(node, &InValue { value, largest }) {
        *total = total.saturating_add(steps);
        if steps > MOST_OF_RULE || *total > MOST_OF_OBJECT {
            let path = path.to_owned();
            return Some(TooCostly { path });
        }
    }
    match value {
        Value::Object(members) => members.iter().find_map(|(name, member)| {
            let child = node.properties.get(name).or(node.additional.as_deref())?;
            of_value(child, member, &format!("{path}.{name}"), largest, total)
        }),
        Value::Array(elements) => node.items.as_deref().and_then(|items| {
            let mut elements = elements.iter().enumerate();
            elements.find_map(|(index, element)| {
                of_value(items, element, &format!("{path}[{index}]"), largest, total)
            })
        }),
        _ => None,
    }
}

/// The steps of each rule of a node that has a loop.
fn steps_of_rules(node: &Node, sizes: &dyn Sizes) -> impl Iterator<Item = u64> {
    let rules = node.rules.iter();
    let programs = rules.flat_map(|rule| [rule.program.as_ref().ok(), rule.message.as_ref()]);
    programs.flatten().map(|program| {
        let mut estimate = Estimate {
            sizes,
            variables: vec![("self".to_owned(), Some(Vec::new()))],
        };
        estimate.steps(&program.expr)
    })
}

/// A part of the path from the value that a rule is about.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Member(String),
    /// Any element of a list, or any value of a map.
    Any,
}

trait Sizes {
    /// Elements of the largest list, map or text at this path; `None` when that is not known.
    fn at(&self, path: &[Part]) -> Option<u64>;
    /// The size of a value without a path.
    fn unknown(&self) -> u64;
}

/// Assumes that everything is large.
struct Many;

impl Sizes for Many {
    fn at(&self, _path: &[Part]) -> Option<u64> {
        None
    }

    fn unknown(&self) -> u64 {
        MANY
    }
}

struct InValue<'a> {
    value: &'a Value,
    largest: u64,
}

impl Sizes for InValue<'_> {
    fn at(&self, path: &[Part]) -> Option<u64> {
        // Names that are no identifiers are escaped in rules: `__dash__`.
        let is_escaped = |part: &Part| matches!(part, Part::Member(name) if name.contains("__"));
        (!path.iter().any(is_escaped)).then(|| largest_at(self.value, path))
    }

    fn unknown(&self) -> u64 {
        self.largest
    }
}

fn largest_at(value: &Value, path: &[Part]) -> u64 {
    let Some((part, rest)) = path.split_first() else {
        return size(value);
    };
    match (part, value) {
        (Part::Member(name), Value::Object(members)) => {
            members.get(name).map_or(0, |member| largest_at(member, rest))
        }
        (Part::Any, Value::Array(elements)) => elements
            .iter()
            .map(|element| largest_at(element, rest))
            .max()
            .unwrap_or(0),
        (Part::Any, Value::Object(members)) => members
            .values()
            .map(|member| largest_at(member, rest))
            .max()
            .unwrap_or(0),
        _ => 0,
    }
}

fn size(value: &Value) -> u64 {
    let size = match value {
        Value::Array(elements) => elements.len(),
        Value::Object(members) => members.len(),
        Value::String(text) => text.len(),
        _ => 0,
    };
    size as u64
}

/// The size of the largest list or map in an object.
fn largest(value: &Value) -> u64 {
    let below = match value {
        Value::Array(elements) => elements.iter().map(largest).max(),
        Value::Object(members) => members.values().map(largest).max(),
        _ => return 0,
    };
    size(value).max(below.unwrap_or(0))
}

struct Estimate<'a> {
    sizes: &'a dyn Sizes,
    /// The paths of the values of variables; the last one of a name counts.
    variables: Vec<(String, Option<Vec<Part>>)>,
}

impl Estimate<'_> {
    fn steps(&mut self, expression: &Expr) -> u64 {
        let of_parts = match expression {
            Expr::Unspecified | Expr::Ident(_) | Expr::Literal(_) => 0,
            Expr::Select(select) => self.steps(&select.operand.expr),
            Expr::Call(call) => {
                let target = call.target.as_ref().map_or(0, |target| self.steps(&target.expr));
                let arguments = call.args.iter().map(|argument| self.steps(&argument.expr));
                arguments.fold(target, u64::saturating_add)
            }
            Expr::List(list) => {
                let elements = list.elements.iter().map(|element| self.steps(&element.expr));
                elements.fold(0, u64::saturating_add)
            }
            Expr::Map(map) => self.steps_of_entries(map.entries.iter().map(|entry| &entry.expr)),
            Expr::Struct(made) => self.steps_of_entries(made.entries.iter().map(|entry| &entry.expr)),
            Expr::Comprehension(comprehension) => self.steps_of_loop(comprehension),
        };
        of_parts.saturating_add(1)
    }

    fn steps_of_entries<'e>(&mut self, entries: impl Iterator<Item = &'e EntryExpr>) -> u64 {
        entries.fold(0, |sum, entry| {
            let steps = match entry {
                EntryExpr::StructField(field) => self.steps(&field.value.expr),
                EntryExpr::MapEntry(entry) => {
                    let key = self.steps(&entry.key.expr);
                    key.saturating_add(self.steps(&entry.value.expr))
                }
            };
            sum.saturating_add(steps)
        })
    }

    fn steps_of_loop(&mut self, comprehension: &ComprehensionExpr) -> u64 {
        let range = &comprehension.iter_range.expr;
        let turns = self.size_of(range);
        let before = self.steps(range);
        let element = self.path_of(range).map(|path| extended(path, Part::Any));
        let outer = self.variables.len();
        let second = comprehension.iter_var2.iter();
        for name in second.chain([&comprehension.iter_var]) {
            self.variables.push((name.clone(), element.clone()));
        }
        self.variables.push((comprehension.accu_var.clone(), None));
        let condition = self.steps(&comprehension.loop_cond.expr);
        let turn = condition.saturating_add(self.steps(&comprehension.loop_step.expr));
        self.variables.truncate(outer);
        // A list that grows by an element a turn is copied each time.
        let copies = match comprehension.accu_init.expr {
            Expr::List(_) => turns.saturating_mul(turns) / 16,
            _ => 0,
        };
        before
            .saturating_add(turns.saturating_mul(turn))
            .saturating_add(copies)
            .saturating_add(self.steps(&comprehension.result.expr))
    }

    /// The elements that a loop over an expression has.
    fn size_of(&self, expression: &Expr) -> u64 {
        if let Some(path) = self.path_of(expression) {
            return self.sizes.at(&path).unwrap_or_else(|| self.sizes.unknown());
        }
        match expression {
            Expr::List(list) => list.elements.len() as u64,
            Expr::Map(map) => map.entries.len() as u64,
            Expr::Literal(LiteralValue::String(text)) => text.inner().len() as u64,
            Expr::Literal(_) => 0,
            Expr::Comprehension(comprehension) => self.size_of(&comprehension.iter_range.expr),
            Expr::Call(call) => self.size_of_call(call),
            _ => self.sizes.unknown(),
        }
    }

    fn size_of_call(&self, call: &CallExpr) -> u64 {
        let operands = call.target.iter().map(|target| &target.expr);
        let operands = operands.chain(call.args.iter().map(|argument| &argument.expr));
        let sizes = operands.map(|operand| self.size_of(operand));
        match call.func_name.as_str() {
            "_+_" => sizes.fold(0, u64::saturating_add),
            _ => sizes.max().unwrap_or_else(|| self.sizes.unknown()),
        }
    }

    /// The path of an expression's value, below the value that the rule is about.
    fn path_of(&self, expression: &Expr) -> Option<Vec<Part>> {
        match expression {
            Expr::Ident(name) => {
                let mut variables = self.variables.iter().rev();
                variables.find(|(known, _)| known == name)?.1.clone()
            }
            Expr::Select(select) if !select.test => {
                let path = self.path_of(&select.operand.expr)?;
                Some(extended(path, Part::Member(select.field.clone())))
            }
            Expr::Call(call) => match (call.func_name.as_str(), call.args.as_slice()) {
                ("_[_]" | "_[?_]" | "_?._", [of, key]) => {
                    let part = match &key.expr {
                        Expr::Literal(LiteralValue::String(name)) => Part::Member(name.inner().to_owned()),
                        _ => Part::Any,
                    };
                    Some(extended(self.path_of(&of.expr)?, part))
                }
                ("orValue" | "value" | "or", _) => self.path_of(&call.target.as_ref()?.expr),
                _ => None,
            },
            _ => None,
        }
    }
}

fn extended(mut path: Vec<Part>, part: Part) -> Vec<Part> {
    path.push(part);
    path
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The rules of a schema of a list `l` with a rule at the root.
    fn with_rule(rule: &str, list: &Value) -> Node {
        let (node, _) = Node::of(&json!({
            "type": "object",
            "properties": {"l": list},
            "x-kubernetes-validations": [{"rule": rule}],
        }));
        let node = node.unwrap();
        assert!(node.rules[0].program.is_ok(), "{rule}");
        node
    }

    const FOUR_DEEP: &str = "self.l.all(a, self.l.all(b, self.l.all(c, self.l.all(d, a + b + c + d >= 0))))";

    fn numbers() -> Value {
        json!({"type": "array", "items": {"type": "integer"}})
    }

    #[test]
    fn objects_are_refused_by_the_sizes_that_they_have() {
        let schema = with_rule(FOUR_DEEP, &numbers());
        let of = |count: usize| json!({"l": vec![1; count]});
        assert_eq!(for_object(&schema, &of(8), None), None);
        let found = for_object(&schema, &of(55), None).expect("55 to the power of 4");
        assert_eq!(found.path, "");
        let single = with_rule("self.l.all(a, a >= 0)", &numbers());
        assert_eq!(for_object(&single, &of(50_000), None), None);
        assert!(has_loops(&single) && !has_loops(&with_rule("self.l.size() > 1", &numbers())));
        let old = with_rule("self.l.all(a, oldSelf.l.exists(b, a == b))", &numbers());
        assert!(for_object(&old, &of(3000), Some(&of(3000))).is_some());
    }
}
