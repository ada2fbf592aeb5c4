//! Agents: a model is asked again and again, and its calls of tools are carried out in between.
//!
//! - this file: the loop, its limits, and what each step leaves behind;
//! - [`protocol`] calls written as text, for models without tool calling;
//! - [`answer`] where the final answer is; [`vote`] which of several counts;
//! - [`earned`] what came of a sample besides its reply, as the journal keeps it.
//!
//! What an agent can reach is decided in `proofmark-tool`; the gold answer is not among it. It is here only to be looked
//! for in what tools return, after they returned it.

mod answer;
mod earned;
mod protocol;
mod recorded;
mod sample;
mod vote;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use proofmark_artefact::manifest::ToolEntry;
use proofmark_artefact::record::{Message, Output, ToolCall, Usage};
use proofmark_artefact::scan::Needles;
use proofmark_artefact::suite::plan::ToolPlan;
use proofmark_artefact::suite::solver::{OnOverflow, Protocol, SolverPlan};
use proofmark_artefact::trajectory::{PromptRole, Step, StopReason};
use proofmark_canon::Value;
use proofmark_model::{Ask, AttemptLog, CUT, Class, Hint, Model, Reply, Request, Stop, Turn};
use proofmark_tool::{Call, Failure, ToolError, ToolOutput, Toolbox, Workspace};

pub(crate) use earned::{Attempt, Earned, Failed};
pub(crate) use recorded::RecordedTools;
pub(crate) use sample::Sample;
pub(crate) use vote::elect;

use self::answer::AnswerRule;
use self::recorded::{Recorded, Returned};
use crate::evidence::Keeper;

/// How a task's answers are come by.
pub(crate) struct Agent {
    limits: Limits,
    protocol: Protocol,
    on_overflow: OnOverflow,
    answer: AnswerRule,
    toolbox: Toolbox,
    /// What the model is told of the tools, in the suite's order.
    definitions: Arc<[ToolPlan]>,
    /// How calls are written, for the text protocol.
    instructions: Option<String>,
    /// Attachments are for the tools, and not sent with the prompt.
    sees_files: bool,
    is_recorded: bool,
}

#[derive(Debug, Clone, Copy)]
struct Limits {
    turns: u32,
    tool_calls: u32,
    tokens: Option<u64>,
    time: Duration,
}

/// One attempt at a sample.
pub(crate) struct Errand<'a> {
    pub(crate) model: &'a dyn Model,
    /// The prompt as the record has it. Attachments are named in it; their bytes are in the workspace.
    pub(crate) request: &'a Request,
    pub(crate) hint: Hint<'a>,
    pub(crate) log: &'a dyn AttemptLog,
    pub(crate) workspace: &'a Workspace,
    /// What to look for in results; `None` when no evidence is kept.
    pub(crate) needles: Option<&'a Needles>,
    /// Keeps whole bodies, when the suite wants them.
    pub(crate) keeper: Option<&'a Keeper>,
    /// What tools returned in a run that is made again: none is called then.
    recorded: Option<Recorded>,
}

/// Said when a model that should hand in an answer with a tool only talks.
const REMINDER: &str = "Go on with the task. When you are done, call the tool";
/// Stands where a result was taken out of the conversation.
const DROPPED: &str = "[this result was removed, because the conversation no longer fitted]";
/// Why the calls behind the last one that was carried out were not.
const TIME_UP: &str = "the sample's time was up";
/// How often results are taken out of one conversation.
const MAX_DROPS: u32 = 16;

impl Agent {
    /// Fails when the final answer can never be had.
    pub(crate) fn new(plan: &SolverPlan, toolbox: Toolbox, definitions: Arc<[ToolPlan]>) -> Result<Self, String> {
        let SolverPlan::Agent {
            protocol,
            max_turns,
            max_tool_calls,
            max_tokens,
            timeout,
            final_answer,
            on_overflow,
            ..
        } = plan;
        let answer = AnswerRule::new(final_answer, &definitions)?;
        let instructions = (*protocol == Protocol::Text).then(|| protocol::instructions(&definitions));
        Ok(Self {
            limits: Limits {
                turns: *max_turns,
                tool_calls: *max_tool_calls,
                tokens: *max_tokens,
                time: Duration::from_secs_f64(*timeout),
            },
            protocol: *protocol,
            on_overflow: *on_overflow,
            answer,
            toolbox,
            definitions,
            instructions,
            sees_files: plan.sees_files(),
            is_recorded: false,
        })
    }

    /// One whose tools are not called: their results are those of a run that is made again.
    pub(crate) fn recorded(plan: &SolverPlan, definitions: Arc<[ToolPlan]>) -> Result<Self, String> {
        let mut agent = Self::new(plan, Toolbox::default(), definitions)?;
        agent.is_recorded = true;
        Ok(agent)
    }

