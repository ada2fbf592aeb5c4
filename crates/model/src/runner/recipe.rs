//! What is started for a model of the suite, with everything checked before the first start.

use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use proofmark_artefact::suite::config::{OutputKind, PromptBy, Runner, RunnerOutput};
use proofmark_artefact::suite::plan::ModelPlan;
use proofmark_artefact::text::excerpt;
use proofmark_artefact::yaml::suggest;

use super::output::Output;
use super::pointer::Pointer;
use super::preset::{ALL, NETWORK, Preset};
use super::{RunnerContext, preset_names};
use crate::build::BuildError;

/// Variables and their values.
pub(super) type Variables = Vec<(String, OsString)>;

/// How a program is started and read.
#[derive(Debug)]
pub(super) struct Recipe {
    /// The model's id in the suite.
    pub(super) id: String,
    /// After `command:`.
    pub(super) name: String,
    /// Absolute.
    pub(super) program: PathBuf,
    pub(super) prompt: PromptBy,
    pub(super) output: Output,
    pub(super) version: Vec<String>,
    pub(super) timeout: Duration,
    /// Everything that the program sees of an environment.
    pub(super) environment: Variables,
    /// Values in it that no record may hold.
    pub(super) secrets: Vec<String>,
    pub(super) preset: Option<&'static Preset>,
    /// With placeholders.
    arguments: Vec<String>,
    /// Come before the last arguments when there is a system prompt.
    system_arguments: &'static [&'static str],
    /// How many of the arguments must stay last: those that hold the prompt.
    last: usize,
    model: Option<String>,
    root: PathBuf,
}

impl Recipe {
    pub(super) fn of(plan: &ModelPlan, context: &RunnerContext) -> Result<Self, BuildError> {
        let name = plan.model_id();
        let preset = Preset::named(name);
        refuse_foreign_members(plan)?;
        let nothing = Runner {
            run: None,
            prompt: None,
            output: None,
            pointer: None,
            model_pointer: None,
            model: None,
            env: None,
            version: None,
            timeout: None,
        };
        let runner = plan.command.as_ref().unwrap_or(&nothing);
        let wrong = |what: String, hint: &str| BuildError::new(format!("`{}` {what}", plan.model), hint.to_owned());

        let mut system_arguments: &'static [&'static str] = &[];
        let mut last = 0;
        let (program, arguments, prompt) = match (&runner.run, preset) {
            (Some(run), _) => {
                let Some((program, arguments)) = run.split_first().filter(|(program, _)| !program.trim().is_empty())
                else {
                    return Err(wrong("has an empty `command.run`".to_owned(), "name a program and its arguments"));
                };
                let mut arguments = arguments.to_vec();
                let is_held = holds(&arguments, "{prompt}");
                let prompt = runner.prompt.unwrap_or(if is_held { PromptBy::Argument } else { PromptBy::Stdin });
                match (prompt, is_held) {
                    (PromptBy::Stdin, true) => {
                        let hint = "remove `{prompt}` from `command.run`, or `prompt: stdin`";
                        return Err(wrong("has `prompt: stdin` and an argument with `{prompt}`".to_owned(), hint));
                    }
                    (PromptBy::Argument, false) => arguments.push("{prompt}".to_owned()),
                    _ => {}
                }
                if runner.model.is_some() && !holds(&arguments, "{model}") {
                    let hint = "put `{model}` where `command.run` names the model, or remove `command.model`";
                    return Err(wrong("asks for a model, but no argument holds `{model}`".to_owned(), hint));
                }
                if runner.model.is_none() && holds(&arguments, "{model}") {
                    let hint = "say which model is asked for in `command.model`";
                    return Err(wrong("has an argument with `{model}`, but asks for none".to_owned(), hint));
                }
                (program.as_str(), arguments, prompt)
            }
            (None, Some(preset)) => {
                let prompt = runner.prompt.unwrap_or(PromptBy::Stdin);
                let model = if runner.model.is_some() { preset.model } else { &[] };
                let at_end = if prompt == PromptBy::Stdin { preset.by_stdin } else { preset.by_argument };
                system_arguments = preset.system;
                last = at_end.len();
                let arguments = [preset.arguments, model, at_end].concat();
                (preset.program, arguments.into_iter().map(str::to_owned).collect(), prompt)
            }
            (None, None) => {
                let hint = match suggest(name, preset_names()) {
                    Some(near) => format!("did you mean `command:{near}`?"),
                    None => {
                        let known: Vec<_> = ALL.iter().map(|preset| format!("`command:{}`", preset.name)).collect();
                        format!("{} need no `run`; anything else does: `command: {{run: [program]}}`", known.join(", "))
                    }
                };
                return Err(wrong("does not say which program to start".to_owned(), &hint));
            }
        };

