//! The functions that rules are evaluated with: those of `kube-cel`, and some in place of what `cel` 0.13 has or lacks.

use std::sync::Arc;

use kube_cel::KubeCelExt as _;
use kube_cel::cel::extractors::{Arguments, This};
use kube_cel::cel::{Context, ExecutionError, Value as Cel};

thread_local! {
    /// Functions and names of types.
    pub static FUNCTIONS: Context<'static> = functions();
}

/// Names of types that rules compare with the result of `type(x)`.
const TYPES: [&str; 9] = [
    "bool",
    "int",
    "uint",
    "double",
    "string",
    "bytes",
    "null_type",
    "list",
    "map",
];

fn functions() -> Context<'static> {
    let mut context = Context::default().with_all();
    // The function of `cel` 0.13 counts the bytes of a text.
    context.add_function("size", size);
    context.add_function("dyn", |value: Cel| Ok::<Cel, ExecutionError>(value));
    context.add_function("type", |value: Cel| type_of(&value).to_owned());
    context.add_function("bool", to_bool);
    // The function of `kube-cel` 0.8 returns an empty text at either end when a text is split into its characters.
    context.add_function("split", split);
    for name in TYPES {
        context.add_variable_from_value(name, Cel::String(Arc::new(name.to_owned())));
    }
    context
}

fn size(This(value): This<Cel>) -> Result<i64, ExecutionError> {
    let size = match value {
        Cel::List(elements) => elements.len(),
        Cel::Map(members) => members.map.len(),
        Cel::String(text) => text.chars().count(),
        Cel::Bytes(bytes) => bytes.len(),
        other => {
            return Err(ExecutionError::function_error(
                "size",
                format!("{other:?} has none"),
            ));
        }
    };
    Ok(i64::try_from(size).unwrap_or(i64::MAX))
}

/// Without a third argument, or with a negative one, into all parts.
fn split(This(text): This<Arc<String>>, Arguments(arguments): Arguments) -> Result<Cel, ExecutionError> {
    let wrong =
        || ExecutionError::function_error("split", "a separator is expected, and a number may follow");
    let (separator, most) = match arguments.as_slice() {
        [Cel::String(separator)] => (separator, -1),
        [Cel::String(separator), Cel::Int(most)] => (separator, *most),
        _ => return Err(wrong()),
    };
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let parts: Vec<String> = match (separator.as_str(), most) {
        (_, 0) => Vec::new(),
        ("", most) => {
            let mut rest = text.chars();
            let mut parts: Vec<String> = rest.by_ref().take(most - 1).map(String::from).collect();
            let last: String = rest.collect();
            parts.extend((!last.is_empty()).then_some(last));
            parts
        }
        (separator, most) => text.splitn(most, separator).map(str::to_owned).collect(),
    };
    let parts = parts.into_iter().map(|part| Cel::String(Arc::new(part)));
    Ok(Cel::List(Arc::new(parts.collect())))
}

fn to_bool(value: Cel) -> Result<bool, ExecutionError> {
    let text = match &value {
        Cel::Bool(value) => return Ok(*value),
        Cel::String(text) => text.as_str(),
        _ => "",
    };
    match text {
        "1" | "t" | "true" | "TRUE" | "True" => Ok(true),
        "0" | "f" | "false" | "FALSE" | "False" => Ok(false),
        _ => Err(ExecutionError::function_error("bool", "neither true nor false")),
    }
}

fn type_of(value: &Cel) -> &'static str {
    match value {
        Cel::Bool(_) => "bool",
        Cel::Int(_) => "int",
        Cel::UInt(_) => "uint",
        Cel::Float(_) => "double",
        Cel::String(_) => "string",
        Cel::Bytes(_) => "bytes",
        Cel::Null => "null_type",
        Cel::List(_) => "list",
        Cel::Map(_) => "map",
        Cel::Duration(_) => "google.protobuf.Duration",
        Cel::Timestamp(_) => "google.protobuf.Timestamp",
        Cel::Opaque(_) | Cel::Function(..) => "opaque",
    }
}