    /// A single question, for answers that are voted on without tools.
    pub(crate) fn single() -> Self {
        Self {
            limits: Limits { turns: 1, tool_calls: 0, tokens: None, time: Duration::from_secs(24 * 3600) },
            protocol: Protocol::Native,
            on_overflow: OnOverflow::Stop,
            answer: AnswerRule::LastText,
            toolbox: Toolbox::default(),
            definitions: Arc::default(),
            instructions: None,
            sees_files: false,
            is_recorded: false,
        }
    }

    pub(crate) fn definitions(&self) -> &Arc<[ToolPlan]> {
        &self.definitions
    }

    /// What the manifest says of the tools.
    pub(crate) fn catalogue(&self) -> Vec<ToolEntry> {
        self.toolbox.catalogue()
    }

    /// The tools that go out with a request, which is none when calls are written as text.
    pub(crate) fn native_tools(&self) -> Arc<[ToolPlan]> {
        match self.protocol {
            Protocol::Native => Arc::clone(&self.definitions),
            Protocol::Text => Arc::default(),
        }
    }

    /// Makes one attempt. Limits are reasons to stop, not errors.
    pub(crate) async fn attempt(&self, errand: &Errand<'_>) -> Result<Attempt, Stop> {
        let mut talk = Talk::new(self, errand);
        let ended = tokio::time::timeout(self.limits.time, talk.go_on()).await;
        self.toolbox.leave(errand.workspace).await;
        let end = match ended {
            Ok(end) => end?,
            Err(_) => {
                talk.close_open_call();
                talk.leave_pending(TIME_UP);
                End::of(StopReason::Timeout)
            }
        };
        Ok(talk.finish(end))
    }
}

/// How a conversation ended.
struct End {
    stop: StopReason,
    answer: Option<String>,
    failed: Option<Failed>,
}

impl End {
    fn of(stop: StopReason) -> Self {
        Self { stop, answer: None, failed: None }
    }
}

/// A conversation that is under way, and what it left so far.
struct Talk<'a> {
    agent: &'a Agent,
    errand: &'a Errand<'a>,
    request: Request,
    attempt: Attempt,
    /// The call whose result is not there yet.
    open_call: Option<String>,
    /// Calls of the last reply whose turn has not come.
    pending: VecDeque<(String, ToolCall)>,
    drops: u32,
}

impl<'a> Talk<'a> {
    fn new(agent: &'a Agent, errand: &'a Errand<'a>) -> Self {
        let mut messages: Vec<Message> = Vec::new();
        for message in errand.request.messages.iter() {
            let attachments = if agent.sees_files { Vec::new() } else { message.attachments.clone() };
            messages.push(Message { attachments, ..Message::new(message.role, message.content.clone()) });
        }
        if let Some(text) = &agent.instructions {
            // Behind the suite's own system prompts; those who speak to the user come after it.
            let role = proofmark_artefact::record::Role::System;
            let at = messages.iter().take_while(|message| message.role == role).count();
            messages.insert(at, Message::new(role, text.clone()));
        }
        // In the order in which the model sees them.
        let mut steps = Vec::with_capacity(messages.len());
        for message in &messages {
            steps.push(Step::prompt(message.role, &message.content));
            errand.keep(message.content.as_bytes());
        }
        let request = Request {
            messages: messages.into(),
            files: if agent.sees_files { Arc::default() } else { Arc::clone(&errand.request.files) },
            turns: Vec::new(),
            tools: agent.native_tools(),
            params: Arc::clone(&errand.request.params),
            seed: errand.request.seed,
        };
        let attempt = Attempt { steps, ..Attempt::default() };
        Self { agent, errand, request, attempt, open_call: None, pending: VecDeque::new(), drops: 0 }
    }

    async fn go_on(&mut self) -> Result<End, Stop> {
        loop {
            let limits = self.agent.limits;
            if self.attempt.turns >= limits.turns {
                return Ok(End::of(StopReason::MaxTurns));
            }
            if self.errand.recorded.as_ref().is_some_and(|recorded| recorded.is_over(self.attempt.turns)) {
                return Ok(End::of(StopReason::Timeout));
            }
            let spent = self.attempt.usage.input_tokens + self.attempt.usage.output_tokens;
            if limits.tokens.is_some_and(|most| spent >= most) {
                return Ok(End::of(StopReason::MaxTokens));
            }
            let ask = Ask { request: &self.request, hint: self.errand.hint, log: self.errand.log };
            let asked = self.errand.model.ask(ask).await?;
            self.attempt.add_usage(asked.reply.usage());
            let (output, usage, finish_reason) = match asked.reply {
                Reply::Answered { output, usage, finish_reason } => (output, usage, finish_reason),
                Reply::Failed { class, message, status, .. } => {
                    if class == Class::ContextLength.as_str() {
                        if self.agent.on_overflow == OnOverflow::DropResults && self.drop_results() {
                            continue;
                        }
                        return Ok(End::of(StopReason::ContextOverflow));
                    }
                    let failed = Some(Failed { class, message, status });
                    return Ok(End { stop: StopReason::ModelError, answer: None, failed });
                }
            };
            self.attempt.turns += 1;
            let (text, calls) = self.said(output, usage, asked.next);
            let end = match calls.is_empty() {
                true => self.answered(&text, finish_reason == CUT),
                false => self.carry_out(calls).await,
            };
            if let Some(end) = end {
                return Ok(end);
            }
        }
    }

