//! Gets a page and makes text of it.

use std::time::Duration;

use proofmark_artefact::suite::plan::ToolPlan;
use proofmark_artefact::suite::solver::AgentToolPlan;
use proofmark_canon::Value;
use reqwest::{StatusCode, Url, header};

use super::charset::{self, Charset};
use super::client::{Body, Client, MAX_URL, Reply};
use super::html::{Readable, line, plain, to_text};
use super::rules::Rules;
use super::{Network, WebError};
use crate::build::Surroundings;
use crate::output::{cut, cut_unknown};
use crate::tool::{Call, Calling, Failure, Tool, ToolError, ToolOutput};

/// The `web_fetch` tool.
pub struct Fetch {
    definition: ToolPlan,
    client: Client,
    /// Of a body, at most.
    max_bytes: u64,
    /// Of what the model is shown, at most.
    max_output: u64,
    timeout: Duration,
}

/// What a page says it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Html,
    /// Text that is shown as it is.
    Text,
    Pdf,
    /// It says nothing.
    Untold,
    /// Nothing that can be read.
    Other,
}

const ACCEPT: &str = "text/html, application/xhtml+xml, text/*;q=0.9, application/json;q=0.9, application/xml;q=0.9";

impl Fetch {
    pub fn new(plan: &AgentToolPlan, _: &Surroundings) -> Result<Self, WebError> {
        Self::on(plan, &Network::default())
    }

    pub(super) fn on(plan: &AgentToolPlan, network: &Network) -> Result<Self, WebError> {
        let AgentToolPlan::WebFetch { max_bytes, allow_private, block_domains, max_output, timeout } = plan else {
            return Err(WebError::OtherPlan);
        };
        let definition = crate::build::definition(
            "web_fetch",
            "Gets a page of the web and returns its text. HTML is turned into plain text with the addresses of links \
             behind them; JSON, XML and other text comes as it is. Pictures, archives and other files cannot be read.",
            &[("url", "string", "The page's whole address, with `https://` or `http://`.", true)],
        );
        let rules = Rules::new(allow_private, block_domains)?;
        Ok(Self {
            definition,
            client: Client::new(rules, network)?,
            max_bytes: *max_bytes,
            max_output: *max_output,
            timeout: seconds(*timeout),
        })
    }

    async fn fetch(&self, url: Url) -> Result<ToolOutput, ToolError> {
        let reply = self.client.get(url, ACCEPT).await?;
        let (status, url) = (reply.status(), reply.url.clone());
        let content_type = reply.header(header::CONTENT_TYPE).map(|text| line(text, 200));
        let mut output = ToolOutput { source: Some(url.to_string()), ..ToolOutput::default() };
        output.is_error = !status.is_success();
        let kind = kind_of(content_type.as_deref());
        let why_not = if is_packed(&reply) { Some("it came packed, which was not asked for".to_owned()) } else { None };
        let why_not = why_not.or_else(|| (kind == Kind::Other).then(|| about(content_type.as_deref(), reply.length())));
        if let Some(why_not) = why_not {
            if status.is_success() {
                return Err(ToolError::new(Failure::Refused, format!("the page cannot be read: {why_not}")));
            }
            output.content = status_line(status).into_bytes();
            return Ok(output);
        }
        let length = reply.length();
        if kind == Kind::Pdf {
            output.is_error = true;
            output.content = pdf(length).into_bytes();
            return Ok(output);
        }
        let body = reply.read(self.max_bytes).await?;
        if body.bytes.starts_with(b"%PDF-") {
            output.is_error = true;
            output.content = pdf((!body.is_cut).then_some(body.bytes.len() as u64)).into_bytes();
            return Ok(output);
        }
        output.content = self.render(&url, status, content_type.as_deref(), kind, &body)?;
        Ok(output)
    }

    /// What the model is shown of a page.
    fn render(
        &self,
        url: &Url,
        status: StatusCode,
        content_type: Option<&str>,
        kind: Kind,
        body: &Body,
    ) -> Result<Vec<u8>, ToolError> {
        let is_html = kind == Kind::Html || (kind == Kind::Untold && looks_like_html(&body.bytes));
        let charset = charset::find(content_type, &body.bytes, is_html);
        let decoded = charset::decode(&body.bytes, &charset);
        if decoded.chars().take(LOOK).any(|character| character == '\0') {
            return Err(ToolError::new(Failure::Refused, "the page cannot be read: it is not text"));
        }
        let most = usize::try_from(self.max_output).unwrap_or(usize::MAX);
        let Readable { mut text, is_cut } = if is_html { to_text(&decoded, url, most) } else { plain(&decoded, most) };
        if text.is_empty() {
            text = "[the page has no text]".to_owned();
        }
        if !status.is_success() {
            text.insert_str(0, &format!("{}\n\n", status_line(status)));
        }
        if is_cut {
            return Ok(cut_unknown(text.into_bytes(), self.max_output));
        }
        if body.is_cut {
            text.push_str(&format!("\n\n[cut: only the first {} bytes of the page were read]\n", body.bytes.len()));
        }
        if let Charset::Unknown(label) = charset {
            text.push_str(&format!("\n\n[the page's charset `{label}` is not known: characters may be wrong]\n"));
        }
        Ok(cut(text.into_bytes(), self.max_output))
    }
}

