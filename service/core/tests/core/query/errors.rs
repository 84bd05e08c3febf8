//! Wrong filters: each fault has its place, and the nearest right word.

use muster_core::query::{
    Key, MAX_QUERY_BYTES, MAX_TERMS, MAX_VALUE_BYTES, MAX_VALUES, Problem, Query, QueryErrors,
};
use proptest::prelude::*;

fn errors(text: &str) -> QueryErrors {
    Query::parse(text).expect_err(text)
}

/// The wrong text and the message of the only fault.
fn fault(text: &str) -> (String, String) {
    let QueryErrors(faults) = errors(text);
    let [fault] = &faults[..] else {
        panic!("{text}: {faults:?}")
    };
    (text[fault.range.clone()].to_owned(), fault.to_string())
}

#[test]
fn each_fault_has_its_place_and_a_way_out() {
    for (text, place, message) in [
        ("a memroy:>4 b", "memroy", "\"memroy\" is no key; is it memory?"),
        ("status:known", "status", "is it state?"),
        ("infraenv:a", "infraenv", "is it pool?"),
        ("ram:>4", "ram", "is it memory?"),
        ("-nicspeed:>4", "nicspeed", "is it nic-speed?"),
        (
            "http://x",
            "http",
            "\"http\" is no key; to search for it as text, put it in quotation marks",
        ),
        ("state:knwon", "knwon", "\"knwon\" is no state; is it known?"),
        ("state:known,eror", "eror", "is it error?"),
        ("state:nothing*", "nothing*", "\"nothing*\" is no state"),
        ("role:wroker", "wroker", "is it worker?"),
        ("stage:rebotting", "rebotting", "is it rebooting?"),
        ("finding:clock-ofset", "clock-ofset", "is it clock-offset?"),
        ("check:ntp-sinced", "ntp-sinced", "is it ntp-synced?"),
        ("firmware:efi", "efi", "is it uefi?"),
        ("secureboot:yess", "yess", "is it yes?"),
        ("disk:nvme", "nvme", "\"nvme\" is no disk"),
        ("cpu:", "", "cpu has no value; cpu:* means any, cpu:\"\" none"),
        ("cpu:>", ">", "cpu has no value"),
        (
            "a -cpu>32",
            "cpu>32",
            "write cpu:>32, with a colon; to search for it as text, put it in quotation marks",
        ),
        ("a,Memory<=64GiB", "Memory<=64GiB", "write memory:<=64GiB"),
        ("ram>4*", "ram>4*", "write memory:>4*"),
        ("wait>10m", "wait>10m", "write wait:>10m"),
        ("cpu:4,", "", "cpu has no value"),
        ("cpu:four", "four", "\"four\" is no number for cpu; write 8, >=32"),
        ("cpu:>*", ">*", "is no number"),
        ("cpu:4G", "4G", "is no number"),
        (
            "memory:>64k",
            ">64k",
            "\"64k\" is no number for memory; write 64GiB, >=1.5T",
        ),
        ("disk:>fast", ">fast", "is no number for disk"),
        ("nic-speed:fast", "fast", "write 25G, >=10000M"),
        (
            "seen:5",
            "5",
            "\"5\" is no time for seen; write <5m, >1h30m or 24h",
        ),
        ("wait:>overdue", ">overdue", "write >10m, <1h or overdue"),
        ("pool:>a", ">a", "pool has no order: write it without >"),
        (
            "state:<=known",
            "<=known",
            "state has no order: write it without <=",
        ),
        ("ip:10.0.0", "10.0.0", "\"10.0.0\" is no address"),
        ("ip:10.0.0.0/33", "10.0.0.0/33", "is no address"),
        ("ip:node*", "node*", "is no address"),
        ("mac:52:54", "52:54", "\"52:54\" is no MAC address"),
        ("mac:node*", "node*", "is no MAC address"),
        ("mac::*", ":*", "is no MAC address"),
        ("a -", "-", "nothing after the minus sign"),
        ("a \"\"", "\"\"", "there is no text to search for"),
        ("a,", "", "there is no text to search for"),
        ("b \"a c", "\"a c", "the quotation mark has no second one"),
        (
            "pool:\"a\\\" b",
            "\"a\\\" b",
            "the quotation mark has no second one",
        ),
        ("a\u{0}b", "\u{0}", "control characters are not taken"),
        ("c \"a\tb\"", "\t", "control characters are not taken"),
        ("\u{1b}[31m", "\u{1b}", "control characters are not taken"),
    ] {
        let (found, told) = fault(text);
        assert_eq!(found, place, "{text}");
        assert!(told.contains(message), "{text}: {told}");
    }
}

#[test]
fn every_wrong_term_is_named_in_order() {
    let errors = errors("colour:red state:knwon,known,eror ok mac:1 -");
    let places: Vec<usize> = errors.0.iter().map(|fault| fault.range.start).collect();
    assert_eq!(places, [0, 17, 29, 41, 43]);
    assert!(
        errors.to_string().starts_with("at byte 0: \"colour\" is no key"),
        "{errors}"
    );
    assert_eq!(errors.0[1].problem.nearest().as_deref(), Some("known"));
}

