//! Brings the image to the disk: download, decompression, writing, digests, and reading it back.

pub mod buffer;
pub mod copy;
pub mod decode;
pub mod download;
pub mod error;
pub mod head;
pub mod source;
pub mod stream;
pub mod verify;
pub mod write;
