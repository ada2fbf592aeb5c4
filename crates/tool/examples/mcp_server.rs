//! The MCP server of the tests, as a program of its own: arguments are its manners.

fn main() -> std::io::Result<()> {
    let manners: Vec<String> = std::env::args().skip(1).collect();
    proofmark_testkit::mcp::stdio::serve(&manners, &mut std::io::stdin().lock(), &mut std::io::stdout().lock())
}
