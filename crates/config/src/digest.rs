//! By which content is known again.

use sha2::{Digest, Sha256};

/// SHA-256 of the pieces one after the other, in hex digits.
pub fn hash(pieces: &[&[u8]]) -> String {
    let mut digest = Sha256::new();
    pieces.iter().for_each(|piece| digest.update(piece));
    let digest = digest.finalize();
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
