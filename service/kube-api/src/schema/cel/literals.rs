//! Finds literals without a value. An API server refuses rules with such literals.

use kube_cel::cel::IdedExpr;
use kube_cel::cel::common::ast::{CallExpr, Expr, LiteralValue};
use regex::Regex;

use super::library::FUNCTIONS;
use super::tree::parts;

/// Functions that fail for some texts.
const CONVERSIONS: [&str; 8] = [
    "bool",
    "bytes",
    "double",
    "duration",
    "int",
    "string",
    "timestamp",
    "uint",
];

/// The fault of a literal in an expression.
pub fn wrong(expression: &mut IdedExpr) -> Option<String> {
    let own = match &expression.expr {
        Expr::Call(call) if is_conversion(call) => {
            let outcome = FUNCTIONS.with(|functions| functions.resolve(expression));
            outcome
                .err()
                .map(|error| format!("invalid {} argument: {error}", call.func_name))
        }
        Expr::Call(call) => wrong_pattern(call),
        _ => None,
    };
    own.or_else(|| parts(&mut expression.expr).into_iter().find_map(wrong))
}

fn is_conversion(call: &CallExpr) -> bool {
    let [argument] = call.args.as_slice() else {
        return false;
    };
    call.target.is_none()
        && CONVERSIONS.contains(&call.func_name.as_str())
        && matches!(argument.expr, Expr::Literal(LiteralValue::String(_)))
}

fn wrong_pattern(call: &CallExpr) -> Option<String> {
    let pattern = match (call.func_name.as_str(), call.target.is_some()) {
        ("matches" | "find" | "findAll", true) => call.args.first(),
        ("matches", false) => call.args.get(1),
        _ => None,
    };
    let Expr::Literal(LiteralValue::String(pattern)) = &pattern?.expr else {
        return None;
    };
    let error = Regex::new(pattern.inner()).err()?;
    Some(format!("invalid {} argument: {error}", call.func_name))
}
