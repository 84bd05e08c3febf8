//! The parts of expressions.

use kube_cel::cel::IdedExpr;
use kube_cel::cel::common::ast::{EntryExpr, Expr};

/// The expressions directly below.
pub fn parts(expression: &mut Expr) -> Vec<&mut IdedExpr> {
    match expression {
        Expr::Unspecified | Expr::Ident(_) | Expr::Literal(_) => Vec::new(),
        Expr::Select(select) => vec![&mut select.operand],
        Expr::Call(call) => call
            .target
            .iter_mut()
            .map(|target| &mut **target)
            .chain(&mut call.args)
            .collect(),
        Expr::List(list) => list.elements.iter_mut().collect(),
        Expr::Map(map) => of_entries(map.entries.iter_mut().map(|entry| &mut entry.expr)),
        Expr::Struct(made) => of_entries(made.entries.iter_mut().map(|entry| &mut entry.expr)),
        Expr::Comprehension(of) => vec![
            &mut of.iter_range,
            &mut of.accu_init,
            &mut of.loop_cond,
            &mut of.loop_step,
            &mut of.result,
        ],
    }
}

fn of_entries<'a>(entries: impl Iterator<Item = &'a mut EntryExpr>) -> Vec<&'a mut IdedExpr> {
    entries
        .flat_map(|entry| match entry {
            EntryExpr::StructField(field) => vec![&mut field.value],
            EntryExpr::MapEntry(entry) => vec![&mut entry.key, &mut entry.value],
        })
        .collect()
}

/// True when it creates an object of a named type, at which `cel` 0.13 panics.
pub fn makes_objects(expression: &mut IdedExpr) -> bool {
    matches!(expression.expr, Expr::Struct(_)) || parts(&mut expression.expr).into_iter().any(makes_objects)
}
