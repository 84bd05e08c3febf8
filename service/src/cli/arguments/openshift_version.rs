//! Reads OpenShift versions from the command line.

/// `4.20`, `4.20.3` and what follows a release in `-` or `+`.
pub fn parse(text: &str) -> Result<String, String> {
    let release = text.split(['-', '+']).next().unwrap_or_default();
    let parts: Vec<&str> = release.split('.').collect();
    let numbers = parts
        .iter()
        .all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()));
    if numbers && (2..=3).contains(&parts.len()) {
        return Ok(text.to_owned());
    }
    Err("write a version such as 4.20 or 4.20.3".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_have_numbers() {
        for good in ["4.20", "4.20.3", "5.0.0-rc.1", "4.19.0-0.okd-2026"] {
            assert!(parse(good).is_ok(), "{good}");
        }
        for wrong in ["banana", "4", "4.", "4.x", "", "4.20.1.2"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
