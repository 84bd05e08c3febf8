//! The reasons why probes have no results.

use std::fmt;
use std::io;
use std::sync::Arc;

/// The reason why a probe has no result. Its text is printed, logged and kept in captures.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ProbeError {
    /// The system refused an operation.
    #[error("{path}{operation}: {source}")]
    System {
        /// A file, a device node, or an interface of the kernel.
        path: String,
        operation: Operation,
        source: Arc<io::Error>,
    },
    /// A file or a device does not have what the probe looks for.
    #[error("{path} {fault}")]
    Content {
        path: String,
        /// The rest of a sentence that begins with the path.
        fault: String,
    },
    /// A disk refused a command.
    #[error("{path}: command {command:02x} failed, status {status:02x}/{host_status:02x}")]
    Command {
        path: String,
        /// The first byte of a SCSI command.
        command: u8,
        status: u8,
        host_status: u16,
    },
    /// The BMC was busy at every attempt.
    #[error("{path}: the BMC stays busy (completion code {code:#04x})")]
    Busy {
        path: String,
        /// Its last completion code.
        code: u8,
    },
    /// A value is not understood, or nothing gives it; the text names it.
    #[error("{0}")]
    Value(String),
    /// The capture was made without this query.
    #[error("the capture has no answer to {key}")]
    NotCaptured { key: String },
    /// The capture's result of a query is not understood.
    #[error("the capture's answer to {key} {fault}")]
    Captured {
        key: String,
        /// The rest of the sentence.
        fault: String,
    },
    /// The reason of the captured machine.
    #[error("{0}")]
    Recorded(String),
}

/// An operation of the system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    Open,
    Read,
    /// Reading so many bytes behind the beginning.
    ReadAt(u64),
    /// A command to a device, or a request to the kernel.
    Command,
}

impl ProbeError {
    /// An operation that the system refused.
    pub(crate) fn failed(operation: Operation, path: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::System {
            path: path.into(),
            operation,
            source: Arc::new(source),
        }
    }

    /// A file that cannot be read.
    pub(crate) fn reading(path: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        Self::failed(Operation::Read, path)
    }

    /// `fault`: the rest of a sentence that begins with the path.
    pub(crate) fn content(path: impl Into<String>, fault: impl Into<String>) -> Self {
        Self::Content {
            path: path.into(),
            fault: fault.into(),
        }
    }

    pub(crate) fn value(text: impl Into<String>) -> Self {
        Self::Value(text.into())
    }
}

/// By text: a capture keeps nothing else of a reason.
impl PartialEq for ProbeError {
    fn eq(&self, other: &Self) -> bool {
        self.to_string() == other.to_string()
    }
}

impl fmt::Display for Operation {
    /// The place in the file, where the path does not suffice.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ReadAt(offset) => write!(f, " at {offset}"),
            Self::Open | Self::Read | Self::Command => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_names_path_place_and_cause() {
        let refused = || io::Error::from(io::ErrorKind::PermissionDenied);
        let reason = ProbeError::failed(Operation::ReadAt(512), "/dev/sda")(refused());
        assert_eq!(reason.to_string(), format!("/dev/sda at 512: {}", refused()));
        let reason = ProbeError::reading("/proc/x")(refused());
        assert_eq!(reason.to_string(), format!("/proc/x: {}", refused()));
        let busy = ProbeError::Busy {
            path: "/dev/ipmi0".to_owned(),
            code: 0xc0,
        };
        assert_eq!(
            busy.to_string(),
            "/dev/ipmi0: the BMC stays busy (completion code 0xc0)"
        );
        let command = ProbeError::Command {
            path: "/dev/sda".to_owned(),
            command: 0x12,
            status: 2,
            host_status: 0,
        };
        assert_eq!(command.to_string(), "/dev/sda: command 12 failed, status 02/00");
    }
}
