//! The maximum cost of function calls. Source: `cel-go` 0.26 `checker/cost.go`, `k8s.io/apiserver` 0.34 `pkg/cel/library/cost.go`.

use super::found::{Entries, Found, READING, STATES, part};
use super::types::Type;

/// The cost of a call without its arguments, and the known properties of its result.
#[derive(Debug, Default)]
pub struct Call {
    pub cost: u64,
    pub size: Option<u64>,
    pub entries: Option<Entries>,
}

impl Call {
    fn of(cost: u64) -> Self {
        Self {
            cost,
            ..Self::default()
        }
    }

    fn sized(cost: u64, size: u64) -> Self {
        Self {
            size: Some(size),
            ..Self::of(cost)
        }
    }
}

/// `target` is the value that a member function is called on.
pub fn of_call(name: &str, target: Option<&Found>, arguments: &[Found]) -> Call {
    let size = |index: usize| arguments.get(index).map_or(0, Found::size_or_unknown);
    if let Some(target) = target {
        return of_member(name, target, arguments);
    }
    match name {
        "url" => Call::sized(part(size(0), READING), size(0)),
        "cidr" | "isIP" | "isCIDR" | "ip" | "quantity" | "isQuantity" | "semver" | "isSemver" => {
            Call::of(part(size(0), READING))
        }
        "ip.isCanonical" => Call::of(part(size(0), 2.0 * READING)),
        "strings.quote" => Call::sized(
            part(size(0), READING),
            size(0).saturating_mul(2).saturating_add(2),
        ),
        "bytes" if arguments[0].kind == Type::String => {
            Call::sized(part(size(0), READING), size(0).saturating_mul(4))
        }
        "string" if arguments[0].kind == Type::Bytes => Call::sized(part(size(0), READING), size(0)),
        "@in" if !matches!(arguments[1].kind, Type::Map(..)) => Call::of(size(1)),
        "_==_" | "_!=_" => of_equality(arguments),
        "_<_" | "_<=_" | "_>_" | "_>=_" if is_text(&arguments[0]) || is_text(&arguments[1]) => {
            Call::of(part(size(0).min(size(1)), READING))
        }
        "_+_" => of_sum(arguments),
        "_[_]" => Call {
            size: arguments[0].entries.map(|entries| entries.values),
            ..Call::of(1)
        },
        _ => Call::of(1),
    }
}

fn is_text(found: &Found) -> bool {
    matches!(found.kind, Type::String | Type::Bytes | Type::Dyn)
}

fn of_equality(arguments: &[Found]) -> Call {
    let named = |index: usize| match &arguments[index].kind {
        Type::Named(name) => Some(name.as_str()),
        _ => None,
    };
    if let (Some(one), Some(other)) = (named(0), named(1))
        && one == other
    {
        return Call::of(if one == "kubernetes.NamedFormat" { 7 } else { 1 });
    }
    let smaller = arguments[0].size_or_unknown().min(arguments[1].size_or_unknown());
    Call::of(part(smaller, READING))
}

fn of_sum(arguments: &[Found]) -> Call {
    let size = arguments[0]
        .size_or_unknown()
        .saturating_add(arguments[1].size_or_unknown());
    match &arguments[0].kind {
        Type::String | Type::Bytes => Call::sized(part(size, READING), size),
        Type::List(_) => Call {
            entries: Entries::union(arguments[0].entries, arguments[1].entries),
            ..Call::sized(1, size)
        },
        Type::Dyn => Call::sized(part(size, READING), size),
        _ => Call::of(1),
    }
}

fn of_member(name: &str, target: &Found, arguments: &[Found]) -> Call {
    let own = target.size_or_unknown();
    let size = |index: usize| arguments.get(index).map_or(0, Found::size_or_unknown);
    match name {
        "isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf" => match &target.kind {
            Type::List(element) => {
                let of_text = matches!(**element, Type::String | Type::Bytes);
                let element = target.at.as_ref().and_then(|at| at.element.as_ref());
                let longest = element.map_or(u64::MAX, |element| element.most);
                let one = if of_text {
                    part(longest, READING).saturating_add(1)
                } else {
                    1
                };
                Call::of(own.saturating_mul(one))
            }
            _ => Call::of(part(own, READING)),
        },
        "lowerAscii" | "upperAscii" | "substring" | "trim" => Call::sized(part(own, READING), own),
        "replace" => of_replace(own, size(0), size(1), &arguments[0]),
        "split" => Call::sized(part(own, 2.0 * READING), own),
        "join" => {
            let element = target.at.as_ref().and_then(|at| at.element.as_ref());
            let longest = match (element, target.entries) {
                (Some(element), _) => element.most,
                (None, _) => u64::MAX,
            };
            let separators = size(0).saturating_mul(own.saturating_sub(1));
            let whole = own.saturating_mul(longest).saturating_add(separators);
            Call::sized(part(whole, READING), whole)
        }
        "find" | "findAll" | "matches" => {
            let read = part(own.saturating_add(1), READING);
            let cost = read.saturating_mul(part(size(0), STATES));
            if name == "matches" {
                Call::of(cost)
            } else {
                Call::sized(cost, own)
            }
        }
        "contains" => Call::of(part(own, READING).saturating_mul(part(size(0), READING))),
        "startsWith" | "endsWith" => Call::of(part(size(0), READING)),
        "format" => Call::of(part(own, READING)),
        "containsIP" | "containsCIDR" => {
            let of_text = if arguments[0].kind == Type::String {
                part(size(0), READING)
            } else {
                0
            };
            Call::of(7_u64.saturating_add(of_text))
        }
        "validate" => Call::of(part(part(size(0), READING), 128.0 * STATES)),
        _ => Call::of(1),
    }
}

/// Each of the smallest parts is replaced by the largest text.
fn of_replace(own: u64, _what: u64, with: u64, what: &Found) -> Call {
    // The least size is known only of a literal.
    let least = match what.at {
        None => what.size.unwrap_or(0),
        Some(_) => 0,
    };
    let size = if least == 0 {
        own.saturating_add(1).saturating_mul(with).saturating_add(own)
    } else if with <= least {
        own
    } else {
        own.div_ceil(least).saturating_mul(with)
    };
    Call::sized(part(own, 2.0 * READING), size)
}
