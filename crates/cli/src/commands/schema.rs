//! `proofmark schema`.

use proofmark_artefact::schema;
use proofmark_artefact::yaml::suggest;

use crate::args::SchemaArgs;
use crate::exit::{Exit, Failure};
use crate::settings::Settings;

pub(crate) fn run(args: &SchemaArgs, settings: &Settings) -> Result<Exit, Failure> {
    let names = schema::names();
    let Some(name) = &args.name else {
        settings.print(&names.iter().map(|name| format!("{name}\n")).collect::<String>())?;
        return Ok(Exit::Holds);
    };
    let text = schema::text(name).ok_or_else(|| {
        let hint = match suggest(name, names.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("there are {}", names.join(", ")),
        };
        Failure::new(format!("there is no schema `{name}`")).hint(hint)
    })?;
    settings.print(&text)?;
    Ok(Exit::Holds)
}
