//! Names the image to write: its place, its format and its digests.

use std::path::PathBuf;

use muster_api::BASE_PATH;
use muster_api::steps::{ImageFormat, OsImage};
use tracing::warn;
use url::Url;

use super::error::ImageError;

/// An image, and the known facts about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    pub place: Place,
    /// None if only the content shows it.
    pub format: Option<ImageFormat>,
    /// Of the file as stored; lower-case hexadecimal.
    pub sha256: Option<String>,
    /// Of the decompressed content; lower-case hexadecimal.
    pub uncompressed_sha256: Option<String>,
    /// Size of the file as stored.
    pub size: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// On the service; the request carries the agent's token.
    Service(Url),
    /// Anywhere else.
    Elsewhere(Url),
    File(PathBuf),
}

impl Place {
    /// For messages: a query or a user's name may be a secret.
    pub fn shown(&self) -> String {
        match self {
            Self::Service(url) | Self::Elsewhere(url) => {
                let mut url = url.clone();
                url.set_query(None);
                url.set_fragment(None);
                let _ = url.set_password(None);
                let _ = url.set_username("");
                url.to_string()
            }
            Self::File(path) => path.display().to_string(),
        }
    }
}

impl Source {
    /// True if a digest shows in the end whether the bytes are the right ones.
    pub fn has_digest(&self) -> bool {
        self.sha256.is_some() || self.uncompressed_sha256.is_some()
    }

    /// The image that the step names. `service` is the base URL of the service.
    ///
    /// # Errors
    /// [`ImageError::Url`], or an invalid digest.
    pub fn of(image: &OsImage, service: &Url) -> Result<Self, ImageError> {
        Ok(Self {
            place: place(of_own_service(&image.url), service)?,
            format: Some(image.format),
            sha256: digest(image.sha256.as_deref())?,
            uncompressed_sha256: digest(image.uncompressed_sha256.as_deref())?,
            size: image.size,
        })
    }

    /// The image of `--image-url`. The URL may end in the digest of the file: `#sha256=DIGEST`.
    ///
    /// # Errors
    /// [`ImageError::Url`], or an invalid digest.
    pub fn of_url(url: &str, service: &Url) -> Result<Self, ImageError> {
        let (url, sha256) = match url.split_once("#sha256=") {
            Some((url, digest)) => (url, Some(digest)),
            None => (url, None),
        };
        let (place, sha256) = (place(url, service)?, digest(sha256)?);
        if sha256.is_none() && matches!(&place, Place::Elsewhere(url) if url.scheme() == "http") {
            warn!(
                "the image comes by plain HTTP from {}, without a digest that verifies it",
                place.shown()
            );
        }
        Ok(Self {
            place,
            format: None,
            sha256,
            uncompressed_sha256: None,
            size: None,
        })
    }

    /// The image of `--image-file`.
    pub fn of_file(path: &str) -> Self {
        Self {
            place: Place::File(PathBuf::from(path)),
            format: None,
            sha256: None,
            uncompressed_sha256: None,
            size: None,
        }
    }
}

/// The path of an image that the service itself serves: it is requested by the URL at which this agent reaches the service, which
/// need not be the one that the service has for itself.
fn of_own_service(url: &str) -> &str {
    match url.find(BASE_PATH) {
        Some(at) if url.ends_with("/downloads/os-image") => &url[at..],
        _ => url,
    }
}

fn place(text: &str, service: &Url) -> Result<Place, ImageError> {
    let wrong = || ImageError::Url(without_secrets(text));
    if text.starts_with('/') && !text.starts_with("//") {
        let base = service.path().trim_end_matches('/');
        let path = if text.starts_with(BASE_PATH) {
            format!("{base}{text}")
        } else {
            text.to_owned()
        };
        return service.join(&path).map(Place::Service).map_err(|_| wrong());
    }
    let url = Url::parse(text).map_err(|_| wrong())?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none_or(str::is_empty) {
        return Err(wrong());
    }
    let of_service = url.origin() == service.origin() && url.path().contains(BASE_PATH);
    Ok(if of_service {
        Place::Service(url)
    } else {
        Place::Elsewhere(url)
    })
}

