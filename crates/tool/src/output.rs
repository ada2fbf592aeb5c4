//! Results cut to what a model is shown.

/// Cuts bytes to at most `most`, on a character boundary where they are text, and says at their end that it did so.
pub fn cut(content: Vec<u8>, most: u64) -> Vec<u8> {
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    if content.len() <= most {
        return content;
    }
    let whole = content.len();
    notice(content, most, &format!("{whole} bytes"))
}

/// The same for a beginning whose whole length nobody knows.
pub fn cut_unknown(content: Vec<u8>, most: u64) -> Vec<u8> {
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    notice(content, most, "a longer output")
}

fn notice(mut content: Vec<u8>, most: usize, of: &str) -> Vec<u8> {
    let text = |shown: usize| format!("\n[cut: the first {shown} bytes of {of}]\n");
    let room = most.saturating_sub(text(most).len()).min(content.len());
    // A character has at most four bytes; what is no text is cut anywhere.
    let boundary = (room.saturating_sub(3)..=room)
        .rev()
        .find(|at| content.get(*at).is_none_or(|byte| byte & 0xC0 != 0x80))
        .unwrap_or(room);
    content.truncate(boundary);
    content.extend(text(boundary).bytes());
    content
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_never_longer_than_it_may_be_and_is_cut_between_characters() {
        for most in 256..300 {
            let long = "aé€😀".repeat(100).into_bytes();
            let cut = cut(long, most);
            assert!(cut.len() as u64 <= most, "{most}");
            let text = String::from_utf8(cut).unwrap();
            assert!(text.ends_with(" bytes of 1000 bytes]\n"), "{text}");
        }
        assert_eq!(cut(b"short".to_vec(), 256), b"short");
        assert!(cut_unknown(vec![0xFF; 500], 256).len() <= 256);
    }
}
