use super::*;

const SCRIPT: &str = "http://192.0.2.10:8091/boot/0123456789abcdefghijkl/boot.ipxe";

fn subnet() -> Ipv4Net {
    "192.0.2.77/24".parse().unwrap()
}

fn recipe(script: &str, range: Option<(&str, &str)>) -> Result<Recipe, RecipeError> {
    let range = range.map(|(first, last)| (first.parse().unwrap(), last.parse().unwrap()));
    Recipe::new(script, Ipv4Addr::new(192, 0, 2, 10), subnet(), range)
}

/// `MUSTER_BLESS=1` writes the files.
#[test]
fn the_recipes_are_those_that_were_tried() {
    let recipe = recipe(SCRIPT, None).unwrap();
    let mut differences = String::new();
    for (name, server) in [
        ("dnsmasq.conf", Server::Dnsmasq),
        ("proxydhcp.conf", Server::ProxyDhcp),
        ("dhcpd.conf", Server::IscDhcp),
        ("kea-dhcp4.conf", Server::Kea),
    ] {
        let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/golden")
            .join(name);
        let text = recipe.render(server);
        if std::env::var_os("MUSTER_BLESS").is_some() {
            std::fs::write(&file, &text).unwrap();
        }
        if std::fs::read_to_string(&file).unwrap_or_default() != text {
            let _ = writeln!(differences, "{name} is now\n{text}");
        }
    }
    assert!(
        differences.is_empty(),
        "{differences}\nIf that is meant: MUSTER_BLESS=1 cargo test -p muster-ipxe"
    );
}

/// Kea and dhcpd compare an option as a whole: findings/pxe-architecture-lists.sh.
#[test]
fn the_first_of_several_architectures_decides_and_a_class_may_be_counted() {
    let recipe = recipe(SCRIPT, None).unwrap();
    let kea = recipe.render(Server::Kea);
    for architecture in ["0x0000", "0x0007", "0x0009"] {
        let test = format!("substring(option[93].hex,0,2) == {architecture}");
        assert!(kea.contains(&test), "{test}\n{kea}");
    }
    assert!(!kea.contains("option[93].hex =="), "{kea}");
    assert!(kea.contains("substring(option[77].hex,1,4) == 'iPXE'"), "{kea}");
    let dhcpd = recipe.render(Server::IscDhcp);
    for architecture in ["00:07", "00:09"] {
        let test = format!("substring(option arch, 0, 2) = {architecture}");
        assert!(dhcpd.contains(&test), "{test}\n{dhcpd}");
    }
    assert!(!dhcpd.contains("option arch ="), "{dhcpd}");
    assert!(
        dhcpd.contains("substring(option user-class, 1, 4) = \"iPXE\""),
        "{dhcpd}"
    );
}

#[test]
fn addresses_come_from_the_upper_half_or_the_range_that_is_given() {
    let (first, last) = upper_half(subnet());
    assert_eq!(
        (first, last),
        (Ipv4Addr::new(192, 0, 2, 128), Ipv4Addr::new(192, 0, 2, 254))
    );
    let given = recipe(SCRIPT, Some(("192.0.2.20", "192.0.2.30"))).unwrap();
    assert!(
        given
            .render(Server::Dnsmasq)
            .contains("dhcp-range=192.0.2.20,192.0.2.30,255.255.255.0,1h")
    );
    for (first, last) in [
        ("192.0.2.30", "192.0.2.20"),
        ("192.0.2.20", "192.0.3.1"),
        ("10.0.0.1", "192.0.2.9"),
    ] {
        assert!(matches!(
            recipe(SCRIPT, Some((first, last))),
            Err(RecipeError::Range { .. })
        ));
    }
    let small = Recipe::new(SCRIPT, Ipv4Addr::LOCALHOST, "192.0.2.0/30".parse().unwrap(), None);
    assert!(matches!(small, Err(RecipeError::Small(_))));
}

#[test]
fn urls_that_firmware_or_a_configuration_would_not_take_are_refused() {
    let long = format!("http://boot.example.com/{}", "x".repeat(104));
    assert_eq!(recipe(&long, None), Err(RecipeError::TooLong(128)));
    assert!(matches!(
        recipe("https://192.0.2.10/x", None),
        Err(RecipeError::NotHttp(_))
    ));
    assert!(recipe("tftp://192.0.2.10/muster.ipxe", None).is_ok());
    for wrong in [
        "http://x/\"; filename \"y",
        "http://x/a,b",
        "http://x/a b",
        "http://x/a\nport=53",
        "http://x/ä",
    ] {
        assert!(
            matches!(recipe(wrong, None), Err(RecipeError::Character(_))),
            "{wrong}"
        );
    }
}
