//! The settings of an InfraEnv that can be changed: as fields of a form, as a request of REST, as options of a command.

use muster_api::infra_env::{ImageType, InfraEnv, KernelArgument};
use serde_json::{Map, Value, json};

use crate::rest::Form;
use crate::words::quoted;

/// The kinds of image that machines of this service boot.
const IMAGE_TYPES: [ImageType; 2] = [ImageType::FullIso, ImageType::MinimalIso];

/// A setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Setting {
    ImageType,
    OpenshiftVersion,
    SshKeys,
    TimeSources,
    HttpProxy,
    HttpsProxy,
    NoProxy,
    KernelArguments,
    TrustBundle,
    IgnitionOverride,
    PullSecret,
}

/// A setting as a field of the form.
pub struct Field {
    pub id: String,
    /// Its name in forms.
    pub name: &'static str,
    pub label: &'static str,
    pub hint: &'static str,
    /// The typed value, or the present one.
    pub value: String,
    /// Lines of a text; 0: it has one line alone.
    pub rows: u8,
    /// The values to choose from; empty: any text.
    pub choices: Vec<&'static str>,
    /// The reason why the value was refused.
    pub problem: Option<String>,
    /// The present value, after a change by another user.
    pub now: Option<String>,
}

impl Setting {
    const ALL: [Self; 11] = [
        Self::ImageType,
        Self::OpenshiftVersion,
        Self::SshKeys,
        Self::TimeSources,
        Self::HttpProxy,
        Self::HttpsProxy,
        Self::NoProxy,
        Self::KernelArguments,
        Self::TrustBundle,
        Self::IgnitionOverride,
        Self::PullSecret,
    ];

