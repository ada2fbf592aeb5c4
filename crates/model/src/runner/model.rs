//! One question to a program, from end to end.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::Arc;

use proofmark_artefact::record::{Output, Role};
use proofmark_artefact::suite::config::PromptBy;
use proofmark_artefact::telemetry::{Attempt, AttemptOutcome};
use proofmark_canon::id::rfc3339;
use tokio::time::Instant;

use super::RunnerContext;
use super::folder::Folder;
use super::output::{Answer, Heard, Spent, Trouble, last_line};
use super::process::{self, Broken, Ended, Launch, Run};
use super::recipe::Recipe;
use crate::ask::{Ask, Asked, Asking, Model, Reply, Request, Stop, millis};
use crate::class::Class;

/// A program that answers.
pub(super) struct Program {
    recipe: Recipe,
    version: String,
    lane: String,
    scratch: PathBuf,
    clock: Arc<dyn Fn() -> u64 + Send + Sync>,
    max_output: usize,
}

impl Program {
    pub(super) fn new(recipe: Recipe, version: String, context: &RunnerContext) -> Self {
        Self {
            lane: format!("command:{}", recipe.name),
            recipe,
            version,
            scratch: context.scratch.clone(),
            clock: Arc::clone(&context.clock),
            max_output: context.max_output,
        }
    }

    async fn answer(&self, ask: Ask<'_>) -> Result<Asked, Stop> {
        let prompt = match Prompt::of(ask.request, self.recipe.takes_system()) {
            Ok(prompt) => prompt,
            Err(why) => return Ok(Reply::failed(Class::Unsupported, why).into()),
        };
        let folder = Folder::make(&self.scratch).map_err(|error| Stop {
            message: format!("cannot make a working directory in `{}`: {error}", self.scratch.display()),
            hint: Some("check that the folder can be written to and the disk is not full".to_owned()),
        })?;
        if let Err(why) = folder.copy_attachments(ask.request) {
            return Ok(Reply::failed(Class::Unsupported, why).into());
        }
        let arguments = self.recipe.arguments(&prompt.text, prompt.system.as_deref());
        let launch = Launch {
            program: &self.recipe.program,
            arguments: &arguments,
            folder: folder.path(),
            environment: &self.recipe.environment,
            input: (self.recipe.prompt == PromptBy::Stdin).then_some(prompt.text.as_bytes()),
            timeout: self.recipe.timeout,
            max_output: self.max_output,
        };
        ask.log.sent();
        let (at, started) = ((self.clock)(), Instant::now());
        let run = process::run(&launch).await;
        let latency_ms = millis(started.elapsed());
        let status = run.end.as_ref().ok().and_then(|ended| ended.status.code());
        let heard = self.understand(&run, &folder);

        let (outcome, class, spent, model) = match &heard {
            Ok(answer) => (AttemptOutcome::Answered, None, answer.spent, answer.model.clone()),
            Err(trouble) if trouble.stops => (AttemptOutcome::Stopped, Some(trouble.class), trouble.spent, None),
            Err(trouble) => (AttemptOutcome::Failed, Some(trouble.class), trouble.spent, None),
        };
        let given: usize = arguments.iter().map(|argument| argument.len()).sum();
        ask.log.attempt(&Attempt {
            at: rfc3339(at),
            attempt: 1,
            cached_input_tokens: spent.cached,
            call: 0,
            class: class.map(|class| class.as_str().to_owned()),
            endpoint: self.endpoint(),
            first_byte_ms: run.first_byte.map(millis),
            key: ask.hint.key.to_owned(),
            latency_ms,
            model: self.recipe.id.clone(),
            model_returned: model,
            ordinal: ask.hint.ordinal,
            outcome,
            request_bytes: (given + launch.input.map_or(0, <[u8]>::len)) as u64,
            request_digest: None,
            // A program makes calls of its own and shows us none of their ids.
            request_id: None,
            response_bytes: run.read as u64,
            retry_after_ms: None,
            status,
            waited_ms: 0.0,
        });

        match heard {
            Ok(answer) => {
                let output = Output { answered_by: answer.model, ..Output::of_text(answer.text) };
                Ok(Reply::Answered { finish_reason: answer.finish, output, usage: answer.spent.usage }.into())
            }
            Err(trouble) if trouble.stops => Err(self.stop(trouble)),
            Err(trouble) => Ok(Reply::failed(trouble.class, trouble.message).with_usage(trouble.spent.usage).into()),
        }
    }

