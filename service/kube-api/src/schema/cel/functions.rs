//! The functions that rules may use, with their types: those of the API server of `facts/cel/functions.tsv`, of which some cannot be
//! evaluated here.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::types::Type;

/// One form of a function.
#[derive(Debug)]
pub struct Overload {
    /// Called on its first argument.
    pub is_member: bool,
    pub arguments: Vec<Type>,
    pub result: Type,
}

/// Functions that a server allows in new rules are those of the version before its own, so that it can be rolled back.
const NEWEST: u32 = 33;

static FUNCTIONS: LazyLock<HashMap<&str, Vec<Overload>>> = LazyLock::new(|| {
    let mut found: HashMap<&str, Vec<Overload>> = HashMap::new();
    for line in include_str!("../../../facts/cel/functions.tsv").lines().skip(1) {
        let columns: Vec<&str> = line.split('\t').collect();
        let [name, kind, arguments, result, since] = columns[..] else {
            continue;
        };
        let since: Option<u32> = since.strip_prefix("1.").and_then(|minor| minor.parse().ok());
        if since.is_some_and(|since| since <= NEWEST) {
            let arguments = arguments.split("; ").filter(|argument| !argument.is_empty());
            found.entry(name).or_default().push(Overload {
                is_member: kind == "member",
                arguments: arguments.map(Type::parse).collect(),
                result: Type::parse(result),
            });
        }
    }
    found
});

/// The forms of a function; `None`: there is no such function.
pub fn overloads(name: &str) -> Option<&'static [Overload]> {
    FUNCTIONS.get(name).map(Vec::as_slice)
}

/// The replacement of a function that an API server evaluates and this one cannot.
pub fn instead_of(name: &str, arguments: &[Type], is_member: bool) -> Option<&'static str> {
    let has_time_zone = is_member && arguments.len() == 2 && arguments[0] == Type::Timestamp;
    match name {
        "unwrapOpt" | "optional.unwrap" => Some("look at each element with hasValue()"),
        "first" | "last" => Some("take the element by its index, as in list[?0]"),
        "format.named" => Some("name the format in the rule, as in format.uuid()"),
        _ if has_time_zone && name.starts_with("get") => Some("leave out the time zone, and reckon in UTC"),
        _ => None,
    }
}

/// The replacement of a macro that an API server expands and this one cannot.
pub fn instead_of_macro(name: &str, arguments: usize) -> Option<&'static str> {
    match (name, arguments) {
        ("all" | "exists" | "existsOne" | "exists_one", 3) => {
            Some("use the form with one variable, which is the element of a list or the key of a map")
        }
        ("transformList" | "transformMap" | "transformMapEntry", 3 | 4) => {
            Some("use map() and filter() on the list, or on the keys of the map")
        }
        ("optMap" | "optFlatMap", 2) => Some("test the value with hasValue() and take it with value()"),
        _ => None,
    }
}