#[test]
fn the_words_of_a_key_are_listed_once() {
    let told = errors("role:wroker,boss firmware:efi disk:nvme cpu:x").to_string();
    for words in [
        "at byte 5: \"wroker\" is no role; is it worker? ; ",
        "\"boss\" is no role ; ",
        " ; role takes auto-assign, master, arbiter, worker, bootstrap",
        " ; firmware takes bios, uefi",
        " ; disk takes a number, a size, hdd, ssd,",
    ] {
        assert_eq!(told.matches(words).count(), 1, "{words}: {told}");
    }
    let told = errors("secureboot:yess").to_string();
    assert!(told.ends_with("is it yes? ; secureboot takes yes, no"), "{told}");
}

#[test]
fn too_much_is_refused_with_its_limit() {
    let of = |text: String| errors(&text).0.remove(0).problem;
    let (bytes, limit) = (10 << 20, MAX_QUERY_BYTES);
    assert_eq!(of("a".repeat(bytes)), Problem::TooLong { bytes, limit });
    assert_eq!(of("a ".repeat(5 << 20)), Problem::TooLong { bytes, limit });
    let limit = MAX_TERMS;
    assert_eq!(of("a ".repeat(4000)), Problem::TooManyTerms { limit });
    assert!(
        of("a ".repeat(10_000))
            .to_string()
            .contains("20000 bytes, and at most 8192")
    );
    assert!(Query::parse(&"a ".repeat(MAX_TERMS)).is_ok());
    let limit = MAX_VALUES;
    assert_eq!(
        of(format!("serial:{}a", "a,".repeat(MAX_VALUES))),
        Problem::TooManyValues { limit }
    );
    assert_eq!(of("a,b,c,d,e ".repeat(60)), Problem::TooManyValues { limit });
    assert!(Query::parse(&format!("serial:{}a", "a,".repeat(MAX_VALUES - 1))).is_ok());
    let (bytes, limit) = (MAX_VALUE_BYTES + 1, MAX_VALUE_BYTES);
    assert_eq!(of("a".repeat(bytes)), Problem::ValueTooLong { bytes, limit });
    assert!(Query::parse(&format!("name:{}", "a".repeat(MAX_VALUE_BYTES))).is_ok());
    assert!(matches!(of("*a".repeat(300)), Problem::ValueTooLong { .. }));
}

#[test]
fn errors_repeat_little_of_what_is_wrong() {
    let told = errors(&format!("{}:1", "x".repeat(4000))).to_string();
    assert!(told.len() < 300, "{told}");
    let told = errors(&format!("cpu:{}", "x".repeat(200))).to_string();
    assert!(told.len() < 200, "{told}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_a_filter_with_a_canonical_text_or_has_faults_within_it(
        text in prop_oneof![
            any::<String>(),
            r#"[a-c:"*,\\><=0-9 é-]{0,30}"#,
            soup(),
        ]
    ) {
        match Query::parse(&text) {
            Ok(query) => {
                let canonical = query.to_string();
                prop_assert_eq!(Query::parse(&canonical), Ok(query), "{} of {}", canonical, text);
            }
            Err(QueryErrors(faults)) => {
                prop_assert!(!faults.is_empty());
                for fault in faults {
                    prop_assert!(text.get(fault.range.clone()).is_some(), "{:?}", fault);
                    prop_assert!(!fault.to_string().is_empty());
                }
            }
        }
    }
}

/// Keys with values that they may take or not.
fn soup() -> impl Strategy<Value = String> {
    let key = proptest::sample::select(Key::ALL.to_vec());
    let values = vec![
        "*",
        "\"\"",
        "a",
        "a*",
        "\"a b\"*",
        "4",
        "\"4\"",
        ">4",
        "<=1.50T",
        "10G",
        "90s",
        ">1d",
        "overdue",
        "yes",
        "known",
        "ssd",
        "10.0.0.7",
        "10.0.0.0/8",
        "10.*",
        "2001:db8::7",
        "52:54:00:12:34:56",
        "52:*:5",
        "zone=a",
        "zone=",
        "=a",
        "\"=\"",
        "*=*",
        "uefi",
        "\"-a\"",
        "\"<a\"",
        "\"a,b\"",
        "\"a\\\"b\\\\\"",
        "3090",
        "3090*",
    ];
    let values = proptest::collection::vec(proptest::sample::select(values), 1..4);
    let term = (any::<bool>(), proptest::option::of(key), values).prop_map(|(is_negated, key, values)| {
        let sign = if is_negated { "-" } else { "" };
        let key = key.map(|key| format!("{key}:")).unwrap_or_default();
        format!("{sign}{key}{}", values.join(","))
    });
    proptest::collection::vec(term, 0..4).prop_map(|terms| terms.join(" "))
}