/// The part of an invalid URL that cannot hold a password or a token.
fn without_secrets(text: &str) -> String {
    let place = text.split(['?', '#']).next().unwrap_or_default();
    match place.rsplit_once('@') {
        Some((_, place)) => format!("...@{place}"),
        None => place.to_owned(),
    }
}

fn digest(text: Option<&str>) -> Result<Option<String>, ImageError> {
    let Some(text) = text.map(str::trim).filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    let text = text.to_ascii_lowercase();
    if text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        Ok(Some(text))
    } else {
        Err(ImageError::NoDiskImage(format!(
            "its digest is to be `{text}`, which is no SHA-256 in hexadecimal"
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_token_goes_to_the_service_alone() {
        let service: Url = "https://muster.example/prefix".parse().unwrap();
        let of = |text: &str| place(text, &service).unwrap();
        let path = "/api/assisted-install/v2/infra-envs/a/hosts/b/downloads/os-image";
        let whole = format!("https://muster.example/prefix{path}");
        assert_eq!(of(path), Place::Service(whole.parse().unwrap()));
        assert_eq!(of(&whole), Place::Service(whole.parse().unwrap()));
        for elsewhere in [
            format!("https://other.example{path}"),
            format!("http://muster.example{path}"),
            format!("https://muster.example:8443{path}"),
            "https://muster.example/images/a.raw".to_owned(),
        ] {
            assert!(matches!(of(&elsewhere), Place::Elsewhere(_)), "{elsewhere}");
        }
        for wrong in ["//other.example/a", "ftp://a/b", "a.raw", "", "http://"] {
            assert!(place(wrong, &service).is_err(), "{wrong}");
        }
        for secret in [
            "https://u:secret@other.example/a?token=secret",
            "https://secret@other.example/a#secret",
        ] {
            assert_eq!(of(secret).shown(), "https://other.example/a");
        }
        for wrong in [
            "ftp://u:secret@other.example/a?secret",
            "https://u:secret@/a#secret",
        ] {
            let error = place(wrong, &service).unwrap_err().to_string();
            assert!(!error.contains("secret"), "{error}");
        }
    }

    #[test]
    fn the_services_own_image_is_asked_for_by_the_agents_way_to_the_service() {
        let service: Url = "http://10.0.2.2:8080/prefix".parse().unwrap();
        let path = "/api/assisted-install/v2/infra-envs/a/hosts/b/downloads/os-image";
        let image = OsImage {
            url: format!("https://muster.example{path}"),
            ..OsImage::default()
        };
        let expected = format!("http://10.0.2.2:8080/prefix{path}").parse().unwrap();
        assert_eq!(
            Source::of(&image, &service).unwrap().place,
            Place::Service(expected)
        );
    }

    #[test]
    fn the_users_url_may_say_the_digest() {
        let service: Url = "https://muster.example".parse().unwrap();
        let of = |text: &str| Source::of_url(text, &service);
        let digest = "AB".repeat(32);
        let named = of(&format!("http://mirror.example/a.raw#sha256={digest}")).unwrap();
        let place = Place::Elsewhere("http://mirror.example/a.raw".parse().unwrap());
        assert_eq!((named.place, named.sha256), (place, Some(digest.to_lowercase())));
        assert!(!of("http://mirror.example/a.raw").unwrap().has_digest());
        assert!(of("http://mirror.example/a.raw#sha256=ab").is_err());
    }

    #[test]
    fn a_digest_is_checked_for_its_form() {
        let good = "AB".repeat(32);
        assert_eq!(digest(Some(&good)).unwrap(), Some("ab".repeat(32)));
        assert_eq!(digest(Some(" ")).unwrap(), None);
        assert!(digest(Some("ab")).is_err());
        assert!(digest(Some(&"zz".repeat(32))).is_err());
    }
}
