//! Limits what tags of a template may hold: names, conditions, `set` with a value, `raw`, and a few filters. Nothing of
//! that makes a text grow, so a template that fits into a Secret costs no more than its size.

use std::ops::Range;

/// Longest quoted text in a tag, bytes.
const MAX_QUOTED: usize = 256;

const STATEMENTS: [&str; 7] = ["if", "elif", "else", "endif", "set", "raw", "endraw"];

const FILTERS: [&str; 5] = ["d", "default", "lower", "trim", "upper"];

/// Words before a parenthesis that is no call.
const BEFORE_PARENTHESIS: [&str; 9] = ["and", "or", "not", "in", "is", "if", "elif", "d", "default"];

const END: &str = "has a tag that does not end";
const STATEMENT: &str = "has a statement other than if, set and raw";
const EXPRESSION: &str =
    "has a tag with more than names, comparisons and the filters default, lower, trim and upper";

/// A refusal: the line in the whole text, whose first line is not in `body`, and the reason.
type Fault = (usize, &'static str);

/// Checks all tags of `body`.
///
/// # Errors
/// The first tag that is not taken.
pub(super) fn check(body: &str) -> Result<(), Fault> {
    let mut at = 0;
    while let Some((start, mark)) = next(body, at) {
        let fault = |why: &'static str| (line(body, start), why);
        let inner = start + 2;
        at = match mark {
            '#' => after(body, inner, "#}").ok_or_else(|| fault(END))?,
            '{' => {
                let tag = tag(body, inner, "}}").ok_or_else(|| fault(END))?;
                let text = slice(body, &tag);
                expression(text.trim_matches(['-', '+'])).map_err(fault)?;
                tag.end + 2
            }
            _ => {
                let tag = tag(body, inner, "%}").ok_or_else(|| fault(END))?;
                let text = slice(body, &tag).trim_matches(['-', '+']).trim();
                let is_raw = statement(text).map_err(fault)?;
                if is_raw {
                    end_of_raw(body, tag.end + 2).ok_or_else(|| fault(END))?
                } else {
                    tag.end + 2
                }
            }
        };
    }
    Ok(())
}

fn slice<'a>(body: &'a str, range: &Range<usize>) -> &'a str {
    body.get(range.clone()).unwrap_or_default()
}

fn line(body: &str, at: usize) -> usize {
    2 + slice(body, &(0..at)).matches('\n').count()
}

/// The next tag from `at` on: where it begins, and its second character.
fn next(body: &str, at: usize) -> Option<(usize, char)> {
    let rest = body.get(at..)?;
    ["{{", "{%", "{#"]
        .into_iter()
        .filter_map(|open| Some((at + rest.find(open)?, open.chars().nth(1)?)))
        .min()
}

/// The place after the next `end`.
fn after(body: &str, at: usize, end: &str) -> Option<usize> {
    Some(at + body.get(at..)?.find(end)? + end.len())
}

/// The inner part of a tag; `end` in quotes does not end it.
fn tag(body: &str, start: usize, end: &str) -> Option<Range<usize>> {
    let rest = body.get(start..)?;
    let mut quote = None;
    let mut is_escaped = false;
    for (index, c) in rest.char_indices() {
        match quote {
            Some(_) if is_escaped => is_escaped = false,
            Some(_) if c == '\\' => is_escaped = true,
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None if rest.get(index..).is_some_and(|rest| rest.starts_with(end)) => {
                return Some(start..start + index);
            }
            None if matches!(c, '"' | '\'') => quote = Some(c),
            None => {}
        }
    }
    None
}

/// The place after `{% endraw %}`.
fn end_of_raw(body: &str, mut at: usize) -> Option<usize> {
    loop {
        at = after(body, at, "{%")?;
        let rest = body.get(at..)?.trim_start_matches(['-', '+']).trim_start();
        if rest.starts_with("endraw") {
            return after(body, at, "%}");
        }
    }
}

