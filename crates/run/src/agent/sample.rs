//! A sample that an agent works at: its attempts, each with files of its own.

use std::path::Path;
use std::sync::Arc;

use proofmark_artefact::record::Attachment;
use proofmark_artefact::scan::Needles;
use proofmark_canon::seed::SampleSeed;
use proofmark_model::{AttemptLog, File, Hint, Request, Stop};
use proofmark_tool::{Attached, Workspace};

use super::vote::elect;
use super::{Agent, Earned, Errand};
use crate::attach::plain_names;
use crate::evidence::Keeper;
use crate::ready::Ready;
use crate::source::Unit;

/// One sample and who works at it.
pub(crate) struct Sample<'a> {
    pub(crate) ready: &'a Ready,
    pub(crate) agent: &'a Agent,
    pub(crate) unit: &'a Unit,
    pub(crate) request: &'a Request,
    /// The bytes of the item's attachments.
    pub(crate) files: Arc<[File]>,
    pub(crate) hint: Hint<'a>,
    pub(crate) log: &'a dyn AttemptLog,
}

impl Sample<'_> {
    /// Makes every attempt, one after the other, and chooses among them.
    pub(crate) async fn earn(&self, bodies: Option<&Keeper>) -> Result<Earned, Stop> {
        let plan = &self.ready.plan;
        let needles = plan.evidence.record.then(|| Needles::new(self.hint.expected, &self.question()));
        let attached = self.attached();
        let mut attempts = Vec::new();
        for attempt in 0..plan.sampling.voting_attempts {
            let mut request = self.request.clone();
            request.files = Arc::clone(&self.files);
            if attempt > 0 {
                // Every attempt is a draw of its own.
                request.seed = SampleSeed::derive(plan.seed, &format!("{}#{attempt}", self.hint.key));
            }
            let recorded = match &self.ready.recorded_tools {
                Some(tools) if self.agent.is_recorded => {
                    let stop = |message| Stop { message, hint: None };
                    Some(tools.of(self.hint.key, attempt).map_err(stop)?)
                }
                _ => None,
            };
            let workspace = Workspace::new(Arc::clone(&attached), self.ready.scratch().map(Path::to_owned));
            let errand = Errand {
                model: &*self.ready.models[self.unit.model],
                request: &request,
                hint: Hint { attempt, ..self.hint },
                log: self.log,
                workspace: &workspace,
                needles: needles.as_ref(),
                keeper: bodies,
                recorded,
            };
            let mut made = self.agent.attempt(&errand).await?;
            if !plan.evidence.record {
                made.steps = Vec::new();
            }
            attempts.push(made);
        }
        let voting = (attempts.len() > 1).then(|| elect(&attempts, plan.sampling.voting_tie));
        Ok(Earned { attempts, voting })
    }

    /// The question as it was asked, for those who look whether it stands somewhere else.
    fn question(&self) -> String {
        let is_user = |role| role == proofmark_artefact::record::Role::User;
        let texts = self.request.messages.iter().filter(|message| is_user(message.role));
        texts.map(|message| message.content.as_str()).collect::<Vec<_>>().join("\n")
    }

    /// The attachments under the names that the prompt gives them.
    fn attached(&self) -> Arc<[Attached]> {
        let all: Vec<&Attachment> = self.request.messages.iter().flat_map(|message| &message.attachments).collect();
        let owned: Vec<Attachment> = all.into_iter().cloned().collect();
        let named = plain_names(&owned).into_iter().zip(&owned);
        let attached = named.filter_map(|(name, facts)| {
            let file = self.files.iter().find(|file| file.digest == facts.digest)?;
            Some(Attached { name, media_type: facts.media_type.clone(), bytes: Arc::clone(&file.bytes) })
        });
        attached.collect()
    }
}
