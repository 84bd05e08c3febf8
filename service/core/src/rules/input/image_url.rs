//! Checks the image that a user's installer arguments name by URL: its expected contents are known to the user only.

use crate::text::is_sha256;

/// The argument before the URL.
const FLAG: &str = "--image-url";
/// Separates the URL from the digest of the downloaded file.
const DIGEST: &str = "#sha256=";

/// Checks the image that installer arguments name, if they do.
///
/// # Errors
/// If an attacker on the network could replace the image, or the digest is invalid. No text quotes the URL, which may
/// hold a password.
pub fn check(args: &[String]) -> Result<(), String> {
    for url in named(args) {
        match url.split_once(DIGEST) {
            Some((_, digest)) if is_sha256(digest) => {}
            Some(_) => {
                return Err(format!(
                    "{FLAG}: behind {DIGEST} stand the 64 hexadecimal digits of a SHA-256"
                ));
            }
            None if is_plain(url) => {
                return Err(format!(
                    "{FLAG} by http:// is refused without the digest of the file, for anyone on the way could send another system: append \
                     {DIGEST}DIGEST (sha256sum FILE), or use https://"
                ));
            }
            None => {}
        }
    }
    Ok(())
}

/// True if neither TLS nor a digest proves that the image is the expected one.
pub fn is_unverified(args: &[String]) -> bool {
    named(args).any(|url| is_plain(url) && !url.contains(DIGEST))
}

fn named(args: &[String]) -> impl Iterator<Item = &str> {
    let values = args.iter().zip(args.iter().skip(1));
    values.filter_map(|(flag, value)| (flag == FLAG).then_some(value.as_str()))
}

fn is_plain(url: &str) -> bool {
    let scheme = url.get(..5).unwrap_or_default();
    scheme.eq_ignore_ascii_case("http:")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_http_needs_a_digest() {
        let of = |url: &str| ["-n", FLAG, url, "--append-karg", "http://a"].map(str::to_owned);
        let digest = "aB".repeat(32);
        for good in [
            "https://mirror.test/a.raw",
            &format!("http://mirror.test/a.raw{DIGEST}{digest}"),
            &format!("https://mirror.test/a.raw{DIGEST}{digest}"),
        ] {
            assert_eq!(check(&of(good)), Ok(()), "{good}");
            assert!(!is_unverified(&of(good)), "{good}");
        }
        for plain in [
            "http://u:s3cret@mirror.test/a.raw",
            "HTTP://u:s3cret@mirror.test/a.raw",
        ] {
            let why = check(&of(plain)).unwrap_err();
            assert!(why.contains("#sha256=") && !why.contains("s3cret"), "{why}");
            assert!(is_unverified(&of(plain)));
        }
        for wrong in ["http://a.test/a#sha256=ab", "https://a.test/a#sha256="] {
            assert!(
                check(&of(wrong)).unwrap_err().contains("64 hexadecimal"),
                "{wrong}"
            );
        }
        assert_eq!(check(&[FLAG.to_owned()]), Ok(()));
    }
}
