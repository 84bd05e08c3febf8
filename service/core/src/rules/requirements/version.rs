//! Versions that requirements are looked up by.

/// A version without what follows a hyphen: `4.22` and `4.22.0-ec.1` are `[4, 22, 0]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub [u64; 3]);

impl Version {
    /// `None` when it is not one to three numbers.
    pub fn parse(text: &str) -> Option<Self> {
        let base = text.split('-').next()?;
        let mut numbers = [0; 3];
        for (index, part) in base.split('.').enumerate() {
            *numbers.get_mut(index)? = part.parse().ok()?;
        }
        Some(Self(numbers))
    }
}

#[cfg(test)]
mod tests {
    use super::Version;

    #[test]
    fn versions_are_compared_by_number_and_without_what_follows_a_hyphen() {
        let version = |text: &str| Version::parse(text).unwrap();
        assert!(version("4.9") < version("4.10"));
        assert_eq!(version("4.22.0-ec.1"), version("4.22"));
        assert_eq!(Version::parse("4.x"), None);
        assert_eq!(Version::parse(""), None);
        assert_eq!(Version::parse("1.2.3.4"), None);
    }
}
