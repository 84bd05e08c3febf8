//! Redirects, links and responses of a BMC that lead elsewhere.

use muster_bmc::{AddressRules, BmcError, Client, Limits, Networks};
use muster_bmc_emulator::{Emulator, Fault, FaultKind, Quirks};

use crate::lab::{IMAGE, Lab, failure, limits, networks, rules};

fn elsewhere() -> Lab {
    Lab::new(Quirks::default())
}

fn assert_untouched(other: &Emulator) {
    assert!(other.requests().is_empty(), "nothing is asked elsewhere");
}

#[tokio::test]
async fn a_redirect_to_another_origin_is_refused_and_the_password_stays_here() {
    let other = elsewhere();
    for (method, path) in [("POST", "Sessions"), ("GET", "/Systems"), ("POST", "InsertMedia")] {
        let lab = Lab::new(Quirks::default());
        let redirect = FaultKind::Redirect(other.bmc.url());
        lab.bmc.fail(Fault::new(redirect).at(method, path));
        let error = failure(lab.boot().await);
        assert!(
            matches!(error, BmcError::ForeignLink(_)),
            "{method} {path}: {error}"
        );
        assert_untouched(&other.bmc);
    }
}

#[tokio::test]
async fn a_redirect_within_the_bmc_is_followed() {
    let lab = Lab::new(Quirks::default());
    for (method, path) in [("GET", "/Systems/1"), ("POST", "InsertMedia")] {
        let redirect = FaultKind::Redirect(lab.bmc.url());
        lab.bmc.fail(Fault::new(redirect).at(method, path));
    }
    lab.boot().await.unwrap();
    let lab = Lab::new(Quirks::default());
    let endless = FaultKind::Redirect(lab.bmc.url());
    lab.bmc
        .fail(Fault::new(endless).at("GET", "/Systems").times(1000));
    let error = failure(lab.connect().await);
    assert!(error.to_string().contains("redirects without end"), "{error}");
    assert!(lab.sent("GET", "/Systems").len() < 10);
}

#[tokio::test]
async fn links_to_another_origin_are_refused() {
    let other = elsewhere();
    for path in ["/redfish/v1/", "/redfish/v1/Systems", "/redfish/v1/Managers/BMC"] {
        let lab = Lab::new(Quirks {
            media_at_manager: true,
            ..Quirks::default()
        });
        let links = FaultKind::ForeignLinks(other.bmc.url());
        lab.bmc.fail(Fault::new(links).at("GET", path).times(100));
        let error = failure(lab.boot().await);
        assert!(matches!(error, BmcError::ForeignLink(_)), "{path}: {error}");
        assert_untouched(&other.bmc);
    }
}

#[tokio::test]
async fn foreign_links_in_an_inventory_are_noted() {
    let (lab, other) = (elsewhere(), elsewhere());
    let links = FaultKind::ForeignLinks(other.bmc.url());
    lab.bmc
        .fail(Fault::new(links).at("GET", "/EthernetInterfaces").times(100));
    let mut bmc = lab.connect().await.unwrap();
    let inventory = bmc.inventory().await.unwrap();
    assert!(
        inventory.notes.iter().any(|note| note.contains("another place")),
        "{:?}",
        inventory.notes
    );
    assert!(!inventory.drives.is_empty(), "the rest is read");
    assert_untouched(&other.bmc);
}

#[tokio::test]
async fn bodies_without_end_are_not_read() {
    let lab = Lab::new(Quirks::default());
    lab.bmc
        .fail(Fault::new(FaultKind::HugeBody(50 << 20)).at("GET", "/Systems"));
    let error = failure(lab.connect().await);
    assert!(matches!(error, BmcError::TooLarge { .. }), "{error}");
}

#[tokio::test]
async fn members_without_end_are_not_read() {
    let few = Limits {
        members: 1,
        ..limits()
    };
    let lab = Lab::with_limits(Quirks::default(), few);
    let mut bmc = lab.connect().await.unwrap();
    let error = failure(bmc.check(IMAGE).await);
    assert!(matches!(error, BmcError::TooLarge { limit: 1, .. }), "{error}");
}

#[tokio::test]
async fn a_page_for_browsers_is_no_redfish() {
    let lab = Lab::new(Quirks::default());
    lab.bmc.fail(Fault::new(FaultKind::Html));
    let error = failure(lab.connect().await);
    assert!(
        error.to_string().contains("is this a BMC with Redfish?"),
        "{error}"
    );
}

#[tokio::test]
async fn a_bmc_at_loopback_is_refused_before_anything_is_sent() {
    let lab = Lab::new(Quirks::default());
    let strict = AddressRules {
        networks: Networks::default(),
        ..rules()
    };
    let client = Client::new(strict, limits(), None);
    let error = failure(client.connect(&lab.target()).await);
    assert!(error.to_string().contains("a loopback address"), "{error}");
    let mut by_name = lab.target();
    by_name.address = by_name.address.replace("127.0.0.1", "localhost");
    let error = failure(client.connect(&by_name).await);
    assert!(error.to_string().contains("a loopback address"), "{error}");
    assert_untouched(&lab.bmc);
}

#[tokio::test]
async fn a_name_is_resolved_once_and_connected_to_by_its_address() {
    let lab = Lab::new(Quirks::default());
    let mut by_name = lab.target();
    by_name.address = by_name.address.replace("127.0.0.1", "localhost");
    let client = Client::new(
        AddressRules {
            // Not ::1, where nothing listens.
            networks: Networks {
                refused: vec!["::1/128".parse().unwrap()],
                ..networks()
            },
            ..rules()
        },
        limits(),
        None,
    );
    client.connect(&by_name).await.unwrap().close().await;
    let host = lab.bmc.requests()[0].header("host").unwrap().to_owned();
    assert!(host.starts_with("localhost:"), "{host}");
}
