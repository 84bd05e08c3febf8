//! `/muster/live.json`, which describes the places of the parts and the reserved areas of a live image (`docs/live-image.md`).

use serde::{Deserialize, Serialize};

use crate::kargs::KargsLayout;

/// Path of the description in the ISO.
pub const DESCRIPTION_PATH: &str = "muster/live.json";
/// The `format` of the description.
pub const FORMAT: &str = "muster-live";
/// The newest `version` that this code understands. Raise it when a reader of the older version would write to the wrong place.
pub const VERSION: u32 = 1;

/// The description's content. Unknown fields are those of a later, still compatible author.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Description {
    /// [`FORMAT`].
    pub format: String,
    /// Up to [`VERSION`].
    pub version: u32,
    /// `x86_64`.
    pub architecture: String,
    /// Version of the agent inside.
    pub agent_version: String,
    /// Path of the kernel in the ISO.
    pub kernel: String,
    /// Path of the initramfs in the ISO.
    pub initrd: String,
    pub config: ConfigArea,
    pub kargs: KargsLayout,
    /// Absent from images of earlier authors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentArea>,
}

/// The agent's archive in the initramfs, for hosts that run an older one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentArea {
    /// First byte in the file of the initramfs.
    pub offset: u64,
    /// Bytes: one frame of zstd with a newc archive, in which the program is `init`; then zeros, perhaps.
    pub length: u64,
    /// Bytes of the program.
    pub size: u64,
    /// SHA-256 of the program, hexadecimal.
    pub sha256: String,
}

/// The file that the service writes the configuration archive over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfigArea {
    /// Path in the ISO.
    pub file: String,
    /// Bytes of the area, from the start of that file.
    pub length: u64,
}

impl Description {
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("strings and numbers are valid JSON");
        text.push('\n');
        text
    }
}
