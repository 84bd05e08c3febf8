use std::time::{Duration, SystemTime};

use http::HeaderValue;
use proptest::prelude::*;

use super::*;

const LENGTH: u64 = 1000;
const MODIFIED: &str = "Sat, 21 Nov 2026 10:00:00 GMT";
const LATER: &str = "Sat, 21 Nov 2026 10:00:01 GMT";
const EARLIER: &str = "Sat, 21 Nov 2026 09:59:59 GMT";
/// The time of [`MODIFIED`], seconds since 1970.
const MODIFIED_SECONDS: u64 = 1_795_255_200;

fn selected_by(method: Method, pairs: &[(&'static str, &str)]) -> Selection {
    let mut headers = HeaderMap::new();
    for (name, value) in pairs {
        headers.insert(*name, HeaderValue::from_str(value).unwrap());
    }
    let modified = SystemTime::UNIX_EPOCH + Duration::from_secs(MODIFIED_SECONDS);
    select(
        &method,
        &headers,
        LENGTH,
        &"\"tag\"".parse().unwrap(),
        modified.into(),
    )
}

fn selected(pairs: &[(&'static str, &str)]) -> Selection {
    selected_by(Method::GET, pairs)
}

#[test]
fn single_ranges_are_parts() {
    for (range, part) in [
        ("bytes=0-0", 0..1),
        ("bytes=10-19", 10..20),
        ("bytes=990-", 990..1000),
        ("bytes=-10", 990..1000),
        ("bytes=-5000", 0..1000),
        ("bytes=999-5000", 999..1000),
        ("bytes=0-18446744073709551615", 0..1000),
    ] {
        assert_eq!(selected(&[("range", range)]), Selection::Part(part), "{range}");
    }
}

#[test]
fn several_ranges_keep_their_order_and_lose_what_is_not_there() {
    assert_eq!(
        selected(&[("range", "bytes=500-509, 0-9")]),
        Selection::Parts(vec![500..510, 0..10])
    );
    assert_eq!(
        selected(&[("range", "bytes=0-9,2000-2001")]),
        Selection::Part(0..10)
    );
}

#[test]
fn ranges_beyond_the_end_are_unsatisfiable() {
    for range in ["bytes=1000-", "bytes=1000-1001", "bytes=1000-,2000-"] {
        assert_eq!(selected(&[("range", range)]), Selection::Unsatisfiable, "{range}");
    }
}

#[test]
fn malformed_ranges_and_other_units_count_as_absent() {
    for range in [
        "bytes",
        "bytes=",
        "bytes=a-b",
        "lines=0-1",
        "bytes=0-1-2",
        "bytes=-0",
        "",
    ] {
        assert_eq!(selected(&[("range", range)]), Selection::Whole, "{range}");
    }
}

#[test]
fn greedy_ranges_give_the_whole_once() {
    assert_eq!(selected(&[("range", "bytes=0-,0-,0-")]), Selection::Whole);
    let many = (0..=MOST_RANGES)
        .map(|at| format!("{at}-{at}"))
        .collect::<Vec<_>>()
        .join(",");
    assert_eq!(selected(&[("range", &format!("bytes={many}"))]), Selection::Whole);
}

#[test]
fn head_ignores_ranges() {
    assert_eq!(
        selected_by(Method::HEAD, &[("range", "bytes=0-9")]),
        Selection::Whole
    );
}

#[test]
fn if_range_takes_the_very_tag_or_the_very_date() {
    let range = ("range", "bytes=0-9");
    for same in ["\"tag\"", MODIFIED] {
        assert_eq!(
            selected(&[range, ("if-range", same)]),
            Selection::Part(0..10),
            "{same}"
        );
    }
    for other in ["\"other\"", "W/\"tag\"", EARLIER, LATER, "nonsense"] {
        assert_eq!(
            selected(&[range, ("if-range", other)]),
            Selection::Whole,
            "{other}"
        );
    }
}

#[test]
fn unchanged_images_are_not_sent_again() {
    for pair in [
        ("if-none-match", "\"tag\""),
        ("if-none-match", "\"x\", W/\"tag\""),
        ("if-none-match", "*"),
        ("if-modified-since", MODIFIED),
        ("if-modified-since", LATER),
    ] {
        assert_eq!(selected(&[pair]), Selection::NotModified, "{pair:?}");
        assert_eq!(
            selected_by(Method::HEAD, &[pair]),
            Selection::NotModified,
            "{pair:?}"
        );
    }
    for pair in [
        ("if-none-match", "\"x\""),
        ("if-modified-since", EARLIER),
        ("if-modified-since", "nonsense"),
    ] {
        assert_eq!(selected(&[pair]), Selection::Whole, "{pair:?}");
    }
}

#[test]
fn a_tag_decides_over_a_date() {
    assert_eq!(
        selected(&[("if-none-match", "\"x\""), ("if-modified-since", LATER)]),
        Selection::Whole
    );
}

#[test]
fn failed_preconditions_are_said() {
    assert_eq!(selected(&[("if-match", "\"x\"")]), Selection::PreconditionFailed);
    assert_eq!(
        selected(&[("if-unmodified-since", EARLIER)]),
        Selection::PreconditionFailed
    );
    assert_eq!(
        selected(&[("if-match", "\"tag\""), ("range", "bytes=0-9")]),
        Selection::Part(0..10)
    );
    assert_eq!(selected(&[("if-unmodified-since", MODIFIED)]), Selection::Whole);
}

proptest! {
    #[test]
    fn whatever_is_asked_parts_lie_within(range in "(bytes=)?([0-9]{0,4}-[0-9]{0,4},?){0,5}|\\PC{0,20}") {
        let value = HeaderValue::from_bytes(range.as_bytes());
        prop_assume!(value.is_ok());
        match selected(&[("range", &range)]) {
            Selection::Part(part) => prop_assert!(part.start < part.end && part.end <= LENGTH),
            Selection::Parts(parts) => {
                prop_assert!(parts.iter().all(|part| part.start < part.end && part.end <= LENGTH));
                prop_assert!(parts.iter().map(|part| part.end - part.start).sum::<u64>() <= LENGTH);
            }
            Selection::Whole | Selection::Unsatisfiable => {}
            other => prop_assert!(false, "{:?}", other),
        }
    }
}
