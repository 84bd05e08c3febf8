//! Estimates the steps of CEL rules before they run: nothing can stop an evaluation that has begun.
//!
//! Only loops matter. Their number is the product of the sizes of what they go over, one inside the other: sizes that the schema
//! allows when a CRD is made, sizes of the object when one is written. The limits are those of a Kubernetes API server.

use kube_cel::CompiledSchema;
use kube_cel::cel::common::ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr, LiteralValue};
use serde_json::Value;

/// Steps that a rule may need by its schema.
const MOST_BY_SCHEMA: u64 = 10_000_000;
/// Steps that a rule may take for one value.
const MOST_OF_RULE: u64 = 1_000_000;
/// Steps that all rules may take for an object.
const MOST_OF_OBJECT: u64 = 10_000_000;
/// The size of a list or map without `maxItems` or `maxProperties`. A server assumes more, so it refuses what is refused here.
const WITHOUT_LIMIT: u64 = 100_000;

/// The path of a schema node with a rule that would cost too much, and the steps of the rule.
#[derive(Debug, PartialEq, Eq)]
pub struct TooCostly {
    pub path: String,
    pub steps: u64,
}

/// True when the steps of a rule depend on the size of an object.
pub fn has_loops(schema: &CompiledSchema) -> bool {
    let own = steps_of_rules(
        schema,
        &InValue {
            value: &Value::Null,
            largest: 0,
        },
    );
    let with_many = steps_of_rules(schema, &Many);
    let children = schema.properties.values().chain(schema.items.as_deref());
    let mut children = children.chain(schema.additional_properties.as_deref());
    own.zip(with_many).any(|(none, many)| none != many)
        || children.any(has_loops)
        || branches(schema).any(has_loops)
}

/// Finds a rule that sizes allowed by the schema make too costly.
pub fn by_schema(schema: &CompiledSchema) -> Option<TooCostly> {
    of_schema(schema, "")
}

fn of_schema(schema: &CompiledSchema, path: &str) -> Option<TooCostly> {
    let own = steps_of_rules(schema, &BySchema(schema))
        .find(|steps| *steps > MOST_BY_SCHEMA)
        .map(|steps| TooCostly {
            path: path.to_owned(),
            steps,
        });
    let member = |name: &str| format!("{path}.{name}");
    own.or_else(|| {
        let mut properties = schema.properties.iter();
        properties.find_map(|(name, child)| of_schema(child, &member(name)))
    })
    .or_else(|| of_schema(schema.items.as_deref()?, &format!("{path}[*]")))
    .or_else(|| of_schema(schema.additional_properties.as_deref()?, &member("*")))
    .or_else(|| branches(schema).find_map(|branch| of_schema(branch, path)))
}

/// Finds where the rules cost too much for this object. `old` is the object that it replaces.
pub fn for_object(schema: &CompiledSchema, object: &Value, old: Option<&Value>) -> Option<TooCostly> {
    let largest = largest(object).max(old.map_or(0, largest));
    let mut total = 0;
    of_value(schema, object, "", largest, &mut total)
}

fn of_value(
    schema: &CompiledSchema,
    value: &Value,
    path: &str,
    largest: u64,
    total: &mut u64,
) -> Option<TooCostly> {
    for steps in steps_of_rules(schema, &InValue { value, largest }) {
        *total = total.saturating_add(steps);
        if steps > MOST_OF_RULE || *total > MOST_OF_OBJECT {
            let path = path.to_owned();
            return Some(TooCostly { path, steps });
        }
    }
    let children = match value {
        Value::Object(members) => members.iter().find_map(|(name, member)| {
            let child = schema.properties.get(name);
            let child = child.or(schema.additional_properties.as_deref())?;
            of_value(child, member, &format!("{path}.{name}"), largest, total)
        }),
        Value::Array(elements) => schema.items.as_deref().and_then(|items| {
            let mut elements = elements.iter().enumerate();
            elements.find_map(|(index, element)| {
                of_value(items, element, &format!("{path}[{index}]"), largest, total)
            })
        }),
        _ => None,
    };
    children.or_else(|| branches(schema).find_map(|branch| of_value(branch, value, path, largest, total)))
}

fn branches(schema: &CompiledSchema) -> impl Iterator<Item = &CompiledSchema> {
    let all = schema.all_of.iter().chain(&schema.one_of);
    all.chain(&schema.any_of)
}

