//! Where a string of JSON is more than its own characters.

/// The first byte that a string cannot hold as it is: a quote, a backslash, a control character.
pub(super) fn first_special(bytes: &[u8]) -> Option<usize> {
    const BLOCK: usize = 32;
    let mut at = 0;
    for block in bytes.chunks_exact(BLOCK) {
        // All of a block without a branch between them: the compiler looks at many at once.
        if block.iter().fold(false, |any, byte| any | is_special(*byte)) {
            break;
        }
        at += BLOCK;
    }
    bytes[at..].iter().position(|byte| is_special(*byte)).map(|found| at + found)
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
