use super::Invalid;

/// Longest name, characters.
const MAX_CHARS: usize = 253;

/// Validates any text for users, on one line.
pub(crate) fn name(name: &str) -> Result<(), Invalid> {
    let wrong = |reason: &str| Err(Invalid::new("name", reason));
    if name.trim().is_empty() {
        return wrong("must not be empty");
    }
    if name.chars().count() > MAX_CHARS {
        return wrong("is longer than 253 characters");
    }
    if name.chars().any(char::is_control) {
        return wrong("must not hold line breaks or control characters");
    }
    Ok(())
}
