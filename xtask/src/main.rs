//! Chores of the workspace. `cargo xtask` alone lists them.

mod bench;
mod generate;
mod shell;
mod test;

use std::process::ExitCode;

const HELP: &str = "\
cargo xtask COMMAND

  test              everything the project can check: format, clippy, tests, generated files
  soak [MINUTES]    the tests of all libraries with new cases of every property, for 20 minutes or as many
                    as said; a failure prints the seed that found it
  verifiers         install what tests check our signatures with: openssl, ssh-keygen, Python libraries
  generate          write the schemas, the CLI reference and the list of variables
  generate --check  say whether they are up to date
  bench [--quick]   measure speed and memory on a release build; prints a table and JSON,
                    and keeps them under bench/runs/
  bench PART [--quick]
                    audit, cache, evidence, live or verify alone; keeps nothing
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["test"] => test::run(),
        ["soak"] => test::soak(20),
        ["soak", minutes] if minutes.parse::<u64>().is_ok() => test::soak(minutes.parse().unwrap_or(20)),
        ["verifiers"] => test::verifiers(),
        ["generate"] => generate::write(),
        ["generate", "--check"] => generate::check(),
        ["bench"] => bench::run(bench::Size::Full),
        ["bench", "--quick"] => bench::run(bench::Size::Quick),
        ["bench", "audit", rest @ ..] => bench::run_part(bench::Part::Audit, size_of(rest)),
        ["bench", "cache", rest @ ..] => bench::run_part(bench::Part::Cache, size_of(rest)),
        ["bench", "evidence", rest @ ..] => bench::run_part(bench::Part::Evidence, size_of(rest)),
        ["bench", "live", rest @ ..] => bench::run_part(bench::Part::Live, size_of(rest)),
        ["bench", "verify", rest @ ..] => bench::run_part(bench::Part::Verify, size_of(rest)),
        [] | ["help" | "--help" | "-h"] => {
            shell::say(HELP);
            return ExitCode::SUCCESS;
        }
        _ => {
            shell::complain(&format!("unknown command `{}`\n\n{HELP}", words.join(" ")));
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            shell::complain(&format!("error: {error:#}\n"));
            ExitCode::FAILURE
        }
    }
}

fn size_of(words: &[&str]) -> bench::Size {
    if words.contains(&"--quick") { bench::Size::Quick } else { bench::Size::Full }
}