    /// An answer that counts, or why there is none, in a text that is the same wherever the program ran.
    fn understand(&self, run: &Run, folder: &Folder) -> Result<Answer, Trouble> {
        let recipe = &self.recipe;
        let tidy = |text: &str| recipe.tidy(text, folder.path(), MAX_MESSAGE);
        let trouble = |class, message| Trouble { class, message, spent: Spent::default(), stops: false };
        let ended = match &run.end {
            Ok(ended) => ended,
            Err(Broken::TimedOut) => {
                let message = format!("the program gave no answer within {} s", recipe.timeout.as_secs_f64());
                return Err(trouble(Class::Timeout, message));
            }
            Err(Broken::Flood(stream)) => {
                let message = format!("the program wrote more than {} bytes to its {stream}", self.max_output);
                return Err(trouble(Class::Malformed, message));
            }
            Err(Broken::Lost(error)) => {
                return Err(trouble(Class::Runner, format!("the program cannot be watched: {}", error.kind())));
            }
            Err(Broken::Start(error)) => return Err(cannot_start(error)),
        };
        match recipe.output.read(&ended.stdout) {
            Heard::Report(report) => Err(said(report, &tidy)),
            _ if !ended.status.success() => Err(self.explain(ended, &tidy)),
            Heard::Unreadable(why) => Err(trouble(Class::Malformed, tidy(&why))),
            Heard::Answer(answer) if answer.text.trim().is_empty() => {
                let message = "the program gave an empty answer".to_owned();
                Err(Trouble { spent: answer.spent, ..trouble(Class::Empty, message) })
            }
            Heard::Answer(mut answer) => {
                answer.text = recipe.redact(answer.text);
                answer.model = answer.model.map(|name| tidy(&name)).filter(|name| !name.is_empty());
                answer.finish = if answer.finish.is_empty() { "stop".to_owned() } else { tidy(&answer.finish) };
                Ok(answer)
            }
        }
    }

    /// Why a program that ended badly did so.
    fn explain(&self, ended: &Ended, tidy: &dyn Fn(&str) -> String) -> Trouble {
        let stderr = String::from_utf8_lossy(&ended.stderr);
        if let Some(report) = self.recipe.output.explain(ended.status.code(), &stderr) {
            return said(report, tidy);
        }
        let mut message = format!("the program {}", how(ended.status));
        match tidy(last_line(&stderr)) {
            line if line.is_empty() => {}
            line => message = format!("{message}: {line}"),
        }
        Trouble { class: Class::Runner, message, spent: Spent::default(), stops: false }
    }

    fn stop(&self, trouble: Trouble) -> Stop {
        let preset = self.recipe.preset;
        let hint = match trouble.class {
            Class::Auth => preset.map(|preset| preset.log_in.to_owned()),
            Class::BadRequest => Some("check the model that is asked for in `command.model`".to_owned()),
            _ => Some(format!("check that `{}` is still there and can be run", self.recipe.program.display())),
        };
        Stop { message: format!("`{}`: {}", self.lane, trouble.message), hint }
    }

    fn endpoint(&self) -> String {
        let name = self.recipe.program.file_name().unwrap_or_default();
        format!("command:{}", proofmark_artefact::text::one_line(&name.to_string_lossy(), 100))
    }
}

impl Model for Program {
    fn ask<'a>(&'a self, ask: Ask<'a>) -> Asking<'a> {
        Box::pin(self.answer(ask))
    }

    fn lane(&self) -> &str {
        &self.lane
    }

    fn max_in_flight(&self) -> Option<usize> {
        // Programs work on this machine.
        Some(std::thread::available_parallelism().map_or(1, usize::from))
    }

    fn surroundings(&self) -> Vec<(&'static str, String)> {
        vec![("program", self.recipe.program.display().to_string()), ("version", self.version.clone())]
    }
}

/// What the program is told.
struct Prompt {
    text: String,
    /// Where the system prompt has a place of its own.
    system: Option<String>,
}

impl Prompt {
    /// A program takes one text. What is more than that is refused rather than retold.
    fn of(request: &Request, takes_system: bool) -> Result<Self, String> {
        if !request.turns.is_empty() || request.messages.iter().any(|message| message.role == Role::Assistant) {
            return Err("a program takes one prompt, not a conversation".to_owned());
        }
        if !request.tools.is_empty() {
            return Err("a program has its own tools and takes none from a task".to_owned());
        }
        let join = |role| {
            let texts = request.messages.iter().filter(|message| message.role == role);
            texts.map(|message| message.content.as_str()).collect::<Vec<_>>().join("\n\n")
        };
        let (system, text) = (join(Role::System), join(Role::User));
        Ok(match (system.is_empty(), takes_system) {
            (true, _) => Self { text, system: None },
            (false, true) => Self { text, system: Some(system) },
            (false, false) => Self { text: format!("{system}\n\n{text}"), system: None },
        })
    }
}

/// The program's own words, marked as such.
fn said(report: Trouble, tidy: &dyn Fn(&str) -> String) -> Trouble {
    let message = match tidy(&report.message) {
        words if words.is_empty() => "the program reports an error without a word".to_owned(),
        words => format!("the program reports: {words}"),
    };
    Trouble { message, ..report }
}

fn cannot_start(error: &io::Error) -> Trouble {
    let (class, message, stops) = match error.kind() {
        io::ErrorKind::ArgumentListTooLong => {
            (Class::Unsupported, "the prompt is too long for an argument".to_owned(), false)
        }
        io::ErrorKind::InvalidInput => {
            (Class::Unsupported, "the prompt cannot be an argument: it holds a NUL".to_owned(), false)
        }
        kind @ (io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied) => {
            (Class::Runner, format!("the program cannot be started: {kind}"), true)
        }
        kind => (Class::Runner, format!("the program cannot be started: {kind}"), false),
    };
    Trouble { class, message, spent: Spent::default(), stops }
}

fn how(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("ended with exit status {code}"),
        (None, signal) => format!("was ended by signal {}", signal.unwrap_or_default()),
    }
}

/// Characters of a program's own words in a record.
const MAX_MESSAGE: usize = 300;
