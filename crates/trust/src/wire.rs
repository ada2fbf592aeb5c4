//! Strings with their length in front, as OpenSSH sends them (RFC 4251 §5).

/// Reads parts of bytes and never past their end.
pub(crate) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What has not been read.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.0
    }

    pub(crate) fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    pub(crate) fn number(&mut self) -> Option<u32> {
        self.take(4)?.try_into().ok().map(u32::from_be_bytes)
    }

    pub(crate) fn string(&mut self) -> Option<&'a [u8]> {
        let length = self.number()?;
        self.take(usize::try_from(length).ok()?)
    }
}

/// Appends a string with its length. No caller has strings of 4 GiB.
pub(crate) fn push_string(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&(bytes.len() as u32).to_be_bytes());
    out.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_read_past_the_end() {
        let mut out = Vec::new();
        push_string(b"abc", &mut out);
        push_string(b"", &mut out);
        let mut reader = Reader::new(&out);
        assert_eq!((reader.string(), reader.string()), (Some(&b"abc"[..]), Some(&b""[..])));
        assert!(reader.is_empty() && reader.rest().is_empty());
        assert_eq!(reader.number(), None);
        for cut in 0..6 {
            assert_eq!(Reader::new(&out[..cut]).string(), None, "{cut}");
        }
        assert_eq!(Reader::new(&[0xff; 8]).string(), None);
    }
}