    /// Its name in REST and in forms.
    fn name(self) -> &'static str {
        match self {
            Self::ImageType => "image_type",
            Self::OpenshiftVersion => "openshift_version",
            Self::SshKeys => "ssh_authorized_key",
            Self::TimeSources => "additional_ntp_sources",
            Self::HttpProxy => "proxy.http_proxy",
            Self::HttpsProxy => "proxy.https_proxy",
            Self::NoProxy => "proxy.no_proxy",
            Self::KernelArguments => "kernel_arguments",
            Self::TrustBundle => "additional_trust_bundle",
            Self::IgnitionOverride => "ignition_config_override",
            Self::PullSecret => "pull_secret",
        }
    }

    fn label(self) -> &'static str {
        match self {
            Self::ImageType => "Kind of image",
            Self::OpenshiftVersion => "OpenShift version",
            Self::SshKeys => "SSH public keys",
            Self::TimeSources => "Additional time sources",
            Self::HttpProxy => "Proxy for http://",
            Self::HttpsProxy => "Proxy for https://",
            Self::NoProxy => "Reached without the proxy",
            Self::KernelArguments => "Additional kernel arguments",
            Self::TrustBundle => "Additional certificates that hosts trust",
            Self::IgnitionOverride => "Ignition override",
            Self::PullSecret => "Pull secret",
        }
    }

    fn hint(self) -> &'static str {
        match self {
            Self::ImageType => "",
            Self::OpenshiftVersion => "Such as 4.20.",
            Self::SshKeys => {
                "For the rescue shell and installed nodes, one a line. Empty keeps the present ones."
            }
            Self::TimeSources => "Names and addresses, comma-separated.",
            Self::HttpProxy | Self::HttpsProxy => "http://HOST:PORT. Empty: none.",
            Self::NoProxy => "Domains, addresses and networks, comma-separated; or * alone.",
            Self::KernelArguments => "One a line.",
            Self::TrustBundle => "PEM.",
            Self::IgnitionOverride => "JSON, for CoreOS images alone. Empty keeps the present one.",
            Self::PullSecret => "JSON; it is never shown. Empty keeps the present one.",
        }
    }

    /// Lines of its field; 0: it has one line alone.
    fn rows(self) -> u8 {
        match self {
            Self::ImageType
            | Self::OpenshiftVersion
            | Self::TimeSources
            | Self::HttpProxy
            | Self::HttpsProxy
            | Self::NoProxy => 0,
            Self::SshKeys | Self::KernelArguments | Self::TrustBundle => 3,
            Self::IgnitionOverride | Self::PullSecret => 4,
        }
    }

    fn choices(self) -> Vec<&'static str> {
        match self {
            Self::ImageType => IMAGE_TYPES.map(ImageType::name).to_vec(),
            _ => Vec::new(),
        }
    }

    /// True if REST takes an empty value for none.
    fn keeps_when_empty(self) -> bool {
        matches!(self, Self::SshKeys | Self::IgnitionOverride | Self::PullSecret)
    }

    /// The present value; empty for the secret.
    fn present(self, pool: &InfraEnv) -> String {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let value = match self {
            Self::ImageType => pool.image_type.name().to_owned(),
            Self::OpenshiftVersion => pool.openshift_version.clone(),
            Self::SshKeys => pool.ssh_authorized_key.clone(),
            Self::TimeSources => pool.additional_ntp_sources.clone(),
            Self::HttpProxy => text(&pool.proxy.http_proxy),
            Self::HttpsProxy => text(&pool.proxy.https_proxy),
            Self::NoProxy => text(&pool.proxy.no_proxy),
            Self::KernelArguments => kernel_arguments(pool).join("\n"),
            Self::TrustBundle => pool.additional_trust_bundle.clone(),
            Self::IgnitionOverride => pool.ignition_config_override.clone(),
            Self::PullSecret => String::new(),
        };
        one_spelling(&value)
    }

    /// The options of `muster infra-env update` that set it to the present value; `None`: it has none. Values that may be secret are
    /// words in capitals.
    fn options(self, pool: &InfraEnv) -> Option<String> {
        match self {
            Self::ImageType => Some(format!("--image-type {}", pool.image_type)),
            Self::OpenshiftVersion => {
                Some(format!("--openshift-version {}", quoted(&pool.openshift_version)))
            }
            Self::SshKeys => Some("--ssh-key FILE".to_owned()),
            Self::TimeSources => Some(format!("--ntp-sources {}", quoted(&pool.additional_ntp_sources))),
            Self::HttpProxy => Some("--http-proxy URL".to_owned()),
            Self::HttpsProxy => Some("--https-proxy URL".to_owned()),
            Self::NoProxy => Some(format!("--no-proxy {}", quoted(&self.present(pool)))),
            Self::KernelArguments => {
                let all = kernel_arguments(pool);
                let options = all.iter().map(|one| format!("--kernel-argument {}", quoted(one)));
                Some(options.collect::<Vec<_>>().join(" ")).filter(|options| !options.is_empty())
            }
            Self::TrustBundle => Some("--trust-bundle FILE".to_owned()),
            Self::PullSecret => Some("--pull-secret FILE".to_owned()),
            Self::IgnitionOverride => Some("--ignition-config-override FILE".to_owned()),
        }
    }
}

/// The arguments that are appended.
fn kernel_arguments(pool: &InfraEnv) -> Vec<String> {
    let text = pool.kernel_arguments.as_deref().unwrap_or_default();
    let all: Vec<KernelArgument> = serde_json::from_str(text).unwrap_or_default();
    all.into_iter().map(|argument| argument.value).collect()
}

/// Browsers send line breaks as CR and LF, and a field has no blanks around its text.
fn one_spelling(text: &str) -> String {
    text.replace("\r\n", "\n").trim().to_owned()
}

/// The typed values of the form.
#[derive(Default)]
pub struct Typed {
    values: Vec<(Setting, String)>,
    /// The setting that was refused, and why.
    wrong: Option<(Setting, String)>,
    /// True if another user changed something after the form was shown.
    is_late: bool,
}

impl Typed {
    /// Settings that are not in the form stay as they are.
    pub fn of(form: &Form) -> Self {
        let given = |setting: Setting| Some((setting, one_spelling(&form.given(setting.name())?)));
        Self {
            values: Setting::ALL.into_iter().filter_map(given).collect(),
            ..Self::default()
        }
    }

