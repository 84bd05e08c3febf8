use super::Invalid;

/// As clients send it, so far as it can stand in a URL.
pub(crate) fn openshift_version(version: &str) -> Result<(), Invalid> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '+');
    if version.len() <= 64 && version.chars().all(allowed) {
        return Ok(());
    }
    Err(Invalid::new(
        "openshift_version",
        "must be a version such as 4.20 or 4.20.3: at most 64 letters, digits, '.', '-', '_' and '+'",
    ))
}