        let program = find_program(program, context).ok_or_else(|| {
            let hint = match preset {
                Some(preset) if runner.run.is_none() => preset.install.to_owned(),
                _ => "programs are looked up in PATH, or relative to the suite's folder when they are written with a \
                      slash; scripts need `chmod +x`"
                    .to_owned(),
            };
            BuildError::new(format!("there is no program `{}` for `{}`", excerpt(program, 200), plan.model), hint)
        })?;
        let (environment, secrets) = environment(runner, preset, context).map_err(|name| {
            wrong(format!("has `{}` in `command.env`", excerpt(&name, 60)), "expected the name of a variable")
        })?;
        let timeout = runner.timeout.unwrap_or(DEFAULT_TIMEOUT);
        let timeout = Some(timeout)
            .filter(|seconds| *seconds > 0.0 && *seconds <= MAX_TIMEOUT)
            .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
            .ok_or_else(|| {
                wrong(format!("has a `command.timeout` of {timeout}"), "seconds, above 0 and at most 86400")
            })?;
        let version = match (&runner.version, preset) {
            (Some(version), _) => version.clone(),
            (None, Some(preset)) => preset.version.iter().map(|word| (*word).to_owned()).collect(),
            (None, None) => vec!["--version".to_owned()],
        };
        Ok(Self {
            id: plan.id.clone(),
            name: name.to_owned(),
            program,
            prompt,
            output: output(runner, preset).map_err(|(what, hint)| wrong(what, hint))?,
            version,
            timeout,
            environment,
            secrets,
            preset,
            arguments,
            system_arguments,
            last,
            model: runner.model.clone(),
            root: std::path::absolute(&context.root).unwrap_or_else(|_| context.root.clone()),
        })
    }

    /// Whether a system prompt has a place among the arguments.
    pub(super) fn takes_system(&self) -> bool {
        !self.system_arguments.is_empty() || holds(&self.arguments, "{system}")
    }

    /// The arguments of one start.
    pub(super) fn arguments(&self, prompt: &str, system: Option<&str>) -> Vec<OsString> {
        let (first, last) = self.arguments.split_at(self.arguments.len() - self.last);
        let between = if system.is_some() { self.system_arguments } else { &[] };
        let all =
            first.iter().map(String::as_str).chain(between.iter().copied()).chain(last.iter().map(String::as_str));
        let values: [(&str, &OsStr); 4] = [
            ("{prompt}", prompt.as_ref()),
            ("{system}", system.unwrap_or_default().as_ref()),
            ("{model}", self.model.as_deref().unwrap_or_default().as_ref()),
            ("{suite}", self.root.as_os_str()),
        ];
        all.map(|argument| fill(argument, &values)).collect()
    }

    /// A text of the program for a record: one line, at most `limit` characters, the same wherever it ran.
    pub(super) fn tidy(&self, text: &str, folder: &Path, limit: usize) -> String {
        let mut text = text.trim().to_owned();
        for (path, word) in [(folder, "."), (self.root.as_path(), "{suite}")] {
            // A path of one part, such as `/`, is in every text.
            if let Some(path) = path.to_str().filter(|_| path.components().count() > 2) {
                text = text.replace(path, word);
            }
        }
        proofmark_artefact::text::one_line(&self.redact(text), limit)
    }

    /// The text without the secrets that the program was given.
    pub(super) fn redact(&self, mut text: String) -> String {
        for secret in &self.secrets {
            if text.contains(secret.as_str()) {
                text = text.replace(secret.as_str(), "***");
            }
        }
        text
    }
}

/// Members of a model that mean something only where there is an API.
fn refuse_foreign_members(plan: &ModelPlan) -> Result<(), BuildError> {
    let found = [
        ("base_url", plan.base_url.is_some()),
        ("api", plan.api.is_some()),
        ("api_key_env", plan.api_key_env.is_some()),
        ("headers", !plan.headers.is_empty()),
        ("output: image", plan.output == Some(OutputKind::Image)),
    ];
    match found.iter().find(|(_, is_there)| *is_there) {
        Some((member, _)) => Err(BuildError::new(
            format!("`{}` is a program and has no `{member}`", plan.model),
            "what a program is given stands under `command`".to_owned(),
        )),
        None => Ok(()),
    }
}

fn output(runner: &Runner, preset: Option<&Preset>) -> Result<Output, (String, &'static str)> {
    let pointer = |name: &str, text: &str| {
        let what = || format!("has `{}` as `command.{name}`", excerpt(text, 100));
        Pointer::parse(text).ok_or_else(|| (what(), "expected a JSON pointer, such as `/result` or `/choices/0/text`"))
    };
    let has_pointer = runner.pointer.is_some() || runner.model_pointer.is_some();
    match (runner.output, preset) {
        (Some(RunnerOutput::Json), Some(preset)) if !has_pointer => Ok(Output::Known(preset.form)),
        (Some(RunnerOutput::Json), _) => {
            let place = runner.pointer.clone().unwrap_or_else(|| "/result".to_owned());
            Ok(Output::Json {
                answer: pointer("pointer", &place)?,
                model: runner.model_pointer.as_deref().map(|text| pointer("model_pointer", text)).transpose()?,
                place,
            })
        }
        _ if has_pointer => Err((
            "has a `pointer` or `model_pointer` without `output: json`".to_owned(),
            "add `output: json` under `command`, or remove the pointers",
        )),
        (None, Some(preset)) => Ok(Output::Known(preset.form)),
        (Some(RunnerOutput::Text) | None, _) => Ok(Output::Text),
    }
}

