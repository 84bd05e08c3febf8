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
    /// The version that the service was told.
    pub version: String,
    /// The private part of the host's key, hexadecimal.
    pub host_key: String,
    /// Programs that were here before or did not do, by their digests: the agent does not become one of them again.
    pub builds: Vec<String>,
}

static STATE: OnceLock<Option<Inherited>> = OnceLock::new();

/// The identity that the program before this one has left, if there was one.
pub fn state() -> Option<&'static Inherited> {
    STATE.get_or_init(take).as_ref()
}

fn take() -> Option<Inherited> {
    let number: RawFd = std::env::var(VARIABLE).ok()?.parse().ok()?;
    let read = std::fs::read(format!("/proc/self/fd/{number}")).map_err(|error| error.to_string());
    let parsed = read.and_then(|text| {
        // Its content is not quoted: a key is in it.
        serde_json::from_slice(&text).map_err(|_| "it is of another form".to_owned())
    });
    match parsed {
        Ok(inherited) => {
            // No other program is to find it.
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
    /// The file for the next program, as long as it is open: it stays open when another program is started in this one's place.
    ///
    /// # Errors
    /// There is no memory.
    pub fn leave(&self) -> io::Result<(File, String)> {
        let mut file = File::from(memfd_create("muster-inherited", MFdFlags::empty())?);
        file.write_all(&serde_json::to_vec(self)?)?;
        let number = file.as_raw_fd().to_string();
        Ok((file, number))
    }
}
