//! The same rules for a blocking client that another library makes: gix.

use std::sync::Arc;
use std::time::Duration;

use reqwest::blocking::ClientBuilder;
use url::Url;

use crate::address::is_near;
use crate::resolver::{NetworkReach, Resolver};
use crate::tls::shared_config;

/// A client for `url`, whose name may lead as far as `reach` says. It gives up on a server that sends nothing
/// for `stalled`. The caller decides how long an answer may take in all, and where redirects may lead
/// ([`within_origin`](crate::within_origin)).
pub fn configure_blocking(
    builder: ClientBuilder,
    url: &Url,
    reach: &NetworkReach,
    stalled: Duration,
) -> ClientBuilder {
    let builder =
        builder.redirect(reqwest::redirect::Policy::none()).retry(reqwest::retry::never()).timeout(stalled);
    let builder = match shared_config() {
        Some(config) => builder.tls_backend_preconfigured(config),
        None => builder,
    };
    if is_near(url) { builder.no_proxy() } else { builder.dns_resolver(Arc::new(Resolver::new(reach))) }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use reqwest::blocking::Client;

    use super::*;
    use crate::trouble::OutboundError;

    #[test]
    fn a_name_that_leads_to_this_machine_is_called_by_this_machines_name_alone() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap();
        drop(listener);
        let asked = |configured_for: &str| {
            let url = configured_for.parse().unwrap();
            let patience = Duration::from_secs(30);
            let client = configure_blocking(Client::builder(), &url, &NetworkReach::Network, patience);
            let answer = client.build().unwrap().get(format!("http://localhost:{}/", at.port())).send();
            OutboundError::of(&answer.unwrap_err())
        };
        let beyond = OutboundError::OutOfReach("of this machine, its link or a metadata service");
        assert_eq!(asked("https://git.example.com/fleet.git"), beyond);
        assert_eq!(asked("http://localhost/fleet.git"), OutboundError::Refused);
    }
}
