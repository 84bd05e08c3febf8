//! Renders jinja templates in cloud-config as cloud-init does, except that a name without a value is refused: cloud-init
//! would write `CI_MISSING_JINJA_VAR`, or leave out all of the data. Source: docs/protocol/capi-day1.md#2.3.

mod names;
mod tags;

use std::io;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Value, ValueKind};
use minijinja::{Environment, Error, ErrorKind, UndefinedBehavior, escape_formatter};

use super::refused::Refused;
use super::subject::Subject;
use names::{Missed, Names};

/// First line of a template, in lower case.
pub(super) const FIRST_LINE: &str = "## template: jinja";

/// Longest result, bytes.
const MAX_RENDERED: usize = 4 << 20;

/// Instructions that a template may take. The tags that are taken have no loops: one of the largest text has fewer.
const FUEL: u64 = 2_000_000;

/// Renders `body`, the text after the first line.
///
/// # Errors
/// A name that has no value, a syntax error or a tag that is not taken, each with its line in the whole text.
pub(super) fn rendered(body: &str, subject: &Subject) -> Result<String, Refused> {
    // First of all: the engine computes constants while it parses.
    tags::check(body).map_err(|(line, why)| at(line, why))?;
    let missed = Missed::default();
    let environment = environment().map_err(|error| refused(&error, &missed))?;
    let mut text = Limited::default();
    environment
        .template_from_str(body)
        .and_then(|template| template.render_captured_to(values(subject, &missed), &mut text))
        .map_err(|error| refused(&error, &missed))?;
    Ok(String::from_utf8_lossy(&text.0).into_owned())
}

/// A text that is refused as soon as it is too long.
#[derive(Default)]
struct Limited(Vec<u8>);

