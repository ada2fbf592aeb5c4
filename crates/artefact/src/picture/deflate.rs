//! A small compressor: RFC 1951 with the fixed codes, inside of RFC 1950.
//!
//! Its output is part of what we promise to make again byte for byte, which is why it is our own.

/// Compresses to a zlib stream.
pub(super) fn zlib(bytes: &[u8]) -> Vec<u8> {
    // 32 KiB window, no dictionary, fastest: 0x7801 is a multiple of 31.
    let mut out = vec![0x78, 0x01];
    deflate(bytes, &mut out);
    out.extend(adler32(bytes).to_be_bytes());
    out
}

const WINDOW: usize = 32 * 1024;
const SHORTEST: usize = 4;
const LONGEST: usize = 258;
const HASH_BITS: u32 = 14;

/// One block of fixed codes. Each place is compared with the last one that began with the same four bytes.
fn deflate(bytes: &[u8], out: &mut Vec<u8>) {
    let mut bits = Bits { out, held: 0, count: 0 };
    // The last block, fixed codes.
    bits.put(0b011, 3);
    // Places are kept plus one: 0 is none.
    let mut seen = vec![0usize; 1 << HASH_BITS];
    let mut at = 0;
    while at < bytes.len() {
        let Some(four) = bytes.get(at..at + SHORTEST) else {
            bits.literal(bytes[at]);
            at += 1;
            continue;
        };
        let slot = hash(four);
        let before = std::mem::replace(&mut seen[slot], at + 1);
        let length = match before.checked_sub(1) {
            Some(before) if at - before <= WINDOW => common(&bytes[before..], &bytes[at..]),
            _ => 0,
        };
        if length < SHORTEST {
            bits.literal(bytes[at]);
            at += 1;
            continue;
        }
        bits.repeat(length, at - (before - 1));
        // Places inside are remembered too, so that rows are found again whatever they begin with.
        for inside in at + 1..at + length {
            if let Some(four) = bytes.get(inside..inside + SHORTEST) {
                seen[hash(four)] = inside + 1;
            }
        }
        at += length;
    }
    bits.end_of_block();
}

fn hash(four: &[u8]) -> usize {
    let word = four.iter().fold(0u32, |word, byte| word << 8 | u32::from(*byte));
    (word.wrapping_mul(0x9e37_79b1) >> (32 - HASH_BITS)) as usize
}

fn common(before: &[u8], here: &[u8]) -> usize {
    before.iter().zip(here).take(LONGEST).take_while(|(a, b)| a == b).count()
}

/// Bits in the order of RFC 1951: the lowest of a byte first.
struct Bits<'a> {
    out: &'a mut Vec<u8>,
    held: u32,
    count: u32,
}

impl Bits<'_> {
    /// Writes a number, its lowest bit first.
    fn put(&mut self, value: u32, width: u32) {
        self.held |= value << self.count;
        self.count += width;
        while self.count >= 8 {
            self.out.push(self.held as u8);
            self.held >>= 8;
            self.count -= 8;
        }
    }

    /// Writes a Huffman code, its highest bit first.
    fn code(&mut self, code: u32, width: u32) {
        self.put(code.reverse_bits() >> (32 - width), width);
    }

    /// RFC 1951 §3.2.6.
    fn symbol(&mut self, symbol: u32) {
        match symbol {
            0..=143 => self.code(0x30 + symbol, 8),
            144..=255 => self.code(0x190 + symbol - 144, 9),
            256..=279 => self.code(symbol - 256, 7),
            _ => self.code(0xc0 + symbol - 280, 8),
        }
    }

    fn literal(&mut self, byte: u8) {
        self.symbol(byte.into());
    }

    /// RFC 1951 §3.2.5.
    fn repeat(&mut self, length: usize, distance: usize) {
        let (code, base) = last_below(&LENGTHS, length);
        self.symbol(257 + code as u32);
        let extra = if code < 8 || code == 28 { 0 } else { (code as u32 - 4) / 4 };
        self.put((length - base) as u32, extra);
        let (code, base) = last_below(&DISTANCES, distance);
        self.code(code as u32, 5);
        let extra = if code < 4 { 0 } else { (code as u32 - 2) / 2 };
        self.put((distance - base) as u32, extra);
    }

    fn end_of_block(&mut self) {
        self.symbol(256);
        if self.count > 0 {
            self.put(0, 8 - self.count);
        }
    }
}

/// The shortest length of each length code.
const LENGTHS: [usize; 29] =
    [3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258];

/// The nearest distance of each distance code.
const DISTANCES: [usize; 30] = [
    1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145,
    8193, 12289, 16385, 24577,
];

/// The last entry that is not above a value, with its place. The first entry never is.
fn last_below(table: &[usize], value: usize) -> (usize, usize) {
    let at = table.partition_point(|base| *base <= value).saturating_sub(1);
    (at, table[at])
}

fn adler32(bytes: &[u8]) -> u32 {
    let (mut a, mut b) = (1u32, 0u32);
    // 5552 is the most bytes whose sums cannot overflow.
    for chunk in bytes.chunks(5552) {
        for byte in chunk {
            a += u32::from(*byte);
            b += a;
        }
        a %= 65_521;
        b %= 65_521;
    }
    b << 16 | a
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_what_the_standard_says() {
        // As the standard's reference implementation writes them with fixed codes.
        assert_eq!(zlib(b""), [0x78, 0x01, 0x03, 0x00, 0x00, 0x00, 0x00, 0x01]);
        assert_eq!(zlib(b"a"), [0x78, 0x01, 0x4b, 0x04, 0x00, 0x00, 0x62, 0x00, 0x62]);
        assert_eq!(adler32(b"Wikipedia"), 0x11e6_0398);
        let slowly = (0..100_000).fold((1u64, 0u64), |(a, b), _| {
            let a = (a + 255) % 65_521;
            (a, (b + a) % 65_521)
        });
        assert_eq!(u64::from(adler32(&[0xff; 100_000])), slowly.1 << 16 | slowly.0);
    }

    #[test]
    fn repeats_are_written_once() {
        assert!(zlib(&[7; 100_000]).len() < 1000);
        let row: Vec<u8> = (0..200).map(|at| (at * 37 % 251) as u8).collect();
        assert!(zlib(&row.repeat(100)).len() < 700);
    }
}
