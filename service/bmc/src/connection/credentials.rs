use std::fmt;

/// A user of a BMC. `Debug` hides the password, and nothing in this crate puts it into an error, a log or a URL.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Credentials {
    pub user: String,
    pub password: String,
}

impl Credentials {
    pub fn new(user: impl Into<String>, password: impl Into<String>) -> Self {
        Self {
            user: user.into(),
            password: password.into(),
        }
    }

    /// A BMC's text without the password: some BMCs repeat refused values.
    pub(crate) fn redact(&self, text: &str) -> String {
        match self.password.is_empty() {
            true => text.to_owned(),
            false => text.replace(&self.password, "***"),
        }
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials")
            .field("user", &self.user)
            .field("password", &"***")
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_shown_nowhere() {
        let credentials = Credentials::new("admin", "s3cret");
        assert!(!format!("{credentials:?}").contains("s3cret"));
        assert_eq!(
            credentials.redact("value s3cret is not allowed"),
            "value *** is not allowed"
        );
        assert_eq!(Credentials::new("admin", "").redact("as it is"), "as it is");
    }
}
