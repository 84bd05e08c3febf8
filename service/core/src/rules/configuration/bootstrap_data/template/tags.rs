//! Limits what tags of a template may hold: names, conditions, `set` with a value, `raw`, and a few filters, all short.
//! Nothing of that makes a value grow or hold another one, so a template that fits into a Secret costs little more than
//! its size, and the engine recurses no deeper than a tag is long.

use std::ops::Range;

/// Longest tag, bytes.
const MAX_TAG: usize = 256;

/// Most `elif` in a template: the engine recurses for each.
const MAX_BRANCHES: usize = 64;

const STATEMENTS: [&str; 7] = ["if", "elif", "else", "endif", "set", "raw", "endraw"];

const FILTERS: [&str; 5] = ["d", "default", "lower", "trim", "upper"];

/// Words after which a bracket begins a list; after others it names a member.
const BEFORE_LIST: [&str; 8] = ["and", "or", "not", "in", "is", "if", "elif", "else"];

/// Words before a parenthesis that is no call.
const BEFORE_PARENTHESIS: [&str; 9] = ["and", "or", "not", "in", "is", "if", "elif", "d", "default"];

const END: &str = "has a tag that does not end";
const LONG: &str = "has a tag of more than 256 bytes";
const BRANCHES: &str = "has more than 64 elif; use fewer, or several if";
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
    let mut branches = 0;
    while let Some((start, mark)) = next(body, at) {
        let fault = |why: &'static str| (line(body, start), why);
        let inner = start + 2;
        at = match mark {
            '#' => after(body, inner, "#}").ok_or_else(|| fault(END))?,
            '{' => {
                let tag = tag(body, inner, "}}").ok_or_else(|| fault(END))?;
                let text = short(slice(body, &tag)).map_err(fault)?;
                expression(text.trim_matches(['-', '+'])).map_err(fault)?;
                tag.end + 2
            }
            _ => {
                let tag = tag(body, inner, "%}").ok_or_else(|| fault(END))?;
                let text = short(slice(body, &tag)).map_err(fault)?;
                let word = statement(text.trim_matches(['-', '+']).trim()).map_err(fault)?;
                branches += usize::from(word == "elif");
                if branches > MAX_BRANCHES {
                    return Err(fault(BRANCHES));
                }
                if word == "raw" {
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
    let mut braces = rest.match_indices('{');
    braces.find_map(|(index, _)| {
        let second = rest.get(index + 1..)?.chars().next()?;
        matches!(second, '{' | '%' | '#').then_some((at + index, second))
    })
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

fn short(text: &str) -> Result<&str, &'static str> {
    if text.len() <= MAX_TAG {
        Ok(text)
    } else {
        Err(LONG)
    }
}

/// Returns the word of a statement.
fn statement(text: &str) -> Result<&str, &'static str> {
    let word = text.split(|c: char| !is_word(c)).next().unwrap_or_default();
    let rest = text.get(word.len()..).unwrap_or_default();
    // Without a value it would take the text up to its end.
    let takes_text = word == "set" && !rest.contains('=');
    if !STATEMENTS.contains(&word) || takes_text {
        return Err(STATEMENT);
    }
    expression(rest)?;
    Ok(word)
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn expression(text: &str) -> Result<(), &'static str> {
    let plain = without_quoted(text);
    let is_taken = |c: char| is_word(c) || c.is_whitespace() || ".-[]()|=!<>'\"".contains(c);
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
    let is_call = |text: &str| {
        let word = last_word(text);
        !word.is_empty() && !BEFORE_PARENTHESIS.contains(&word)
    };
    if before(&plain, '(').any(is_call) || before(&plain, '[').any(|text| !has_members(text)) {
        return Err(EXPRESSION);
    }
    Ok(())
}

/// The text in which each quoted text is an empty one.
fn without_quoted(text: &str) -> String {
    let mut plain = String::new();
    let mut quote = None;
    let mut is_escaped = false;
    for c in text.chars() {
        match quote {
            None => {
                plain.push(c);
                quote = matches!(c, '"' | '\'').then_some(c);
            }
            Some(open) if c == open && !is_escaped => {
                plain.push(c);
                quote = None;
            }
            Some(_) => is_escaped = c == '\\' && !is_escaped,
        }
    }
    plain
}

/// The texts before each `mark`, from the one before it on.
fn before(text: &str, mark: char) -> impl Iterator<Item = &str> {
    let mut parts: Vec<&str> = text.split(mark).collect();
    parts.pop();
    parts.into_iter().map(str::trim_end)
}

fn last_word(text: &str) -> &str {
    text.rsplit(|c: char| !is_word(c)).next().unwrap_or_default()
}

/// True if a bracket after `text` names a member of a value: otherwise it begins a list, which may hold lists.
fn has_members(text: &str) -> bool {
    let word = last_word(text);
    if word.is_empty() {
        text.ends_with([']', ')', '"', '\''])
    } else {
        !BEFORE_LIST.contains(&word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_conditions_and_raw_text_are_taken() {
        for good in [
            "no tag, { } and }} alone",
            "{{ a.b['c-d'][\"e\"] }}",
            "{{ a['b:c'] [d] }}{{ (a or b)['c'] }}",
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
        let long = format!("{{{{ '{}' }}}}", "x".repeat(MAX_TAG));
        let joined = format!("{{{{ {} }}}}", "'x'".repeat(MAX_TAG));
        let minus = format!("{{{{{} a }}}}", "-".repeat(MAX_TAG));
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
            (long.as_str(), LONG),
            (joined.as_str(), LONG),
            (minus.as_str(), LONG),
            ("{% set a = [a] %}", EXPRESSION),
            ("{% set a = b or [a] %}", EXPRESSION),
            ("{% set a = a if b else [a] %}", EXPRESSION),
            ("{{ a | default([a]) }}", EXPRESSION),
            ("{{ [['a']] }}", EXPRESSION),
            ("{{ a[:] }}", EXPRESSION),
            ("{{ a[1:2] }}", EXPRESSION),
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

    #[test]
    fn a_template_has_few_branches() {
        let branches = |count: usize| format!("{{% if a %}}{}{{% endif %}}", "{% elif b %}\n".repeat(count));
        assert_eq!(check(&branches(MAX_BRANCHES)), Ok(()));
        assert_eq!(check(&branches(MAX_BRANCHES + 1)), Err((66, BRANCHES)));
    }
}
