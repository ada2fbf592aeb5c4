//! What a server says about its tools, checked and made fit for a model and a fingerprint.
//!
//! Pure functions. Names, descriptions and schemas are a stranger's text: bounded, without characters that hide
//! or obey, in an order that is ours.

use std::collections::BTreeMap;

use proofmark_artefact::suite::plan::ToolPlan;
use proofmark_artefact::text::{excerpt, is_deceptive};
use proofmark_canon::{Map, Value};

use super::error::McpError;

/// The most tools of a server.
pub(super) const MAX_TOOLS: usize = 256;
/// The most bytes of one definition, and of all together, as they are recorded.
pub(super) const MAX_DEFINITION: usize = 64 << 10;
pub(super) const MAX_DEFINITIONS: usize = 1 << 20;
/// The longest name that every provider takes.
const MAX_NAME: usize = 64;

/// A tool as the server lists it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Listed {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) schema: Map,
}

/// A tool that may be called: what the server calls it, and what the model is told.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Known {
    pub(super) tool: String,
    pub(super) definition: ToolPlan,
}

/// Returns the tools that may be called, ordered by the names that the model knows them by.
pub(super) fn known(server: &str, listed: Vec<Listed>, allow: Option<&[String]>) -> Result<Vec<Known>, McpError> {
    if listed.len() > MAX_TOOLS {
        return Err(McpError::TooManyTools);
    }
    for wanted in allow.unwrap_or_default() {
        if !listed.iter().any(|tool| tool.name == *wanted) {
            let mut has: Vec<String> = listed.into_iter().map(|tool| tool.name).collect();
            has.sort();
            return Err(McpError::NotThere { wanted: wanted.clone(), has });
        }
    }
    let mut tools: BTreeMap<String, Known> = BTreeMap::new();
    let mut bytes = 0;
    for tool in listed {
        if allow.is_some_and(|allow| !allow.contains(&tool.name)) {
            continue;
        }
        let known = define(server, tool)?;
        bytes += size(&known)?;
        if bytes > MAX_DEFINITIONS {
            return Err(McpError::LongDefinitions);
        }
        let name = known.definition.name.clone();
        if let Some(other) = tools.get(&name) {
            let (first, second) = (shown(&other.tool), shown(&known.tool));
            return Err(McpError::Collision { first, second, name });
        }
        tools.insert(name, known);
    }
    if tools.is_empty() {
        return Err(McpError::NoTools);
    }
    Ok(tools.into_values().collect())
}

fn define(server: &str, tool: Listed) -> Result<Known, McpError> {
    let refuse = |why: &str| McpError::BadDefinition { tool: shown(&tool.name), why: why.to_owned() };
    if tool.name.is_empty() {
        return Err(refuse("its name is empty"));
    }
    let Some(Value::Object(mut parameters)) = strip_value(&Value::Object(tool.schema.clone())) else {
        return Err(refuse("a name in its schema has a character that hides"));
    };
    match parameters.get("type").map(Value::as_str) {
        Some(Some("object")) => {}
        None => drop(parameters.insert("type", "object")),
        Some(_) => return Err(refuse("its arguments are not an object")),
    }
    let definition =
        ToolPlan { name: public_name(server, &tool.name), description: strip(&tool.description), parameters };
    Ok(Known { tool: tool.name, definition })
}

fn size(known: &Known) -> Result<usize, McpError> {
    let tool = || shown(&known.tool);
    let bytes = proofmark_canon::to_vec(&known.definition)
        .map_err(|error| McpError::BadDefinition { tool: tool(), why: error.to_string() })?;
    if bytes.len() > MAX_DEFINITION {
        return Err(McpError::LongDefinition { tool: tool() });
    }
    Ok(bytes.len())
}

/// `<server>_<tool>` with nothing in it that a provider would refuse.
fn public_name(server: &str, tool: &str) -> String {
    let fit = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' };
    format!("{server}_{tool}").chars().map(fit).take(MAX_NAME).collect()
}

/// Takes characters away that are not seen or that something obeys. Lines and tabs stay.
fn strip(text: &str) -> String {
    text.chars().filter(|c| matches!(c, '\n' | '\t') || !is_deceptive(*c)).collect()
}

/// The same for every text in a value; nothing when a member's name has such a character, since the model would have
/// to write it.
fn strip_value(value: &Value) -> Option<Value> {
    Some(match value {
        Value::String(text) => strip(text).into(),
        Value::Array(items) => items.iter().map(strip_value).collect::<Option<Vec<Value>>>()?.into(),
        Value::Object(map) => {
            let mut out = Vec::with_capacity(map.len());
            for (name, value) in map.iter() {
                if name.contains(is_deceptive) {
                    return None;
                }
                out.push((name.to_owned(), strip_value(value)?));
            }
            // Names are as they were, hence still different.
            Value::Object(Map::from_members(out).ok()?)
        }
        other => other.clone(),
    })
}

