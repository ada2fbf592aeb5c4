//! `image`: the answer is a picture with certain properties.

use proofmark_artefact::picture::{AspectRatio, Format};
use proofmark_artefact::record;
use proofmark_artefact::suite::plan::ScorerPlan;

use super::build::ScorerBuildError;
use super::text::excerpt;
use super::verdict::{Answer, Verdict};

/// Looks at what the record says of a picture; `validate` holds that against the bytes.
///
/// - The value is the part of the demands that hold. Without a demand any picture passes.
/// - A demand holds when it holds for every picture of the answer.
#[derive(Debug)]
pub(super) struct Image {
    demands: Vec<Demand>,
}

#[derive(Debug, Clone, Copy)]
enum Demand {
    Format(Format),
    Width(u32),
    Height(u32),
    MinWidth(u32),
    MinHeight(u32),
    MaxBytes(u64),
    AspectRatio(AspectRatio),
}

impl Image {
    /// Compiles the plan of an `image` scorer; of any other it has no demands.
    pub(super) fn compile(plan: &ScorerPlan) -> Result<Self, ScorerBuildError> {
        let mut demands = Vec::new();
        if let ScorerPlan::Image { name, format, width, height, min_width, min_height, max_bytes, aspect_ratio } = plan
        {
            demands.extend(format.map(Demand::Format));
            demands.extend(width.map(Demand::Width));
            demands.extend(height.map(Demand::Height));
            demands.extend(min_width.map(Demand::MinWidth));
            demands.extend(min_height.map(Demand::MinHeight));
            demands.extend(max_bytes.map(Demand::MaxBytes));
            if let Some(ratio) = aspect_ratio {
                demands.push(Demand::AspectRatio(ratio.parse().map_err(|expected| ScorerBuildError::Option {
                    scorer: excerpt(name),
                    option: "aspect_ratio",
                    found: excerpt(ratio),
                    expected,
                })?));
            }
        }
        Ok(Self { demands })
    }

    pub(super) fn score(&self, answer: &Answer<'_>) -> Verdict {
        let Some(first) = answer.images.first() else {
            return Verdict::fail("the answer has no picture".to_owned());
        };
        let broken: Vec<String> = self
            .demands
            .iter()
            .filter_map(|demand| answer.images.iter().find_map(|image| demand.broken_by(image.facts)))
            .collect();
        if broken.is_empty() {
            let record::Image { bytes, height, width, .. } = first.facts;
            let many = answer.images.len();
            return Verdict::pass(if many == 1 {
                format!("the picture is as demanded: {width}x{height} pixels, {bytes} bytes")
            } else {
                format!("all {many} pictures are as demanded")
            });
        }
        let value = (self.demands.len() - broken.len()) as f64 / self.demands.len() as f64;
        Verdict { value, passed: false, explanation: broken.join("; ") }
    }
}

