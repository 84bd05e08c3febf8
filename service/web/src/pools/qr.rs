//! Pictures that a telephone reads: of the ISO's address, and of the InfraEnv's page.

use axum::response::{IntoResponse, Response};
use http::{StatusCode, header};
use muster_api::ids::InfraEnvId;
use muster_api::infra_env::PresignedUrl;
use qrcode::QrCode;
use qrcode::render::svg;

use super::address;
use crate::rest::{Path, Refusal, Visitor};

/// Smallest width and height, pixels.
const SMALLEST: u32 = 240;

/// A picture that is a file of its own: the policy of contents lets a page have no other.
pub async fn qr(visitor: Visitor, Path(id): Path<InfraEnvId>) -> Result<Response, Refusal> {
    let downloads = format!("/infra-envs/{id}/downloads");
    let [of] = visitor.parameters(["of"]);
    let text = match of.as_str() {
        "iso" => {
            let iso: PresignedUrl = visitor.get(&format!("{downloads}/image-url")).await?;
            iso.url
        }
        "page" => {
            // It has the address that others reach the service by.
            let file = format!("{downloads}/files-presigned?file_name=discovery.ign");
            let file: PresignedUrl = visitor.get(&file).await?;
            format!("{}{}", origin(&file.url), address(id))
        }
        _ => {
            return Err(visitor.refusal(
                StatusCode::NOT_FOUND,
                "there are pictures of=iso and of=page".to_owned(),
            ));
        }
    };
    let code = QrCode::new(&text).map_err(|error| {
        visitor.refusal(
            StatusCode::INTERNAL_SERVER_ERROR,
            format!("the picture cannot be made: {error}"),
        )
    })?;
    let picture = code
        .render::<svg::Color>()
        .min_dimensions(SMALLEST, SMALLEST)
        .build();
    Ok(([(header::CONTENT_TYPE, "image/svg+xml")], picture).into_response())
}

/// Scheme, host and port of a URL.
fn origin(text: &str) -> String {
    url::Url::parse(text)
        .map(|url| url.origin().ascii_serialization())
        .unwrap_or_default()
}
