//! Evaluates an arithmetic expression, with the same digits on every machine.

use proofmark_artefact::suite::plan::ToolPlan;
use proofmark_canon::{Number, json, math};

use crate::args::Args;
use crate::build::definition;
use crate::tool::{Call, Calling, Tool, ToolError, ToolOutput};

/// The `calculator` tool.
pub(crate) struct Calculator {
    definition: ToolPlan,
}

impl Calculator {
    pub(crate) fn new() -> Self {
        let about = "Evaluates an arithmetic expression and returns the number. It knows + - * / % ** and brackets, \
                     sqrt, abs, floor, ceil, round, min, max, ln, log10, exp, sin, cos, tan (radians), pi and e.";
        let argument = ("expression", "string", "For example `(1 + 2.5e3) * sqrt(2) ** 3`.", true);
        Self { definition: definition("calculator", about, &[argument]) }
    }
}

impl Tool for Calculator {
    fn definition(&self) -> &ToolPlan {
        &self.definition
    }

    fn call<'a>(&'a self, call: Call<'a>) -> Calling<'a> {
        Box::pin(async move {
            let expression = Args::of("calculator", call.args, &["expression"])?.text("expression")?;
            let result = evaluate(expression).map_err(|problem| ToolError::bad_arguments(problem.to_string()))?;
            Ok(ToolOutput::of_text(result))
        })
    }
}

/// Why an expression has no value. For the model to read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
enum Problem {
    #[error("the expression is empty")]
    Empty,
    #[error("the expression is longer than {MAX_LENGTH} bytes")]
    TooLong,
    #[error("the expression has more than {MAX_DEPTH} brackets or signs inside one another")]
    TooDeep,
    #[error("expected {expected} at character {at}, found {found}")]
    Syntax { expected: &'static str, at: usize, found: String },
    #[error(
        "there is no `{0}`; the calculator knows sqrt, abs, floor, ceil, round, min, max, ln, log10, exp, sin, cos, tan, pi and e"
    )]
    Unknown(String),
    #[error("`{name}` takes {takes}, not {given}")]
    Arguments { name: &'static str, takes: &'static str, given: usize },
    #[error("division by zero")]
    DivisionByZero,
    #[error("the result is too large")]
    Overflow,
    #[error("{0} has no value among the real numbers")]
    Undefined(&'static str),
}

/// The value, as text.
fn evaluate(expression: &str) -> Result<String, Problem> {
    if expression.len() > MAX_LENGTH {
        return Err(Problem::TooLong);
    }
    let mut reader = Reader { rest: expression, at: 1, depth: 0, is_rounded: false };
    reader.skip_space();
    if reader.rest.is_empty() {
        return Err(Problem::Empty);
    }
    let value = reader.sum()?;
    match reader.rest {
        "" => Ok(render(value, reader.is_rounded)),
        _ => Err(reader.unexpected("an operator or the end")),
    }
}

/// The number as ECMAScript writes it, and a warning where a double cannot tell integers apart.
fn render(value: f64, is_rounded: bool) -> String {
    let mut text = Vec::new();
    // Adding zero turns -0 to 0.
    json::append_number(value + 0.0, &mut text);
    let mut text = String::from_utf8_lossy(&text).into_owned();
    if is_rounded {
        text.push_str("\n[rounded to about 16 digits: whole numbers are exact below 2**53]");
    }
    text
}

/// Reads and evaluates from left to right.
struct Reader<'a> {
    rest: &'a str,
    /// The number of the next character, from 1.
    at: usize,
    depth: usize,
    /// A number on the way had more digits than a double keeps.
    is_rounded: bool,
}

impl<'a> Reader<'a> {
    fn sum(&mut self) -> Result<f64, Problem> {
        let mut value = self.product()?;
        loop {
            if self.take("+") {
                let right = self.product()?;
                value = self.checked(value + right)?;
            } else if self.take("-") {
                let right = self.product()?;
                value = self.checked(value - right)?;
            } else {
                return Ok(value);
            }
        }
    }

    fn product(&mut self) -> Result<f64, Problem> {
        let mut value = self.signed()?;
        loop {
            if self.rest.starts_with("**") {
                return Ok(value);
            } else if self.take("*") {
                let right = self.signed()?;
                value = self.checked(value * right)?;
            } else if self.take("/") {
                let right = divisor(self.signed()?)?;
                value = self.checked(value / right)?;
            } else if self.take("%") {
                let right = divisor(self.signed()?)?;
                value = self.checked(remainder(value, right))?;
            } else {
                return Ok(value);
            }
        }
    }

