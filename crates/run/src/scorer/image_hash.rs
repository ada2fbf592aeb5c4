//! `image_hash`: the answer is a picture that looks like a reference.

use std::io;
use std::path::{Path, PathBuf};

use proofmark_artefact::path::RelPath;
use proofmark_artefact::picture::{HASH_BITS, MAX_BYTES, distance, perceptual_hash};
use proofmark_artefact::record::Image;
use proofmark_artefact::store::{OpenError, read_bounded};
use proofmark_canon::{Digest, Value};

use super::text::excerpt;
use super::verdict::{Answer, AnswerImage, ScoreError, Verdict};

/// Compares perceptual hashes.
///
/// - The target is the path of a picture inside the suite's folder. The explanation has its digest, since the dataset
///   pins only its name.
/// - The value is `1 - distance / 64`; of several pictures the farthest counts.
/// - A picture that cannot be decoded fails: making one is what the model was asked for.
#[derive(Debug)]
pub(super) struct ImageHash {
    pub(super) max_distance: u32,
    pub(super) root: PathBuf,
}

/// What a reference looks like, and which bytes it is.
struct Reference {
    hash: u64,
    digest: Digest,
}

impl ImageHash {
    pub(super) async fn score(&self, answer: &Answer<'_>) -> Result<Verdict, ScoreError> {
        let path = self.target(answer)?;
        if answer.images.is_empty() {
            return Ok(Verdict::fail("the answer has no picture".to_owned()));
        }
        let (root, item, max_distance) = (self.root.clone(), excerpt(answer.item_id), self.max_distance);
        let images: Vec<(Image, PathBuf)> =
            answer.images.iter().map(|image| (image.facts.clone(), image.run_dir.to_owned())).collect();
        // Decoding a large picture takes a while; answers come in meanwhile.
        let judge = move || {
            let wrong = |why: String| ScoreError::Reference { item, path: excerpt(path.as_str()), why };
            let reference = load_reference(&path, &root).map_err(wrong)?;
            compare(&images, &path, &reference, max_distance)
        };
        let judged = tokio::task::spawn_blocking(judge).await;
        judged.unwrap_or_else(|error| Err(ScoreError::Stored { why: error.to_string() }))
    }

    /// Whether an item's reference is there, before anything is asked.
    pub(super) fn try_item(&self, answer: &Answer<'_>) -> Result<(), ScoreError> {
        let path = self.target(answer)?;
        let wrong = |why| ScoreError::Reference { item: excerpt(answer.item_id), path: excerpt(path.as_str()), why };
        find_reference(&path, &self.root).map(drop).map_err(wrong)
    }

    /// Reads the target of an item without looking at the file.
    fn target(&self, answer: &Answer<'_>) -> Result<RelPath, ScoreError> {
        match answer.expected {
            Value::Null => Err(answer.no_target()),
            Value::String(text) => {
                text.parse().map_err(|_| answer.bad_target(text, "is not a path inside the suite's folder"))
            }
            other => Err(answer.target_kind(other, "the path of a picture")),
        }
    }
}

fn find_reference(path: &RelPath, root: &Path) -> Result<PathBuf, String> {
    let full = path.under(root);
    // A link inside the folder may point anywhere; what is read must really be inside.
    let (real, root) = full.canonicalize().and_then(|real| Ok((real, root.canonicalize()?))).map_err(unreadable)?;
    if !real.starts_with(root) {
        return Err("leads out of the suite's folder".to_owned());
    }
    // Opening a pipe would wait for its writer.
    if !real.is_file() {
        return Err("is not a regular file".to_owned());
    }
    Ok(real)
}

fn load_reference(path: &RelPath, root: &Path) -> Result<Reference, String> {
    let real = find_reference(path, root)?;
    let bytes = read_bounded(&real, MAX_BYTES).map_err(|error| match error {
        OpenError::TooLarge { limit, .. } => format!("is larger than {limit} bytes"),
        OpenError::Io { source, .. } => unreadable(source),
        _ => "cannot be read".to_owned(),
    })?;
    let hash = perceptual_hash(&bytes).map_err(|error| format!("cannot be used: {error}"))?;
    Ok(Reference { hash, digest: Digest::of(&bytes) })
}

/// The system's own words differ from one to the next, and this ends up in a record.
fn unreadable(error: io::Error) -> String {
    if error.kind() == io::ErrorKind::NotFound { "is not there" } else { "cannot be read" }.to_owned()
}