    /// Notes what the model said, and puts it into the conversation. Returns its text and its calls with their ids.
    fn said(&mut self, output: Output, usage: Usage, next: Option<Turn>) -> (String, Vec<(String, ToolCall)>) {
        self.attempt.steps.push(Step::model_output(&output.text, Some(usage)));
        self.errand.keep(output.text.as_bytes());
        self.attempt.answered_by = output.answered_by.or(self.attempt.answered_by.take());
        let text = output.text;
        let (turn, calls) = match (self.agent.protocol, next) {
            (Protocol::Text, _) => {
                let calls = protocol::calls(&text).into_iter().map(|call| (String::new(), call)).collect();
                (Turn::Model { text: text.clone(), calls: Vec::new(), keep: None }, calls)
            }
            (Protocol::Native, Some(Turn::Model { text, calls, keep })) => {
                (Turn::Model { text, calls: calls.clone(), keep }, calls)
            }
            (Protocol::Native, _) => (Turn::Model { text: text.clone(), calls: Vec::new(), keep: None }, Vec::new()),
        };
        self.request.turns.push(turn);
        (text, calls)
    }

    /// Looks for the final answer in a text that came without a call.
    fn answered(&mut self, text: &str, is_cut: bool) -> Option<End> {
        let stop = if is_cut { StopReason::Length } else { StopReason::Answered };
        match self.agent.answer.in_text(text) {
            Ok(answer) => Some(End { stop, answer: Some(answer), failed: None }),
            Err(answer::NotThere::Wanted(tool)) => {
                if self.attempt.turns >= self.agent.limits.turns {
                    return Some(End::of(StopReason::MaxTurns));
                }
                self.say(format!("{REMINDER} `{tool}`."));
                None
            }
            Err(why) => {
                self.attempt.no_answer = Some(why.to_string());
                Some(End::of(stop))
            }
        }
    }

    /// Carries out calls one after the other, in the model's order: two of them may write the same file.
    async fn carry_out(&mut self, calls: Vec<(String, ToolCall)>) -> Option<End> {
        self.pending = calls.into();
        let mut results = Vec::new();
        loop {
            let most = self.agent.limits.tool_calls;
            if !self.pending.is_empty() && self.attempt.tool_calls >= most {
                self.leave_pending(&format!("at most {most} calls are allowed"));
                return Some(End::of(StopReason::MaxToolCalls));
            }
            let Some((id, call)) = self.pending.pop_front() else { break };
            self.note_call(&call);
            self.open_call = Some(call.name.clone());
            let returned = self.call(&call).await;
            self.open_call = None;
            let (output, is_error) = self.note_result(&call.name, returned);
            if self.errand.recorded.as_ref().is_some_and(|recorded| recorded.is_over(self.attempt.turns)) {
                self.leave_pending(TIME_UP);
                return Some(End::of(StopReason::Timeout));
            }
            if !is_error && let Some(answer) = self.agent.answer.in_call(&call) {
                self.leave_pending("an answer had been handed in");
                return Some(End { stop: StopReason::Submitted, answer: Some(answer), failed: None });
            }
            results.push(Turn::Tool { call_id: id, name: call.name, output, is_error });
        }
        match self.agent.protocol {
            Protocol::Native => self.request.turns.extend(results),
            Protocol::Text => self.request.turns.push(Turn::User { text: protocol::results(&results) }),
        }
        None
    }

    async fn call(&self, call: &ToolCall) -> Returned {
        if let Some(recorded) = &self.errand.recorded {
            return recorded.next(call).unwrap_or_else(|what| {
                let message = format!("the run that is made again called {what} here");
                ToolError::new(Failure::Unavailable, message).into()
            });
        }
        match self.call_tool(call).await {
            Ok(output) => Returned { output, class: None },
            Err(error) => error.into(),
        }
    }

