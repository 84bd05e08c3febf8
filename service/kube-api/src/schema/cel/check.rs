//! Checks the types of a rule against the schema, as an API server does. Source: `cel-go` 0.26 `checker/checker.go`.

use std::sync::Arc;

use kube_cel::cel::IdedExpr;
use kube_cel::cel::common::ast::{EntryExpr, Expr, LiteralValue, SelectExpr};

use super::calls::sum;
use super::declared::Declared;
use super::found::{Entries, Found};
use super::types::{Substitution, Type};

/// Deeper expressions are not checked.
const DEEPEST: usize = 200;

/// The reason why a rule is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wrong {
    /// An API server refuses it, too.
    Invalid(String),
    /// An API server evaluates it, and this one cannot.
    NotHere { what: String, instead: &'static str },
}

/// A variable of a scope.
#[derive(Debug, Clone)]
struct Variable {
    name: String,
    found: Found,
}

/// Checks one rule.
#[derive(Debug)]
pub struct Checker {
    pub(super) substitution: Substitution,
    scopes: Vec<Variable>,
    pub wrong: Vec<Wrong>,
    /// The rule uses the previous value.
    pub uses_old_self: bool,
    depth: usize,
    /// Depth of surrounding calls that allow literals with elements of several types in their arguments.
    pub(super) mixing: usize,
}

impl Checker {
    /// For rules about a place of the schema. `optional_old`: the value before may be missing.
    pub fn new(place: &Arc<Declared>, optional_old: bool) -> Self {
        let mut checker = Self {
            substitution: Substitution::default(),
            scopes: Vec::new(),
            wrong: Vec::new(),
            uses_old_self: false,
            depth: 0,
            mixing: 0,
        };
        let own = Found {
            at: Some(place.clone()),
            ..Found::of(place.kind.clone(), 1)
        };
        checker.push("self", own.clone());
        let old = match optional_old {
            true => Found::of(Type::optional(place.kind.clone()), 1),
            false => own,
        };
        checker.push("oldSelf", old);
        checker
    }

    pub(super) fn push(&mut self, name: &str, found: Found) {
        let name = name.to_owned();
        self.scopes.push(Variable { name, found });
    }

    pub(super) fn pop(&mut self, count: usize) {
        let left = self.scopes.len() - count;
        self.scopes.truncate(left);
    }

    pub(super) fn invalid(&mut self, why: String) -> Found {
        self.wrong.push(Wrong::Invalid(why));
        Found::unknown()
    }

    /// The known properties of an expression; faults are added to `wrong`.
    pub fn check(&mut self, expression: &IdedExpr) -> Found {
        if self.depth >= DEEPEST {
            return self.invalid(format!("expressions nest deeper than {DEEPEST} levels"));
        }
        self.depth += 1;
        let mut found = match &expression.expr {
            Expr::Literal(literal) => of_literal(literal),
            Expr::Ident(name) => self.ident(name),
            Expr::Select(select) => self.select(select),
            Expr::Call(call) => self.call(call),
            Expr::List(list) => {
                let elements = list.elements.iter().enumerate();
                let elements: Vec<Found> = elements
                    .map(|(index, element)| {
                        let found = self.check(element);
                        self.optional_part(found, list.optional_indices.contains(&index))
                    })
                    .collect();
                self.list(&elements)
            }
            Expr::Map(map) => {
                let (mut keys, mut values) = (Vec::new(), Vec::new());
                for entry in &map.entries {
                    let EntryExpr::MapEntry(entry) = &entry.expr else {
                        continue;
                    };
                    keys.push(self.check(&entry.key));
                    let value = self.check(&entry.value);
                    values.push(self.optional_part(value, entry.optional));
                }
                self.map(&keys, &values)
            }
            Expr::Struct(made) => self.undeclared(&made.type_name),
            Expr::Comprehension(comprehension) => self.comprehension(comprehension),
            Expr::Unspecified => Found::unknown(),
        };
        self.depth -= 1;
        found.kind = self.substitution.resolved(&found.kind);
        found
    }

    pub(super) fn undeclared(&mut self, name: &str) -> Found {
        self.invalid(format!("undeclared reference to '{name}' (in container '')"))
    }

    fn ident(&mut self, name: &str) -> Found {
        if name == "oldSelf" {
            self.uses_old_self = true;
        }
        if let Some(variable) = self.scopes.iter().rev().find(|variable| variable.name == name) {
            let mut found = variable.found.clone();
            found.cost = 1;
            return found;
        }
        match type_called(name) {
            // An API server uses the size of `self` for it.
            Some(kind) => Found {
                size: self.scopes.first().and_then(|own| own.found.known_size()),
                ..Found::of(Type::Class(Box::new(kind)), 1)
            },
            None => self.undeclared(name),
        }
    }

    fn select(&mut self, select: &SelectExpr) -> Found {
        let operand = self.check(&select.operand);
        let cost = operand.cost;
        if select.test {
            self.field(&operand, &select.field);
            return Found::of(Type::Bool, cost);
        }
        let is_walked = matches!(operand.kind, Type::Map(..) | Type::Object(_) | Type::Variable(_));
        let (kind, at) = self.field(&operand, &select.field);
        Found {
            at,
            ..Found::of(kind, cost.saturating_add(u64::from(is_walked)))
        }
    }