fn compare(
    images: &[(Image, PathBuf)],
    path: &RelPath,
    reference: &Reference,
    max_distance: u32,
) -> Result<Verdict, ScoreError> {
    let mut farthest = 0;
    for (facts, run_dir) in images {
        let bytes = AnswerImage { facts, run_dir }
            .load()
            .map_err(|error| ScoreError::Stored { why: excerpt(&error.to_string()) })?;
        match perceptual_hash(&bytes) {
            Ok(hash) => farthest = farthest.max(distance(hash, reference.hash)),
            Err(error) => return Ok(Verdict::fail(error.to_string())),
        }
    }
    let name = excerpt(path.as_str());
    let explanation = format!(
        "the distance to `{name}` ({}) is {farthest} of {HASH_BITS} bits, at most {max_distance} may differ",
        reference.digest.short()
    );
    let value = 1.0 - f64::from(farthest) / f64::from(HASH_BITS);
    Ok(Verdict { value, passed: farthest <= max_distance, explanation })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outputs;
    use crate::scorer::build::tests::answer;
    use proofmark_artefact::picture::png;
    use proofmark_artefact::store::write_atomic;
    use proofmark_model::Blob;

    /// Columns that fall to the right in the first `falling` rows out of eight, and rise below.
    fn picture(falling: u32, shade: u32) -> Vec<u8> {
        let cells = (0..8).flat_map(|y| (0..9).map(move |x| (x, y)));
        let luma = |(x, y): (u32, u32)| if y < falling { 200 - x * 10 } else { 100 + x * 10 } + shade;
        png::encode_rgb(9, 8, &cells.flat_map(|at| [luma(at) as u8; 3]).collect::<Vec<u8>>())
    }

    struct Bench {
        dir: tempfile::TempDir,
    }

    impl Bench {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            std::fs::create_dir_all(dir.path().join("run/.proofmark")).unwrap();
            write_atomic(&dir.path().join("reference.png"), &picture(8, 0)).unwrap();
            Self { dir }
        }

        fn store(&self, bytes: Vec<u8>) -> Image {
            let (image, blob) = Blob::picture(bytes).unwrap();
            outputs::store(&self.dir.path().join("run"), &[blob]).unwrap();
            image
        }

        async fn score(&self, images: &[Image], target: &str, max_distance: u32) -> Result<Verdict, ScoreError> {
            let (run_dir, target) = (self.dir.path().join("run"), Value::from(target));
            let images: Vec<_> = images.iter().map(|facts| AnswerImage { facts, run_dir: &run_dir }).collect();
            let scorer = ImageHash { max_distance, root: self.dir.path().to_owned() };
            scorer.score(&Answer { images: &images, ..answer("", &target) }).await
        }
    }

    #[tokio::test]
    async fn the_value_falls_with_the_distance() {
        let bench = Bench::new();
        for (falling, most, value, passed) in
            [(8, 0, 1.0, true), (7, 10, 0.875, true), (7, 7, 0.875, false), (6, 16, 0.75, true), (0, 63, 0.0, false)]
        {
            let image = bench.store(picture(falling, 20));
            let verdict = bench.score(&[image], "reference.png", most).await.unwrap();
            assert_eq!((verdict.value, verdict.passed), (value, passed), "{}", verdict.explanation);
        }
        let images = [bench.store(picture(8, 1)), bench.store(picture(4, 1))];
        let verdict = bench.score(&images, "reference.png", 10).await.unwrap();
        assert_eq!((verdict.value, verdict.passed), (0.5, false), "the farthest counts");
        let digest = Digest::of(&picture(8, 0)).short();
        let want = format!("the distance to `reference.png` ({digest}) is 32 of 64 bits, at most 10 may differ");
        assert_eq!(verdict.explanation, want);
    }

    #[tokio::test]
    async fn an_answer_that_is_no_picture_fails_and_a_missing_file_is_an_error() {
        let bench = Bench::new();
        let verdict = bench.score(&[], "reference.png", 10).await.unwrap();
        assert_eq!((verdict.passed, verdict.explanation.as_str()), (false, "the answer has no picture"));
        // Header and nothing else: it has dimensions and no pixels.
        let broken = bench.store(picture(8, 0)[..40].to_vec());
        let verdict = bench.score(&[broken], "reference.png", 10).await.unwrap();
        assert!(!verdict.passed && verdict.value == 0.0, "{}", verdict.explanation);
        assert!(verdict.explanation.contains("cannot decode the PNG picture"), "{}", verdict.explanation);
        let (gone, _) = Blob::picture(picture(3, 0)).unwrap();
        assert!(matches!(bench.score(&[gone], "reference.png", 10).await, Err(ScoreError::Stored { .. })));
    }

    #[tokio::test]
    async fn a_reference_outside_or_unreadable_is_an_error_with_a_reason() {
        let bench = Bench::new();
        let image = [bench.store(picture(8, 0))];
        let outside = tempfile::tempdir().unwrap();
        write_atomic(&outside.path().join("secret.png"), &picture(8, 0)).unwrap();
        std::os::unix::fs::symlink(outside.path().join("secret.png"), bench.dir.path().join("link.png")).unwrap();
        write_atomic(&bench.dir.path().join("text.png"), b"hello").unwrap();
        for (target, why) in [
            ("../secret.png", "is not a path inside"),
            ("/etc/passwd", "is not a path inside"),
            ("link.png", "leads out of"),
            ("missing.png", "is not there"),
            ("run", "is not a regular file"),
            ("text.png", "not a PNG"),
        ] {
            let error = bench.score(&image, target, 10).await.unwrap_err();
            assert!(error.to_string().contains(why) && error.hint().is_some(), "{target}: {error}");
            // All but the content is known before anything is asked.
            let scorer = ImageHash { max_distance: 10, root: bench.dir.path().to_owned() };
            let tried = scorer.try_item(&answer("", &Value::from(target)));
            assert_eq!(tried.is_ok(), target == "text.png", "{target}: {tried:?}");
        }
        let scorer = ImageHash { max_distance: 0, root: bench.dir.path().to_owned() };
        let (null, number) = (Value::Null, Value::from(3u32));
        assert!(matches!(scorer.score(&answer("", &null)).await, Err(ScoreError::NoTarget { .. })));
        assert!(matches!(scorer.score(&answer("", &number)).await, Err(ScoreError::TargetKind { .. })));
    }
}
