//! The MCP server of `testkit` as a program of its own, for the tests to start: arguments are its manners.
//!
//! A program cannot use a crate that only tests depend on, hence the files themselves.

#![expect(unreachable_pub, reason = "the files are a library elsewhere")]

#[path = "../../../testkit/src/mcp/brain.rs"]
mod brain;
#[path = "../../../testkit/src/mcp/stdio.rs"]
mod stdio;

fn main() -> std::io::Result<()> {
    let manners: Vec<String> = std::env::args().skip(1).collect();
    stdio::serve(&manners, &mut std::io::stdin().lock(), &mut std::io::stdout().lock())
}
