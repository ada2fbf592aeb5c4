//! The server as a program on stdin and stdout.

use std::io::{BufRead, Write};

use serde_json::{Value, json};

use super::brain::{Act, Brain, flood_head, success_text};

/// Serves until stdin ends. Beside the manners of a [`Brain`]: `silent` never answers, `chatter` says something that is
/// not MCP and ends, `noisy` writes much to stderr first. A file `changed` in the working directory changes its tools.
pub fn serve(manners: &[String], input: &mut dyn BufRead, output: &mut dyn Write) -> std::io::Result<()> {
    let mut brain = Brain::new(manners);
    if brain.has("chatter") {
        output.write_all(b"usage: server [--help]\n")?;
        return Err(std::io::Error::other("it is a Tuesday"));
    }
    if brain.has("noisy") {
        let line = [b'e'; 1023];
        (0..4096).try_for_each(|_| {
            std::io::stderr().write_all(&line)?;
            std::io::stderr().write_all(b"\n")
        })?;
    }
    if std::path::Path::new("changed").exists() {
        brain.change();
    }
    while let Some(message) = next(input)? {
        if brain.has("silent") {
            continue;
        }
        let act = brain.hear(&message);
        match act {
            Act::Say(messages) => messages.iter().try_for_each(|message| say(output, message))?,
            Act::Hang => {}
            Act::Die => return Ok(()),
            Act::Flood => {
                output.write_all(flood_head(&message["id"]).as_bytes())?;
                let text = [b'x'; 1 << 16];
                // A gigabyte: the reader has to stop it.
                (0..1 << 14).try_for_each(|_| output.write_all(&text))?;
            }
            Act::Babble => loop {
                say(output, &json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}))?;
            },
            Act::Interrogate(id) => interrogate(&id, input, output)?,
        }
    }
    Ok(())
}

fn interrogate(id: &Value, input: &mut dyn BufRead, output: &mut dyn Write) -> std::io::Result<()> {
    let message = json!({"role": "user", "content": {"type": "text", "text": "what is the answer?"}});
    let schema = json!({"type": "object", "properties": {"answer": {"type": "string"}}});
    let mut told = Vec::new();
    for (method, params) in [
        ("sampling/createMessage", json!({"messages": [message], "maxTokens": 10})),
        ("roots/list", json!({})),
        ("elicitation/create", json!({"message": "what is the answer?", "requestedSchema": schema})),
    ] {
        say(output, &json!({"jsonrpc": "2.0", "id": method, "method": method, "params": params}))?;
        let Some(reply) = next(input)? else { return Ok(()) };
        let code = reply["error"]["code"].as_i64();
        told.push(format!("{method}: {}", code.map_or("granted".to_owned(), |code| code.to_string())));
    }
    say(output, &success_text(id, &told.join("\n")))
}

fn next(input: &mut dyn BufRead) -> std::io::Result<Option<Value>> {
    let mut line = String::new();
    if input.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    Ok(Some(serde_json::from_str(&line)?))
}

fn say(output: &mut dyn Write, message: &Value) -> std::io::Result<()> {
    output.write_all(format!("{message}\n").as_bytes())?;
    output.flush()
}
