//! Whether a calibration is of the judge that a run used, and one line that says what it found.

use std::fmt::Write as _;

use proofmark_canon::Digest;

use super::figure::{Figure, Share};
use super::shape::{Calibration, JudgeSubject, Subject};
use crate::manifest::CalibrationNote;
use crate::number::counted;

/// Why a calibration says nothing of a judge.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Why {
    #[error("it is of other judges: {calibrated} instead of {used}")]
    Judges { calibrated: String, used: String },
    #[error("it is of judge `{model}` with other parameters")]
    Params { model: String },
    #[error("it is of judge `{model}` reached in another way")]
    Serving { model: String },
    #[error("it is of another rubric")]
    Rubric,
    #[error("it is of another {0}")]
    Other(&'static str),
}

/// Whether the calibration is of the judges that were used, in everything that their verdicts depend on. The names of
/// task, scorer and judges do not count, nor does the order of a panel.
pub fn fits(calibration: &Calibration, used: &Subject) -> Result<(), Why> {
    let subject = &calibration.subject;
    let (ours, theirs) = (sorted(&subject.judges), sorted(&used.judges));
    let models = |judges: &[&JudgeSubject]| judges.iter().map(|judge| judge.model.clone()).collect::<Vec<_>>();
    let (calibrated, asked) = (models(&ours), models(&theirs));
    if calibrated != asked {
        return Err(Why::Judges { calibrated: calibrated.join(", "), used: asked.join(", ") });
    }
    for (ours, theirs) in ours.iter().zip(&theirs) {
        if ours.params != theirs.params {
            return Err(Why::Params { model: ours.model.clone() });
        }
        if ours.serving != theirs.serving {
            return Err(Why::Serving { model: ours.model.clone() });
        }
    }
    if subject.rubric != used.rubric {
        return Err(Why::Rubric);
    }
    let others = [
        (subject.prompt_version == used.prompt_version, "version of the prompts"),
        (subject.mode == used.mode, "mode"),
        (subject.reference == used.reference, "use of the target"),
        (subject.verdicts == used.verdicts, "set of verdicts"),
        (subject.score == used.score, "range of scores"),
        (subject.pass.to_bits() == used.pass.to_bits(), "value from which an answer passes"),
        (subject.votes == used.votes, "number of votes"),
    ];
    others.into_iter().find(|(same, _)| !same).map_or(Ok(()), |(_, what)| Err(Why::Other(what)))
}

fn sorted(judges: &[JudgeSubject]) -> Vec<&JudgeSubject> {
    let mut sorted: Vec<&JudgeSubject> = judges.iter().collect();
    let key = |judge: &&JudgeSubject| {
        let mut params = Vec::new();
        judge.params.append_canonical(&mut params);
        (judge.model.clone(), params, judge.serving.clone())
    };
    sorted.sort_by_key(key);
    sorted
}

/// What a run says of the calibration that a scorer names, given the file's bytes and what was used.
pub fn note(bytes: &[u8], used: &Subject) -> CalibrationNote {
    let digest = Digest::of(bytes);
    let (fits, text) = match Calibration::from_bytes(bytes) {
        Ok(calibration) => match fits(&calibration, used) {
            Ok(()) => (true, line(&calibration)),
            Err(why) => (false, format!("the calibration says nothing of this judge: {why}")),
        },
        Err(error) => (false, format!("the calibration cannot be read: {error}")),
    };
    CalibrationNote { digest, fits, text }
}

/// One line for reports: who agrees with people how far, on how many labels.
///
/// `gpt-4.1 with this rubric: accuracy 0.91 [0.85, 0.95], κ 0.81 [0.70, 0.90] on 120 labels`
pub fn line(calibration: &Calibration) -> String {
    let name = |judge: &JudgeSubject| judge.model.split_once(':').map_or(judge.model.as_str(), |(_, id)| id).to_owned();
    let names: Vec<String> = calibration.subject.judges.iter().map(name).collect();
    let mut text = match names.as_slice() {
        [one] => one.clone(),
        all => format!("a panel of {} ({})", all.len(), all.join(", ")),
    };
    text.push_str(" with this rubric: ");
    match calibration.headline() {
        Some(found) => {
            let _ = write!(text, "accuracy {}, κ {}", share(&found.accuracy), figure(&found.kappa));
        }
        None => text.push_str("nothing measured"),
    }
    let _ = write!(text, " on {}", counted(calibration.labels.count, "label", "labels"));
    text
}

/// `0.91 [0.85, 0.95]`, or a dash.
pub(super) fn share(share: &Share) -> String {
    shown(share.value, share.interval)
}

pub(super) fn figure(figure: &Figure) -> String {
    shown(figure.value, figure.interval)
}

fn shown(value: Option<f64>, interval: Option<crate::summary::Interval>) -> String {
    let Some(value) = value else { return "not known".to_owned() };
    match interval {
        Some(interval) => format!("{} [{}, {}]", decimal(value), decimal(interval.low), decimal(interval.high)),
        None => decimal(value),
    }
}