/// What the program sees, and what of it is secret. The error is a name that cannot be one.
fn environment(
    runner: &Runner,
    preset: Option<&Preset>,
    context: &RunnerContext,
) -> Result<(Variables, Vec<String>), String> {
    // One language for messages on every machine.
    let mut all = vec![("LANG".to_owned(), OsString::from("C.UTF-8"))];
    let mut set = |name: &str, value: OsString| match all.iter_mut().find(|(known, _)| known == name) {
        Some((_, known)) => *known = value,
        None => all.push((name.to_owned(), value)),
    };
    if let Some(path) = &context.path {
        set("PATH", path.clone());
    }
    if let Some(home) = (context.environment)("HOME") {
        set("HOME", home);
    }
    for (name, value) in preset.map_or(&[][..], |preset| preset.set) {
        set(name, value.into());
    }
    let of_preset = preset.map_or(&[][..], |preset| preset.environment);
    let of_network = if preset.is_some() { &NETWORK[..] } else { &[] };
    let of_suite = runner.env.as_deref().unwrap_or_default();
    if let Some(wrong) = of_suite.iter().find(|name| name.is_empty() || name.contains(['=', '\0'])) {
        return Err(wrong.clone());
    }
    for name in of_preset.iter().chain(of_network).copied().chain(of_suite.iter().map(String::as_str)) {
        if let Some(value) = (context.environment)(name) {
            set(name, value);
        }
    }
    let is_secret = |name: &str, value: &str| {
        let name = name.to_ascii_uppercase();
        let is_named_so = ["KEY", "TOKEN", "SECRET", "PASSW", "CREDENTIAL"].iter().any(|word| name.contains(word));
        is_named_so || (value.contains("://") && value.contains('@'))
    };
    let secrets = all.iter().filter_map(|(name, value)| {
        let value = value.to_str().filter(|value| value.len() >= MIN_SECRET)?;
        is_secret(name, value).then(|| value.to_owned())
    });
    let secrets = secrets.collect();
    Ok((all, secrets))
}

/// The program's absolute path. A name is looked up in PATH; a name with a slash is a path, relative to the suite.
fn find_program(name: &str, context: &RunnerContext) -> Option<PathBuf> {
    if name.contains('/') {
        let path = std::path::absolute(context.root.join(name)).ok()?;
        return is_program(&path).then_some(path);
    }
    find_in_path(name, context.path.as_deref())
}

/// Looks a name up in a PATH.
pub(crate) fn find_in_path(name: &str, path: Option<&OsStr>) -> Option<PathBuf> {
    // A relative entry would be looked up from wherever we happen to be.
    let mut entries = path.into_iter().flat_map(std::env::split_paths).filter(|entry| entry.is_absolute());
    entries.find_map(|entry| Some(entry.join(name)).filter(|path| is_program(path)))
}

fn is_program(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

fn holds(arguments: &[String], placeholder: &str) -> bool {
    arguments.iter().any(|argument| argument.contains(placeholder))
}

/// Puts values in the place of placeholders, in one go: what a value holds is never looked at. Other braces stay.
fn fill(argument: &str, values: &[(&str, &OsStr)]) -> OsString {
    let mut out = OsString::with_capacity(argument.len());
    let mut rest = argument;
    while let Some(at) = rest.find('{') {
        out.push(&rest[..at]);
        rest = &rest[at..];
        match values.iter().find(|(placeholder, _)| rest.starts_with(placeholder)) {
            Some((placeholder, value)) => {
                out.push(value);
                rest = &rest[placeholder.len()..];
            }
            None => {
                out.push("{");
                rest = &rest[1..];
            }
        }
    }
    out.push(rest);
    out
}

const DEFAULT_TIMEOUT: f64 = 600.0;
const MAX_TIMEOUT: f64 = 86_400.0;
/// Shorter values would be found in ordinary words.
const MIN_SECRET: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_filled_once_and_other_braces_stay() {
        let values: [(&str, &OsStr); 2] = [("{prompt}", "{model} é".as_ref()), ("{model}", "m".as_ref())];
        for (argument, want) in [
            ("{prompt}", "{model} é"),
            ("--a={model},{prompt}{model}", "--a=m,{model} ém"),
            ("{{model}}", "{m}"),
            ("{\"json\":{prompt", "{\"json\":{prompt"),
            ("{Model} { } {", "{Model} { } {"),
            ("", ""),
        ] {
            assert_eq!(fill(argument, &values), want, "{argument}");
        }
    }
}
