//! Disks, images and boot artifacts.

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
