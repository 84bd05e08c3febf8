//! Reads an image like a BMC before it reports the image as inserted (docs/protocol/redfish.md#4).

use reqwest::header::{ACCEPT_RANGES, CONTENT_LENGTH, HeaderMap, LOCATION, RANGE};
use reqwest::redirect::Policy;
use reqwest::{Client, Response, StatusCode};

use crate::machine::Failure;
use crate::quirks::ImageRules;

/// Bytes of a range: a sector of a CD.
const SECTOR: u64 = 2048;

/// The reason why a URL is refused before it is requested.
pub(crate) fn refusal(url: &str, rules: &ImageRules) -> Option<String> {
    let parsed = match url::Url::parse(url) {
        Ok(parsed) if matches!(parsed.scheme(), "http" | "https") => parsed,
        _ => return Some(format!("{url} is no image URL")),
    };
    let path = parsed.path();
    let folders = path.matches('/').count().saturating_sub(1);
    let has_extension = rules.extensions.is_empty() || rules.extensions.iter().any(|end| path.ends_with(end));
    if rules.no_https && parsed.scheme() == "https" {
        Some("https is not supported for images".to_owned())
    } else if rules.no_query && parsed.query().is_some() {
        Some("the image's URL has a query".to_owned())
    } else if !has_extension {
        Some(format!(
            "the image's name does not end in {}",
            rules.extensions.join(" or ")
        ))
    } else if rules.max_length.is_some_and(|max| url.len() > max) {
        Some(format!("the image's URL has {} characters", url.len()))
    } else if rules.max_folders.is_some_and(|max| folders > max) {
        Some(format!("the image is {folders} folders deep"))
    } else {
        None
    }
}

/// Requests the image's length, and its first and last sector. To be called in a blocking thread of a runtime.
pub(crate) fn read(url: &str) -> Result<(), Failure> {
    let reading = async { tokio::time::timeout(crate::TIMEOUT, read_sectors(url)).await };
    let read = tokio::runtime::Handle::current().block_on(reading);
    read.unwrap_or_else(|_| Err("the image's server does not answer in time".to_owned()))
        .map_err(Failure)
}

async fn read_sectors(url: &str) -> Result<(), String> {
    // reqwest is built without a TLS provider and requires one for plain HTTP, too. At a second call it is installed
    // already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    // By default BMCs verify no certificate of an image's server.
    let client = Client::builder()
        .danger_accept_invalid_certs(true)
        .no_proxy()
        .redirect(Policy::none())
        .build()
        .map_err(|error| error.to_string())?;
    let head = send(client.head(url)).await?;
    expect(&head, StatusCode::OK)?;
    if header(head.headers(), ACCEPT_RANGES.as_str()) != Some("bytes") {
        return Err("the image's server does not support ranges".to_owned());
    }
    let length = header(head.headers(), CONTENT_LENGTH.as_str()).and_then(|text| text.parse::<u64>().ok());
    let length = length.ok_or("the image's server does not tell a length")?;
    let last = length.checked_sub(SECTOR).ok_or("the image is empty")?;
    for first in [0, last] {
        let range = format!("bytes={first}-{}", first + SECTOR - 1);
        let part = send(client.get(url).header(RANGE, range)).await?;
        expect(&part, StatusCode::PARTIAL_CONTENT)?;
        let bytes = part.bytes().await.map_err(|error| error.to_string())?;
        if bytes.len() as u64 != SECTOR {
            return Err(format!("a range of the image has {} bytes", bytes.len()));
        }
    }
    Ok(())
}

async fn send(request: reqwest::RequestBuilder) -> Result<Response, String> {
    request
        .send()
        .await
        .map_err(|error| format!("the image's server: {error}"))
}

fn expect(answer: &Response, wanted: StatusCode) -> Result<(), String> {
    let status = answer.status();
    if let Some(location) = header(answer.headers(), LOCATION.as_str()) {
        return Err(format!("the image's server redirects to {location}"));
    }
    if status == wanted {
        Ok(())
    } else {
        Err(format!("got error {} from the image's server", status.as_u16()))
    }
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}
