//! Removes secrets from texts: the token, passwords of proxies, and the kernel's `muster.token=`.

use url::Url;

use crate::config::Settings;
use crate::config::live::without_token;

/// Shorter texts would match inside ordinary words.
const SHORTEST: usize = 6;

/// The secrets of this agent.
#[derive(Clone, Default)]
pub struct Redactor {
    secrets: Vec<String>,
}

impl Redactor {
    pub fn of(settings: &Settings) -> Self {
        let mut secrets = vec![settings.token.reveal().to_owned()];
        for proxy in [&settings.proxy.http_proxy, &settings.proxy.https_proxy] {
            if let Some(password) = Url::parse(proxy)
                .ok()
                .and_then(|url| url.password().map(str::to_owned))
            {
                secrets.push(password);
            }
        }
        secrets.retain(|secret| secret.len() >= SHORTEST);
        // A secret that holds another is removed as a whole.
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        Self { secrets }
    }

    /// The text with `***` for every secret.
    pub fn clean(&self, text: &str) -> String {
        let mut clean = String::with_capacity(text.len());
        for line in text.split_inclusive('\n') {
            if line.contains("muster.") {
                clean.push_str(&without_token(line));
            } else {
                clean.push_str(line);
            }
        }
        for secret in &self.secrets {
            if clean.contains(secret.as_str()) {
                clean = clean.replace(secret.as_str(), "***");
            }
        }
        clean
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_secret_is_left() {
        let redactor = Redactor {
            secrets: vec!["eyJhbGci.token".into(), "hunter22".into()],
        };
        let text = "Command line: quiet muster.token=abc muster.url=http://a\n\
                    header eyJhbGci.token, proxy http://u:hunter22@p:1\n";
        let clean = redactor.clean(text);
        assert_eq!(
            clean,
            "Command line: quiet muster.token=*** muster.url=http://a\nheader ***, proxy http://u:***@p:1\n"
        );
    }
}
