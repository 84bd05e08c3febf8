//! Reads addresses of BMCs in Metal3's forms (docs/protocol/metal3.md#2.1) and in Muster's.

use url::Url;

/// The parts of a BMC's address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BmcAddress {
    pub host: String,
    /// The port; `None`: the protocol is not HTTP.
    pub port: Option<u16>,
    /// The scheme: `https` or `http`.
    scheme: &'static str,
    /// The path of the system; empty when the address has none.
    path: String,
}

impl BmcAddress {
    /// Parses an address; `None`: the text is no address.
    pub fn parse(address: &str) -> Option<Self> {
        let (driver, rest) = address.split_once("://").unwrap_or(("ipmi", address));
        let plain = driver == "http" || driver.ends_with("+http");
        let is_http = ["http", "redfish", "idrac", "ilo"]
            .iter()
            .any(|begin| driver.starts_with(begin));
        let scheme = if plain { "http" } else { "https" };
        // With a scheme that `Url` knows, so that it reads IPv6 addresses in brackets.
        let url = Url::parse(&format!("{scheme}://{rest}")).ok()?;
        Some(Self {
            host: url.host_str()?.to_owned(),
            port: url.port_or_known_default().filter(|_| is_http),
            scheme,
            path: url.path().trim_matches('/').to_owned(),
        })
    }

    /// `SCHEME://HOST:PORT` of a BMC with Redfish, and the id of its system if the address contains it.
    pub fn redfish(&self) -> Option<(String, Option<String>)> {
        let port = self.port?;
        let system = self.path.strip_prefix("redfish/v1/Systems/");
        let base = format!("{}://{}:{port}", self.scheme, self.host);
        Some((base, system.map(str::to_owned)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_forms_of_one_address_are_the_same_place() {
        for (address, host, port) in [
            ("https://10.0.8.17", "10.0.8.17", Some(443)),
            (
                "redfish-virtualmedia://10.0.8.17/redfish/v1/Systems/1",
                "10.0.8.17",
                Some(443),
            ),
            (
                "redfish-virtualmedia+http://10.0.8.17:8000/redfish/v1/Systems/1",
                "10.0.8.17",
                Some(8000),
            ),
            (
                "redfish+http://Bmc.Example/redfish/v1/Systems/1",
                "bmc.example",
                Some(80),
            ),
            (
                "idrac-virtualmedia+https://[2001:DB8::17]:8443/x",
                "[2001:db8::17]",
                Some(8443),
            ),
            ("ipmi://10.0.8.17:6230", "10.0.8.17", None),
            ("10.0.8.17", "10.0.8.17", None),
        ] {
            let found = BmcAddress::parse(address).unwrap();
            assert_eq!((found.host.as_str(), found.port), (host, port), "{address}");
        }
        assert_eq!(BmcAddress::parse("redfish://"), None);
    }

    #[test]
    fn an_address_of_redfish_names_the_system() {
        let redfish = |address: &str| BmcAddress::parse(address).unwrap().redfish();
        let system = "redfish-virtualmedia+http://10.0.8.17:8000/redfish/v1/Systems/System.Embedded.1";
        assert_eq!(
            redfish(system),
            Some(("http://10.0.8.17:8000".into(), Some("System.Embedded.1".into())))
        );
        assert_eq!(
            redfish("idrac-virtualmedia://[2001:db8::17]"),
            Some(("https://[2001:db8::17]:443".into(), None))
        );
        assert_eq!(redfish("ipmi://10.0.8.17"), None);
    }
}