    /// Signs bind less than powers: `-2 ** 2` is -4.
    fn signed(&mut self) -> Result<f64, Problem> {
        if self.take("-") {
            return self.deeper(|reader| Ok(-reader.signed()?));
        }
        if self.take("+") {
            return self.deeper(Self::signed);
        }
        self.power()
    }

    fn power(&mut self) -> Result<f64, Problem> {
        let base = self.atom()?;
        if !self.take("**") && !self.take("^") {
            return Ok(base);
        }
        // From right to left, and the exponent may have a sign.
        let exponent = self.deeper(Self::signed)?;
        self.checked(raise(base, exponent)?)
    }

    fn atom(&mut self) -> Result<f64, Problem> {
        if self.take("(") {
            let value = self.deeper(Self::sum)?;
            self.expect(")", "`)`")?;
            return Ok(value);
        }
        let is_number = self.rest.starts_with(|c: char| c.is_ascii_digit() || c == '.');
        if is_number {
            return self.number();
        }
        let length = self.rest.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
        if length == 0 {
            return Err(self.unexpected("a number, a name or `(`"));
        }
        let name = self.rest.get(..length).unwrap_or_default().to_ascii_lowercase();
        self.advance(length);
        if !self.take("(") {
            return match name.as_str() {
                "pi" => Ok(std::f64::consts::PI),
                "e" => Ok(std::f64::consts::E),
                name if FUNCTIONS.contains(&name) => Err(self.unexpected("`(`")),
                _ => Err(Problem::Unknown(shorten(&name))),
            };
        }
        let arguments = self.deeper(Self::arguments)?;
        self.checked(apply(&name, &arguments)?)
    }

    fn arguments(&mut self) -> Result<Vec<f64>, Problem> {
        let mut arguments = Vec::new();
        if self.take(")") {
            return Ok(arguments);
        }
        loop {
            arguments.push(self.sum()?);
            if !self.take(",") {
                self.expect(")", "`,` or `)`")?;
                return Ok(arguments);
            }
        }
    }

    fn number(&mut self) -> Result<f64, Problem> {
        let bytes = self.rest.as_bytes();
        let digits = |from: usize| bytes.iter().skip(from).take_while(|byte| byte.is_ascii_digit()).count();
        let mut end = digits(0);
        let mut count = end;
        if bytes.get(end) == Some(&b'.') {
            let after = digits(end + 1);
            (end, count) = (end + 1 + after, count + after);
        }
        if count == 0 {
            return Err(self.unexpected("a digit"));
        }
        if matches!(bytes.get(end), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
            let exponent = digits(end + 1 + sign);
            if exponent > 0 {
                end += 1 + sign + exponent;
            }
        }
        let value = self.rest.get(..end).and_then(|text| text.parse::<f64>().ok());
        let value = value.ok_or_else(|| self.unexpected("a number"))?;
        self.advance(end);
        self.checked(value)
    }

    /// Refuses what is too large, and remembers whether digits may have been lost.
    fn checked(&mut self, value: f64) -> Result<f64, Problem> {
        self.is_rounded |= value.abs() > Number::MAX_SAFE as f64;
        if value.is_finite() { Ok(value) } else { Err(Problem::Overflow) }
    }

    fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T, Problem>) -> Result<T, Problem> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(Problem::TooDeep);
        }
        let value = read(self)?;
        self.depth -= 1;
        Ok(value)
    }

    fn take(&mut self, token: &str) -> bool {
        let is_next = self.rest.starts_with(token);
        if is_next {
            self.advance(token.len());
        }
        is_next
    }

    fn expect(&mut self, token: &str, expected: &'static str) -> Result<(), Problem> {
        if self.take(token) { Ok(()) } else { Err(self.unexpected(expected)) }
    }

    /// Passes over bytes that are known to be ASCII, and the space behind them.
    fn advance(&mut self, bytes: usize) {
        self.rest = self.rest.get(bytes..).unwrap_or_default();
        self.at += bytes;
        self.skip_space();
    }

    fn skip_space(&mut self) {
        let rest = self.rest.trim_start();
        let space = self.rest.len() - rest.len();
        self.at += self.rest.get(..space).unwrap_or_default().chars().count();
        self.rest = rest;
    }

    fn unexpected(&self, expected: &'static str) -> Problem {
        let found = match self.rest.chars().next() {
            Some(c) => format!("`{}`", c.escape_debug()),
            None => "the end".to_owned(),
        };
        Problem::Syntax { expected, at: self.at, found }
    }
}

