//! The configuration of a booted live image: `/muster/config.json` and the kernel arguments that win over it.
//! Contract: docs/live-image.md.

use std::time::Duration;

use muster_api::ids::InfraEnvId;
use muster_api::live::{CONFIG_PATH, CONFIG_VERSION, LiveConfig, LiveProxy, kernel_arguments};

use super::{OWN_VERSION, Settings, Token, service_url};

/// Settings that cannot work. Each text gives advice; none holds a secret.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum LiveConfigError {
    #[error(
        "This image carries no configuration. Download the ISO from the service for an \
         InfraEnv, or boot with the kernel arguments muster.url=URL muster.infra_env_id=UUID [muster.token=TOKEN]."
    )]
    NoConfiguration,
    #[error("{CONFIG_PATH} cannot be read: {0}. Download the ISO from the service again.")]
    BadFile(String),
    #[error(
        "{CONFIG_PATH} has version {0}, this image understands {CONFIG_VERSION}. Boot an image as new as the service."
    )]
    TooNew(u32),
    #[error("The kernel argument {0} is missing, and {CONFIG_PATH} does not set it.")]
    Missing(&'static str),
    #[error("{0} is wrong: {1}.")]
    BadValue(&'static str, String),
}

/// Kernel arguments as the agent reads them.
#[derive(Debug, Clone, Default)]
pub struct KernelArguments {
    pairs: Vec<(String, Option<String>)>,
}

impl KernelArguments {
    /// The key that keeps the kernel's names of network cards when it is 0, as udev has it (systemd-udevd.service(8)).
    pub const PREDICTABLE_NAMES: &str = "net.ifnames";

    /// The arguments of the running system.
    pub fn of_this_boot() -> Self {
        Self::parse(&std::fs::read_to_string("/proc/cmdline").unwrap_or_default())
    }

    /// Splits a command line as the kernel does: blanks separate, double quotes group.
    pub fn parse(line: &str) -> Self {
        let mut pairs = Vec::new();
        let (mut argument, mut quoted) = (String::new(), false);
        for c in line.chars().chain([' ']) {
            match c {
                '"' => quoted = !quoted,
                c if c.is_whitespace() && !quoted => {
                    if !argument.is_empty() {
                        let (key, value) = match argument.split_once('=') {
                            Some((key, value)) => (key.to_owned(), Some(value.to_owned())),
                            None => (argument.clone(), None),
                        };
                        pairs.push((key, value));
                        argument.clear();
                    }
                }
                c => argument.push(c),
            }
        }
        Self { pairs }
    }

    /// The last value given for `key`.
    pub fn value(&self, key: &str) -> Option<&str> {
        let found = self.pairs.iter().rev().find(|(name, _)| name == key)?;
        found.1.as_deref().filter(|value| !value.is_empty())
    }

    /// All values given for `key`, in order.
    pub fn values<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a str> {
        self.pairs
            .iter()
            .filter(move |(name, _)| name == key)
            .filter_map(|(_, value)| value.as_deref())
    }

    /// Every argument in order, with the value that it has, if any.
    pub fn all(&self) -> impl Iterator<Item = (&str, Option<&str>)> {
        self.pairs
            .iter()
            .map(|(key, value)| (key.as_str(), value.as_deref()))
    }

    /// True when `key` is given, with or without a value.
    pub fn has(&self, key: &str) -> bool {
        self.pairs.iter().any(|(name, _)| name == key)
    }

    /// False when network cards keep the kernel's names.
    pub fn has_predictable_names(&self) -> bool {
        !matches!(
            self.value(Self::PREDICTABLE_NAMES),
            Some("0" | "no" | "false" | "off" | "n" | "f")
        )
    }
}

/// The arguments of a command line, each with its trailing separator: concatenated they are the line again.
pub fn parts(line: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut quoted = false;
    let pieces = line.split_inclusive(move |c: char| {
        quoted ^= c == '"';
        c.is_whitespace() && !quoted
    });
    pieces.map(|piece| piece.split_at(piece.trim_end().len()))
}

/// The line with `***` for the token, in any quoting; the rest byte for byte.
pub fn without_token(line: &str) -> String {
    let secret = format!("{}=", kernel_arguments::TOKEN);
    let mut clean = String::with_capacity(line.len());
    for (argument, separator) in parts(line) {
        let plain = argument.replace('"', "");
        match plain.find(&secret) {
            Some(at) => {
                clean.push_str(&plain[..at]);
                clean.push_str(&secret);
                clean.push_str("***");
            }
            None => clean.push_str(argument),
        }
        clean.push_str(separator);
    }
    clean
}

/// The settings of a live image. `file` is the text of [`CONFIG_PATH`] if it is there.
///
/// # Errors
/// Names the missing or wrong value, as the console prints it.
pub fn settings(file: Option<&str>, arguments: &KernelArguments) -> Result<Settings, LiveConfigError> {
    let file_config = file.map(parse_file).transpose();
    let argument_url = arguments.value(kernel_arguments::URL);
    let argument_infra_env = arguments.value(kernel_arguments::INFRA_ENV_ID);
    let file_config = match file_config {
        Ok(file_config) => file_config,
        // A broken file does not matter when the arguments give everything.
        Err(_) if argument_url.is_some() && argument_infra_env.is_some() => None,
        Err(error) => return Err(error),
    };
    let url_text = argument_url.or(file_config
        .as_ref()
        .map(|file_config| file_config.service_url.as_str()));
    let infra_env = match argument_infra_env {
        Some(text) => Some(text.parse::<InfraEnvId>().map_err(|_| {
            LiveConfigError::BadValue(kernel_arguments::INFRA_ENV_ID, format!("`{text}` is no UUID"))
        })?),
        None => file_config.as_ref().map(|file_config| file_config.infra_env_id),
    };
    let (url_text, infra_env_id) = match (url_text, infra_env) {
        (Some(url), Some(infra_env)) => (url, infra_env),
        (None, None) => return Err(LiveConfigError::NoConfiguration),
        (None, Some(_)) => return Err(LiveConfigError::Missing(kernel_arguments::URL)),
        (Some(_), None) => return Err(LiveConfigError::Missing(kernel_arguments::INFRA_ENV_ID)),
    };
    let service_url = service_url(url_text)
        .map_err(|error| LiveConfigError::BadValue("The service URL", error.to_string()))?;
    let token = arguments
        .value(kernel_arguments::TOKEN)
        .map(str::to_owned)
        .or_else(|| {
            file_config
                .as_ref()
                .and_then(|file_config| file_config.token.clone())
        });
    let same_infra_env = file_config
        .as_ref()
        .filter(|file_config| file_config.infra_env_id == infra_env_id);
    Ok(Settings {
        service_url,
        infra_env_id,
        infra_env_name: same_infra_env
            .map(|file_config| file_config.infra_env_name.clone())
            .unwrap_or_default(),
        token: Token::new(token.unwrap_or_default()),
        ca_certificates: file_config
            .as_ref()
            .map(|file_config| file_config.ca_certificates.clone())
            .unwrap_or_default(),
        insecure: false,
        proxy: file_config
            .as_ref()
            .map_or_else(LiveProxy::default, |file_config| file_config.proxy.clone()),
        ntp_sources: file_config
            .map(|file_config| file_config.ntp_sources)
            .unwrap_or_default(),
        interval: Duration::from_secs(60),
        agent_version: OWN_VERSION.to_owned(),
        host_id: None,
    })
}

fn parse_file(text: &str) -> Result<LiveConfig, LiveConfigError> {
    let config: LiveConfig =
        serde_json::from_str(text).map_err(|error| LiveConfigError::BadFile(without_values(&error)))?;
    if config.version > CONFIG_VERSION {
        return Err(LiveConfigError::TooNew(config.version));
    }
    Ok(config)
}

/// The place of a JSON error without a quote from the file, which holds the token.
fn without_values(error: &serde_json::Error) -> String {
    let what = match error.classify() {
        serde_json::error::Category::Eof => "it ends too early",
        serde_json::error::Category::Syntax => "it is no JSON",
        serde_json::error::Category::Data => "a value is missing or of the wrong kind",
        serde_json::error::Category::Io => "it cannot be read",
    };
    format!("{what} (line {}, column {})", error.line(), error.column())
}

#[cfg(test)]
mod tests {
    use super::*;

    const INFRA_ENV: &str = "0f3e7a52-0b0d-4c3c-9a9e-111111111111";

    fn file() -> String {
        format!(
            r#"{{"version":1,"service_url":"https://muster.example:8090/x","infra_env_id":"{INFRA_ENV}",
                "infra_env_name":"hw","token":"file-secret","ntp_sources":["ntp.example"]}}"#
        )
    }

    #[test]
    fn the_file_alone_is_enough() {
        let settings = settings(Some(&file()), &KernelArguments::parse("quiet console=ttyS0")).unwrap();
        assert_eq!(settings.service_url.as_str(), "https://muster.example:8090/x");
        assert_eq!(settings.infra_env_id.to_string(), INFRA_ENV);
        assert_eq!(settings.infra_env_name, "hw");
        assert_eq!(settings.token.reveal(), "file-secret");
        assert_eq!(settings.ntp_sources, ["ntp.example"]);
    }

    #[test]
    fn kernel_arguments_win_over_the_file() {
        let other = "0f3e7a52-0b0d-4c3c-9a9e-222222222222";
        let arguments = KernelArguments::parse(&format!(
            "muster.url=http://10.0.2.2:8090 muster.infra_env_id={other} muster.token=\"a b\" muster.rescue\n"
        ));
        let settings = settings(Some(&file()), &arguments).unwrap();
        assert_eq!(settings.service_url.as_str(), "http://10.0.2.2:8090/");
        assert_eq!(settings.infra_env_id.to_string(), other);
        assert_eq!(
            settings.infra_env_name, "",
            "the name belongs to the InfraEnv of the file"
        );
        assert_eq!(settings.token.reveal(), "a b");
        assert!(arguments.has(kernel_arguments::RESCUE));
    }

    #[test]
    fn an_image_without_configuration_says_what_to_do() {
        let error = settings(None, &KernelArguments::parse("quiet")).unwrap_err();
        assert_eq!(error, LiveConfigError::NoConfiguration);
        assert!(error.to_string().contains("muster.url=URL"));
    }

    #[test]
    fn half_of_the_arguments_names_the_other_half() {
        let error = settings(None, &KernelArguments::parse("muster.url=http://a")).unwrap_err();
        assert_eq!(error, LiveConfigError::Missing(kernel_arguments::INFRA_ENV_ID));
    }

    #[test]
    fn a_broken_file_is_named_without_its_content() {
        for text in [
            "",
            "{",
            "[]",
            r#"{"version":1,"token":"file-secret","service_url":7}"#,
            "\0\0\0",
        ] {
            let error = settings(Some(text), &KernelArguments::default()).unwrap_err();
            assert!(matches!(error, LiveConfigError::BadFile(_)), "{text}: {error}");
            assert!(!error.to_string().contains("file-secret"));
        }
    }

    #[test]
    fn a_broken_file_does_not_stop_arguments_that_say_everything() {
        let arguments =
            KernelArguments::parse(&format!("muster.url=http://a muster.infra_env_id={INFRA_ENV}"));
        assert!(settings(Some("{"), &arguments).is_ok());
    }

    #[test]
    fn a_newer_file_is_refused() {
        let text = file().replace("\"version\":1", "\"version\":2");
        assert_eq!(
            settings(Some(&text), &KernelArguments::default()).unwrap_err(),
            LiveConfigError::TooNew(2)
        );
    }

    #[test]
    fn urls_that_cannot_work_are_refused() {
        for url in [
            "ftp://a",
            "muster.example",
            "http://",
            "http://u:p@a",
            "http://a?x=1",
        ] {
            assert!(service_url(url).is_err(), "{url}");
        }
    }

    #[test]
    fn a_command_line_is_shown_without_its_token() {
        for (line, expected) in [
            (
                "quiet  rd.x=\"a b\" BOOTIF=01-52\n",
                "quiet  rd.x=\"a b\" BOOTIF=01-52\n",
            ),
            ("a muster.token=s3 b\n", "a muster.token=*** b\n"),
            ("muster.token=\"s 3\" b", "muster.token=*** b"),
            ("\"muster.token=s 3\" b\n", "muster.token=*** b\n"),
            (
                "muster.\"token=s\" muster.token=3\n",
                "muster.token=*** muster.token=***\n",
            ),
            ("x=\"y muster.token=s3\n", "x=y muster.token=***\n"),
            ("muster.token\n", "muster.token\n"),
        ] {
            assert_eq!(without_token(line), expected);
        }
    }

    #[test]
    fn a_token_is_never_printed() {
        let settings = settings(Some(&file()), &KernelArguments::default()).unwrap();
        assert!(!format!("{settings:?}").contains("file-secret"));
    }
}
