use super::Invalid;

/// The version of a cluster, as clients send it, restricted to characters that can be in a URL.
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

/// The version of an InfraEnv's image: two or three numbers, and a suffix after '-' or '+' (`5.0.0-rc.1`). Empty: any
/// version.
pub(crate) fn image_version(version: &str) -> Result<(), Invalid> {
    openshift_version(version)?;
    let release = version.split(['-', '+']).next().unwrap_or_default();
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if version.is_empty()
        || release.split('.').all(is_number) && (1..=2).contains(&release.matches('.').count())
    {
        return Ok(());
    }
    Err(Invalid::new(
        "openshift_version",
        format!("{version:?} is no version: write one such as 4.20, 4.20.3 or 5.0.0-rc.1"),
    ))
}
