//! Contents of files, and their encodings.

use std::io::Read;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::MultiGzDecoder;
use serde_json::{Value, json};

use super::super::super::refused::Refused;
use super::super::made::data_url;
use super::super::node::Members;

/// Most bytes of all packed files when they are unpacked.
const MAX_UNPACKED: u64 = 64 << 20;

/// Reads contents within the limit of all files.
pub(super) struct Unpacking {
    bytes_left: u64,
}

impl Default for Unpacking {
    fn default() -> Self {
        Self {
            bytes_left: MAX_UNPACKED,
        }
    }
}

/// Content as Ignition has it.
pub(super) struct Content {
    bytes: Vec<u8>,
    is_gzip: bool,
}

impl Content {
    pub(super) fn into_ignition(self) -> Value {
        let source = data_url(&self.bytes);
        if self.is_gzip {
            json!({"source": source, "compression": "gzip"})
        } else {
            json!({"source": source})
        }
    }
}

impl Unpacking {
    /// Reads `content` by `encoding`; without content the file is empty.
    pub(super) fn read(&mut self, entry: &Members<'_>) -> Result<Content, Refused> {
        let (is_base64, is_gzip) = match entry.get("encoding") {
            None => (false, false),
            Some(node) => match node.text()?.trim().to_lowercase().as_str() {
                "" | "text/plain" => (false, false),
                "b64" | "base64" => (true, false),
                "gz" | "gzip" => (false, true),
                "gz+b64" | "gz+base64" | "gzip+b64" | "gzip+base64" => (true, true),
                _ => {
                    return Err(node.refuse("must be base64, gzip or gzip+base64"));
                }
            },
        };
        let Some(node) = entry.get("content") else {
            return Ok(Content {
                bytes: Vec::new(),
                is_gzip: false,
            });
        };
        let text = node.text()?;
        let bytes = if is_base64 {
            let packed: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
            STANDARD
                .decode(packed)
                .map_err(|_| node.refuse("is not the base64 that encoding declares"))?
        } else {
            text.as_bytes().to_vec()
        };
        if is_gzip {
            self.check_packed(&bytes).map_err(|why| node.refuse(why))?;
        }
        Ok(Content { bytes, is_gzip })
    }

    fn check_packed(&mut self, bytes: &[u8]) -> Result<(), String> {
        let mut unpacked = MultiGzDecoder::new(bytes).take(self.bytes_left + 1);
        let size = std::io::copy(&mut unpacked, &mut std::io::sink());
        let size = size.map_err(|_| "is not the gzip that encoding declares")?;
        let left = self.bytes_left.checked_sub(size);
        self.bytes_left = left.ok_or_else(|| {
            format!("makes the packed files have more than {MAX_UNPACKED} bytes when they are unpacked")
        })?;
        Ok(())
    }
}
