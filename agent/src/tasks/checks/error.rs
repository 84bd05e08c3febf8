//! The error of a check that could not be made at all. The findings of a check are never an error.

/// A check that could not be made.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// A socket that the check needs.
    #[error("{what}: {source}{advice}", advice = advice(source))]
    Socket {
        /// The attempted action.
        what: String,
        source: std::io::Error,
    },
    /// The request is invalid.
    #[error("{0}")]
    Request(String),
}

impl CheckError {
    pub(crate) fn socket(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        |source| Self::Socket {
            what: what.into(),
            source,
        }
    }
}

fn advice(error: &std::io::Error) -> &'static str {
    match error.kind() {
        std::io::ErrorKind::PermissionDenied => " (the agent must run as root, or with CAP_NET_RAW)",
        _ => "",
    }
}
