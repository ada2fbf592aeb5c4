//! Names of hosts, and the addresses behind them.
//!
//! The client connects to exactly what is returned here, and asks here for every connection. Between the check and the use
//! of an address there is no second look at the name.

use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::rules::Judge;

/// Finds the addresses of a name.
pub(crate) trait Lookup: Send + Sync {
    fn lookup(&self, name: &str) -> LookingUp;
}

/// Addresses to come.
pub(crate) type LookingUp = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>>;

/// What the system says.
pub(crate) struct SystemLookup;

impl Lookup for SystemLookup {
    fn lookup(&self, name: &str) -> LookingUp {
        let name = name.to_owned();
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }
}

/// Why a name leads nowhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum NameError {
    #[error("the name is not known")]
    Unknown,
    #[error("the name stands for an address that is not public")]
    Private,
}

/// Answers the client.
pub(super) struct Resolver {
    pub(super) lookup: Arc<dyn Lookup>,
    /// `None` when any address will do.
    pub(super) judge: Option<Judge>,
}

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let (looking, judge) = (self.lookup.lookup(name.as_str()), self.judge);
        Box::pin(async move {
            let found = looking.await.map_err(|_| NameError::Unknown)?;
            let found = judge_all(found, judge)?;
            // The client puts in the port.
            let addresses: Addrs = Box::new(found.into_iter().map(|address| SocketAddr::new(address, 0)));
            Ok(addresses)
        })
    }
}

/// A name with one address that is not public is refused as a whole: whoever answers for it could have left the others
/// out, or have them fail.
fn judge_all(found: Vec<IpAddr>, judge: Option<Judge>) -> Result<Vec<IpAddr>, NameError> {
    if found.is_empty() {
        return Err(NameError::Unknown);
    }
    match judge {
        Some(judge) if !found.iter().all(|address| judge(*address)) => Err(NameError::Private),
        _ => Ok(found),
    }
}

#[cfg(test)]
mod tests {
    use super::super::address::is_public;
    use super::*;

    #[test]
    fn one_private_address_spoils_the_name() {
        for (addresses, expected) in [
            (vec![], Err(NameError::Unknown)),
            (vec!["8.8.8.8", "2606:4700::1"], Ok(())),
            (vec!["127.0.0.1"], Err(NameError::Private)),
            (vec!["8.8.8.8", "10.0.0.1"], Err(NameError::Private)),
            (vec!["8.8.8.8", "::1"], Err(NameError::Private)),
            (vec!["::ffff:8.8.8.8"], Err(NameError::Private)),
        ] {
            let found: Vec<IpAddr> = addresses.iter().map(|text| text.parse().unwrap()).collect();
            let judged = judge_all(found.clone(), Some(is_public));
            assert_eq!(judged.clone().map(drop), expected, "{addresses:?}");
            assert!(judged.is_err() || judged == Ok(found.clone()));
            if !found.is_empty() {
                assert_eq!(judge_all(found.clone(), None), Ok(found));
            }
        }
    }
}
