//! Media URLs that suit a BMC (docs/protocol/redfish.md#4).

use url::Url;

use crate::profile::{Profile, UrlRules};

/// Lists what a BMC of this kind may refuse in a URL; empty for a good one. Repeats no part of the URL, which holds a token.
pub fn problems(image: &str, profile: &Profile) -> Vec<String> {
    let Ok(url) = Url::parse(image) else {
        return vec!["it is no URL".to_owned()];
    };
    let rules = &profile.url;
    let written = |part: char| image.contains(part);
    [
        (!image.is_ascii(), "it has characters beyond ASCII".to_owned()),
        (
            image.len() > rules.longest,
            format!("it has {} characters, of {} at most", image.len(), rules.longest),
        ),
        (!scheme_fits(&url, rules), scheme_advice(rules)),
        (written('?'), "it has a query".to_owned()),
        (written('#'), "it has a fragment".to_owned()),
        (
            !url.username().is_empty() || url.password().is_some(),
            "it has a user".to_owned(),
        ),
        (
            !rules.endings.iter().any(|ending| url.path().ends_with(ending)),
            format!("its path does not end in {}", rules.endings.join(" or ")),
        ),
    ]
    .into_iter()
    .filter_map(|(wrong, problem)| wrong.then_some(problem))
    .collect()
}

/// A text without the URL of an image, and without its path: there is a token in it.
pub(crate) fn redact(text: &str, image: &str) -> String {
    let text = text.replace(image, "(the image)");
    let url = Url::parse(image).ok();
    match url.as_ref().map(Url::path) {
        Some(path) if path.len() > 1 => text.replace(path, "/(the image)"),
        _ => text,
    }
}

fn scheme_fits(url: &Url, rules: &UrlRules) -> bool {
    match url.scheme() {
        "http" => true,
        "https" => rules.https,
        _ => false,
    }
}

fn scheme_advice(rules: &UrlRules) -> String {
    match rules.https {
        true => "it is neither http nor https".to_owned(),
        false => "it is not http: this BMC takes no https".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_token_is_taken_out_of_texts() {
        let image = "http://192.0.2.9/boot/t0ken/a.iso";
        for text in [
            image,
            "GET /boot/t0ken/a.iso: 404",
            "(http://192.0.2.9/boot/t0ken/a.iso)",
        ] {
            assert!(!redact(text, image).contains("t0ken"), "{text}");
        }
        assert_eq!(redact("as it is", image), "as it is");
    }

    #[test]
    fn each_rule_is_told_without_the_url() {
        let standard = Profile::standard();
        let good = "http://192.0.2.9/boot/t0ken/a.iso";
        assert_eq!(problems(good, &standard), [] as [&str; 0]);
        let long = format!("http://192.0.2.9/{}.iso", "t0ken".repeat(60));
        for (image, problem) in [
            ("t0ken", "no URL"),
            ("nfs://192.0.2.9/t0ken.iso", "neither http nor https"),
            ("http://192.0.2.9/t0ken.iso?a", "a query"),
            ("http://192.0.2.9/t0ken.iso#a", "a fragment"),
            ("http://t0ken@192.0.2.9/a.iso", "a user"),
            ("http://192.0.2.9/t0ken", "does not end in .iso or .img"),
            ("http://192.0.2.9/t0kenä.iso", "beyond ASCII"),
            (&long, "of 255 at most"),
        ] {
            let found = problems(image, &standard);
            assert!(
                found.iter().any(|one| one.contains(problem)),
                "{image}: {found:?}"
            );
            assert!(!found.join("").contains("t0ken"), "{found:?}");
        }
        let plain = Profile {
            url: UrlRules {
                https: false,
                ..standard.url
            },
            ..standard
        };
        assert_eq!(problems("https://192.0.2.9/a.iso", &plain).len(), 1);
        assert_eq!(problems(good, &plain).len(), 0);
    }
}