impl io::Write for Limited {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > MAX_RENDERED {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn environment<'a>() -> Result<Environment<'a>, Error> {
    let mut environment = Environment::new();
    environment.set_syntax(
        SyntaxConfig::builder()
            .trim_blocks(true)
            .keep_trailing_newline(true)
            .build()?,
    );
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_fuel(Some(FUEL));
    // Python's words for what has no text of its own.
    environment.set_formatter(|out, state, value| match value.kind() {
        ValueKind::None => escape_formatter(out, state, &Value::from("None")),
        ValueKind::Bool if value.is_true() => escape_formatter(out, state, &Value::from("True")),
        ValueKind::Bool => escape_formatter(out, state, &Value::from("False")),
        _ => escape_formatter(out, state, value),
    });
    Ok(environment)
}

/// The names of a NoCloud seed; `-` and `_` are the same in them.
fn values(subject: &Subject, missed: &Missed) -> Value {
    // cloud-init takes the domain off.
    let short = subject.hostname.split('.').next().unwrap_or_default();
    let standard = || {
        vec![
            ("instance_id", Value::from(subject.instance_id.clone())),
            ("local_hostname", Value::from(short.to_owned())),
            ("cloud_name", Value::from("unknown")),
            ("platform", Value::from("nocloud")),
            ("region", Value::from(())),
        ]
    };
    let mut own = vec![
        ("instance_id", Value::from(subject.instance_id.clone())),
        ("local_hostname", Value::from(subject.hostname.clone())),
        ("hostname", Value::from(subject.hostname.clone())),
        ("name", Value::from(subject.name.clone())),
        ("uuid", Value::from(subject.uuid.clone())),
        ("provider_id", Value::from(subject.provider_id.clone())),
    ];
    if let Some(ip) = &subject.local_ipv4 {
        own.push(("local_ipv4", Value::from(ip.clone())));
    }
    let own = Names::value("ds.meta_data.", own, missed);
    let source = Names::value("ds.", vec![("meta_data", own)], missed);
    let mut all = standard();
    all.push(("v1", Names::value("v1.", standard(), missed)));
    all.push(("ds", source));
    Names::value("", all, missed)
}

fn at(line: usize, why: impl Into<String>) -> Refused {
    Refused::new(format!("line {line}"), why)
}

/// The engine's own text may quote the template.
fn refused(error: &Error, missed: &Missed) -> Refused {
    let why = match error.kind() {
        // Of a hyphen in a name, which is a minus.
        ErrorKind::UndefinedError | ErrorKind::InvalidOperation => match missed.last() {
            Some(name) => format!(
                "{name} has no value; known are ds.meta_data.KEY (instance_id, local_hostname, hostname, name, uuid, local_ipv4, provider_id), v1.local_hostname, v1.instance_id"
            ),
            None => "a value is missing, or not of the right kind".into(),
        },
        ErrorKind::SyntaxError => {
            "is not a tag of jinja; text of another template engine goes between {% raw %} and {% endraw %}"
                .into()
        }
        ErrorKind::WriteFailure => {
            let why = format!("has more than {MAX_RENDERED} bytes when it is rendered");
            return Refused::new("value", why);
        }
        kind => format!("cannot be rendered: {kind}"),
    };
    match error.line() {
        // The first line was taken off.
        Some(line) => at(line + 1, why),
        None => Refused::new("value", why),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subject() -> Subject {
        Subject {
            instance_id: "i-1".into(),
            hostname: "node-1.rack.example".into(),
            name: "node-1.rack.example".into(),
            uuid: "u-1".into(),
            local_ipv4: Some("192.0.2.7".into()),
            provider_id: "agent://u-1".into(),
        }
    }

    #[test]
    fn names_have_the_values_that_cloud_init_gives_them() {
        for (text, wanted) in [
            ("{{ ds.meta_data.instance_id }}", "i-1"),
            ("{{ ds.meta_data.local_hostname }}", "node-1.rack.example"),
            ("{{ ds.meta_data[\"local-hostname\"] }}", "node-1.rack.example"),
            ("{{ ds.meta_data['local_hostname'] }}", "node-1.rack.example"),
            ("{{ ds['meta-data'].uuid }}", "u-1"),
            ("{{ v1.local_hostname }}", "node-1"),
            ("{{ local_hostname }}", "node-1"),
            ("{{ v1.instance_id }} {{ instance_id }}", "i-1 i-1"),
            ("{{ ds.meta_data.hostname }}", "node-1.rack.example"),
            (
                "{{ v1.cloud_name }}/{{ v1.platform }}/{{ v1.region }}",
                "unknown/nocloud/None",
            ),
            (
                "{{ ds.meta_data.name }} {{ ds.meta_data.uuid }}",
                "node-1.rack.example u-1",
            ),
            ("{{ ds.meta_data.local_ipv4 }}", "192.0.2.7"),
            ("{{ ds.meta_data.provider_id }}", "agent://u-1"),
            ("{{ ds.meta_data['provider-id'] }}", "agent://u-1"),
        ] {
            assert_eq!(rendered(text, &subject()).as_deref(), Ok(wanted), "{text}");
        }
    }

    #[test]
    fn a_name_without_a_value_is_refused_by_its_name() {
        for (text, name) in [
            ("{{ hostname }}", "hostname"),
            ("{{ ds.meta_data.label }}", "ds.meta_data.label"),
            ("{{ v1.availability_zone }}", "v1.availability_zone"),
            ("{{ a.b.c }}", "a"),
            ("{{ ds.vendor.x }}", "ds.vendor"),
            ("{% if missing %}x{% endif %}", "missing"),
            ("{{ ds.meta_data.local-hostname }}", "hostname"),
        ] {
            let refused = rendered(&format!("a: b\n{text}\n"), &subject()).unwrap_err();
            assert!(
                refused.why.starts_with(&format!("{name} has no value")),
                "{text}: {refused}"
            );
            assert_eq!(refused.member, "line 3", "{text}");
        }
        let mut without = subject();
        without.local_ipv4 = None;
        let refused = rendered("{{ ds.meta_data.local_ipv4 }}", &without).unwrap_err();
        assert!(refused.why.starts_with("ds.meta_data.local_ipv4 "), "{refused}");
    }

    #[test]
    fn other_template_engines_are_refused_by_the_line() {
        for text in [
            "{{ .Values.hunter2 }}",
            "{{ a b }}",
            "{% if a %}",
            "{{ a",
            "{{ 'a }}",
            "{# a",
        ] {
            let refused = rendered(&format!("x\n\n{text}"), &subject()).unwrap_err();
            assert_eq!(refused.member, "line 4", "{text}: {refused}");
            assert!(!refused.why.contains("hunter2"), "{refused}");
        }
        assert_eq!(
            rendered("{% raw %}{{ .Values.x }}{% endraw %}", &subject()).as_deref(),
            Ok("{{ .Values.x }}")
        );
    }

    #[test]
    fn the_newline_after_a_block_is_eaten_and_that_after_a_value_is_not() {
        for (text, wanted) in [
            ("a: {{ instance_id }}\nb\n", "a: i-1\nb\n"),
            (
                "{% if instance_id %}\na\n{% else %}\nb\n{% endif %}\nc\n",
                "a\nc\n",
            ),
            ("a: {% raw %}{{ x }}{% endraw %}\nb\n", "a: {{ x }}b\n"),
            ("{% set x = \"y\" %}\n{{ x }}\n\n", "y\n\n"),
            ("{# a\n#}\nb", "b"),
        ] {
            assert_eq!(rendered(text, &subject()).as_deref(), Ok(wanted), "{text:?}");
        }
    }

    #[test]
    fn a_text_that_is_too_long_is_refused() {
        let lines = |count: usize| "{{ ds.meta_data.uuid }}{{ x }}\n".repeat(count);
        let template = |count: usize| format!("{{% set x = '{}' %}}{}", "x".repeat(200), lines(count));
        let whole = rendered(&template(100), &subject()).unwrap();
        assert_eq!(whole.len(), 100 * ("u-1\n".len() + 200));
        let refused = rendered(&template(MAX_RENDERED / 200), &subject()).unwrap_err();
        assert_eq!(refused.member, "value");
        assert!(refused.why.contains("more than 4194304 bytes"), "{refused}");
    }

    #[test]
    fn conditions_and_a_few_filters_are_taken() {
        for (text, wanted) in [
            (
                "{% if v1.platform == 'nocloud' and not (v1.region) %}y{% endif %}",
                "y",
            ),
            (
                "{% if ds.meta_data.label is defined %}y{% else %}n{% endif %}",
                "n",
            ),
            ("{{ ds.meta_data.label | default('none') }}", "none"),
            ("{{ ds.meta_data.uuid|upper }}", "U-1"),
            ("{{- ' a ' | trim -}}", "a"),
        ] {
            assert_eq!(rendered(text, &subject()).as_deref(), Ok(wanted), "{text}");
        }
    }
}