/// The steps of each rule of a node that has a loop.
fn steps_of_rules(schema: &CompiledSchema, sizes: &dyn Sizes) -> impl Iterator<Item = u64> {
    let rules = schema.validations.iter().flatten();
    let programs = rules.flat_map(|rule| [Some(&rule.program), rule.message_program.as_ref()]);
    programs.flatten().map(|program| {
        let mut estimate = Estimate {
            sizes,
            variables: vec![("self".to_owned(), Some(Vec::new()))],
        };
        estimate.steps(&program.expression().expr)
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
    /// Elements of the largest list, map or text at this path; `None` when that cannot be said.
    fn at(&self, path: &[Part]) -> Option<u64>;
    /// The size of what is at no path.
    fn unknown(&self) -> u64;
}

struct BySchema<'a>(&'a CompiledSchema);

impl Sizes for BySchema<'_> {
    fn at(&self, path: &[Part]) -> Option<u64> {
        let mut node = self.0;
        for part in path {
            node = match part {
                Part::Member(name) => node.properties.get(name),
                Part::Any => node.items.as_deref(),
            }
            .or(node.additional_properties.as_deref())?;
        }
        let limit = node.max_items.or(node.max_properties);
        let is_many = node.items.is_some() || node.additional_properties.is_some();
        is_many.then(|| limit.unwrap_or(WITHOUT_LIMIT))
    }

    /// So small that nothing is refused which a server takes: its type checker knows more.
    fn unknown(&self) -> u64 {
        1
    }
}

/// Everything is large.
struct Many;

impl Sizes for Many {
    fn at(&self, _path: &[Part]) -> Option<u64> {
        None
    }

    fn unknown(&self) -> u64 {
        WITHOUT_LIMIT
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
    /// Where the values of variables are; the last of a name counts.
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

    /// Where the value of an expression is, below the value that the rule is about.
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

    /// A schema of a list `l` with a rule at the root.
    fn with_rule(rule: &str, list: &Value) -> CompiledSchema {
        let schema = kube_cel::compile_schema(&json!({
            "type": "object",
            "properties": {"l": list},
            "x-kubernetes-validations": [{"rule": rule}],
        }));
        assert!(schema.compilation_errors().is_empty(), "{rule}");
        schema
    }

    const FOUR_DEEP: &str = "self.l.all(a, self.l.all(b, self.l.all(c, self.l.all(d, a + b + c + d >= 0))))";

    fn numbers(most: Option<u64>) -> Value {
        let mut list = json!({"type": "array", "items": {"type": "integer"}});
        if let Some(most) = most {
            list["maxItems"] = most.into();
        }
        list
    }

    #[test]
    fn rules_are_refused_by_the_sizes_that_their_schema_allows() {
        for (rule, most, is_refused) in [
            (FOUR_DEEP, None, true),
            (FOUR_DEEP, Some(100), true),
            (FOUR_DEEP, Some(10), false),
            ("self.l.all(a, a >= 0)", None, false),
            ("self.l.all(a, self.l.exists_one(b, a == b))", None, true),
            ("self.l.all(a, self.l.exists_one(b, a == b))", Some(500), false),
            ("self.l.all(a, [1, 2, 3].exists(b, a == b))", None, false),
            (
                "self.l.filter(a, a > 1).all(a, self.l.exists(b, a == b))",
                None,
                true,
            ),
        ] {
            let found = by_schema(&with_rule(rule, &numbers(most)));
            assert_eq!(found.is_some(), is_refused, "{rule} {most:?}: {found:?}");
        }
    }

    #[test]
    fn elements_of_elements_have_their_own_sizes() {
        let schema = |inner: u64| {
            let tags = json!({"type": "array", "maxItems": inner, "items": {"type": "string"}});
            let list = json!({"type": "array", "items": {"type": "object", "properties": {"tags": tags}}});
            with_rule("self.l.all(a, a.tags.all(t, t.size() > 0))", &list)
        };
        assert_eq!(by_schema(&schema(5)), None);
        assert!(by_schema(&schema(5000)).is_some());
    }

    #[test]
    fn objects_are_refused_by_the_sizes_that_they_have() {
        let schema = with_rule(FOUR_DEEP, &numbers(None));
        let of = |count: usize| json!({"l": vec![1; count]});
        assert_eq!(for_object(&schema, &of(8), None), None);
        let found = for_object(&schema, &of(55), None).expect("55 to the power of 4");
        assert_eq!(found.path, "");
        let single = with_rule("self.l.all(a, a >= 0)", &numbers(None));
        assert_eq!(for_object(&single, &of(50_000), None), None);
        assert!(has_loops(&single) && !has_loops(&with_rule("self.l.size() > 1", &numbers(None))));
        let old = with_rule("self.l.all(a, oldSelf.l.exists(b, a == b))", &numbers(None));
        assert!(for_object(&old, &of(3000), Some(&of(3000))).is_some());
    }
}
