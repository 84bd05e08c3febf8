//! The one JSON argument that most steps take, and the JSON that they answer.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::StepOutput;

/// Reads it.
///
/// # Errors
/// In words that name the step: more or fewer arguments, or not the JSON that it takes.
pub fn only<T: DeserializeOwned>(step: &str, args: &[String]) -> Result<T, String> {
    match args {
        [text] => serde_json::from_str(text).map_err(|error| format!("{step}: {error}")),
        _ => Err(format!("{step} takes one argument, not {}", args.len())),
    }
}

/// A good reply.
pub fn answered<T: Serialize>(output: &T) -> StepOutput {
    match serde_json::to_string(output) {
        Ok(text) => StepOutput::good(text),
        Err(error) => StepOutput::failed(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_argument_of_the_right_kind_is_taken_and_others_are_named() {
        let read = |args: &[&str]| {
            let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
            only::<Vec<u32>>("count", &args)
        };
        assert_eq!(read(&["[1,2]"]), Ok(vec![1, 2]));
        assert_eq!(read(&[]).unwrap_err(), "count takes one argument, not 0");
        assert_eq!(
            read(&["[]", "[]"]).unwrap_err(),
            "count takes one argument, not 2"
        );
        assert!(read(&["{"]).unwrap_err().starts_with("count: "));
        assert_eq!(answered(&[1, 2]), StepOutput::good("[1,2]".to_owned()));
    }
}
