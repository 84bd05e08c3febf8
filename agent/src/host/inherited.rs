//! Keeps the host's identity from one program of the agent to the next, in a file in memory that stays open between them.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::sync::OnceLock;

use muster_api::ids::{HostId, InfraEnvId};
use nix::sys::memfd::{MFdFlags, memfd_create};
use serde::{Deserialize, Serialize};
use tracing::warn;

/// Environment variable with the number of the file.
pub const VARIABLE: &str = "MUSTER_AGENT_INHERITED";

/// The identity. Later programs read it: it changes by addition.
#[derive(Clone, Serialize, Deserialize)]
pub struct Inherited {
    pub infra_env_id: InfraEnvId,
    pub host_id: HostId,
    /// The version last reported to the service.
    pub version: String,
    /// The private part of the host's key, hexadecimal.
    pub host_key: String,
    /// Programs that ran before or failed, by their digests: the agent does not become one of them again.
    pub builds: Vec<String>,
}

static STATE: OnceLock<Option<Inherited>> = OnceLock::new();

/// The identity that the previous program has left, if there was one.
pub fn state() -> Option<&'static Inherited> {
    STATE.get_or_init(take).as_ref()
}

fn take() -> Option<Inherited> {
    let number: RawFd = std::env::var(VARIABLE).ok()?.parse().ok()?;
    let read = std::fs::read(format!("/proc/self/fd/{number}")).map_err(|error| error.to_string());
    let parsed = read.and_then(|text| {
        // The content is not quoted: it contains a key.
        serde_json::from_slice(&text).map_err(|_| "it is of another form".to_owned())
    });
    match parsed {
        Ok(inherited) => {
            // Other programs must not find it.
            let _ = nix::unistd::close(number);
            Some(inherited)
        }
        Err(reason) => {
            warn!("what the program before this one has left cannot be read: {reason}");
            None
        }
    }
}

impl Inherited {
    /// The file for the next program, which exists as long as it is open: it stays open when another program replaces this one.
    ///
    /// # Errors
    /// Fails if there is no memory.
    pub fn leave(&self) -> io::Result<(File, String)> {
        let mut file = File::from(memfd_create("muster-inherited", MFdFlags::empty())?);
        file.write_all(&serde_json::to_vec(self)?)?;
        let number = file.as_raw_fd().to_string();
        Ok((file, number))
    }
}
