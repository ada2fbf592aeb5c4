//! How fast a judge cache is: `fill DIR COUNT`, then `look DIR COUNT` in a process that knows nothing of it yet.
//!
//! For `cargo xtask bench cache`; prints one JSON object. Times are those of the processor, not of the clock on the wall:
//! others may be using the machine.

use std::error::Error;
use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use proofmark_artefact::judgment::{JUDGMENT_SCHEMA, Judgment, Question, Said};
use proofmark_artefact::record::Usage;
use proofmark_canon::seed::Stream;
use proofmark_canon::{Digest, Map};
use proofmark_trust::cache::{Access, Cache, Found, check_line};
use proofmark_trust::key::{PrivateKey, Purpose};
use proofmark_trust::policy::{Role, Trust};

type Outcome<T> = Result<T, Box<dyn Error>>;

#[expect(clippy::print_stdout, reason = "what it is for")]
fn main() -> Outcome<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [what, dir, count] = words.as_slice() else { return Err("expected: fill|look DIR COUNT".into()) };
    let (dir, count) = (Path::new(dir), count.parse()?);
    let figures = match what.as_str() {
        "fill" => fill(dir, count)?,
        "look" => look(dir, count)?,
        other => return Err(format!("`{other}` is neither fill nor look").into()),
    };
    // What took less than a tick of the processor's clock has no rate.
    let shown = |value: f64| if value.is_finite() { value.to_string() } else { "null".to_owned() };
    let members: Vec<String> = figures.iter().map(|(name, value)| format!("\"{name}\":{}", shown(*value))).collect();
    println!("{{{}}}", members.join(","));
    Ok(())
}

fn fill(dir: &Path, count: u32) -> Outcome<Vec<(&'static str, f64)>> {
    let cache = Cache::open_or_make(dir, [7; 16], access())?;
    let start = Clock::start()?;
    cache.insert_all((0..count).map(judgment).collect())?;
    Ok(vec![("added_per_s", f64::from(count) / start.seconds()?)])
}

fn look(dir: &Path, count: u32) -> Outcome<Vec<(&'static str, f64)>> {
    let questions: Vec<Question> = shuffled(count).into_iter().map(|number| judgment(number).question).collect();
    // Too short for the processor's clock.
    let start = Instant::now();
    let cache = Cache::open(dir, access())?;
    let open_us = start.elapsed().as_secs_f64() * 1e6;
    let start = Clock::start()?;
    for question in &questions {
        if !matches!(cache.lookup(question)?, Found::Hit(_)) {
            return Err(format!("{} was not found", question.task_id).into());
        }
    }
    let cold = start.seconds()?;
    let start = Clock::start()?;
    for question in &questions {
        black_box(cache.lookup(question)?);
    }
    let warm = start.seconds()?;
    let (sign_us, verify_us) = signatures()?;
    Ok(vec![
        ("open_us", open_us),
        ("cold_per_s", f64::from(count) / cold),
        ("warm_per_s", f64::from(count) / warm),
        ("sign_us", sign_us),
        ("verify_us", verify_us),
    ])
}

/// What it costs to sign a judgment and to check a line, in microseconds.
fn signatures() -> Outcome<(f64, f64)> {
    const TIMES: u32 = 2000;
    let access = access();
    let key = key();
    let judgment = judgment(0);
    let start = Clock::start()?;
    for _ in 0..TIMES {
        black_box(key.sign(Purpose::Judgment, &black_box(&judgment).canonical()?));
    }
    let sign = start.seconds()? * 1e6 / f64::from(TIMES);
    let signed = proofmark_artefact::judgment::Signed {
        signer: key.public().fingerprint().to_string(),
        value: key.sign(Purpose::Judgment, &judgment.canonical()?).to_string(),
    };
    let entry = proofmark_artefact::judgment::Entry { judgment, signature: Some(signed) };
    let line = proofmark_canon::to_vec(&entry)?;
    let start = Clock::start()?;
    for _ in 0..TIMES {
        check_line(black_box(&line), &access.trust).map_err(|flaw| flaw.detail)?;
    }
    Ok((sign, start.seconds()? * 1e6 / f64::from(TIMES)))
}

/// How long this process has been on a processor.
struct Clock(u64);

impl Clock {
    fn start() -> Outcome<Self> {
        Ok(Self(Self::nanos()?))
    }

    fn seconds(&self) -> Outcome<f64> {
        Ok((Self::nanos()? - self.0) as f64 / 1e9)
    }

    fn nanos() -> Outcome<u64> {
        let text = std::fs::read_to_string("/proc/self/schedstat")?;
        Ok(text.split(' ').next().unwrap_or_default().parse()?)
    }
}

fn key() -> PrivateKey {
    PrivateKey::from_secret(&[1; 32])
}

fn access() -> Access {
    let trust = Arc::new(Trust::default().with(key().public(), Role::Judge));
    Access { trust, signer: Some(Arc::new(key())), memory: None, now: "2026-01-01T00:00:00Z".into() }
}

/// All numbers below a count in an order that helps nobody.
fn shuffled(count: u32) -> Vec<u32> {
    let mut stream = Stream::new("proofmark.bench/1", &[b"judge cache"]);
    let mut numbers: Vec<u32> = (0..count).collect();
    for at in (1..numbers.len()).rev() {
        numbers.swap(at, stream.next_below(at as u64 + 1) as usize);
    }
    numbers
}

fn judgment(number: u32) -> Judgment {
    let text = number.to_string();
    let mut params = Map::new();
    params.insert("max_tokens", 512_u32);
    Judgment {
        judged_at: "2026-01-01T00:00:00Z".into(),
        question: Question {
            answer: Digest::of(text.as_bytes()),
            expected: Some(Digest::of(b"gold")),
            judge: "openai:gpt-judge-2026".into(),
            params,
            prompt: Digest::of(b"prompt"),
            rubric: Digest::of(b"rubric"),
            serving: String::new(),
            task_id: format!("open-questions/{number}"),
            vote: 0,
        },
        said: Said {
            answered_by: Some("gpt-judge-2026-01".into()),
            asked: 1,
            reason:
                "The answer names the right year, but it leaves out the second of the two causes that the gold answer \
                     lists; the rubric asks for both."
                    .into(),
            reply: Digest::of(b"reply"),
            score: Some(0.5),
            usage: Usage { input_tokens: 812, output_tokens: 64 },
            verdict: "partly".into(),
        },
        schema_version: JUDGMENT_SCHEMA,
        supersedes: None,
    }
}
