//! Computes strong entity tags: equal exactly when the bytes are, on every replica and after every restart.

use sha2::{Digest, Sha256};

use crate::overlay::{Piece, Plan};

/// Bytes of the hash that go into a tag: enough that two images never share one by accident.
const TAG_BYTES: usize = 16;

/// The quoted tag of `plan` over the base file with this digest.
pub fn etag(base_digest: &[u8; 32], plan: &Plan) -> String {
    let mut hash = Sha256::new();
    hash.update(base_digest);
    for piece in plan.pieces() {
        match piece {
            Piece::Base(extent) => {
                hash.update(b"b");
                hash.update(extent.offset.to_le_bytes());
                hash.update(extent.length.to_le_bytes());
            }
            Piece::Bytes(bytes) => {
                hash.update(b"c");
                hash.update((bytes.len() as u64).to_le_bytes());
                hash.update(bytes);
            }
            Piece::Zeros(length) => {
                hash.update(b"z");
                hash.update(length.to_le_bytes());
            }
        }
    }
    format!("\"{}\"", hex::encode(&hash.finalize()[..TAG_BYTES]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::iso9660::Extent;

    fn plan(text: &'static str) -> Plan {
        let base = Plan::of_base(Extent {
            offset: 0,
            length: 100,
        });
        base.overlaid(10, Piece::Bytes(text.into())).unwrap()
    }

    #[test]
    fn the_tag_follows_base_and_computed_bytes() {
        let tag = etag(&[1; 32], &plan("one"));
        assert_eq!(tag, etag(&[1; 32], &plan("one")));
        assert_ne!(tag, etag(&[2; 32], &plan("one")));
        assert_ne!(tag, etag(&[1; 32], &plan("two")));
        assert!(tag.len() == 34 && tag.starts_with('"') && tag.ends_with('"'));
    }
}