fn apply(name: &str, arguments: &[f64]) -> Result<f64, Problem> {
    let Some(known) = FUNCTIONS.iter().find(|known| **known == name) else {
        return Err(Problem::Unknown(shorten(name)));
    };
    if matches!(*known, "min" | "max") {
        let pick = if *known == "min" { f64::min } else { f64::max };
        let takes = Problem::Arguments { name: known, takes: "at least one number", given: 0 };
        return arguments.iter().copied().reduce(pick).ok_or(takes);
    }
    if let ("round", [x, places]) = (*known, arguments) {
        return round_to(*x, *places);
    }
    let [x] = arguments else {
        let takes = if *known == "round" { "one or two numbers" } else { "one number" };
        return Err(Problem::Arguments { name: known, takes, given: arguments.len() });
    };
    let x = *x;
    match *known {
        "sqrt" if x < 0.0 => Err(Problem::Undefined("the square root of a negative number")),
        "sqrt" => Ok(x.sqrt()),
        "abs" => Ok(x.abs()),
        "floor" => Ok(x.floor()),
        "ceil" => Ok(x.ceil()),
        "round" => Ok(x.round_ties_even()),
        "ln" | "log10" if x <= 0.0 => Err(Problem::Undefined("the logarithm of zero or less")),
        "ln" => Ok(math::ln(x)),
        "log10" => Ok(math::log10(x)),
        "exp" => Ok(math::exp(x)),
        "sin" => Ok(math::sin(x)),
        "cos" => Ok(math::cos(x)),
        _ => Ok(math::tan(x)),
    }
}

/// Rounds to decimal places as Python does: the exact value of the double decides, and halves go to the even digit.
fn round_to(x: f64, places: f64) -> Result<f64, Problem> {
    if !(0.0..=15.0).contains(&places) || places.fract() > 0.0 {
        return Err(Problem::Undefined("rounding to other than 0 to 15 places"));
    }
    format!("{x:.*}", places as usize).parse().map_err(|_| Problem::Overflow)
}

fn raise(base: f64, exponent: f64) -> Result<f64, Problem> {
    if base == 0.0 && exponent < 0.0 {
        return Err(Problem::DivisionByZero);
    }
    if base < 0.0 && exponent.fract() != 0.0 {
        return Err(Problem::Undefined("a negative number to a broken power"));
    }
    Ok(math::pow(base, exponent))
}

/// The remainder has the sign of the divisor, as in Python.
fn remainder(value: f64, by: f64) -> f64 {
    let rest = value % by;
    if rest != 0.0 && (rest < 0.0) != (by < 0.0) { rest + by } else { rest }
}

fn divisor(value: f64) -> Result<f64, Problem> {
    if value == 0.0 { Err(Problem::DivisionByZero) } else { Ok(value) }
}

fn shorten(name: &str) -> String {
    name.chars().take(32).collect()
}

const FUNCTIONS: [&str; 13] =
    ["sqrt", "abs", "floor", "ceil", "round", "min", "max", "ln", "log10", "exp", "sin", "cos", "tan"];