/// Returns true if raw text follows.
fn statement(text: &str) -> Result<bool, &'static str> {
    let word = text.split(|c: char| !is_word(c)).next().unwrap_or_default();
    let rest = text.get(word.len()..).unwrap_or_default();
    // Without a value it would take the text up to its end.
    let takes_text = word == "set" && !rest.contains('=');
    if !STATEMENTS.contains(&word) || takes_text {
        return Err(STATEMENT);
    }
    expression(rest)?;
    Ok(word == "raw")
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn expression(text: &str) -> Result<(), &'static str> {
    // Each quoted text becomes an empty one.
    let mut plain = String::new();
    let mut quoted: Option<(char, usize)> = None;
    let mut is_escaped = false;
    for c in text.chars() {
        let Some((open, length)) = quoted else {
            plain.push(c);
            quoted = matches!(c, '"' | '\'').then_some((c, 0));
            continue;
        };
        if c == open && !is_escaped {
            plain.push(c);
            quoted = None;
        } else if length >= MAX_QUOTED {
            return Err(EXPRESSION);
        } else {
            is_escaped = c == '\\' && !is_escaped;
            quoted = Some((open, length + c.len_utf8()));
        }
    }
    let is_taken = |c: char| is_word(c) || c.is_whitespace() || ".-[]()|=!<>:'\"".contains(c);
    if !plain.chars().all(is_taken) {
        return Err(EXPRESSION);
    }
    let filters = plain.split('|').skip(1).map(str::trim_start);
    for filter in filters {
        let name = filter.split(|c: char| !is_word(c)).next().unwrap_or_default();
        if !FILTERS.contains(&name) {
            return Err(EXPRESSION);
        }
    }
    let mut before = plain.split('(').collect::<Vec<_>>();
    before.pop();
    for text in before {
        let word = text
            .trim_end()
            .rsplit(|c: char| !is_word(c))
            .next()
            .unwrap_or_default();
        if !word.is_empty() && !BEFORE_PARENTHESIS.contains(&word) {
            return Err(EXPRESSION);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_conditions_and_raw_text_are_taken() {
        for good in [
            "no tag, { } and }} alone",
            "{{ a.b['c-d'][\"e\"] }}",
            "{{ a | default('}}') | upper }}",
            "{%- if a == 'x' and not (b is defined) -%} y {%+ endif %}",
            "{% set a = b %}",
            "{% raw %}{{ range(9) ~ 'x' * 9 }}{% for %}{%- endraw -%}{{ a }}",
            "{# {{ a ~ b }} #}",
        ] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
    }

    #[test]
    fn nothing_is_taken_that_makes_a_text_grow() {
        let long = format!("{{{{ '{}' }}}}", "x".repeat(MAX_QUOTED + 1));
        for (bad, why) in [
            ("{{ a ~ a }}", EXPRESSION),
            ("{{ 'a' * 9 }}", EXPRESSION),
            ("{{ a + a }}", EXPRESSION),
            ("{{ [a, a] }}", EXPRESSION),
            ("{{ {'a': a} }}", EXPRESSION),
            ("{{ range(9) }}", EXPRESSION),
            ("{{ a.upper() }}", EXPRESSION),
            ("{{ a | replace('a') }}", EXPRESSION),
            ("{{ a | upper | indent(9) }}", EXPRESSION),
            (long.as_str(), EXPRESSION),
            ("{% for a in b %}{% endfor %}", STATEMENT),
            ("{% set a %}x{% endset %}", STATEMENT),
            ("{% macro a() %}{% endmacro %}", STATEMENT),
            ("{% raw %}{{ a }}", END),
            ("{{ a", END),
            ("{{ 'a }}", END),
            ("{# a", END),
        ] {
            assert_eq!(check(&format!("x\n{bad}")), Err((3, why)), "{bad}");
        }
    }
}
