//! `make bench`: the cost of downloads, polls and boots, compared with nginx where it is a peer, in the same run on the
//! same bytes.
//!
//! Numbers of different computers are not comparable; ratios are.

mod attacks;
mod bmcs;
mod boot;
mod bound;
mod databases;
mod distance;
mod fleet;
mod images;
mod install;
mod kube;
mod nginx;
mod polls;
mod profile;
mod table;
mod usage;
mod web;
mod wire;
mod writes;

use clap::{Parser, ValueEnum};

/// Measures a release build of `muster` (beside this program, or `MUSTER_BIN`) with the live image of `make
/// image` (or `MUSTER_LIVE_IMAGE`).
#[derive(Debug, Parser)]
struct Arguments {
    /// Subjects to measure; everything if nothing is named.
    subjects: Vec<Subject>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Subject {
    /// Image downloads: first byte, rate, CPU, memory.
    Images,
    /// Polls of hosts with nothing to do.
    Polls,
    /// Fleets of 3,000 hosts on both databases; some three minutes.
    Fleet,
    /// PostgreSQL by 16 and by 64 connections, here and a millisecond away; some six minutes.
    Databases,
    /// 10,000 hosts at rest, with their custom resources and without; some ten minutes.
    Rest,
    /// 50,000 hosts at rest on either database; some fifteen minutes.
    Region,
    /// A cluster of 3,000 hosts with tokens, on both databases; some fifteen minutes.
    Bound,
    /// A cluster of 10,000 hosts with tokens, on both databases; some twenty minutes.
    BoundMany,
    /// Custom resources on the built-in Kubernetes API and on a real one; some five minutes.
    Kube,
    /// Installations at once: 20 on a real Kubernetes API, 1,000 on the built-in one; some five minutes.
    Install,
    /// 200 machines discovered through BMCs, three times; some ten minutes.
    Bmcs,
    /// Attacks, each alone and all at once beside 3,000 hosts: what others notice; some twenty-five minutes.
    Attacks,
    /// The page with 10,000 hosts, in a browser: its budgets; some fifteen minutes.
    Web,
    /// Flame graphs, shares of the time and allocations of registrations, polls and lists; some three minutes.
    Profile,
    /// Writing an image to a disk, beside `dd`; needs root and loop devices.
    Writes,
    /// An emulated machine, from power-on to its inventory, beside a bare kernel; some four minutes.
    Boot,
}

fn main() -> anyhow::Result<()> {
    let asked = Arguments::parse().subjects;
    let wanted = |subject| asked.is_empty() || asked.contains(&subject);
    if wanted(Subject::Images) {
        images::measure()?;
    }
    if wanted(Subject::Polls) {
        polls::measure()?;
    }
    if wanted(Subject::Fleet) {
        fleet::measure()?;
    }
    if wanted(Subject::Databases) {
        databases::measure()?;
    }
    if wanted(Subject::Rest) {
        fleet::measure_rest()?;
    }
    if wanted(Subject::Region) {
        fleet::measure_region()?;
    }
    if wanted(Subject::Bound) {
        bound::measure(fleet::HOSTS)?;
    }
    if wanted(Subject::BoundMany) {
        bound::measure(fleet::MANY_HOSTS)?;
    }
    if wanted(Subject::Kube) {
        kube::measure()?;
    }
    if wanted(Subject::Install) {
        install::measure()?;
    }
    if wanted(Subject::Bmcs) {
        bmcs::measure()?;
    }
    if wanted(Subject::Attacks) {
        attacks::measure()?;
    }
    if wanted(Subject::Web) {
        web::measure()?;
    }
    if wanted(Subject::Profile) {
        profile::measure()?;
    }
    if wanted(Subject::Writes) {
        writes::measure()?;
    }
    if wanted(Subject::Boot) {
        boot::measure()?;
    }
    Ok(())
}
