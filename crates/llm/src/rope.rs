//! An append-only byte sequence that is sent without being copied whole: a request body that grows at its end.
//! Full blocks are shared, only the tail is copied. It knows nothing of what the bytes mean.

use bytes::Bytes;

/// A tail of this size becomes a shared block.
pub const BLOCK_BYTES: usize = 64 * 1024;

#[derive(Clone, Debug, Default)]
pub struct Rope {
    frozen: Vec<Bytes>,
    frozen_len: usize,
    tail: Vec<u8>,
}

impl Rope {
    pub fn push(&mut self, bytes: &[u8]) {
        self.tail.extend_from_slice(bytes);
        if self.tail.len() >= BLOCK_BYTES {
            self.frozen_len += self.tail.len();
            self.frozen.push(std::mem::take(&mut self.tail).into());
        }
    }

    pub fn len(&self) -> usize {
        self.frozen_len + self.tail.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The whole sequence in order. Costs a copy of the tail, which is smaller than a block.
    pub fn snapshot(&self) -> Vec<Bytes> {
        let mut parts = Vec::with_capacity(self.frozen.len() + 2);
        parts.extend(self.frozen.iter().cloned());
        if !self.tail.is_empty() {
            parts.push(Bytes::copy_from_slice(&self.tail));
        }
        parts
    }

    /// Drops what was pushed after the sequence was `mark` bytes long. A mark past the end changes nothing.
    pub fn truncate_to(&mut self, mark: usize) {
        if mark >= self.frozen_len {
            self.tail.truncate(mark - self.frozen_len);
            return;
        }
        self.tail.clear();
        while self.frozen_len > mark {
            let Some(block) = self.frozen.pop() else {
                break;
            };
            self.frozen_len -= block.len();
            // The cut goes through this block: what is kept of it is shorter than a block, so it may be a tail again.
            if let Some(kept) = mark.checked_sub(self.frozen_len) {
                let kept = block.slice(..kept);
                if kept.len() < BLOCK_BYTES {
                    self.tail.extend_from_slice(&kept);
                } else {
                    self.frozen_len += kept.len();
                    self.frozen.push(kept);
                }
                break;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{BLOCK_BYTES, Rope};
    use proptest::prelude::*;

    fn flat(rope: &Rope) -> Vec<u8> {
        rope.snapshot().concat()
    }

    #[test]
    fn full_blocks_are_shared_between_snapshots() {
        let mut rope = Rope::default();
        rope.push(&vec![1; BLOCK_BYTES + 5]);
        rope.push(b"tail");
        let before = rope.snapshot();
        rope.push(b" more");
        let after = rope.snapshot();
        assert_eq!((before.len(), after.len()), (2, 2));
        assert_eq!(before[0].as_ptr(), after[0].as_ptr());
        assert_eq!(
            (before[1].as_ref(), after[1].as_ref()),
            (&b"tail"[..], &b"tail more"[..])
        );
    }

    #[test]
    fn a_cut_through_a_block_leaves_older_snapshots_alone() {
        let mut rope = Rope::default();
        rope.push(&vec![7; 3 * BLOCK_BYTES]);
        let old = rope.snapshot();
        rope.truncate_to(2 * BLOCK_BYTES + 1);
        rope.push(b"x");
        assert_eq!(rope.len(), 2 * BLOCK_BYTES + 2);
        assert_eq!(old.concat(), vec![7; 3 * BLOCK_BYTES]);
    }

    #[derive(Clone, Debug)]
    enum Step {
        Push(usize),
        CutTo(prop::sample::Index),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            3 => (0..BLOCK_BYTES + 9).prop_map(Step::Push),
            1 => any::<prop::sample::Index>().prop_map(Step::CutTo),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn behaves_like_a_vector(steps in prop::collection::vec(step(), 0..24)) {
            let (mut rope, mut model) = (Rope::default(), Vec::new());
            for (n, step) in steps.into_iter().enumerate() {
                match step {
                    Step::Push(len) => {
                        let bytes = vec![n as u8; len];
                        rope.push(&bytes);
                        model.extend_from_slice(&bytes);
                    }
                    Step::CutTo(index) => {
                        let mark = index.index(model.len() + 1);
                        rope.truncate_to(mark);
                        model.truncate(mark);
                    }
                }
                prop_assert_eq!(rope.len(), model.len());
                prop_assert!(rope.tail.len() < BLOCK_BYTES);
                prop_assert!(flat(&rope) == model);
            }
        }
    }
}
