use std::net::IpAddr;

use ipnet::IpNet;
use muster_api::infra_env::Proxy;
use url::Url;

use super::Invalid;
use super::ntp::is_host_name;
use crate::rules::ignition_spec;

/// Validates each setting separately; unset and empty ones are accepted.
pub(crate) fn proxy(proxy: &Proxy) -> Result<(), Invalid> {
    url_with("proxy.http_proxy", proxy.http_proxy.as_deref(), &["http"])?;
    url_with(
        "proxy.https_proxy",
        proxy.https_proxy.as_deref(),
        &["http", "https"],
    )?;
    no_proxy(proxy.no_proxy.as_deref().unwrap_or_default())
}

/// Never repeats the URL: it may hold a password.
fn url_with(field: &'static str, text: Option<&str>, schemes: &[&str]) -> Result<(), Invalid> {
    let text = text.unwrap_or_default();
    if text.is_empty() {
        return Ok(());
    }
    let good = !text.chars().any(|c| c.is_whitespace() || c.is_control())
        && text.contains("://")
        // The crate escapes characters that Ignition and other agents refuse.
        && ignition_spec::scheme(text).is_some()
        && Url::parse(text).is_ok_and(|url| {
            schemes.contains(&url.scheme()) && url.host_str().is_some_and(|host| !host.is_empty())
        });
    if good {
        return Ok(());
    }
    let forms: Vec<String> = schemes
        .iter()
        .map(|scheme| format!("{scheme}://[user:password@]host[:port]"))
        .collect();
    Err(Invalid::new(
        field,
        format!(
            "must be a URL of the form {}; in user and password write other characters than letters, digits and -._~ as % and two hexadecimal digits",
            forms.join(" or ")
        ),
    ))
}

fn no_proxy(text: &str) -> Result<(), Invalid> {
    if text.is_empty() || text == "*" {
        return Ok(());
    }
    for part in text.split(',') {
        let part = part.trim();
        let name = part.strip_prefix('.').unwrap_or(part);
        let name = without_port(name);
        if part.parse::<IpAddr>().is_err() && part.parse::<IpNet>().is_err() && !is_host_name(name) {
            return Err(Invalid::new(
                "proxy.no_proxy",
                format!(
                    "{part:?} is not a name, a domain beginning with a dot, an address or a network; write a comma list of these, or * alone"
                ),
            ));
        }
    }
    Ok(())
}

fn without_port(name: &str) -> &str {
    match name.rsplit_once(':') {
        Some((host, port)) if port.parse::<u16>().is_ok() => host,
        Some(_) | None => name,
    }
}