    async fn call_tool(&self, call: &ToolCall) -> Result<ToolOutput, ToolError> {
        if call.name == protocol::MALFORMED {
            return Err(ToolError::bad_arguments(protocol::EXPECTED));
        }
        let Some(tool) = self.agent.toolbox.get(&call.name) else {
            let names: Vec<&str> = self.agent.definitions.iter().map(|tool| tool.name.as_str()).collect();
            let message = format!("there is no such tool; there are: {}", names.join(", "));
            return Err(ToolError::new(Failure::UnknownTool, message));
        };
        tool.call(Call { args: &call.arguments, workspace: self.errand.workspace }).await
    }

    fn note_call(&mut self, call: &ToolCall) {
        self.attempt.note_call(call);
        // Long ones are in the step only in part.
        if let Some(Step::ToolCall { args_truncated: true, .. }) = self.attempt.steps.last() {
            let mut whole = Vec::new();
            call.arguments.append_canonical(&mut whole);
            self.errand.keep(&whole);
        }
    }

    /// Notes a result; returns what the model is shown, and whether it is an error.
    fn note_result(&mut self, name: &str, returned: Returned) -> (String, bool) {
        let Returned { output: ToolOutput { content, source, is_error }, class } = returned;
        self.errand.keep(&content);
        let step =
            Step::tool_result(name, &content, source.as_deref(), is_error, class.as_deref(), self.errand.needles);
        self.attempt.steps.push(step);
        let shown = match String::from_utf8(content) {
            Ok(text) => text,
            Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
        };
        (shown, is_error)
    }

    /// Speaks in the user's place.
    fn say(&mut self, text: String) {
        self.attempt.steps.push(Step::prompt(PromptRole::User, &text));
        self.errand.keep(text.as_bytes());
        self.request.turns.push(Turn::User { text });
    }

    /// Replaces the older half of the results that are still there. False when there is none left.
    fn drop_results(&mut self) -> bool {
        self.drops += 1;
        let is_result = |turn: &Turn| match turn {
            Turn::Tool { output, .. } => output != DROPPED,
            Turn::User { text } => self.agent.protocol == Protocol::Text && text != DROPPED,
            Turn::Model { .. } => false,
        };
        let there: Vec<usize> =
            self.request.turns.iter().enumerate().filter(|(_, turn)| is_result(turn)).map(|(at, _)| at).collect();
        if there.is_empty() || self.drops > MAX_DROPS {
            return false;
        }
        for at in &there[..there.len().div_ceil(2)] {
            match &mut self.request.turns[*at] {
                Turn::Tool { output: text, .. } | Turn::User { text } => DROPPED.clone_into(text),
                Turn::Model { .. } => continue,
            }
            self.attempt.steps.push(Step::prompt(PromptRole::Tool, DROPPED));
        }
        true
    }

    /// A call that was under way when the time was up has a result too.
    fn close_open_call(&mut self) {
        if let Some(name) = self.open_call.take() {
            self.note_result(&name, ToolError::new(Failure::Timeout, TIME_UP).into());
        }
    }

    /// Notes the calls that nobody carries out any more: the model made them.
    fn leave_pending(&mut self, why: &str) {
        for (_, call) in std::mem::take(&mut self.pending) {
            self.note_call(&call);
            let error = ToolError::new(Failure::NotCarriedOut, format!("not carried out: {why}"));
            self.note_result(&call.name, error.into());
        }
    }

    fn finish(self, end: End) -> Attempt {
        let mut attempt = self.attempt;
        attempt.stop = Some(end.stop);
        attempt.final_answer = end.answer;
        attempt.failed = end.failed;
        if attempt.final_answer.is_none() && attempt.no_answer.is_none() {
            attempt.no_answer = Some(format!("it stopped before it gave one: {}", end.stop.as_str()));
        }
        attempt
    }
}

impl From<ToolError> for Returned {
    fn from(ToolError { failure, message }: ToolError) -> Self {
        let text = format!("error ({}): {message}", failure.as_str());
        let output = ToolOutput { is_error: true, ..ToolOutput::of_text(text) };
        Self { output, class: Some(failure.as_str().to_owned()) }
    }
}

impl Errand<'_> {
    fn keep(&self, body: &[u8]) {
        if let Some(keeper) = self.keeper {
            keeper.keep(body);
        }
    }
}

impl Attempt {
    fn add_usage(&mut self, usage: Usage) {
        self.usage.input_tokens += usage.input_tokens;
        self.usage.output_tokens += usage.output_tokens;
    }

    fn note_call(&mut self, call: &ToolCall) {
        self.tool_calls += 1;
        // A value that came from JSON goes back to JSON; should it not, its text still tells what was called.
        let step = Step::tool_call(&call.name, &call.arguments);
        let plain = || Step::tool_call(&call.name, &Value::from(call.arguments.to_plain_text()));
        self.steps.extend(step.or_else(|_| plain()));
    }
}