const MAX_LENGTH: usize = 4096;
const MAX_DEPTH: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(expression: &str) -> String {
        evaluate(expression).unwrap_or_else(|problem| format!("! {problem}"))
    }

    #[test]
    fn expressions_have_the_value_that_people_expect() {
        for (expression, expected) in [
            ("1 + 2 * 3", "7"),
            ("(1+2)*3", "9"),
            ("2 ** 3 ** 2", "512"),
            ("-2 ** 2", "-4"),
            ("2 ** -1", "0.5"),
            ("2^10", "1024"),
            ("--3", "3"),
            ("7 % 3 + -7 % 3", "3"),
            ("7 % -3", "-2"),
            ("10 / 4", "2.5"),
            ("1 - 2 - 3", "-4"),
            ("8 / 4 / 2", "1"),
            ("0.1 + 0.2", "0.30000000000000004"),
            (".5 + 1.", "1.5"),
            ("1e3 + 2.5E-1", "1000.25"),
            ("0 * -1", "0"),
            ("1e21", "1e+21\n[rounded to about 16 digits: whole numbers are exact below 2**53]"),
            ("sqrt(2)", "1.4142135623730951"),
            ("SQRT(16) + abs(-3) + floor(-1.5) + ceil(1.2)", "7"),
            ("round(2.5) + round(3.5)", "6"),
            ("round(2.675, 2) + round(-1.25, 1)", "1.47"),
            ("min(3, 1, 2) * max(4)", "4"),
            ("ln(e) + log10(1000) + exp(0)", "5"),
            ("sin(0) + cos(0) + tan(0)", "1"),
            ("pi", "3.141592653589793"),
            ("\u{a0} 1\t+\n1 ", "2"),
            ("9007199254740991 - 1", "9007199254740990"),
        ] {
            assert_eq!(shown(expression), expected, "{expression}");
        }
    }

    #[test]
    fn functions_of_other_than_four_basic_operations_have_the_digits_of_libm() {
        let expressions = ["ln(3)", "exp(1)", "sin(1)", "cos(1)", "tan(1)", "2 ** 0.5", "1.1 ** 10", "log10(2)"];
        let expected = [
            "1.0986122886681096",
            "2.7182818284590455",
            "0.8414709848078965",
            "0.5403023058681398",
            "1.5574077246549023",
            "1.4142135623730951",
            "2.5937424601000023",
            "0.3010299956639812",
        ];
        assert_eq!(expressions.map(shown), expected);
    }

    #[test]
    fn what_has_no_value_is_told_why() {
        for (expression, expected) in [
            ("", "the expression is empty"),
            (" ", "the expression is empty"),
            ("1 +", "expected a number, a name or `(` at character 4, found the end"),
            ("1 + é", "expected a number, a name or `(` at character 5, found `é`"),
            ("(1 + 2", "expected `)` at character 7, found the end"),
            ("1 2", "expected an operator or the end at character 3, found `2`"),
            ("2pi", "expected an operator or the end at character 2, found `p`"),
            ("1.2.3", "expected an operator or the end at character 4, found `.`"),
            (".", "expected a digit at character 1, found `.`"),
            ("max(1 2)", "expected `,` or `)` at character 7, found `2`"),
            ("sin", "expected `(` at character 4, found the end"),
            ("min()", "`min` takes at least one number, not 0"),
            ("ln(1, 2)", "`ln` takes one number, not 2"),
            ("round()", "`round` takes one or two numbers, not 0"),
            ("round(1, 0.5)", "rounding to other than 0 to 15 places has no value among the real numbers"),
            ("1 / 0", "division by zero"),
            ("1 % (2 - 2)", "division by zero"),
            ("0 ** -1", "division by zero"),
            ("1e308 * 10", "the result is too large"),
            ("1e999", "the result is too large"),
            ("exp(1000)", "the result is too large"),
            ("9 ** 9 ** 9", "the result is too large"),
            ("sqrt(-1)", "the square root of a negative number has no value among the real numbers"),
            ("ln(0)", "the logarithm of zero or less has no value among the real numbers"),
            ("(-8) ** (1/3)", "a negative number to a broken power has no value among the real numbers"),
        ] {
            assert_eq!(shown(expression), format!("! {expected}"), "{expression}");
        }
        assert!(shown("import os").starts_with("! there is no `import`; the calculator knows sqrt"));
        assert!(shown(&"a".repeat(4000)).len() < 200);
    }

    #[test]
    fn lost_digits_are_told_also_when_the_result_is_small() {
        let note = "\n[rounded to about 16 digits: whole numbers are exact below 2**53]";
        assert_eq!(shown("9007199254740993 - 9007199254740992"), format!("0{note}"));
        assert_eq!(shown("2 ** 53 + 1"), format!("9007199254740992{note}"));
    }

    #[test]
    fn depth_and_length_are_bounded() {
        for deep in ["(".repeat(4000), "-".repeat(4000), "2**".repeat(1000), "abs(".repeat(1000)] {
            assert_eq!(evaluate(&deep), Err(Problem::TooDeep));
        }
        assert_eq!(evaluate(&"1".repeat(4097)), Err(Problem::TooLong));
        assert_eq!(shown(&["1"; 2000].join("+")), "2000");
    }

    proptest::proptest! {
        #[test]
        fn any_text_has_a_value_or_a_reason(text in "[-+*/%^().,0-9e a-z\\PC]{0,60}") {
            if let Ok(shown) = evaluate(&text) {
                proptest::prop_assert!(shown.parse::<f64>().is_ok() || shown.contains('['));
            }
        }
    }
}
