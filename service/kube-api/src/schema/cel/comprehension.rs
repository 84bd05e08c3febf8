//! Checks the loops that macros make.

use std::sync::Arc;

use kube_cel::cel::common::ast::{ComprehensionExpr, Expr};

use super::check::Checker;
use super::declared::Declared;
use super::found::Found;
use super::types::Type;

impl Checker {
    pub(super) fn comprehension(&mut self, of: &ComprehensionExpr) -> Found {
        let range = self.check(&of.iter_range);
        let start = self.check(&of.accu_init);
        let element = self.element_of(&range);
        let gathered = start.kind.clone();
        self.push(
            &of.accu_var,
            Found {
                at: None,
                ..start.clone()
            },
        );
        self.push(&of.iter_var, element);
        let condition = self.check(&of.loop_cond);
        self.expect(&Type::Bool, &condition.kind);
        let step = self.check(&of.loop_step);
        self.expect(&gathered, &step.kind);
        self.pop(1);
        let result = self.check(&of.result);
        self.pop(1);

        let turns = range.size_or_unknown();
        let turn = step.cost.saturating_add(condition.cost);
        let costs = [start.cost, result.cost, turns.saturating_mul(turn)];
        let gathers = matches!(of.accu_init.expr, Expr::List(_) | Expr::Map(_));
        Found {
            size: if gathers { Some(turns) } else { start.size },
            entries: if gathers { step.entries } else { None },
            ..Found::of(
                self.substitution.resolved(&result.kind),
                costs.into_iter().fold(range.cost, u64::saturating_add),
            )
        }
    }

    fn expect(&mut self, wanted: &Type, found: &Type) {
        if !self.substitution.assignable(wanted, found) {
            let found = self.substitution.resolved(found);
            let wanted = self.substitution.resolved(wanted);
            self.invalid(format!("expected type '{wanted}' but found '{found}'"));
        }
    }

    /// The type that a loop iterates over: elements of a list, keys of a map.
    fn element_of(&mut self, range: &Found) -> Found {
        let of = self.substitution.resolved(&range.kind);
        let declared = |kind: &Type| {
            let element: Option<Arc<Declared>> = range.at.as_ref().and_then(|at| at.element.clone());
            Found {
                size: range.entries.map(|entries| entries.values),
                at: element,
                ..Found::of(kind.clone(), 1)
            }
        };
        match &of {
            Type::List(element) => declared(element),
            Type::Map(keys, _) => Found {
                size: range.entries.map(|entries| entries.keys).or_else(|| range.at.as_ref().map(|_| 0)),
                ..Found::of((**keys).clone(), 1)
            },
            Type::Dyn => Found::of(Type::Dyn, 1),
            Type::Variable(_) => {
                self.substitution.assignable(&Type::Dyn, &of);
                Found::of(Type::Dyn, 1)
            }
            other => self.invalid(format!(
                "expression of type '{other}' cannot be range of a comprehension (must be list, map, or dynamic)"
            )),
        }
    }
}
