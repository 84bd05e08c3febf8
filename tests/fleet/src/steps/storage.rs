//! Disks, images and boot artifacts.

use muster_api::steps::{
    DiskErasure, EraseDisksRequest, EraseDisksResponse, ErasureDepth, ErasureMethod, ErasureState,
};
use rand::RngExt;
use serde::Deserialize;
use serde_json::{Value, json};

use super::outcome::{Outcome, argument, parse, settle};
use crate::machine::Machine;

#[derive(Deserialize)]
struct Disk {
    path: String,
}

/// `installation-disk-speed-check`: a few milliseconds, on one machine in twenty too many. Two arguments: the
/// disk, and the seconds allowed.
pub fn disk_speed(machine: Machine, args: &[String]) -> Outcome {
    let [disk, seconds] = args else {
        return Outcome::failed(-1, format!("expecting exactly two arguments, got {}", args.len()));
    };
    settle(parse::<Disk>(disk).and_then(|disk| {
        if seconds.parse::<f64>().is_err() {
            return Err(Outcome::failed(-1, format!("{seconds} is no number of seconds")));
        }
        let mut random = machine.random(8);
        let slow = random.random_ratio(1, 20);
        let milliseconds: i64 = if slow {
            random.random_range(20..200)
        } else {
            random.random_range(1..9)
        };
        Ok(Outcome::good(
            &json!({"path": disk.path, "io_sync_duration": milliseconds}),
        ))
    }))
}

#[derive(Deserialize)]
struct Images {
    images: Vec<String>,
}

/// `container-image-availability`: pulled at some 40 MB/s; one machine in thirty reaches no registry (exit
/// code 2).
pub fn image_availability(machine: Machine, args: &[String]) -> Outcome {
    settle(argument::<Images>(args).map(|asked| {
        let mut random = machine.random(9);
        let fails = random.random_ratio(1, 30);
        let images: Vec<Value> = asked
            .images
            .iter()
            .map(|image| {
                if fails {
                    return json!({"name": image, "result": "failure"});
                }
                let megabytes: u32 = random.random_range(150..900);
                let seconds = f64::from(megabytes) / 40.0;
                json!({"name": image, "result": "success", "size_bytes": f64::from(megabytes) * 1e6,
                       "time": seconds, "download_rate": 40.0})
            })
            .collect();
        let outcome = Outcome::good(&json!({"images": images}));
        Outcome {
            exit_code: if fails && !asked.images.is_empty() { 2 } else { 0 },
            ..outcome
        }
    }))
}

/// `download-boot-artifacts`: all downloaded already.
pub fn boot_artifacts(_machine: Machine, _args: &[String]) -> Outcome {
    Outcome {
        output: "the boot artifacts are in place".into(),
        ..Outcome::done()
    }
}

/// Requests with which an erasure is over.
const ROUNDS: i64 = 3;

/// `erase-disks`: a third is done with each request, of which `round` were before this one.
pub fn erase_disks(args: &[String], round: u32) -> Outcome {
    settle(argument::<EraseDisksRequest>(args).map(|asked| {
        let round = (i64::from(round) + 1).min(ROUNDS);
        let is_over = round == ROUNDS;
        let method = match (asked.depth, asked.overwrite) {
            (ErasureDepth::Metadata, _) => ErasureMethod::Metadata,
            (ErasureDepth::Full, false) => ErasureMethod::Discard,
            (ErasureDepth::Full, true) => ErasureMethod::Overwrite,
        };
        let disks = asked.disks.iter().map(|disk| DiskErasure {
            id: disk.id.clone(),
            state: if is_over {
                ErasureState::Erased
            } else {
                ErasureState::Erasing
            },
            method: Some(method),
            bytes_done: disk.size_bytes / ROUNDS * round,
            bytes_total: disk.size_bytes,
            seconds: round,
            samples: if is_over { 1024 } else { 0 },
            message: String::new(),
        });
        Outcome::good(&json!(EraseDisksResponse {
            id: asked.id.clone(),
            is_over,
            disks: disks.collect(),
        }))
    }))
}
