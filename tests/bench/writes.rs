//! Writing an image to a disk: `muster-agent write-image` compared with `dd oflag=direct` of the same bytes,
//! alternately.

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use muster_tests::artifacts;

use crate::table::{self, row};
use crate::wire::median;

/// Bytes of the image.
const IMAGE: usize = 768 << 20;
const HEAD: usize = 1 << 20;
const ROUNDS: usize = 5;

/// A loop device past the kernel's cache over a file; ended when dropped.
struct Disk(String);

impl Disk {
    fn over(file: &Path) -> Result<Self> {
        let arguments = ["--find", "--show", "--direct-io=on"];
        let node = stdout(Command::new("losetup").args(arguments).arg(file))?;
        Ok(Self(node.trim().to_owned()))
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["--detach", &self.0]).status();
    }
}

/// Measures on a loop device in the folder for temporary files.
pub fn measure() -> Result<()> {
    if !nix::unistd::Uid::effective().is_root() || !Path::new("/dev/loop-control").exists() {
        println!("\nWriting images: not measured, needs root and loop devices");
        return Ok(());
    }
    let agent = agent_program()?;
    // Not in memory: it has to be a disk.
    let folder = tempfile::Builder::new()
        .prefix("muster-bench-")
        .tempdir_in("/var/tmp")?;
    let raw = folder.path().join("image.raw");
    std::fs::write(&raw, image()?)?;
    let zst = folder.path().join("image.zst");
    stdout(
        Command::new("zstd")
            .args(["-q", "-3", "-T0", "-o"])
            .args([&zst, &raw]),
    )?;
    let backing = folder.path().join("disk");
    fill(&backing, IMAGE + (64 << 20))?;
    let disk = Disk::over(&backing)?;
    let (mut by_dd, mut of_raw, mut of_zst, mut back) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut decompressed = Vec::new();
    for _ in 0..ROUNDS {
        by_dd.push(dd(&raw, &disk.0)?);
        decompressed.push(decompress(&zst)?);
        of_raw.push(written(&agent, &raw, &disk.0)?.0);
        let (write, read_back) = written(&agent, &zst, &disk.0)?;
        of_zst.push(write);
        back.push(read_back);
    }
    let (dd, of_raw, of_zst, back) = (median(&by_dd), median(&of_raw), median(&of_zst), median(&back));
    let line = |what: &str, rate: f64| row([what, &format!("{rate:.0}"), &format!("{:.2}", rate / dd)]);
    let compressed = std::fs::metadata(&zst)?.len();
    table::print(
        &format!(
            "Writing an image of {} MB ({} MB as zst) to a disk, medians of {ROUNDS} turns; budget: 0.9 of dd, of a zst 0.9 of the slower of dd and zstd",
            IMAGE / 1_000_000,
            compressed / 1_000_000
        ),
        &[
            row(["", "MB/s", "of dd"]),
            line("dd bs=4M oflag=direct conv=fsync", dd),
            line(
                "zstd -d -c to /dev/null: no image is written faster",
                median(&decompressed),
            ),
            line("muster-agent, raw", of_raw),
            line("muster-agent, zst, decompression included", of_zst),
            line("muster-agent, reading back and comparing", back),
        ],
    );
    Ok(())
}

/// MB per second of `dd`.
fn dd(image: &Path, disk: &str) -> Result<f64> {
    let began = Instant::now();
    let (from, to) = (format!("if={}", image.display()), format!("of={disk}"));
    stdout(Command::new("dd").args([&from, &to, "bs=4M", "oflag=direct", "conv=fsync", "status=none"]))?;
    Ok(IMAGE as f64 / 1e6 / began.elapsed().as_secs_f64())
}

/// MB per second of `zstd`, of the decompressed bytes.
fn decompress(image: &Path) -> Result<f64> {
    let began = Instant::now();
    let nowhere = File::create("/dev/null")?;
    let status = Command::new("zstd")
        .args(["-q", "-d", "-c"])
        .arg(image)
        .stdout(nowhere)
        .status()?;
    ensure!(status.success(), "zstd: {status}");
    Ok(IMAGE as f64 / 1e6 / began.elapsed().as_secs_f64())
}

/// MB per second of writing and of reading back.
fn written(agent: &Path, image: &Path, disk: &str) -> Result<(f64, f64)> {
    let line = stdout(Command::new(agent).arg("write-image").arg(image).arg(disk))?;
    let answer: serde_json::Value = serde_json::from_str(&line)?;
    let number = |name: &str| {
        answer[name]
            .as_f64()
            .with_context(|| format!("no {name} in {line}"))
    };
    ensure!(number("bytes")? as usize == IMAGE, "not the whole image: {line}");
    Ok((number("write_mb_per_s")?, number("read_back_mb_per_s")?))
}

/// Contents of an operating system's disk: the programs and libraries of this computer after a partition table.
fn image() -> Result<Vec<u8>> {
    let mut image = vec![0; HEAD];
    image[510..512].copy_from_slice(&[0x55, 0xaa]);
    image[512..520].copy_from_slice(b"EFI PART");
    image[584..592].copy_from_slice(&2_u64.to_le_bytes());
    image[592..596].copy_from_slice(&128_u32.to_le_bytes());
    image[596..600].copy_from_slice(&128_u32.to_le_bytes());
    let mut folders = vec![PathBuf::from("/usr/lib"), PathBuf::from("/usr/bin")];
    while let Some(folder) = folders.pop() {
        let mut entries: Vec<_> = std::fs::read_dir(&folder)?.flatten().collect();
        entries.sort_by_key(std::fs::DirEntry::path);
        for entry in entries {
            let kind = entry.file_type()?;
            if kind.is_dir() {
                folders.push(entry.path());
            } else if kind.is_file() && image.len() < IMAGE {
                let room = (IMAGE - image.len()) as u64;
                File::open(entry.path())?.take(room).read_to_end(&mut image)?;
            }
        }
        if image.len() >= IMAGE {
            return Ok(image);
        }
    }
    // A computer with few programs: repeats them.
    while image.len() < IMAGE {
        let more = (IMAGE - image.len()).min(image.len() - HEAD);
        image.extend_from_within(HEAD..HEAD + more);
    }
    Ok(image)
}

/// Allocates all blocks of a file, so that no round has to.
fn fill(path: &Path, bytes: usize) -> Result<()> {
    let mut file = File::create(path)?;
    let piece = vec![0xdd; 4 << 20];
    for _ in 0..bytes / piece.len() {
        file.write_all(&piece)?;
    }
    file.sync_all()?;
    Ok(())
}

/// The released agent, else the one in this program's folder.
fn agent_program() -> Result<PathBuf> {
    let released = artifacts::project_root().join("dist/muster-agent");
    let given = std::env::var_os("MUSTER_AGENT_BIN").map_or(released, PathBuf::from);
    ensure!(
        given.is_file(),
        "{} is missing: run `make build`, or set MUSTER_AGENT_BIN",
        given.display()
    );
    Ok(given)
}

fn stdout(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("{command:?}"))?;
    if !output.status.success() {
        bail!("{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8(output.stdout)?)
}
