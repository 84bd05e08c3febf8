use muster_agent::foreign::steps::vips::VerifyVips;
use serde_json::json;

use super::lab::Switch;

#[test]
fn an_address_that_anybody_has_is_taken() {
    let mut switch = Switch::new();
    let a = switch.host(1);
    let b = switch.host(2);
    // An owner that ignores echo requests is found by ARP.
    b.set("ipv4/icmp_echo_ignore_all", "1");
    let found = a.good_step(
        VerifyVips,
        &json!([
            {"vip": "10.77.0.2", "vip_type": "api"},
            {"vip": "10.77.0.100", "vip_type": "ingress"},
            {"vip": "10.77.0.1", "vip_type": "api"},
            {"vip": "fd77::2", "vip_type": "api"},
            {"vip": "fd77::100", "vip_type": "ingress"},
        ]),
    );
    let expected = json!([
        {"vip": "10.77.0.2", "vip_type": "api", "verification": "failed"},
        {"vip": "10.77.0.100", "vip_type": "ingress", "verification": "succeeded"},
        {"vip": "10.77.0.1", "vip_type": "api", "verification": "failed"},
        {"vip": "fd77::2", "vip_type": "api", "verification": "failed"},
        {"vip": "fd77::100", "vip_type": "ingress", "verification": "succeeded"},
    ]);
    assert_eq!(found, expected);
}

#[test]
fn a_vip_behind_a_router_is_found_by_echo() {
    let mut switch = Switch::new();
    let a = switch.host(1);
    let router = switch.host(254);
    router.ip("address add 10.78.0.254/24 dev lo");
    a.ip("route add 10.78.0.0/24 via 10.77.0.254");
    let found = a.good_step(VerifyVips, &json!([{"vip": "10.78.0.254", "vip_type": "api"}]));
    assert_eq!(found[0]["verification"], "failed");
}

#[test]
fn nothing_asked_is_null_and_nonsense_is_refused() {
    let mut switch = Switch::new();
    let a = switch.host(1);
    assert_eq!(a.step(VerifyVips, &["[]".to_owned()]).output, "null");
    for (arg, why) in [
        (json!([{"vip": "x", "vip_type": "api"}]), "`x` is no IP address"),
        (
            json!([{"vip": "10.77.0.9", "vip_type": "other"}]),
            "unknown variant",
        ),
    ] {
        let output = a.step(VerifyVips, &[arg.to_string()]);
        assert_eq!(output.exit_code, -1);
        assert!(output.error.contains(why), "{}", output.error);
    }
}
