//! The authenticated user of a request.

/// The user that sends a request. Authentication puts it into the request's extensions; a request without it
/// is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    pub name: String,
    /// Empty when the user has no id.
    pub uid: String,
    pub groups: Vec<String>,
}

impl Caller {
    /// A member of `system:masters`.
    pub fn administrator() -> Self {
        Self {
            name: "system:admin".into(),
            uid: String::new(),
            groups: vec!["system:masters".into(), "system:authenticated".into()],
        }
    }
}
