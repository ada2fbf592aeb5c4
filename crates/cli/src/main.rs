//! The `proofmark` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    proofmark::main(std::env::args_os())
}