    /// The settings that differ from the present ones.
    pub fn changes(&self, pool: &InfraEnv) -> Vec<(Setting, &str)> {
        let all = self
            .values
            .iter()
            .map(|(setting, typed)| (*setting, typed.as_str()));
        all.filter(|(setting, typed)| {
            let stays = typed.is_empty() && setting.keeps_when_empty();
            !stays && *typed != setting.present(pool)
        })
        .collect()
    }

    /// The same with a refusal of REST, which begins with the name of a field; it is returned if it is of none.
    pub fn refused(mut self, reason: String) -> (Self, Option<String>) {
        let of = Setting::ALL
            .into_iter()
            .find(|setting| reason.starts_with(setting.name()));
        match of {
            Some(setting) => {
                self.wrong = Some((setting, reason));
                (self, None)
            }
            None => (self, Some(reason)),
        }
    }

    /// The same, to be compared with another user's change.
    pub fn late(self) -> Self {
        let is_late = true;
        Self { is_late, ..self }
    }
}

/// The fields of the form, with what was typed.
pub fn fields(pool: &InfraEnv, typed: &Typed) -> Vec<Field> {
    let field = |setting: Setting| {
        let present = setting.present(pool);
        let of = |(other, _): &&(Setting, String)| *other == setting;
        let value = typed.values.iter().find(of).map(|(_, value)| value.clone());
        let value = value
            .filter(|_| setting != Setting::PullSecret)
            .unwrap_or_else(|| present.clone());
        Field {
            id: setting.name().replace('.', "-"),
            name: setting.name(),
            label: setting.label(),
            hint: setting.hint(),
            rows: setting.rows(),
            choices: setting.choices(),
            problem: typed
                .wrong
                .as_ref()
                .filter(|(wrong, _)| *wrong == setting)
                .map(|(_, why)| why.clone()),
            now: Some(present).filter(|present| typed.is_late && *present != value),
            value,
        }
    };
    Setting::ALL.into_iter().map(field).collect()
}

/// The body of the request that makes these changes.
pub fn body(changes: &[(Setting, &str)]) -> Value {
    let (mut body, mut proxy) = (Map::new(), Map::new());
    for (setting, typed) in changes {
        let name = setting.name();
        if let Some(part) = name.strip_prefix("proxy.") {
            proxy.insert(part.to_owned(), json!(typed));
            continue;
        }
        let value: Value = match setting {
            Setting::KernelArguments => {
                let lines = typed.lines().map(str::trim).filter(|line| !line.is_empty());
                lines
                    .map(|line| json!({"operation": "append", "value": line}))
                    .collect()
            }
            _ => json!(typed),
        };
        body.insert(name.to_owned(), value);
    }
    if !proxy.is_empty() {
        body.insert("proxy".to_owned(), Value::Object(proxy));
    }
    Value::Object(body)
}

/// The names of these settings, for [`command`].
pub fn names(changes: &[(Setting, &str)]) -> String {
    let names: Vec<&str> = changes.iter().map(|(setting, _)| setting.name()).collect();
    names.join(",")
}

/// The command that sets the settings of these names to their present values, if it can, and the settings that REST alone sets.
pub fn command(pool: &InfraEnv, names: &str) -> (Option<String>, Vec<&'static str>) {
    let named: Vec<Setting> = Setting::ALL
        .into_iter()
        .filter(|setting| names.split(',').any(|name| name == setting.name()))
        .collect();
    let options: Vec<String> = named.iter().filter_map(|setting| setting.options(pool)).collect();
    let command = format!("muster infra-env update {} {}", pool.id, options.join(" "));
    let others = named.iter().filter(|setting| setting.options(pool).is_none());
    (
        Some(command).filter(|_| !options.is_empty()),
        others.map(|setting| setting.name()).collect(),
    )
}

#[cfg(test)]
mod tests {
    use muster_api::ids::InfraEnvId;

    use super::*;

    fn pool(extra: Value) -> InfraEnv {
        let mut pool = json!({
            "kind": "InfraEnv", "id": InfraEnvId::random(), "href": "", "name": "lab", "type": "full-iso",
            "cpu_architecture": "x86_64", "user_name": "admin", "email_domain": "", "proxy": {}, "pull_secret_set": true,
            "created_at": "", "updated_at": "", "expires_at": "",
        });
        for (name, value) in extra.as_object().unwrap() {
            pool[name] = value.clone();
        }
        serde_json::from_value(pool).unwrap()
    }

