#!/usr/bin/env bash
# cel 0.13 parses `a.?b`, and fails with "no such key" when there is no `b`, where the language has `optional.none()`; `a.?b.c` is false.
# `a[?"b"]`, which means the same, works. A member of what is no map is `false`, not an error.
. "$(dirname "$0")/lib/cargo.sh"
dependencies 'cel = "=0.13.0"'
program <<'RUST'
use cel::Context;
use cel::parser::Parser;

fn main() {
    println!("cel 0.13.0");
    for (expression, expected) in [
        ("{'a': 1}.?b.orValue(2) == 2", "Err(NoSuchKey(\"b\"))"),
        ("{'a': 1}[?'b'].orValue(2) == 2", "Ok(Bool(true))"),
        ("{'a': {'c': 1}}.?a.c", "Ok(Bool(false))"),
        ("'text'.nothing", "Ok(Bool(false))"),
    ] {
        let parsed = Parser::new().enable_optional_syntax(true).parse(expression).unwrap();
        let found = format!("{:?}", Context::default().resolve(&parsed));
        println!("{expression}: {found}");
        assert_eq!(found, expected, "{expression} has changed");
    }
}
RUST
"$program"