fn shown(name: &str) -> String {
    excerpt(name, MAX_NAME)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(name: &str) -> Listed {
        Listed { name: name.to_owned(), description: String::new(), schema: Map::new() }
    }

    fn with_schema(schema: &str) -> Listed {
        let Value::Object(schema) = proofmark_canon::json::parse(schema.as_bytes()).unwrap() else {
            panic!("{schema}")
        };
        Listed { schema, ..tool("t") }
    }

    fn names(known: &[Known]) -> Vec<(&str, &str)> {
        known.iter().map(|known| (known.definition.name.as_str(), known.tool.as_str())).collect()
    }

    #[test]
    fn tools_are_ordered_by_name_whatever_the_server_says_first() {
        let one = known("s", vec![tool("b"), tool("a.x"), tool("c")], None).unwrap();
        let two = known("s", vec![tool("c"), tool("b"), tool("a.x")], None).unwrap();
        assert_eq!(one, two);
        assert_eq!(names(&one), [("s_a_x", "a.x"), ("s_b", "b"), ("s_c", "c")]);
    }

    #[test]
    fn a_name_has_only_what_every_provider_takes_and_is_short() {
        for (name, want) in
            [("read file", "s_read_file"), ("ü/😀", "s____"), ("a-b_C9", "s_a-b_C9"), ("\u{1b}[", "s___")]
        {
            assert_eq!(public_name("s", name), want, "{name}");
        }
        assert_eq!(public_name("s", &"é".repeat(500)).len(), MAX_NAME);
    }

    #[test]
    fn two_tools_of_one_name_are_refused() {
        let long = "x".repeat(100);
        for (one, two) in [("a.b", "a_b"), ("a", "a"), (&*format!("{long}1"), &*format!("{long}2"))] {
            let error = known("s", vec![tool(one), tool(two)], None).unwrap_err();
            assert!(matches!(error, McpError::Collision { .. }), "{error}");
        }
        // A tool that nobody may call is in nobody's way.
        assert_eq!(known("s", vec![tool("a.b"), tool("a_b")], Some(&["a.b".to_owned()])).unwrap().len(), 1);
    }

    #[test]
    fn only_allowed_tools_are_known_and_a_missing_one_is_an_error() {
        let listed = || vec![tool("b"), tool("a")];
        assert_eq!(names(&known("s", listed(), Some(&["a".to_owned()])).unwrap()), [("s_a", "a")]);
        let error = known("s", listed(), Some(&["a".to_owned(), "z".to_owned()])).unwrap_err();
        assert_eq!(error.to_string(), "it has no tool `z`, which `allow` names; it has `a`, `b`");
        assert!(matches!(known("s", listed(), Some(&[])), Err(McpError::NoTools)));
        assert!(matches!(known("s", Vec::new(), None), Err(McpError::NoTools)));
    }

    #[test]
    fn text_loses_what_hides_or_obeys() {
        let hostile = Listed {
            description: "a\u{1b}[2Jb\u{202e}c\u{200b}d\ne\tf\0\u{e0041}".to_owned(),
            ..with_schema(r#"{"properties":{"x":{"description":"\u001b\u2066y","enum":["\u0007z",1]}}}"#)
        };
        let known = known("s", vec![hostile], None).unwrap();
        let definition = &known[0].definition;
        assert_eq!(definition.description, "a[2Jbcd\ne\tf");
        let schema = String::from_utf8(Value::Object(definition.parameters.clone()).to_canonical()).unwrap();
        assert_eq!(schema, r#"{"properties":{"x":{"description":"y","enum":["z",1]}},"type":"object"}"#);
    }

    #[test]
    fn a_schema_that_no_model_could_follow_is_refused() {
        for schema in [r#"{"type":"string"}"#, r#"{"type":["object","null"]}"#, r#"{"properties":{"a\u202eb":{}}}"#] {
            let error = known("s", vec![with_schema(schema)], None).unwrap_err();
            assert!(matches!(error, McpError::BadDefinition { .. }), "{schema}: {error}");
        }
    }

    #[test]
    fn what_is_too_much_is_refused() {
        let many = |count: usize| (0..count).map(|at| tool(&format!("t{at}"))).collect::<Vec<_>>();
        assert_eq!(known("s", many(MAX_TOOLS), None).unwrap().len(), MAX_TOOLS);
        assert!(matches!(known("s", many(MAX_TOOLS + 1), None), Err(McpError::TooManyTools)));
        let long = |bytes: usize, name: &str| Listed { description: "x".repeat(bytes), ..tool(name) };
        assert!(known("s", vec![long(MAX_DEFINITION - 200, "a")], None).is_ok());
        assert!(matches!(known("s", vec![long(MAX_DEFINITION, "a")], None), Err(McpError::LongDefinition { .. })));
        let all = (0..17).map(|at| long(MAX_DEFINITION - 200, &format!("t{at}"))).collect();
        assert!(matches!(known("s", all, None), Err(McpError::LongDefinitions)));
    }
}
