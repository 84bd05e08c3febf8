//! The whole sequence against a given BMC: hardware, or an external emulator. Cuts the power of its machine.
//!
//! ```text not run: needs a BMC
//! MUSTER_BMC=https://192.0.2.1 MUSTER_BMC_USER=admin MUSTER_BMC_PASSWORD=... MUSTER_BMC_IMAGE=http://192.0.2.9/a.iso \
//!   cargo test -p muster-bmc --test bmc -- --ignored --nocapture given
//! ```

use muster_bmc::{AddressRules, Bmc, BootFrom, CertificateMode, Client, Credentials, Limits, Target};

use crate::lab::networks;

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("set {name}"))
}

#[tokio::test]
#[ignore = "needs a BMC: see the file's first lines"]
async fn a_given_bmc_boots_its_machine_from_the_image() {
    let target = Target {
        address: variable("MUSTER_BMC"),
        credentials: Credentials::new(variable("MUSTER_BMC_USER"), variable("MUSTER_BMC_PASSWORD")),
        certificate: CertificateMode::Pin(None),
        system: std::env::var("MUSTER_BMC_SYSTEM").ok(),
    };
    let image = variable("MUSTER_BMC_IMAGE");
    let rules = AddressRules {
        networks: networks(),
        plain_http: true,
        ports: Vec::new(),
        known_certificates: false,
    };
    let client = Client::new(rules, Limits::default(), None);
    let found = client.preflight(&target, Some(&image)).await;
    for check in &found.checks {
        println!("{} {}: {} {}", check.id, check.outcome, check.seen, check.advice);
    }
    assert!(found.passes());
    let mut bmc = client.connect(&target).await.unwrap();
    println!("{:#?}", bmc.inventory().await.unwrap());
    let done = boots(&mut bmc, &image).await;
    println!("finished: {:?}", bmc.finish(None).await);
    bmc.close().await;
    done.unwrap();
}

async fn boots(bmc: &mut Bmc, image: &str) -> Result<(), muster_bmc::BmcError> {
    println!("{:?}", bmc.check(image).await?);
    println!("{:?}", bmc.insert(image).await?);
    println!("{:?}", bmc.boot(&BootFrom::Media).await?);
    println!("{:?}", bmc.progress().await?);
    Ok(())
}