impl Demand {
    /// Says what is wrong with a picture.
    fn broken_by(self, image: &record::Image) -> Option<String> {
        let (holds, found, expected) = match self {
            Self::Format(format) => (
                image.media_type == format.media_type(),
                format!("the format is {}", excerpt(&image.media_type)),
                format.media_type().to_owned(),
            ),
            Self::Width(width) => (image.width == width, format!("the width is {}", image.width), width.to_string()),
            Self::Height(height) => {
                (image.height == height, format!("the height is {}", image.height), height.to_string())
            }
            Self::MinWidth(least) => {
                (image.width >= least, format!("the width is {}", image.width), format!("at least {least}"))
            }
            Self::MinHeight(least) => {
                (image.height >= least, format!("the height is {}", image.height), format!("at least {least}"))
            }
            Self::MaxBytes(most) => {
                (image.bytes <= most, format!("the file has {} bytes", image.bytes), format!("at most {most}"))
            }
            Self::AspectRatio(ratio) => {
                let found = format!("the picture has {}x{} pixels", image.width, image.height);
                (ratio.fits(image.width, image.height), found, format!("{ratio} within 1 %"))
            }
        };
        (!holds).then(|| format!("{found}, expected {expected}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scorer::AnswerImage;
    use crate::scorer::build::tests::answer;
    use proofmark_canon::{Digest, Value};
    use std::path::Path;

    fn picture(width: u32, height: u32, bytes: u64, media_type: &str) -> record::Image {
        record::Image { bytes, digest: Digest::of(b"x"), height, media_type: media_type.to_owned(), width }
    }

    fn plan() -> ScorerPlan {
        ScorerPlan::Image {
            name: "image".into(),
            format: None,
            width: None,
            height: None,
            min_width: None,
            min_height: None,
            max_bytes: None,
            aspect_ratio: None,
        }
    }

    fn with(change: impl FnOnce(&mut ScorerPlan)) -> Image {
        let mut plan = plan();
        change(&mut plan);
        Image::compile(&plan).unwrap()
    }

    fn judge(scorer: &Image, images: &[record::Image]) -> Verdict {
        let images: Vec<_> = images.iter().map(|facts| AnswerImage { facts, run_dir: Path::new("/") }).collect();
        scorer.score(&Answer { images: &images, ..answer("", &Value::Null) })
    }

    macro_rules! demand {
        ($($field:ident = $value:expr),*) => {
            with(|plan| if let ScorerPlan::Image { $($field,)* .. } = plan { $(*$field = Some($value);)* })
        };
    }

    #[test]
    fn each_demand_is_held_against_the_picture() {
        let wide = || [picture(1920, 1080, 5000, "image/jpeg")];
        for (scorer, holds, why) in [
            (demand!(format = Format::Jpeg), true, "1920x1080 pixels, 5000 bytes"),
            (demand!(format = Format::Png), false, "the format is image/jpeg, expected image/png"),
            (demand!(width = 1920), true, ""),
            (demand!(width = 1921), false, "the width is 1920, expected 1921"),
            (demand!(height = 1), false, "the height is 1080, expected 1"),
            (demand!(min_width = 1920), true, ""),
            (demand!(min_width = 1921), false, "the width is 1920, expected at least 1921"),
            (demand!(min_height = 1081), false, "the height is 1080, expected at least 1081"),
            (demand!(max_bytes = 5000), true, ""),
            (demand!(max_bytes = 4999), false, "the file has 5000 bytes, expected at most 4999"),
            (demand!(aspect_ratio = "16:9".to_owned()), true, ""),
            (demand!(aspect_ratio = "4:3".to_owned()), false, "1920x1080 pixels, expected 4:3 within 1 %"),
        ] {
            let verdict = judge(&scorer, &wide());
            assert_eq!((verdict.passed, verdict.value > 0.0), (holds, holds), "{scorer:?}");
            assert!(verdict.explanation.contains(why), "{}", verdict.explanation);
        }
    }

    #[test]
    fn the_value_is_the_part_of_the_demands_that_hold_for_all_pictures() {
        let scorer = demand!(width = 10, height = 10, format = Format::Png, max_bytes = 100);
        let good = picture(10, 10, 100, "image/png");
        assert!(judge(&scorer, std::slice::from_ref(&good)).passed);
        let verdict = judge(&scorer, &[good.clone(), picture(10, 20, 100, "image/png")]);
        assert_eq!((verdict.value, verdict.passed), (0.75, false));
        let verdict = judge(&scorer, &[picture(1, 2, 1000, "image/gif")]);
        assert_eq!((verdict.value, verdict.passed), (0.0, false));
        assert!(verdict.explanation.len() < Verdict::MAX_EXPLANATION);
        assert!(judge(&with(|_| ()), &[good.clone(), good]).passed);
        assert_eq!(judge(&with(|_| ()), &[]).explanation, "the answer has no picture");
        assert!(!judge(&with(|_| ()), &[]).passed);
    }
}
