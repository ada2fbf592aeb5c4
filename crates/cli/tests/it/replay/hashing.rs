//! `proofmark hash`.

use super::digest;
use crate::support::empty;

#[test]
fn the_mode_follows_the_name_unless_it_is_given() {
    let env = empty();
    let text = "b: 2 # two\na: 1\n";
    let (raw, structured) = (digest(text.as_bytes()), digest(br#"{"a":1,"b":2}"#));
    for name in ["a.yml", "a.yaml", "a.json", "a.md"] {
        env.put(name, text);
    }
    let ran = env.run(&["hash", "a.yml", "a.yaml", "a.json", "a.md"]).expect(0);
    let want = format!("{structured}  a.yml\n{structured}  a.yaml\n{structured}  a.json\n{raw}  a.md\n");
    assert_eq!(ran.stdout, want);
    assert_eq!(env.run(&["hash", "--mode", "raw", "a.yml"]).expect(0).stdout, format!("{raw}  a.yml\n"));
    assert_eq!(env.run(&["hash", "--mode", "structured", "a.md"]).expect(0).stdout, format!("{structured}  a.md\n"));
    assert_eq!(env.run(&["hash", "--canonical", "a.yml"]).expect(0).stdout, r#"{"a":1,"b":2}"#);
    assert_eq!(env.run(&["hash", "--canonical", "a.md"]).expect(0).stdout, text);
}

#[test]
fn the_reference_is_followed_to_the_byte_with_a_warning_where_it_is_lossy() {
    let env = empty();
    env.put("a.yml", "when: !!timestamp 2001-12-14\n'10': x\n'9': y\n");
    let ran = env.run(&["hash", "--js-compat", "--canonical", "a.yml"]).expect(0);
    assert_eq!(ran.stdout, r#"{"9":"y","10":"x","when":{}}"#);
    assert_eq!(
        ran.stderr,
        "warning: `a.yml`: the hash does not pin the content: a date is hashed as `{}`, whichever date it is\n"
    );
    env.put("b.md", "a: 1\n");
    let ran = env.run(&["hash", "--js-compat", "b.md"]).expect(0);
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), (&*format!("{}  b.md\n", digest(br#"{"a":1}"#)), ""));
    env.run(&["hash", "--js-compat", "--mode", "raw", "b.md"]).expect(2);
}

#[test]
fn what_cannot_be_hashed_is_an_error_with_its_place() {
    let env = empty();
    env.put("twice.yml", "a: 1\na: 2\n");
    let ran = env.run(&["hash", "twice.yml"]).expect(2);
    assert!(ran.stderr.contains("twice.yml:2:1: the key `a` stands twice in one mapping"), "{ran}");
    let ran = env.run(&["hash", "--js-compat", "twice.yml"]).expect(2);
    assert!(ran.stderr.contains("has no hash in the JavaScript reference: a key stands twice"), "{ran}");
    env.run(&["hash", "nowhere.yml"]).expect(2);
    env.run(&["hash", "."]).expect(2);
    env.run(&["hash"]).expect(2);
    assert!(std::process::Command::new("mkfifo").arg(env.path("pipe")).status().unwrap().success());
    env.run(&["hash", "pipe"]).expect(2);
}
