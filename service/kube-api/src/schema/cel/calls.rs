//! Checks calls of functions: the form that fits the types, and its cost.

use std::collections::HashMap;

use kube_cel::cel::IdedExpr;
use kube_cel::cel::common::ast::operators::{CONDITIONAL, INDEX, LOGICAL_AND, LOGICAL_OR, OPT_SELECT};
use kube_cel::cel::common::ast::{CallExpr, Expr, LiteralValue};

use super::call_cost;
use super::check::{Checker, Wrong};
use super::found::{Entries, Found};
use super::functions::{instead_of, instead_of_macro, overloads};
use super::types::Type;

impl Checker {
    pub(super) fn call(&mut self, call: &CallExpr) -> Found {
        if let (Some(_), Some(instead)) = (&call.target, instead_of_macro(&call.func_name, call.args.len())) {
            let what = format!("{}() with {} arguments", call.func_name, call.args.len());
            self.wrong.push(Wrong::NotHere { what, instead });
            return Found::unknown();
        }
        if let (OPT_SELECT, [of, name]) = (call.func_name.as_str(), call.args.as_slice()) {
            return self.optional_select(of, name);
        }
        let mixes = usize::from(call.func_name == "format" && call.target.is_some());
        self.mixing += mixes;
        let arguments: Vec<Found> = call.args.iter().map(|argument| self.check(argument)).collect();
        self.mixing -= mixes;
        let Some(target) = &call.target else {
            return self.resolve(&call.func_name, None, &arguments);
        };
        let qualified = qualified_name(target).map(|prefix| format!("{prefix}.{}", call.func_name));
        if let Some(name) = qualified.filter(|name| overloads(name).is_some()) {
            return self.resolve(&name, None, &arguments);
        }
        let target = self.check(target);
        self.resolve(&call.func_name, Some(&target), &arguments)
    }

    /// `a.?b`
    fn optional_select(&mut self, of: &IdedExpr, name: &IdedExpr) -> Found {
        let operand = self.check(of);
        let Expr::Literal(LiteralValue::String(name)) = &name.expr else {
            return Found::unknown();
        };
        let (kind, _) = self.field(&operand, name.inner());
        let (kind, _) = kind.unwrapped();
        Found::of(Type::optional(kind), operand.cost.saturating_add(1))
    }

    fn resolve(&mut self, name: &str, target: Option<&Found>, arguments: &[Found]) -> Found {
        let Some(known) = overloads(name) else {
            return self.undeclared(name);
        };
        let kinds = target.into_iter().chain(arguments);
        let kinds: Vec<Type> = kinds
            .map(|found| self.substitution.resolved(&found.kind))
            .collect();
        let mut result: Option<Type> = None;
        let candidates = known
            .iter()
            .filter(|overload| overload.is_member == target.is_some());
        for overload in candidates {
            let mut parameters = HashMap::new();
            let wanted = overload.arguments.iter();
            let wanted: Vec<Type> = wanted
                .map(|wanted| self.substitution.instance(wanted, &mut parameters))
                .collect();
            let own = self.substitution.instance(&overload.result, &mut parameters);
            if self.substitution.all_assignable(&kinds, &wanted) {
                let own = self.substitution.resolved(&own);
                result = Some(match result {
                    None => own,
                    Some(before) if before == own => before,
                    Some(_) => Type::Dyn,
                });
            }
        }
        let Some(result) = result else {
            return self.no_overload(name, &kinds, target.is_some());
        };
        if let Some(instead) = instead_of(name, &kinds, target.is_some()) {
            let what = if target.is_some() && kinds.len() == 2 && name.starts_with("get") {
                format!("{name}() with a time zone")
            } else {
                format!("{name}()")
            };
            self.wrong.push(Wrong::NotHere { what, instead });
        }
        cost_of(name, target, arguments, result)
    }

    fn no_overload(&mut self, name: &str, kinds: &[Type], is_member: bool) -> Found {
        let shown: Vec<String> = kinds
            .iter()
            .map(|kind| self.substitution.resolved(kind).to_string())
            .collect();
        let shown = match (is_member, shown.split_first()) {
            (true, Some((target, rest))) => format!("{target}.({})", rest.join(", ")),
            _ => format!("({})", shown.join(", ")),
        };
        self.invalid(format!(
            "found no matching overload for '{name}' applied to '{shown}'"
        ))
    }
}

/// A call with its cost, which includes that of its arguments.
fn cost_of(name: &str, target: Option<&Found>, arguments: &[Found], kind: Type) -> Found {
    let of_target = target.map_or(0, |target| target.cost);
    match (name, arguments) {
        ("dyn", [inner]) => Found {
            kind,
            cost: inner.cost.saturating_add(1),
            ..inner.clone()
        },
        (LOGICAL_AND | LOGICAL_OR, _) => Found::of(kind, sum(0, arguments)),
        (CONDITIONAL, [condition, yes, no]) => Found {
            size: Some(yes.size_or_unknown().max(no.size_or_unknown())),
            entries: Entries::union(yes.entries, no.entries),
            ..Found::of(kind, condition.cost.saturating_add(yes.cost.max(no.cost)))
        },
        _ => {
            let call = call_cost::of_call(name, target, arguments);
            let cost = sum(of_target.saturating_add(call.cost), arguments);
            let at = match (name, arguments) {
                (INDEX, [of, _]) => of.at.as_ref().and_then(|at| at.element.clone()),
                _ => None,
            };
            Found {
                size: call.size,
                entries: call.entries,
                at,
                ..Found::of(kind, cost)
            }
        }
    }
}

/// `first` and the costs of several.
pub fn sum(first: u64, found: &[Found]) -> u64 {
    found.iter().fold(first, |sum, one| sum.saturating_add(one.cost))
}

/// `a.b` of an expression that consists of names.
fn qualified_name(expression: &IdedExpr) -> Option<String> {
    match &expression.expr {
        Expr::Ident(name) => Some(name.clone()),
        Expr::Select(select) if !select.test => {
            Some(format!("{}.{}", qualified_name(&select.operand)?, select.field))
        }
        _ => None,
    }
}
