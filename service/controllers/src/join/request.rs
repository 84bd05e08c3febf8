//! Reads the content of a certificate signing request: PKCS #10 in PEM.

use std::collections::BTreeSet;
use std::net::IpAddr;

use x509_parser::certification_request::X509CertificationRequest;
use x509_parser::cri_attributes::ParsedCriAttribute;
use x509_parser::extensions::{GeneralName, ParsedExtension};
use x509_parser::oid_registry::{OID_X509_COMMON_NAME, OID_X509_ORGANIZATION_NAME};
use x509_parser::pem::parse_x509_pem;
use x509_parser::prelude::FromDer;

/// Longest request that is read, bytes.
const LONGEST: usize = 64 * 1024;

/// Data that is not a request for a certificate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    #[error("it has {0} bytes; at most {max} are read", max = LONGEST)]
    TooLong(usize),
    #[error("it is not PEM")]
    NoPem,
    #[error("its PEM block is no CERTIFICATE REQUEST")]
    OtherBlock,
    #[error("there is data after its PEM block")]
    AfterBlock,
    #[error("it is no PKCS #10 request")]
    NoRequest,
    #[error("there is data after the request in its PEM block")]
    AfterRequest,
    #[error("its subject is not text")]
    Subject,
    #[error("it has {0} common names instead of one")]
    CommonNames(usize),
    #[error("one of its addresses has neither 4 nor 16 bytes")]
    Address,
}

/// The certificate that is requested.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Request {
    pub common_name: String,
    pub organisations: Vec<String>,
    pub dns_names: BTreeSet<String>,
    pub addresses: BTreeSet<IpAddr>,
    /// Describes parts of the request that no kubelet's request has; each is a sentence.
    pub oddities: Vec<String>,
}

/// Reads a request.
///
/// # Errors
/// [`RequestError`]
pub fn read(pem: &[u8]) -> Result<Request, RequestError> {
    if pem.len() > LONGEST {
        return Err(RequestError::TooLong(pem.len()));
    }
    let (rest, block) = parse_x509_pem(pem).map_err(|_| RequestError::NoPem)?;
    if block.label != "CERTIFICATE REQUEST" {
        return Err(RequestError::OtherBlock);
    }
    if !rest.iter().all(u8::is_ascii_whitespace) {
        return Err(RequestError::AfterBlock);
    }
    let (rest, parsed) =
        X509CertificationRequest::from_der(&block.contents).map_err(|_| RequestError::NoRequest)?;
    if !rest.is_empty() {
        return Err(RequestError::AfterRequest);
    }
    let mut request = Request::default();
    subject(&parsed, &mut request)?;
    extensions(&parsed, &mut request)?;
    Ok(request)
}

fn subject(parsed: &X509CertificationRequest<'_>, request: &mut Request) -> Result<(), RequestError> {
    let mut common_names = Vec::new();
    for attribute in parsed.certification_request_info.subject.iter_attributes() {
        let text = || {
            let text = attribute.as_str().map(str::to_owned);
            text.map_err(|_| RequestError::Subject)
        };
        if *attribute.attr_type() == OID_X509_COMMON_NAME {
            common_names.push(text()?);
        } else if *attribute.attr_type() == OID_X509_ORGANIZATION_NAME {
            request.organisations.push(text()?);
        } else {
            request
                .oddities
                .push("its subject has more than a common name and an organisation".into());
        }
    }
    match <[String; 1]>::try_from(common_names) {
        Ok([name]) => request.common_name = name,
        Err(names) => return Err(RequestError::CommonNames(names.len())),
    }
    Ok(())
}

/// Reads all requests for extensions: signers read more than the first.
fn extensions(parsed: &X509CertificationRequest<'_>, request: &mut Request) -> Result<(), RequestError> {
    for attribute in parsed.certification_request_info.iter_attributes() {
        let ParsedCriAttribute::ExtensionRequest(requested) = attribute.parsed_attribute() else {
            request
                .oddities
                .push("it has an attribute other than a request for extensions".into());
            continue;
        };
        for extension in &requested.extensions {
            match extension.parsed_extension() {
                ParsedExtension::SubjectAlternativeName(names) => {
                    for name in &names.general_names {
                        alternative_name(name, request)?;
                    }
                }
                _ => request
                    .oddities
                    .push("it requests an extension other than names".into()),
            }
        }
    }
    Ok(())
}

fn alternative_name(name: &GeneralName<'_>, request: &mut Request) -> Result<(), RequestError> {
    match name {
        GeneralName::DNSName(name) => {
            request.dns_names.insert((*name).to_owned());
        }
        GeneralName::IPAddress(bytes) => {
            let v4 = <[u8; 4]>::try_from(*bytes).map(IpAddr::from);
            let v6 = <[u8; 16]>::try_from(*bytes).map(IpAddr::from);
            let address = v4.or(v6).map_err(|_| RequestError::Address)?;
            request.addresses.insert(address);
        }
        _ => request
            .oddities
            .push("it has a name that is neither a DNS name nor an address".into()),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, DnType, KeyPair, SanType};

    use super::*;

    fn pem(change: impl FnOnce(&mut CertificateParams)) -> String {
        let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
        params.distinguished_name = rcgen::DistinguishedName::new();
        params
            .distinguished_name
            .push(DnType::OrganizationName, "system:nodes");
        params
            .distinguished_name
            .push(DnType::CommonName, "system:node:a");
        change(&mut params);
        let key = KeyPair::generate().unwrap();
        params.serialize_request(&key).unwrap().pem().unwrap()
    }

    #[test]
    fn subject_and_names_are_read() {
        let text = pem(|params| {
            params.subject_alt_names = vec![
                SanType::DnsName("a.example.test".try_into().unwrap()),
                SanType::IpAddress("192.0.2.7".parse().unwrap()),
                SanType::IpAddress("2001:db8::7".parse().unwrap()),
            ];
        });
        let request = read(text.as_bytes()).unwrap();
        assert_eq!(request.common_name, "system:node:a");
        assert_eq!(request.organisations, ["system:nodes"]);
        assert!(request.dns_names.contains("a.example.test"));
        assert_eq!(request.addresses.len(), 2);
        assert!(request.oddities.is_empty());
    }

    #[test]
    fn what_no_kubelet_asks_for_is_named() {
        let mail = pem(|params| {
            params.subject_alt_names = vec![SanType::Rfc822Name("root@example.test".try_into().unwrap())];
        });
        let unit = pem(|params| {
            params
                .distinguished_name
                .push(DnType::OrganizationalUnitName, "x")
        });
        for text in [mail, unit] {
            assert_eq!(read(text.as_bytes()).unwrap().oddities.len(), 1, "{text}");
        }
    }

    #[test]
    fn what_is_no_request_is_refused() {
        let good = pem(|_| {});
        let twice = format!("{good}{good}");
        let other = good.replace("CERTIFICATE REQUEST", "CERTIFICATE");
        let cut = good.replacen("MI", "AA", 1);
        let nameless = pem(|params| {
            params
                .distinguished_name
                .remove(DnType::CommonName)
                .then_some(())
                .unwrap()
        });
        let huge = format!("{}{good}", " ".repeat(LONGEST));
        for text in ["", "x", &twice, &other, &cut, &nameless, &huge] {
            assert!(read(text.as_bytes()).is_err(), "{text}");
        }
    }
}
