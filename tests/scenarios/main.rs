//! Actions of users, and faults: each area is a folder, a `make test-AREA`, and the requirements of its scenarios
//! (tests/README.md). One program: it is linked once, and its threads keep two machines busy, one after the other,
//! whatever the subject.

#![expect(
    clippy::unwrap_used,
    reason = "a scenario that gets no answer has failed, and its machine and service show why"
)]

/// The main job, for `make test`: QEMU, a browser, and SQLite as the database.
mod smoke {
    mod discovery;
    mod installed_disk;
    mod page;
    mod service;
    mod simulated;
}

/// REST over a listener: cases that the routes of `service/rest/tests` cannot cover in process.
mod rest {
    mod coreos_downloads;
    mod description;
    mod downloads;
    mod hostile_input;
    mod hostile_requests;
    mod os_images;
    mod tls;
    mod transport;
}

/// Faults, on both databases.
mod faults {
    mod attack;
    mod cluster_hosts;
    mod cluster_logs;
    pub mod conversation;
    pub mod fleet;
    mod full_disk;
    mod hostile_texts;
    mod long_running;
    mod polling;
    mod replicas;
    mod shutdown;
    pub mod sudden_death;
}

/// Custom resources, on the built-in Kubernetes API and a real one.
mod kube {
    mod agents;
    mod bmcs;
    mod bootstrap_data;
    mod bridge;
    mod helm;
    mod hostile;
    mod infra_envs;
    mod installing;
    pub mod joining;
    mod metal3;
    mod metal3_operator;
    mod outages;
    mod pod;
    mod rights;
    mod secrets;
    mod two_pools;
    mod walk;
    mod wire;
}

/// Cluster API's controllers, and the requests of another provider, with simulated machines.
mod cluster_api {
    mod control_planes;
    mod fleet;
    mod foreign_provider;
    mod health;
    mod health_check;
    mod in_place;
    mod manager;
    mod moving;
    pub mod quotas;
}

/// Machines boot from each medium and by each firmware, and become known.
mod boot {
    mod aarch64;
    mod by_ipxe;
    mod by_pxe;
    mod by_uefi_http;
    mod coreos;
    mod from_cd;
    mod from_usb_stick;
    mod ignition;
    mod live_image;
    mod odd_machines;
    pub mod order;
    mod provider_data;
    mod reference_machine;
    mod static_network;
    mod three_hosts;
}

/// Machines are installed, become nodes of a cluster, and come back.
mod install {
    mod aarch64;
    mod cloud_image;
    mod in_place;
    mod machine_deployment;
    mod node_pool;
}

/// Machines that a BMC switches on.
mod bmc {
    mod asleep;
    mod discovery;
    mod foreign;
    mod machine;
    mod rack;
    mod returns;
    mod vendors;
}

/// The page, in a browser.
mod web {
    mod axe;
    mod choosing;
    mod clusters;
    mod filter;
    mod foreign;
    mod hostile;
    mod keyboard;
    mod keys;
    mod looks;
    mod machine;
    mod many;
    mod outages;
    mod paper;
    mod pictures;
    mod service;
    mod sessions;
    mod states;
    mod walk;
    mod without_scripts;
}

/// Client programs of others, the command line, and the commands in the documentation.
mod clients {
    mod command_line;
    mod monitoring;
    pub mod packages;
    mod pages;
    mod published;
}
