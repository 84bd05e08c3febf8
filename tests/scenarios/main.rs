//! Machines boot what the service gives them, and become known. One file a subject; `discovery` is their
//! common ground, `kube` that of custom resources.

#![expect(
    clippy::unwrap_used,
    reason = "a scenario that gets no answer has failed, and its machine and service show why"
)]

mod agents;
mod clock;
mod coreos;
mod coreos_downloads;
mod database;
mod discovery;
mod kube;
mod kube_world;
mod login;
mod raw_http;
mod workload;

mod attack;
mod authorization;
mod bmc_discovery;
mod bmc_foreign;
mod bmc_machine;
mod bmc_rack;
mod bmc_returns;
mod bmc_vendors;
mod bmc_walk;
mod boot_aarch64;
mod boot_by_ipxe;
mod boot_by_pxe;
mod boot_by_uefi_http;
mod boot_from_cd;
mod boot_from_usb_stick;
mod boot_order;
mod clients;
mod cluster_api;
mod cluster_hosts;
mod cluster_logs;
mod command_line;
mod description;
mod download_api;
mod event_api;
mod findings;
mod fleet;
mod foreign_provider;
mod full_disk;
mod host_api;
mod host_logs;
mod hostile_input;
mod hostile_requests;
mod hosts_table;
mod infra_env_api;
mod install_cluster_api;
mod install_fleet;
mod install_node_pool;
mod installed_disk;
mod joining;
mod kube_agents;
mod kube_bmcs;
mod kube_bridge;
mod kube_faults;
mod kube_hostile;
mod kube_infra_envs;
mod kube_installing;
mod kube_rights;
mod kube_secrets;
mod kube_walk;
mod kube_wire;
mod live_image;
mod long_running;
mod metal3;
mod metal3_operator;
mod nodepool;
mod odd_machines;
mod os_images;
mod packages;
mod pages;
mod pod;
mod polling;
mod power_on_to_inventory;
mod provider;
mod reference_machine;
mod replicas;
mod service_restarts;
mod shutdown;
mod signed_urls;
mod static_network;
mod sudden_death;
mod three_hosts;
mod tls;
mod transport;
mod wire;
