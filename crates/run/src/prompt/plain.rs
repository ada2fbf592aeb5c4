//! Templates that only put texts in: most are of that kind, and need no machine to be filled in.

use proofmark_canon::Value;

/// A template that is text and names of variables, such as `Question: {{ input }}`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Plain {
    /// What stands before each name, and the name.
    pieces: Vec<(String, String)>,
    /// What stands after the last.
    rest: String,
}

/// Words that are no variables to a template.
const RESERVED: [&str; 9] = ["true", "True", "false", "False", "none", "None", "loop", "self", "not"];

impl Plain {
    /// `None` for a template that does more, or that might.
    pub(super) fn read(source: &str) -> Option<Self> {
        // As templates do: a line end at the end is the file's.
        let source = source.strip_suffix('\n').unwrap_or(source);
        let source = source.strip_suffix('\r').unwrap_or(source);
        if source.contains("{%") || source.contains("{#") {
            return None;
        }
        let (mut pieces, mut rest) = (Vec::new(), source);
        while let Some((before, after)) = rest.split_once("{{") {
            let (name, after) = after.split_once("}}")?;
            let name = name.trim_matches(' ');
            let is_name = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
                && name.chars().all(|next| next.is_ascii_alphanumeric() || next == '_')
                && !RESERVED.contains(&name);
            if !is_name {
                return None;
            }
            pieces.push((before.to_owned(), name.to_owned()));
            rest = after;
        }
        Some(Self { pieces, rest: rest.to_owned() })
    }

    /// Fills it in. `None` when a variable is missing or is no text.
    pub(super) fn render<'a>(&self, get: impl Fn(&str) -> Option<&'a Value>) -> Option<String> {
        let values: Vec<&str> = self.pieces.iter().map(|(_, name)| get(name)?.as_str()).collect::<Option<_>>()?;
        let length = self.pieces.iter().zip(&values).map(|((before, _), value)| before.len() + value.len());
        let mut text = String::with_capacity(length.sum::<usize>() + self.rest.len());
        for ((before, _), value) in self.pieces.iter().zip(values) {
            text.push_str(before);
            text.push_str(value);
        }
        text.push_str(&self.rest);
        Some(text)
    }
}

#[cfg(test)]
mod tests {
    use minijinja::{Environment, UndefinedBehavior, context};
    use proptest::prelude::*;

    use super::*;

    /// What a template gives with `input` and `name` as they are, where it gives anything.
    fn jinja(source: &str, input: &str, name: &str) -> Option<String> {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.add_template("t", source).ok()?;
        environment.get_template("t").ok()?.render(context! { input, name }).ok()
    }

    fn plain(source: &str, input: &str, name: &str) -> Option<String> {
        let (input, name) = (Value::from(input), Value::from(name));
        Plain::read(source)?.render(|asked| match asked {
            "input" => Some(&input),
            "name" => Some(&name),
            _ => None,
        })
    }

    #[test]
    fn texts_and_names_are_plain() {
        for source in
            ["{{ input }}", "{{input}}", "", "no name", "Q: {{ input }}\nA ({{name}}):\n", "{ {{ input }} }}", "a\r\n"]
        {
            let filled = plain(source, "in {{ name }} {# put", "");
            assert!(filled.is_some(), "{source}");
            assert_eq!(filled, jinja(source, "in {{ name }} {# put", ""), "{source}");
        }
    }

    #[test]
    fn what_does_more_is_not() {
        for source in [
            "{{ input|upper }}",
            "{{- input }}",
            "{{ input -}}",
            "{{ input.name }}",
            "{{ 'input' }}",
            "{{ true }}",
            "{{ loop }}",
            "{# input #}",
            "{% if input %}a{% endif %}",
            "{{ input",
            "{{ }}",
            "{{ 1 }}",
            "{{ a b }}",
        ] {
            assert_eq!(Plain::read(source), None, "{source}");
        }
        assert_eq!(plain("{{ other }}", "", ""), None, "undefined");
    }

    proptest! {
        #[test]
        fn it_is_filled_in_as_by_the_machine(
            pieces in proptest::collection::vec(
                prop_oneof![
                    Just("{{ input }}"), Just("{{input}}"), Just("{{  name}}"), Just("{{\tname }}"), Just("{{- name }}"), Just("{{ name -}}"),
                    Just("{{ other }}"), Just("{{ not }}"), Just("{{+ name }}"), Just("{{"), Just("}}"), Just("{"), Just("}"), Just("{#"), Just("#}"),
                    Just("{%"), Just("%}"), Just("\n"), Just("\r\n"), Just("\r"), Just(" "), Just("text"), Just("é"), Just("-"), Just("#"),
                ],
                0..8,
            ),
            input in "\\PC{0,6}", name in "[a-z{}\n]{0,4}",
        ) {
            let source = pieces.concat();
            if let Some(filled) = plain(&source, &input, &name) {
                prop_assert_eq!(Some(filled), jinja(&source, &input, &name), "{:?}", source);
            }
        }
    }
}
