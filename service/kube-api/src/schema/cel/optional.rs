//! Rewrites selections of `optional` values: `cel` 0.13 fails at `a.?b` when there is no `b`, and returns false for `a.?b.c`. `a[?"b"]` is
//! right.

use kube_cel::cel::IdedExpr;
use kube_cel::cel::common::ast::operators::{INDEX, OPT_INDEX, OPT_SELECT};
use kube_cel::cel::common::ast::{CallExpr, Expr, LiteralValue};

use super::tree::parts;

/// `optional_old`: `oldSelf` is optional.
pub fn rewrite(expression: &mut IdedExpr, optional_old: bool) {
    for part in parts(&mut expression.expr) {
        rewrite(part, optional_old);
    }
    let replaced = match &mut expression.expr {
        Expr::Call(call) if call.func_name == OPT_SELECT => {
            call.func_name = OPT_INDEX.to_owned();
            None
        }
        Expr::Select(select) if is_optional(&select.operand, optional_old) => {
            let name = LiteralValue::String(select.field.as_str().into());
            let name = IdedExpr {
                id: 0,
                expr: Expr::Literal(name),
            };
            let found = call(OPT_INDEX, None, vec![std::mem::take(&mut *select.operand), name]);
            Some(match select.test {
                true => call("hasValue", Some(IdedExpr { id: 0, expr: found }), Vec::new()),
                false => found,
            })
        }
        _ => None,
    };
    if let Some(replaced) = replaced {
        expression.expr = replaced;
    }
}

fn call(name: &str, target: Option<IdedExpr>, args: Vec<IdedExpr>) -> Expr {
    Expr::Call(CallExpr {
        func_name: name.to_owned(),
        target: target.map(Box::new),
        args,
    })
}

/// True when its value is known to be optional.
fn is_optional(expression: &IdedExpr, optional_old: bool) -> bool {
    match &expression.expr {
        Expr::Ident(name) => optional_old && name == "oldSelf",
        Expr::Call(call) => match call.func_name.as_str() {
            OPT_INDEX | OPT_SELECT | "or" => true,
            "of" | "none" | "ofNonZeroValue" => {
                matches!(call.target.as_deref(), Some(IdedExpr { expr: Expr::Ident(of), .. }) if of == "optional")
            }
            INDEX => call.args.first().is_some_and(|of| is_optional(of, optional_old)),
            _ => false,
        },
        _ => false,
    }
}
