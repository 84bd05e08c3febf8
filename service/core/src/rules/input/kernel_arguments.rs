use std::sync::LazyLock;

use muster_api::infra_env::{KernelArgument, KernelArgumentOperation};
use regex::Regex;

use super::Invalid;

static VALUE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"\A(?:(?:[^ \t\n\r"]+)|(?:"[^"]*"))+\z"#).expect("the pattern is constant")
});

/// Appended ones only, without spaces outside of quotes.
pub(crate) fn kernel_arguments(list: &[KernelArgument]) -> Result<(), Invalid> {
    for (index, argument) in list.iter().enumerate() {
        match argument.operation {
            KernelArgumentOperation::Append => {}
            KernelArgumentOperation::Replace | KernelArgumentOperation::Delete => {
                return Err(Invalid::new(
                    format!("kernel_arguments[{index}].operation"),
                    "only append is supported for discovery images",
                ));
            }
        }
        if !VALUE.is_match(&argument.value) || argument.value.chars().any(char::is_control) {
            return Err(Invalid::new(
                format!("kernel_arguments[{index}].value"),
                "must be one argument: not empty, with spaces only inside of double quotes, and without control characters",
            ));
        }
    }
    Ok(())
}
