//! The values of If-Match that a PATCH is tried with, one after the other (docs/protocol/redfish.md#2.7).

use reqwest::StatusCode;

/// The tries that are left.
#[derive(Debug)]
pub(crate) struct Ladder {
    /// The next one is the last.
    rungs: Vec<Option<String>>,
}

impl Ladder {
    /// `etag` is that of the resource as it was read just before. `required`: a PATCH without If-Match is not tried.
    pub fn new(etag: Option<&str>, required: bool) -> Self {
        let strong = etag.and_then(|etag| etag.strip_prefix("W/"));
        let mut rungs: Vec<Option<String>> = [etag, strong]
            .into_iter()
            .flatten()
            .map(|etag| Some(etag.to_owned()))
            .collect();
        if !required {
            rungs.push(None);
        }
        rungs.push(Some("*".to_owned()));
        rungs.reverse();
        Self { rungs }
    }

    /// The header of the first try.
    pub fn first(&mut self) -> Option<String> {
        self.rungs.pop().flatten()
    }

    /// The header of the next try, after a response by which the precondition failed or is missing; `None`: no further try.
    pub fn after(&mut self, status: StatusCode) -> Option<Option<String>> {
        let precondition = matches!(
            status,
            StatusCode::PRECONDITION_FAILED | StatusCode::PRECONDITION_REQUIRED
        );
        precondition.then(|| self.rungs.pop()).flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rungs(etag: Option<&str>, required: bool) -> Vec<String> {
        let mut ladder = Ladder::new(etag, required);
        let mut tries = vec![ladder.first()];
        tries.extend(std::iter::from_fn(|| {
            ladder.after(StatusCode::PRECONDITION_FAILED)
        }));
        tries
            .into_iter()
            .map(|header| header.unwrap_or_else(|| "-".to_owned()))
            .collect()
    }

    #[test]
    fn weak_etags_are_tried_as_strong_ones_then_none_then_any() {
        assert_eq!(rungs(Some("W/\"1\""), false), ["W/\"1\"", "\"1\"", "-", "*"]);
        assert_eq!(rungs(Some("\"1\""), false), ["\"1\"", "-", "*"]);
        assert_eq!(rungs(None, false), ["-", "*"]);
        assert_eq!(rungs(Some("\"1\""), true), ["\"1\"", "*"]);
        assert_eq!(rungs(None, true), ["*"]);
    }

    #[test]
    fn only_failed_preconditions_lead_on() {
        let mut ladder = Ladder::new(None, false);
        ladder.first();
        assert_eq!(ladder.after(StatusCode::BAD_REQUEST), None);
        assert_eq!(
            ladder.after(StatusCode::PRECONDITION_REQUIRED),
            Some(Some("*".to_owned()))
        );
    }
}
