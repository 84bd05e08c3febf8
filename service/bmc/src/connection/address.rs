//! The addresses that BMCs may have, and what is asked of their certificates. A user names them and the service connects.

use std::net::SocketAddr;
use std::time::Duration;

use muster_outgoing::Networks;
use url::Url;

use crate::error::AddressError;

/// The rules for addresses.
#[derive(Debug, Clone)]
pub struct AddressRules {
    /// Networks that BMCs may be in.
    pub networks: Networks,
    /// Allows `http` for BMCs without TLS.
    pub plain_http: bool,
    /// Ports that BMCs may have; empty: any.
    pub ports: Vec<u16>,
    /// A certificate is accepted only if an operator gave or accepted its fingerprint, or an authority signed it: never because it is the first,
    /// and never unchecked.
    pub known_certificates: bool,
}

impl Default for AddressRules {
    /// https on port 443, in the default networks.
    fn default() -> Self {
        Self {
            networks: Networks::default(),
            plain_http: false,
            ports: vec![443],
            known_certificates: false,
        }
    }
}

/// A BMC's place, resolved once: every connection goes to `address`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// Scheme, host and port.
    pub base: Url,
    pub address: SocketAddr,
}

impl AddressRules {
    /// Resolves the address `https://HOST[:PORT]` and checks it by the rules. Of several addresses of a name, returns the first allowed
    /// one.
    pub(crate) async fn resolve(&self, address: &str, deadline: Duration) -> Result<Place, AddressError> {
        let (base, port) = self.base(address)?;
        let no_address = || AddressError::NotAnAddress(address.to_owned());
        let host = base.host_str().ok_or_else(no_address)?;
        let found = self.networks.resolve(host, port, deadline).await?;
        let address = *found.first().ok_or_else(no_address)?;
        Ok(Place { base, address })
    }

    fn base(&self, address: &str) -> Result<(Url, u16), AddressError> {
        let no_address = || AddressError::NotAnAddress(without_user(address));
        let url = Url::parse(address.trim()).map_err(|_| no_address())?;
        let bare = url.username().is_empty()
            && url.password().is_none()
            && matches!(url.path(), "" | "/" | "/redfish" | "/redfish/v1" | "/redfish/v1/")
            && url.query().is_none()
            && url.fragment().is_none();
        match url.scheme() {
            "https" => {}
            "http" if self.plain_http => {}
            "http" => return Err(AddressError::PlainHttp),
            _ => return Err(no_address()),
        }
        let port = url.port_or_known_default().ok_or_else(no_address)?;
        if !bare {
            return Err(no_address());
        }
        if !self.ports.is_empty() && !self.ports.contains(&port) {
            return Err(AddressError::Port(port));
        }
        let base = url.join("/").map_err(|_| no_address())?;
        Ok((base, port))
    }
}

/// Removes the part before `@`, which may be a password.
fn without_user(address: &str) -> String {
    match address.rsplit_once('@') {
        Some((_, host)) => format!("...@{host}"),
        None => address.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Duration = Duration::from_secs(5);

    async fn refusal(rules: &AddressRules, address: &str) -> String {
        rules.resolve(address, NOW).await.unwrap_err().to_string()
    }

    #[tokio::test]
    async fn ports_and_networks_are_held_to() {
        let rules = AddressRules {
            networks: Networks::named(&["2001:db8::/32".parse().unwrap()], &[]),
            ports: vec![443, 8443],
            ..AddressRules::default()
        };
        let place = rules.resolve("https://[2001:db8::7]:8443/", NOW).await.unwrap();
        assert_eq!(place.address, "[2001:db8::7]:8443".parse().unwrap());
        assert!(
            rules
                .resolve("https://[2001:db8::7]/redfish/v1", NOW)
                .await
                .is_ok()
        );
        for (address, why) in [
            ("https://127.0.0.1", "loopback"),
            ("https://2130706433", "loopback"),
            ("https://198.51.100.1", "none of the networks"),
            ("https://[2001:db8::7]:22", "port 22"),
        ] {
            assert!(refusal(&rules, address).await.contains(why), "{address}");
        }
    }

    #[tokio::test]
    async fn an_address_is_a_scheme_and_a_host() {
        let mut rules = AddressRules::default();
        for wrong in [
            "192.0.2.1",
            "ftp://192.0.2.1",
            "https://",
            "https://192.0.2.1/other",
            "https://192.0.2.1/?a=b",
            "https://192.0.2.1/#a",
        ] {
            assert!(refusal(&rules, wrong).await.contains("is expected"), "{wrong}");
        }
        let secret = refusal(&rules, "https://admin:s3cret@192.0.2.1").await;
        assert!(
            secret.contains("without user") && !secret.contains("s3cret"),
            "{secret}"
        );
        assert!(refusal(&rules, "http://192.0.2.1").await.contains("use https"));
        rules.plain_http = true;
        rules.ports = Vec::new();
        assert!(rules.resolve("http://192.0.2.1:8000", NOW).await.is_ok());
        let nowhere = refusal(&rules, "https://bmc.invalid").await;
        assert!(nowhere.contains("has no address"), "{nowhere}");
    }
}
