use super::*;
use crate::class::Class;
use crate::wire::Picture;
use crate::wire::openai::Images;

fn decoded(text: &str) -> Result<Completion, WireError> {
    Images.decode(text.as_bytes())
}

#[test]
fn the_bytes_of_a_picture_come_out() {
    let images = vec![Picture { bytes: b"\x89PNG picture".to_vec() }];
    let usage = Usage { input_tokens: 50, output_tokens: 50 };
    assert_eq!(decoded(fixture!("images.json")), Ok(Completion { images, usage, ..Completion::default() }));
    assert_eq!(decoded(r#"{"data":[]}"#), Ok(Completion::default()));
}

#[test]
fn what_is_no_picture_is_malformed() {
    let cases = [
        (fixture!("images_url.json"), "the reply has a link in the place of the picture's bytes"),
        ("{}", "the reply has no `data`"),
        (r#"{"data":{}}"#, "`data` of the reply is a mapping, expected a list"),
        (r#"{"data":[{}]}"#, "a picture of the reply has no `b64_json`"),
        (r#"{"data":[{"b64_json":1}]}"#, "`b64_json` of the reply is a number, expected a text"),
        (r#"{"data":[{"b64_json":"QQ"}]}"#, "a picture of the reply is not Base64: invalid length at 0"),
        (r#"{"data":[{"b64_json":"QR=="}]}"#, "a picture of the reply is not Base64: non-zero trailing bits at 1"),
    ];
    for (text, message) in cases {
        assert_eq!(decoded(text), Err(WireError::malformed(message)), "{text}");
    }
    assert_eq!(decoded(r#"{"data":[{"b64"#).unwrap_err().class, Class::Truncated);
}

#[test]
fn a_picture_never_comes_as_a_stream() {
    assert!(assembled(&Images, &[("", "{}")]).is_err());
    assert_eq!(assembled(&Images, &[]), Err(WireError::cut()));
}