impl Tool for Fetch {
    fn definition(&self) -> &ToolPlan {
        &self.definition
    }

    fn call<'a>(&'a self, call: Call<'a>) -> Calling<'a> {
        Box::pin(async move {
            let url = parse(call.args)?;
            let host = url.host_str().unwrap_or_default().to_owned();
            match tokio::time::timeout(self.timeout, self.fetch(url)).await {
                Ok(result) => result,
                Err(_) => Err(ToolError::new(Failure::Timeout, format!("`{host}` did not answer in time"))),
            }
        })
    }
}

/// How many characters of a text are looked at to see that it is one.
const LOOK: usize = 8192;

fn parse(args: &Value) -> Result<Url, ToolError> {
    let text = args.get("url").and_then(Value::as_str);
    let text = text.ok_or_else(|| ToolError::bad_arguments("`web_fetch` needs the argument `url`, a string"))?;
    if text.len() > MAX_URL {
        return Err(ToolError::bad_arguments(format!("an address has at most {MAX_URL} bytes")));
    }
    Url::parse(text)
        .map_err(|_| ToolError::bad_arguments("`url` is not a whole address: it begins with `https://` or `http://`"))
}

/// The time that a call may take.
pub(super) fn seconds(given: f64) -> Duration {
    Duration::try_from_secs_f64(given).unwrap_or(Duration::from_secs(30))
}

/// Our own words for a status: those of the server may be anything.
pub(super) fn status_line(status: StatusCode) -> String {
    format!("HTTP {} {}", status.as_u16(), status.canonical_reason().unwrap_or_default()).trim_end().to_owned()
}

fn kind_of(content_type: Option<&str>) -> Kind {
    let essence = content_type.unwrap_or_default().split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    match essence.as_str() {
        "" => Kind::Untold,
        "text/html" | "application/xhtml+xml" => Kind::Html,
        "application/pdf" | "application/x-pdf" => Kind::Pdf,
        "application/json"
        | "application/xml"
        | "application/javascript"
        | "application/x-ndjson"
        | "application/yaml"
        | "application/x-yaml"
        | "application/x-tex" => Kind::Text,
        other if other.starts_with("text/") || other.ends_with("+json") || other.ends_with("+xml") => Kind::Text,
        _ => Kind::Other,
    }
}

fn looks_like_html(bytes: &[u8]) -> bool {
    let head = bytes[..bytes.len().min(LOOK)].trim_ascii_start().to_ascii_lowercase();
    head.starts_with(b"<!doctype html") || head.starts_with(b"<html")
}

fn is_packed(reply: &Reply) -> bool {
    reply.header(header::CONTENT_ENCODING).is_some_and(|coding| {
        let coding = coding.trim();
        !coding.is_empty() && !coding.eq_ignore_ascii_case("identity")
    })
}

fn about(content_type: Option<&str>, length: Option<u64>) -> String {
    format!("it is `{}`, {}", content_type.unwrap_or_default(), size(length))
}

fn pdf(length: Option<u64>) -> String {
    format!("[a PDF document, {}: its text cannot be read with this tool]", size(length))
}

fn size(length: Option<u64>) -> String {
    length.map_or_else(|| "of unknown size".to_owned(), |length| format!("{length} bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_sorted_by_what_can_be_made_of_them() {
        for (content_type, expected) in [
            (None, Kind::Untold),
            (Some(" "), Kind::Untold),
            (Some("TEXT/HTML; charset=utf-8"), Kind::Html),
            (Some("application/xhtml+xml"), Kind::Html),
            (Some("text/csv"), Kind::Text),
            (Some("application/ld+json"), Kind::Text),
            (Some("application/rss+xml"), Kind::Text),
            (Some("application/pdf"), Kind::Pdf),
            (Some("application/zip"), Kind::Other),
            (Some("image/png"), Kind::Other),
            (Some("application/octet-stream"), Kind::Other),
            (Some("nonsense"), Kind::Other),
        ] {
            assert_eq!(kind_of(content_type), expected, "{content_type:?}");
        }
    }

    #[test]
    fn a_status_is_told_in_our_words() {
        let of = |status| status_line(StatusCode::from_u16(status).unwrap());
        assert_eq!(of(404), "HTTP 404 Not Found");
        assert_eq!(of(599), "HTTP 599");
    }
}
