//! Where a string of JSON is more than its own characters.

const WORD: usize = 8;
const HALF: usize = WORD / 2;
const BLOCK: usize = 32;
/// Most strings are names and short answers: from here on it is worth looking at a block at once.
const SHORT: usize = 2 * WORD;

/// The first byte that a string cannot hold as it is: a quote, a backslash, a control character.
pub(super) fn first_special(bytes: &[u8]) -> Option<usize> {
    if bytes.len() < SHORT {
        return in_words(bytes);
    }
    let (head, rest) = bytes.split_at(SHORT);
    if let Some(found) = in_words(head) {
        return Some(found);
    }
    let mut at = SHORT;
    for block in rest.chunks_exact(BLOCK) {
        // All of a block without a branch between them: the compiler looks at many at once.
        if block.iter().fold(false, |any, byte| any | is_special(*byte)) {
            break;
        }
        at += BLOCK;
    }
    in_words(&bytes[at..]).map(|found| at + found)
}

/// The same, eight bytes at a time.
#[inline]
fn in_words(bytes: &[u8]) -> Option<usize> {
    let (words, rest) = bytes.as_chunks::<WORD>();
    for (at, word) in words.iter().enumerate() {
        if let Some(found) = lowest(marks(u64::from_le_bytes(*word))) {
            return Some(at * WORD + found);
        }
    }
    if rest.is_empty() {
        return None;
    }
    // What is left is looked at together with what is before it, of which nothing is special: a byte at a time would take
    // longer than all words together.
    if let Some(word) = bytes.last_chunk::<WORD>() {
        return lowest(marks(u64::from_le_bytes(*word))).map(|found| bytes.len() - WORD + found);
    }
    match (bytes.first_chunk::<HALF>(), bytes.last_chunk::<HALF>()) {
        (Some(first), Some(last)) => {
            let word = u64::from(u32::from_le_bytes(*last)) << 32 | u64::from(u32::from_le_bytes(*first));
            let found = lowest(marks(word))?;
            Some(if found < HALF { found } else { bytes.len() + found - WORD })
        }
        _ => bytes.iter().position(|byte| is_special(*byte)),
    }
}

/// The byte with the lowest mark.
fn lowest(marks: u64) -> Option<usize> {
    (marks != 0).then(|| (marks.trailing_zeros() / 8) as usize)
}

/// Sets the highest bit of every special byte. A byte above a special one may be marked too, so that only the lowest
/// mark counts: what a subtraction borrows goes upwards.
fn marks(word: u64) -> u64 {
    const ONES: u64 = u64::MAX / 0xFF;
    let below = |word: u64, limit: u8| word.wrapping_sub(ONES * u64::from(limit)) & !word;
    let same = |byte: u8| below(word ^ (ONES * u64::from(byte)), 1);
    (below(word, 0x20) | same(b'"') | same(b'\\')) & (ONES * 0x80)
}

fn is_special(byte: u8) -> bool {
    (byte < 0x20) | (byte == b'"') | (byte == b'\\')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_one_is_found_wherever_it_stands() {
        for special in (0..0x20).chain([b'"', b'\\']) {
            for length in 0..100 {
                for at in 0..length {
                    let mut bytes = vec![b'x'; length];
                    bytes[at] = special;
                    bytes[length - 1] = special;
                    assert_eq!(first_special(&bytes), Some(at));
                }
            }
        }
        for plain in (0x20..=0xFF).filter(|byte| !matches!(byte, b'"' | b'\\')) {
            assert_eq!(first_special(&[plain; 70]), None, "{plain}");
        }
    }
}