/// Two decimals, and no `-0.00`.
pub(super) fn decimal(value: f64) -> String {
    let text = format!("{value:.2}");
    if text == "-0.00" { "0.00".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::super::measure::Labelled;
    use super::super::shape::testing::{calibration, label, ruled, subject};
    use super::*;
    use crate::suite::judge::{JudgeMode, ScoreRange};

    fn made() -> Calibration {
        let labels: Vec<Labelled> = (0..120).map(|at| label(at % 2 == 0)).collect();
        calibration(&labels, (0..120).map(|at| vec![ruled(at % 2 == 0 || at % 12 == 1)]).collect())
    }

    #[test]
    fn the_line_says_what_a_reader_needs() {
        assert_eq!(
            line(&made()),
            "gpt-4.1 with this rubric: accuracy 0.92 [0.85, 0.95], κ 0.83 [0.72, 0.92] on 120 labels"
        );
        let labels: Vec<Labelled> = vec![label(true)];
        let one = calibration(&labels, vec![vec![ruled(true)]]);
        assert_eq!(line(&one), "gpt-4.1 with this rubric: accuracy 1.00 [0.21, 1.00], κ not known on 1 label");
        let mut panel = made();
        panel.subject.judges.push(JudgeSubject { model: "anthropic:c".into(), ..panel.subject.judges[0].clone() });
        assert!(line(&panel).starts_with("a panel of 2 (gpt-4.1, c) with this rubric: "));
    }

    #[test]
    fn names_do_not_count_and_everything_else_does() {
        let made = made();
        let mut other = Subject { task: "x".into(), scorer: "y".into(), ..subject() };
        other.judges[0].id = "z".into();
        assert_eq!(fits(&made, &other), Ok(()));
        let judge = |change: &dyn Fn(&mut JudgeSubject)| {
            let mut changed = subject();
            change(&mut changed.judges[0]);
            changed
        };
        let (calibrated, used) = ("openai:gpt-4.1".to_owned(), "openai:gpt-4.2".to_owned());
        let model = "openai:gpt-4.1".to_owned();
        for (changed, want) in [
            (judge(&|judge| judge.model = "openai:gpt-4.2".into()), Why::Judges { calibrated, used }),
            (judge(&|judge| drop(judge.params.insert("temperature", true))), Why::Params { model: model.clone() }),
            (judge(&|judge| judge.serving = "x".into()), Why::Serving { model }),
            (Subject { rubric: Digest::of(b"x"), ..subject() }, Why::Rubric),
            (Subject { prompt_version: 2, ..subject() }, Why::Other("version of the prompts")),
            (Subject { mode: JudgeMode::Pairwise, ..subject() }, Why::Other("mode")),
            (Subject { reference: false, ..subject() }, Why::Other("use of the target")),
            (Subject { verdicts: [("ok".to_owned(), 1.0)].into(), ..subject() }, Why::Other("set of verdicts")),
            (Subject { score: Some(ScoreRange { min: 0.0, max: 1.0 }), ..subject() }, Why::Other("range of scores")),
            (Subject { pass: 0.5, ..subject() }, Why::Other("value from which an answer passes")),
            (Subject { votes: 3, ..subject() }, Why::Other("number of votes")),
        ] {
            assert_eq!(fits(&made, &changed), Err(want));
        }
    }

    #[test]
    fn a_note_says_what_a_run_rests_on_or_why_it_rests_on_nothing() {
        let made = made();
        let bytes = made.to_bytes().unwrap();
        let good = note(&bytes, &subject());
        assert_eq!((good.fits, good.digest, good.text), (true, Digest::of(&bytes), line(&made)));
        let other = note(&bytes, &Subject { rubric: Digest::of(b"x"), ..subject() });
        assert_eq!(other.text, "the calibration says nothing of this judge: it is of another rubric");
        for (bytes, why) in [
            (&b"{"[..], "the calibration cannot be read: it is not JSON"),
            (b"{}", "the calibration cannot be read: it has no `schema_version`"),
            (
                b"{\"schema_version\":2}",
                "the calibration cannot be read: its `schema_version` is 2, and this Proofmark knows 1",
            ),
            (b"{\"schema_version\":1}", "the calibration cannot be read: it is not a calibration"),
        ] {
            let bad = note(bytes, &subject());
            assert_eq!((bad.fits, bad.text.as_str()), (false, why));
        }
    }

    #[test]
    fn the_order_of_a_panel_does_not_count() {
        let mut made = made();
        made.subject.judges.push(JudgeSubject { model: "anthropic:c".into(), ..made.subject.judges[0].clone() });
        let mut used = made.subject.clone();
        used.judges.reverse();
        assert_eq!(fits(&made, &used), Ok(()));
        used.judges.pop();
        assert!(matches!(fits(&made, &used), Err(Why::Judges { .. })));
    }
}