    fn typed(values: &[(Setting, &str)]) -> Typed {
        Typed {
            values: values
                .iter()
                .map(|(setting, value)| (*setting, one_spelling(value)))
                .collect(),
            ..Typed::default()
        }
    }

    #[test]
    fn what_differs_is_sent_and_nothing_else() {
        let pool = pool(json!({
            "ssh_authorized_key": "ssh-ed25519 AAAA\nssh-ed25519 BBBB", "additional_ntp_sources": "192.0.2.1",
            "kernel_arguments": r#"[{"operation":"append","value":"a=1"},{"operation":"append","value":"b"}]"#,
        }));
        let typed = typed(&[
            (Setting::ImageType, "minimal-iso"),
            (Setting::SshKeys, "ssh-ed25519 AAAA\r\nssh-ed25519 BBBB\r\n"),
            (Setting::TimeSources, ""),
            (Setting::NoProxy, ".lab"),
            (Setting::KernelArguments, "a=1\r\n\r\nc"),
            (Setting::IgnitionOverride, ""),
            (Setting::PullSecret, ""),
        ]);
        assert_eq!(
            body(&typed.changes(&pool)),
            json!({
                "image_type": "minimal-iso", "additional_ntp_sources": "", "proxy": {"no_proxy": ".lab"},
                "kernel_arguments": [{"operation": "append", "value": "a=1"}, {"operation": "append", "value": "c"}],
            })
        );
    }

    #[test]
    fn the_command_sets_the_same_and_has_no_secret() {
        let pool = pool(json!({
            "additional_ntp_sources": "it's", "proxy": {"http_proxy": "http://me:word@192.0.2.1"},
        }));
        let names = "pull_secret,proxy.http_proxy,proxy.https_proxy,additional_ntp_sources,image_type,\
            kernel_arguments,ignition_config_override,nonsense";
        let (line, others) = command(&pool, names);
        assert_eq!(
            line.unwrap(),
            format!(
                r"muster infra-env update {} --image-type full-iso --ntp-sources 'it'\''s' --http-proxy URL --https-proxy URL --ignition-config-override FILE --pull-secret FILE",
                pool.id
            )
        );
        // No option removes all of them.
        assert_eq!(others, ["kernel_arguments"]);
        assert_eq!(command(&pool, "").0, None);
    }

    #[test]
    fn a_refusal_stands_at_its_field_with_what_was_typed() {
        let pool = pool(json!({}));
        let values = [(Setting::NoProxy, "a b"), (Setting::PullSecret, "secret")];
        let (typed_again, other) = typed(&values).refused("proxy.no_proxy: not a name".to_owned());
        assert_eq!(other, None);
        let fields = fields(&pool, &typed_again);
        let of = |name: &str| fields.iter().find(|field| field.name == name).unwrap();
        assert_eq!(of("proxy.no_proxy").value, "a b");
        assert!(of("proxy.no_proxy").problem.is_some() && of("image_type").problem.is_none());
        assert_eq!(of("pull_secret").value, "");
        let (_, other) = typed(&values).refused("InfraEnv lab belongs to a resource".to_owned());
        assert!(other.is_some());
    }

    #[test]
    fn both_values_are_shown_where_somebody_was_faster() {
        let pool = pool(json!({"additional_ntp_sources": "192.0.2.1"}));
        let typed = typed(&[
            (Setting::TimeSources, "192.0.2.2"),
            (Setting::ImageType, "full-iso"),
        ])
        .late();
        let fields = fields(&pool, &typed);
        let of = |name: &str| fields.iter().find(|field| field.name == name).unwrap();
        let sources = of("additional_ntp_sources");
        assert_eq!(
            (sources.value.as_str(), sources.now.as_deref()),
            ("192.0.2.2", Some("192.0.2.1"))
        );
        assert_eq!(of("image_type").now, None);
    }
}
