//! Trees of hashes as RFC 6962 §2.1 has them: one root for many parts, short proofs for each of them.

use crate::digest::{Digest, Hasher};

/// The root of a growing sequence of leaves, in memory that grows with the logarithm of their number.
#[derive(Clone, Default)]
pub struct Tree {
    /// Roots of complete subtrees, the largest first; the bits of `size` say how large they are.
    subtrees: Vec<Digest>,
    size: u64,
}

impl Tree {
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a leaf.
    pub fn push(&mut self, leaf: &[u8]) {
        self.push_hash(leaf_hash(leaf));
    }

    /// Adds a leaf whose [`leaf_hash`] is known.
    pub fn push_hash(&mut self, leaf: Digest) {
        let mut hash = leaf;
        // Every trailing one of the size is a complete subtree that the new one completes a larger one with.
        for _ in 0..self.size.trailing_ones() {
            if let Some(left) = self.subtrees.pop() {
                hash = node_hash(&left, &hash);
            }
        }
        self.subtrees.push(hash);
        self.size += 1;
    }

    /// The number of leaves.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The root over all leaves so far. Without leaves it is the digest of nothing.
    pub fn root(&self) -> Digest {
        let mut subtrees = self.subtrees.iter().rev();
        let Some(smallest) = subtrees.next() else { return Digest::of(b"") };
        subtrees.fold(*smallest, |right, left| node_hash(left, &right))
    }
}

/// The hash of a leaf: a prefix keeps leaves and nodes apart.
pub fn leaf_hash(leaf: &[u8]) -> Digest {
    let mut hasher = Hasher::new();
    hasher.update(&[0]);
    hasher.update(leaf);
    hasher.finish()
}

/// The root over leaves whose hashes are given.
pub fn root(leaves: &[Digest]) -> Digest {
    let mut tree = Tree::new();
    for leaf in leaves {
        tree.push_hash(*leaf);
    }
    tree.root()
}

/// The hashes that lead from a leaf to the root, the lowest first; `None` when there is no such leaf.
pub fn prove_inclusion(leaves: &[Digest], index: usize) -> Option<Vec<Digest>> {
    if index >= leaves.len() {
        return None;
    }
    let (mut leaves, mut index, mut path) = (leaves, index, Vec::new());
    while leaves.len() > 1 {
        let (left, right) = leaves.split_at(largest_power_below(leaves.len()));
        if index < left.len() {
            path.push(root(right));
            leaves = left;
        } else {
            path.push(root(left));
            index -= left.len();
            leaves = right;
        }
    }
    path.reverse();
    Some(path)
}

/// Whether a leaf stands at an index of a tree with that size and root (RFC 9162 §2.1.3.2).
pub fn verify_inclusion(root: &Digest, size: u64, index: u64, leaf: &Digest, path: &[Digest]) -> bool {
    if index >= size {
        return false;
    }
    let (mut node, mut last, mut hash) = (index, size - 1, *leaf);
    for sibling in path {
        if last == 0 {
            return false;
        }
        if node & 1 == 1 || node == last {
            hash = node_hash(sibling, &hash);
            // A node without a right sibling rises until it is one.
            while node & 1 == 0 && node != 0 {
                node >>= 1;
                last >>= 1;
            }
        } else {
            hash = node_hash(&hash, sibling);
        }
        node >>= 1;
        last >>= 1;
    }
    last == 0 && hash == *root
}

/// The hashes that show that the first `old` leaves are a beginning of all; `None` when `old` is 0 or too large.
pub fn prove_consistency(leaves: &[Digest], old: usize) -> Option<Vec<Digest>> {
    if old == 0 || old > leaves.len() {
        return None;
    }
    let (mut leaves, mut old, mut path, mut is_known) = (leaves, old, Vec::new(), true);
    while old < leaves.len() {
        let (left, right) = leaves.split_at(largest_power_below(leaves.len()));
        if old <= left.len() {
            path.push(root(right));
            leaves = left;
        } else {
            path.push(root(left));
            old -= left.len();
            leaves = right;
            is_known = false;
        }
    }
    // The old root itself needs no telling.
    if !is_known {
        path.push(root(leaves));
    }
    path.reverse();
    Some(path)
}

/// Whether a tree of size `old_size` is a beginning of one of size `size` (RFC 9162 §2.1.4.2).
pub fn verify_consistency(old_root: &Digest, old_size: u64, root: &Digest, size: u64, path: &[Digest]) -> bool {
    if old_size == 0 || old_size > size {
        return false;
    }
    if old_size == size {
        return path.is_empty() && old_root == root;
    }
    let (mut node, mut last) = (old_size - 1, size - 1);
    let mut path = path.iter();
    while node & 1 == 1 {
        node >>= 1;
        last >>= 1;
    }
    let first = if old_size.is_power_of_two() { Some(old_root) } else { path.next() };
    let Some(first) = first else { return false };
    let (mut old_hash, mut hash) = (*first, *first);
    for sibling in path {
        if last == 0 {
            return false;
        }
        if node & 1 == 1 || node == last {
            old_hash = node_hash(sibling, &old_hash);
            hash = node_hash(sibling, &hash);
            while node & 1 == 0 && node != 0 {
                node >>= 1;
                last >>= 1;
            }
        } else {
            hash = node_hash(&hash, sibling);
        }
        node >>= 1;
        last >>= 1;
    }
    last == 0 && old_hash == *old_root && hash == *root
}

