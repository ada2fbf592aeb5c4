//! `proofmark export`.

use std::io::Write as _;

use proofmark_artefact::export::gaia::{Choice, ExportError, Exported, export};
use proofmark_artefact::number::counted;
use proofmark_artefact::store::{AtomicFile, RunDir};

use crate::args::{ExportCommand, ExportGaiaArgs};
use crate::exit::{Exit, Failure};
use crate::settings::Settings;

pub(crate) fn run(command: &ExportCommand, settings: &Settings) -> Result<Exit, Failure> {
    match command {
        ExportCommand::Gaia(args) => gaia(args, settings),
    }
}

fn gaia(args: &ExportGaiaArgs, settings: &Settings) -> Result<Exit, Failure> {
    let failed = |error: &ExportError| Failure::from_error(error).hint(error.hint());
    let run = RunDir::open(&args.run).map_err(|error| Failure::from_error(&error).hint(error.hint()))?;
    let choice = Choice {
        task: args.task.clone(),
        model: args.model.clone(),
        condition: args.condition.clone(),
        sample: args.sample,
    };
    let exported = match &args.out {
        None => export(&run, &choice, &mut |line| settings.write(line)).map_err(|error| failed(&error))?,
        Some(path) => {
            let unwritten = |error| Failure::new(format!("cannot write `{}`: {error}", path.display()));
            let mut file = AtomicFile::create(path).map_err(unwritten)?;
            let exported = export(&run, &choice, &mut |line| file.write_all(line)).map_err(|error| failed(&error))?;
            file.commit().map_err(unwritten)?;
            exported
        }
    };
    let Exported { items, without_answer, without_trace } = exported;
    let mut text = counted(items, "answer", "answers");
    if without_answer > 0 {
        text.push_str(&format!(", {without_answer} of them empty"));
    }
    if without_trace > 0 {
        text.push_str(&format!(", {without_trace} without a trace: evidence was not recorded"));
    }
    settings.print_err(&format!("{text}\n"));
    Ok(Exit::Holds)
}
