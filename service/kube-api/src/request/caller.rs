//! The authenticated user of a request.

/// Members of this group may do everything.
pub const MASTERS: &str = "system:masters";
/// Members of this one may read everything but Secrets and hidden parts of other objects. Other users may do nothing.
pub const VIEWERS: &str = "muster:viewers";
/// Every known user is in it.
const AUTHENTICATED: &str = "system:authenticated";

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
            groups: vec![MASTERS.into(), AUTHENTICATED.into()],
        }
    }

    /// A member of `muster:viewers`, a group that reads everything but secrets.
    pub fn viewer() -> Self {
        Self {
            name: "muster:viewer".into(),
            uid: String::new(),
            groups: vec![VIEWERS.into(), AUTHENTICATED.into()],
        }
    }

    /// True for members of `system:masters`.
    pub fn is_master(&self) -> bool {
        self.groups.iter().any(|group| group == MASTERS)
    }
}