fn node_hash(left: &Digest, right: &Digest) -> Digest {
    let mut hasher = Hasher::new();
    hasher.update(&[1]);
    hasher.update(left.as_bytes());
    hasher.update(right.as_bytes());
    hasher.finish()
}

/// The largest power of two below a number of at least 2.
fn largest_power_below(number: usize) -> usize {
    1 << (number - 1).ilog2()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The leaves that implementations of certificate transparency test with.
    const LEAVES: [&[u8]; 8] = [
        b"",
        b"\x00",
        b"\x10",
        b"\x20\x21",
        b"\x30\x31",
        b"\x40\x41\x42\x43",
        b"\x50\x51\x52\x53\x54\x55\x56\x57",
        b"\x60\x61\x62\x63\x64\x65\x66\x67\x68\x69\x6a\x6b\x6c\x6d\x6e\x6f",
    ];

    const ROOTS: [&str; 9] = [
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
        "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
        "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
        "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
        "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
        "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
        "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
    ];

    fn hashes(count: usize) -> Vec<Digest> {
        (0..count).map(|number| leaf_hash(&(number as u64).to_be_bytes())).collect()
    }

    #[test]
    fn the_roots_are_those_of_certificate_transparency() {
        let mut tree = Tree::new();
        for (size, want) in ROOTS.iter().enumerate() {
            assert_eq!(tree.root().hex(), *want, "{size}");
            assert_eq!(tree.size(), size as u64);
            if let Some(leaf) = LEAVES.get(size) {
                tree.push(leaf);
            }
        }
    }

    #[test]
    fn known_proofs_come_out_and_hold() {
        let leaves: Vec<Digest> = LEAVES.iter().map(|leaf| leaf_hash(leaf)).collect();
        let path: Vec<String> = prove_inclusion(&leaves, 5).unwrap().iter().map(Digest::hex).collect();
        assert_eq!(
            path,
            [
                "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
                "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
                "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
            ]
        );
        let path: Vec<String> = prove_consistency(&leaves[..7], 3).unwrap().iter().map(Digest::hex).collect();
        assert_eq!(path.len(), 4, "RFC 6962 §2.1.3: c, d, g, l");
        assert_eq!(path[0], leaves[2].hex());
        assert_eq!(path[1], leaves[3].hex());
        assert_eq!(path[2], root(&leaves[..2]).hex());
        assert_eq!(path[3], root(&leaves[4..7]).hex());
        assert_eq!(prove_consistency(&leaves[..7], 4).unwrap(), [root(&leaves[4..7])]);
        assert_eq!(prove_consistency(&leaves[..7], 6).unwrap().len(), 3);
        assert_eq!(prove_consistency(&leaves, 0), None);
        assert_eq!(prove_consistency(&leaves, 9), None);
        assert_eq!(prove_inclusion(&leaves, 8), None);
    }

    proptest! {
        #[test]
        fn every_leaf_can_be_shown_and_at_its_place_alone(count in 1usize..70, pick: prop::sample::Index, other: prop::sample::Index) {
            let leaves = hashes(count);
            let (index, wrong) = (pick.index(count), other.index(count));
            let (root, size) = (root(&leaves), count as u64);
            let path = prove_inclusion(&leaves, index).unwrap();
            prop_assert!(verify_inclusion(&root, size, index as u64, &leaves[index], &path));
            prop_assert_eq!(verify_inclusion(&root, size, wrong as u64, &leaves[index], &path), wrong == index);
            prop_assert_eq!(verify_inclusion(&root, size, index as u64, &leaves[wrong], &path), wrong == index);
            prop_assert!(!verify_inclusion(&root, index as u64, index as u64, &leaves[index], &path));
            let mut longer = path.clone();
            longer.push(root);
            prop_assert!(!verify_inclusion(&root, size, index as u64, &leaves[index], &longer));
            if let Some((_, shorter)) = path.split_last() {
                prop_assert!(!verify_inclusion(&root, size, index as u64, &leaves[index], shorter));
            }
        }

        #[test]
        fn every_beginning_can_be_shown_and_no_other_tree(count in 1usize..70, pick: prop::sample::Index) {
            let leaves = hashes(count);
            let old = pick.index(count) + 1;
            let (old_root, new_root) = (root(&leaves[..old]), root(&leaves));
            let (old_size, size) = (old as u64, count as u64);
            let path = prove_consistency(&leaves, old).unwrap();
            prop_assert!(verify_consistency(&old_root, old_size, &new_root, size, &path));
            prop_assert!(!verify_consistency(&leaf_hash(b"x"), old_size, &new_root, size, &path));
            prop_assert!(!verify_consistency(&old_root, old_size, &leaf_hash(b"x"), size, &path));
            for at in 0..path.len() {
                let mut changed = path.clone();
                changed[at] = leaf_hash(b"x");
                prop_assert!(!verify_consistency(&old_root, old_size, &new_root, size, &changed));
            }
        }
    }
}
