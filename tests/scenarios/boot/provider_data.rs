//! The matrix of providers, formats and roles: what RKE2 and k0smotron write is taken, or refused by the member that cannot come true; what is
//! taken, Ignition's own parser and cloud-init's own schema take as well. (What kubeadm's provider renders: service/core/tests/core.)

use muster_core::rules::bootstrap_data::{BootstrapData, Subject, read};
use muster_tests::install::cloud_init::CloudInit;
use muster_tests::install::ignition_parser::IgnitionParser;
use muster_tests::install::provider_data::samples;

/// Each has 30 samples, nine of them cloud-configs that a foreign program reads in two seconds.
const SEEDS: u64 = 4;
const HOST: &str = "node-7.rack.example";

fn subject() -> Subject {
    Subject {
        instance_id: "i-7".into(),
        hostname: HOST.into(),
        name: HOST.into(),
        uuid: "u-7".into(),
        local_ipv4: Some("192.0.2.7".into()),
        provider_id: "agent://u-7".into(),
    }
}

#[test]
fn what_providers_write_is_taken_and_then_by_ignition_and_cloud_init_too() {
    let (mut ignition, mut cloud_configs) = (Vec::new(), Vec::new());
    for sample in (0..SEEDS).flat_map(samples) {
        let name = sample.name.clone();
        match (read(&sample.text), sample.refused) {
            (Err(refused), Some(member)) => {
                assert!(refused.member.starts_with(member), "{name}: {refused}");
            }
            (Err(refused), None) => panic!("{name}: {refused}\n{}", sample.text),
            (Ok(_), Some(member)) => panic!("{name}: is taken, with {member}"),
            (Ok(BootstrapData::Ignition(config)), None) => ignition.push((name, config)),
            (Ok(BootstrapData::CloudConfig(config)), None) => {
                let translated = config.ignition_for(&subject());
                let translated = translated.unwrap_or_else(|refused| panic!("{name}: {refused}"));
                ignition.push((name.clone(), translated));
                cloud_configs.push((name, sample.rendered(HOST)));
            }
        }
    }
    let configs: Vec<_> = ignition
        .iter()
        .map(|(_, config)| (config.as_str(), None))
        .collect();
    let verdicts = IgnitionParser::built().verdicts(&configs);
    for ((name, config), verdict) in ignition.iter().zip(verdicts) {
        assert!(
            verdict.errors.is_empty(),
            "{name}: {:?} in {config}",
            verdict.errors
        );
    }
    let cloud_init = CloudInit::fetched();
    assert!(
        cloud_init.refuses("#cloud-config\nruncmd: 7\n").is_some(),
        "it does validate"
    );
    for (name, config) in &cloud_configs {
        let refused = cloud_init.refuses(config);
        assert_eq!(refused, None, "{name}:\n{config}");
    }
    let counts = (ignition.len(), cloud_configs.len());
    println!("{counts:?} configs of Ignition and for cloud-init");
}
