//! The reasons why an installation ends, and their consequences for the disk.

/// The end of an installation that did not succeed. `device`: the id of the disk as the request names it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InstallError {
    /// The request names no disk that can be installed to. Nothing was written.
    #[error("the installation disk {device} cannot be used: {reason}. No disk was written to")]
    NoDisk { device: String, reason: String },
    /// The request has a disk to format that is none. Nothing was written.
    #[error("the disk to format {device} cannot be used: {reason}. No disk was written to")]
    NoDiskToFormat { device: String, reason: String },
    /// The disk must not be written to, or is in use. Nothing was written.
    #[error("{device} ({node}) was not touched: {reason}")]
    Untouched {
        device: String,
        /// `/dev/N` by the kernel's name.
        node: String,
        reason: String,
    },
    /// The request, or a response of the service, cannot be followed. Nothing was written.
    #[error("{reason}. No disk was written to")]
    Refused { step: Step, reason: String },
    /// A part of the agent failed. Nothing was written.
    #[error("{reason}")]
    Unprepared { step: Step, reason: String },
    #[error("{device} cannot be cleared: {reason}")]
    NotCleared { device: String, reason: String },
    #[error("{device} was not installed to, and does not boot: {reason}{}", counted(*.attempts))]
    NotWritten {
        device: String,
        reason: String,
        attempts: u32,
    },
    /// The disk cannot be claimed for another attempt.
    #[error("{device} was written to, does not boot, and cannot be written again: {reason}")]
    NotWrittenAgain { device: String, reason: String },
    /// The disk cannot be claimed for another attempt of coreos-installer.
    #[error("{device} was written to, and cannot be written again: {reason}")]
    NotFree { device: String, reason: String },
    #[error("the configuration cannot be put on {device}, which does not boot: {reason}")]
    NotConfigured { device: String, reason: String },
    #[error("{device} does not boot: {reason}")]
    NotBootable { device: String, reason: String },
    #[error("the disk does not boot: it has not answered for {seconds} s")]
    Silent { seconds: u64 },
    #[error("the control plane of the cluster did not come up within an hour: {last}")]
    NoControlPlane {
        /// The last state of the cluster.
        last: String,
    },
    /// The disk may have been written to; it does not boot.
    #[error("{reason}")]
    Failed { step: Step, reason: String },
    /// A thread ended early.
    #[error("a part of the installer broke: {0}")]
    Broken(String),
    #[error("the installation was stopped")]
    Stopped,
}

/// A part of an installation that can end it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Listing the disks.
    Disks,
    /// Choosing the image.
    Image,
    /// Copying the network configuration of the live system.
    Network,
    /// Preparing the clients of downloads.
    Downloads,
    Ignition,
    /// Getting the seed for cloud-init.
    Seed,
    /// Clearing the boot sector after a failure.
    BootSector,
}

fn counted(attempts: u32) -> String {
    if attempts > 1 {
        format!(" ({attempts} attempts)")
    } else {
        String::new()
    }
}

/// Refuses with a reason.
///
/// # Errors
/// [`InstallError::Refused`], always.
pub fn refuse<T>(step: Step, reason: impl Into<String>) -> Result<T, InstallError> {
    Err(InstallError::Refused {
        step,
        reason: reason.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_are_counted_from_the_second_on() {
        let text = |attempts| {
            let error = InstallError::NotWritten {
                device: "/dev/sda".to_owned(),
                reason: "why".to_owned(),
                attempts,
            };
            error.to_string()
        };
        assert_eq!(text(1), "/dev/sda was not installed to, and does not boot: why");
        assert_eq!(
            text(2),
            "/dev/sda was not installed to, and does not boot: why (2 attempts)"
        );
    }
}
