//! Pages and searches that cannot reach private addresses.
//!
//! - `address` which addresses are public; `rules` where a suite lets an agent go;
//! - `resolve` names of hosts; `client` requests that keep to the rules;
//! - `fetch` the `web_fetch` tool; `search` the `web_search` tool; `engine` what search engines are asked and answer;
//! - `html`, `markup`, `entity`, `charset` pages as text.

use std::sync::Arc;

mod address;
mod charset;
mod client;
mod engine;
mod entity;
mod fetch;
mod html;
mod markup;
mod resolve;
mod rules;
mod search;
#[cfg(test)]
mod tests;

pub use fetch::Fetch;
pub use search::{Search, key_variable};

/// A tool of the web cannot be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WebError {
    #[error("the environment variable `{0}` is not set")]
    NoKey(String),
    #[error("the key in `{0}` has a character that no header can hold")]
    BadKey(String),
    #[error("`{0}` would be sent to another address than `{1}`, and no variable is named for it")]
    KeyNotNamed(String, &'static str),
    #[error("the key in `{name}` would be sent to `{host}`")]
    KeyElsewhere { name: String, host: String },
    #[error("a key would go to `{0}` unencrypted")]
    Unencrypted(String),
    #[error("`{0}` is not a host that can be allowed or blocked")]
    BadHost(String),
    /// It is not repeated: somebody may have put a key where the address belongs.
    #[error("`base_url` is not the address of a search engine")]
    BadBase,
    #[error("the search engine on `{0}` is not on the public internet")]
    Private(String),
    #[error("no certificates of authorities were found on this system, so nobody can be trusted")]
    NoRoots,
    #[error("the plan is one of another tool")]
    OtherPlan,
}

impl WebError {
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NoKey(name) => format!("export {name}=…, or name another variable with `api_key_env`"),
            Self::KeyNotNamed(..) => {
                "name the variable of that server's key with `api_key_env`, or leave `base_url` out".to_owned()
            }
            Self::KeyElsewhere { .. } => {
                "give that server a variable of its own, for example `SEARCH_API_KEY`".to_owned()
            }
            Self::Unencrypted(_) => "use `https://`, or leave the key out".to_owned(),
            Self::BadHost(_) => {
                "write `example.org`, which stands for everything below it too, or `localhost:8080` for one that is \
                 allowed"
                    .to_owned()
            }
            Self::BadBase => "write `https://host/path`".to_owned(),
            Self::Private(host) => format!("add `{host}` to the tool's `allow_private`"),
            Self::NoRoots => {
                "install them (`ca-certificates`), or let SSL_CERT_FILE name a file that holds them".to_owned()
            }
            Self::BadKey(_) | Self::OtherPlan => return None,
        })
    }
}

/// How names become addresses, which of them are public, and who vouches for hosts. Tests have their own.
struct Network {
    lookup: Arc<dyn resolve::Lookup>,
    judge: rules::Judge,
    roots: Roots,
}

/// Who may sign for a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Roots {
    /// Whom the system trusts, or SSL_CERT_FILE and SSL_CERT_DIR.
    System,
    /// Nobody. Tests need no authorities, and reading them takes longer than most tests.
    #[cfg(test)]
    Nobody,
}

impl Default for Network {
    fn default() -> Self {
        Self { lookup: Arc::new(resolve::SystemLookup), judge: address::is_public, roots: Roots::System }
    }
}
