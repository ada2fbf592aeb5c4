//! `proofmark mock-provider`.

use std::io::{self, Read as _};
use std::path::Path;
use std::time::Duration;

use proofmark_artefact::store::{MAX_JSON, read_bounded};
use proofmark_model::Secret;
use proofmark_model::offline::Script;
use proofmark_serve::mock::{Answers, Config, serve};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

use crate::args::MockProviderArgs;
use crate::exit::{Exit, Failure};
use crate::settings::Settings;

pub(crate) fn run(args: MockProviderArgs, settings: &Settings) -> Result<Exit, Failure> {
    let exit_with_stdin = args.exit_with_stdin;
    // Signals are caught before anybody can know that there is something to stop.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::new(format!("cannot listen for signals: {error}")))?;
    let ended = {
        let _entered = runtime.enter();
        let caught = |kind| signal(kind).map_err(|error| Failure::new(format!("cannot listen for signals: {error}")));
        (caught(SignalKind::interrupt())?, caught(SignalKind::terminate())?)
    };
    let server = serve(config(args)?).map_err(|error| Failure::from_error(&error))?;
    settings.print(&format!("listening on {}\n", server.base_url()))?;
    runtime.block_on(async {
        let (mut interrupt, mut terminate) = ended;
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            () = stdin_closes(exit_with_stdin) => {}
        }
    });
    server.stop().map_err(|error| Failure::from_error(&error))?;
    Ok(Exit::Holds)
}

fn config(args: MockProviderArgs) -> Result<Config, Failure> {
    Ok(Config {
        port: args.port,
        threads: usize::from(args.threads),
        answers: args.answers.as_deref().map(load_script).transpose()?.unwrap_or_default(),
        answer_as: args.answer_as,
        key: args.key.map(Secret::new),
        latency: args.latency.or(args.latency_dist).unwrap_or_default(),
        faults: args.fault.unwrap_or_default(),
        fault_times: args.fault_times,
        slow: Some(Duration::from_millis(args.slow)),
        retry_after_secs: args.retry_after,
        rate_limit: args.rate_limit,
        max_concurrent: args.max_concurrent,
        stats: args.stats,
        log: args.log,
    })
}

fn load_script(path: &Path) -> Result<Answers, Failure> {
    let shown = path.display().to_string();
    let bytes =
        read_bounded(path, MAX_JSON).map_err(|error| Failure::new(format!("cannot read `{shown}`: {error}")))?;
    let script = Script::load_bytes(&bytes, &shown).map_err(|error| Failure::new(error.message).hint(error.hint))?;
    if script.knows_items() {
        return Err(Failure::new(format!("`{shown}` answers items by their ids, which a provider never sees"))
            .hint("use `patterns` and `default` instead of `answers`".to_owned()));
    }
    Ok(Answers::Script(Box::new(script)))
}

/// Returns when stdin ends, or never when nobody wants to know.
async fn stdin_closes(is_wanted: bool) {
    let (sender, receiver) = oneshot::channel();
    if is_wanted {
        // A thread of its own: reading stdin cannot be broken off, and must not keep the process from ending.
        let watch = move || {
            let mut buffer = [0; 1024];
            let mut stdin = io::stdin().lock();
            while matches!(stdin.read(&mut buffer), Ok(read) if read > 0) {}
            let _ = sender.send(());
        };
        if std::thread::Builder::new().name("stdin".to_owned()).spawn(watch).is_ok() && receiver.await.is_ok() {
            return;
        }
    }
    std::future::pending().await
}