    /// The type of a member, and its place.
    pub(super) fn field(&mut self, operand: &Found, name: &str) -> (Type, Option<Arc<Declared>>) {
        let (of, is_optional) = operand.kind.clone().unwrapped();
        let at = operand.at.as_ref().and_then(|at| at.field(name)).cloned();
        let kind = match of {
            Type::Map(_, values) => *values,
            Type::Object(place) => match self.fields_of(&place, operand, name) {
                Some(kind) => kind,
                None => self.invalid(format!("undefined field '{name}'")).kind,
            },
            Type::Variable(_) => {
                self.substitution.assignable(&Type::Dyn, &of);
                Type::Dyn
            }
            Type::Dyn => Type::Dyn,
            other => {
                self.invalid(format!("type '{other}' does not support field selection"))
                    .kind
            }
        };
        match is_optional {
            true => (Type::optional(kind), at),
            false => (kind, at),
        }
    }

    /// The type of a member of the object at a place, which need not be where the value is: `[self.a, self.b][0]`.
    fn fields_of(&self, place: &str, operand: &Found, name: &str) -> Option<Type> {
        let here = operand
            .at
            .as_ref()
            .filter(|at| at.kind == Type::Object(place.to_owned()));
        let place = match here {
            Some(at) => at.clone(),
            None => self
                .scopes
                .first()?
                .found
                .at
                .clone()
                .and_then(|root| found_below(&root, place))?,
        };
        Some(place.field(name)?.kind.clone())
    }

    /// Elements that are `optional` are left out of a literal when they are missing.
    fn optional_part(&mut self, mut found: Found, is_optional: bool) -> Found {
        if is_optional {
            let (kind, was) = self.substitution.resolved(&found.kind).unwrapped();
            if !was && kind != Type::Dyn {
                self.invalid(format!(
                    "expected type 'optional_type({kind})' but found '{kind}'"
                ));
            }
            found.kind = kind;
        }
        found
    }

    /// Literals have elements of one type.
    fn joined(&mut self, parts: &[Found]) -> Type {
        let mut joined: Option<Type> = None;
        for part in parts {
            joined = Some(match joined {
                None => part.kind.clone(),
                Some(before) if self.substitution.assignable(&before, &part.kind) => {
                    self.substitution.most_general(&before, &part.kind)
                }
                Some(_) if self.mixing > 0 => Type::Dyn,
                Some(before) => {
                    self.invalid(format!("expected type '{before}' but found '{}'", part.kind))
                        .kind
                }
            });
        }
        joined.unwrap_or_else(|| self.substitution.fresh())
    }

    fn list(&mut self, elements: &[Found]) -> Found {
        let largest = elements.iter().map(Found::size_or_unknown).max();
        let values = largest.unwrap_or(0);
        let kind = Type::list(self.joined(elements));
        Found {
            size: Some(elements.len() as u64),
            entries: Some(Entries { keys: 1, values }),
            ..Found::of(kind, sum(10, elements))
        }
    }

    fn map(&mut self, keys: &[Found], values: &[Found]) -> Found {
        let largest = |of: &[Found]| of.iter().map(Found::size_or_unknown).max().unwrap_or(0);
        let entries = Entries {
            keys: largest(keys),
            values: largest(values),
        };
        let kind = Type::map(self.joined(keys), self.joined(values));
        Found {
            size: Some(keys.len() as u64),
            entries: Some(entries),
            ..Found::of(kind, sum(sum(30, keys), values))
        }
    }
}

fn of_literal(literal: &LiteralValue) -> Found {
    let sized = |kind, size: usize| Found {
        size: Some(size as u64),
        ..Found::of(kind, 0)
    };
    match literal {
        LiteralValue::Boolean(_) => sized(Type::Bool, 1),
        LiteralValue::Bytes(bytes) => sized(Type::Bytes, bytes.inner().len()),
        LiteralValue::Double(_) => sized(Type::Double, 1),
        LiteralValue::Int(_) => sized(Type::Int, 1),
        LiteralValue::Null => sized(Type::Null, 1),
        LiteralValue::String(text) => sized(Type::String, text.inner().chars().count()),
        LiteralValue::UInt(_) => sized(Type::Uint, 1),
    }
}

/// The types that rules can name.
fn type_called(name: &str) -> Option<Type> {
    Some(match name {
        "bool" => Type::Bool,
        "int" => Type::Int,
        "uint" => Type::Uint,
        "double" => Type::Double,
        "string" => Type::String,
        "bytes" => Type::Bytes,
        "null_type" => Type::Null,
        "list" => Type::list(Type::Dyn),
        "map" => Type::map(Type::Dyn, Type::Dyn),
        "type" => Type::Class(Box::new(Type::Dyn)),
        _ => return None,
    })
}

/// The object called `place` at or below another one.
fn found_below(root: &Arc<Declared>, place: &str) -> Option<Arc<Declared>> {
    if root.kind == Type::Object(place.to_owned()) {
        return Some(root.clone());
    }
    let children = root.fields.values().chain(&root.element);
    children.into_iter().find_map(|child| found_below(child, place))
}
