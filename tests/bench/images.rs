//! Image downloads: the service compared with nginx's sendfile of the same bytes, alternately.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use muster_image::testing::coreos::{CoreOsTree, Generation};
use muster_tests::artifacts;
use muster_tests::qemu::coreos::entry;
use muster_tests::service::{Service, Settings};
use serde_json::json;

use crate::nginx::Nginx;
use crate::table::{self, row};
use crate::usage::{cpu_seconds, resident_mb, resident_while};
use crate::wire::{Connection, median};

const FIRST_BYTES: usize = 300;
const ROUNDS: usize = 7;
const AT_ONCE: usize = 100;
const SLOW: usize = 400;
const COREOS_VERSION: &str = "4.20";

/// Bytes that a server sends in one turn, so that a turn is long enough for the CPU clock (10 ms).
const TURN_BYTES: u64 = 2_000_000_000;

/// A server of the same bytes.
struct Source {
    port: u16,
    pid: u32,
    path: String,
}

struct Cost {
    megabytes_per_second: f64,
    cpu_seconds_per_gigabyte: f64,
}

/// Measures with the live image, with a base file of 1 GB and with a CoreOS live ISO.
pub fn measure() -> Result<()> {
    let folder = tempfile::Builder::new().prefix("muster-bench-").tempdir()?;
    let live = artifacts::live_image();
    let settings = Settings::for_user_networks;
    compare(
        "the live image",
        settings().live_image(&live),
        folder.path(),
        true,
    )?;
    let large = folder.path().join("large-base.iso");
    make_large(&live, &large, 1_000_000_000)?;
    compare(
        "a base file of 1 GB",
        settings().live_image(&large),
        folder.path(),
        false,
    )?;
    std::fs::remove_file(&large)?;
    let coreos = folder.path().join("coreos.iso");
    make_coreos(&coreos);
    let list = json!([entry(
        COREOS_VERSION,
        coreos.to_str().context("the path is no text")?
    )]);
    let settings = settings().argument(&format!("--os-images={list}"));
    compare("a CoreOS live ISO", settings, folder.path(), true)
}

fn compare(what: &str, settings: Settings, folder: &Path, many_clients: bool) -> Result<()> {
    let service = settings
        .argument("--max-downloads-per-address=1000")
        .argument("--max-downloads=1000")
        .start();
    let client = service.client();
    // Only the list with the CoreOS live ISO has the version.
    let infra_env = client.create_infra_env_with("bench", &json!({"openshift_version": COREOS_VERSION}))?;
    let url = service.reachable(&client.image_url(infra_env.id)?);
    let length = client.download(&url, &folder.join("image.iso"))?;
    let nginx = Nginx::serve(folder)?;
    let path = url.splitn(4, '/').nth(3).context("the image URL has no path")?;
    let boot_port = url
        .split(['/', ':'])
        .nth(4)
        .and_then(|port| port.parse().ok())
        .context("the image URL has no port")?;
    let ours = Source {
        port: boot_port,
        pid: service.id(),
        path: format!("/{path}"),
    };
    let theirs = Source {
        port: nginx.port(),
        pid: nginx.id(),
        path: "/image.iso".to_owned(),
    };

    let mut rows = vec![row(["", "muster", "nginx", "ratio", "budget"])];
    let mut add = |name: &str, ours: f64, theirs: f64, digits: usize, budget: &str| {
        let ratio = format!("{:.2}", ours / theirs);
        rows.push(vec![
            name.to_owned(),
            format!("{ours:.digits$}"),
            format!("{theirs:.digits$}"),
            ratio,
            budget.to_owned(),
        ]);
    };
    let [our_first, their_first] = first_bytes([&ours, &theirs])?;
    add("first byte, median, ms", our_first, their_first, 3, "under 1 ms");
    let [our_cost, their_cost] = costs([&ours, &theirs], length)?;
    add(
        "whole image, MB/s",
        our_cost.megabytes_per_second,
        their_cost.megabytes_per_second,
        0,
        "ratio 0.9 or more",
    );
    add(
        "CPU seconds per GB",
        our_cost.cpu_seconds_per_gigabyte,
        their_cost.cpu_seconds_per_gigabyte,
        3,
        "ratio 2 or less",
    );
    table::print(&format!("Downloads of {what} ({:.1} MB)", mega(length)), &rows);
    if many_clients {
        at_once(&service, &ours, length)?;
        beside_slow_clients(&ours, length)?;
    }
    Ok(())
}

/// Median milliseconds from the request to the first byte of the response on a new connection, alternately.
fn first_bytes(sources: [&Source; 2]) -> Result<[f64; 2]> {
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..FIRST_BYTES {
        for (source, times) in sources.iter().zip(&mut times) {
            times.push(
                Connection::open(source.port)?
                    .first_byte(&source.path)?
                    .as_secs_f64()
                    * 1e3,
            );
        }
    }
    Ok(times.map(|times| median(&times)))
}

/// Median rate and CPU of whole downloads, alternately; the first round, which warms caches, does not count.
fn costs(sources: [&Source; 2], length: u64) -> Result<[Cost; 2]> {
    let mut measured = [Vec::new(), Vec::new()];
    for round in 0..=ROUNDS {
        for (source, costs) in sources.iter().zip(&mut measured) {
            let cost = turn(source, length)?;
            if round > 0 {
                costs.push(cost);
            }
        }
    }
    Ok(measured.map(|costs| Cost {
        megabytes_per_second: median(
            &costs
                .iter()
                .map(|cost| cost.megabytes_per_second)
                .collect::<Vec<_>>(),
        ),
        cpu_seconds_per_gigabyte: median(
            &costs
                .iter()
                .map(|cost| cost.cpu_seconds_per_gigabyte)
                .collect::<Vec<_>>(),
        ),
    }))
}

fn turn(source: &Source, length: u64) -> Result<Cost> {
    let mut connection = Connection::open(source.port)?;
    let cpu = cpu_seconds(source.pid);
    let (mut bytes, mut time) = (0, Duration::ZERO);
    while bytes < TURN_BYTES {
        let answer = connection.get(&source.path)?;
        anyhow::ensure!(
            answer.length == length,
            "{} has {} bytes, not {length}",
            source.path,
            answer.length
        );
        bytes += answer.length;
        time += answer.whole;
    }
    let cpu = cpu_seconds(source.pid) - cpu;
    Ok(Cost {
        megabytes_per_second: mega(bytes) / time.as_secs_f64(),
        cpu_seconds_per_gigabyte: cpu / (mega(bytes) / 1e3),
    })
}

fn at_once(service: &Service, source: &Source, length: u64) -> Result<()> {
    let before = resident_mb(source.pid);
    let start = Instant::now();
    let (resident, finished) = resident_while(source.pid, || {
        std::thread::scope(|scope| {
            let download = || {
                Connection::open(source.port)?
                    .get(&source.path)
                    .map(|answer| answer.length)
            };
            let downloads: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(download)).collect();
            // Requests in the queue must not delay the rest of the service.
            let health =
                Connection::open(service.port()).and_then(|mut connection| connection.get("/health"));
            let lengths = downloads
                .into_iter()
                .map(|download| download.join().expect("a download does not panic"));
            lengths
                .collect::<Result<Vec<u64>>>()
                .and_then(|lengths| Ok((lengths, health?.whole)))
        })
    });
    let (lengths, health) = finished?;
    anyhow::ensure!(
        lengths.iter().all(|got| *got == length),
        "a download was cut short"
    );
    let seconds = start.elapsed().as_secs_f64();
    let mut rows = vec![row([
        "memory before, MB",
        "peak, MB",
        "after, MB",
        "all together, MB/s",
        "/health meanwhile, ms",
    ])];
    #[expect(clippy::cast_precision_loss, reason = "a hundred")]
    let rate = mega(length) * AT_ONCE as f64 / seconds;
    let after = resident_mb(source.pid);
    rows.push(
        [before, resident.most, after, rate, health.as_secs_f64() * 1e3]
            .map(|value| format!("{value:.1}"))
            .into(),
    );
    table::print(
        &format!("{AT_ONCE} downloads at once: memory of the service stays flat"),
        &rows,
    );
    Ok(())
}

/// One client in parallel to many that read some kilobytes a second each, as BMCs on slow links do.
fn beside_slow_clients(source: &Source, length: u64) -> Result<()> {
    let before = resident_mb(source.pid);
    let mut slow = Vec::new();
    for _ in 0..SLOW {
        let mut stream = TcpStream::connect(("127.0.0.1", source.port))?;
        let head = format!("GET {} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", source.path);
        stream.write_all(head.as_bytes())?;
        slow.push(stream);
    }
    let is_over = AtomicBool::new(false);
    let measured = std::thread::scope(|scope| {
        let readers = scope.spawn(|| {
            let mut buffer = [0; 1 << 10];
            while !is_over.load(Ordering::Relaxed) {
                for stream in &mut slow {
                    stream.read_exact(&mut buffer)?;
                }
                std::thread::sleep(Duration::from_millis(100));
            }
            anyhow::Ok(())
        });
        let measured = one_beside(source, length);
        is_over.store(true, Ordering::Relaxed);
        readers.join().expect("reading does not panic")?;
        measured
    });
    let [first_byte, rate] = measured?;
    let rows = vec![
        row([
            "first byte, median, ms",
            "whole image, MB/s",
            "memory before, MB",
            "meanwhile, MB",
        ]),
        [first_byte, rate, before, resident_mb(source.pid)]
            .map(|value| format!("{value:.3}"))
            .into(),
    ];
    table::print(&format!("One client beside {SLOW} slow ones"), &rows);
    Ok(())
}

/// Median milliseconds to the first byte, and median megabytes a second.
fn one_beside(source: &Source, length: u64) -> Result<[f64; 2]> {
    let (mut firsts, mut rates) = (Vec::new(), Vec::new());
    for _ in 0..FIRST_BYTES {
        let first = Connection::open(source.port)?.first_byte(&source.path)?;
        firsts.push(first.as_secs_f64() * 1e3);
    }
    for _ in 0..ROUNDS {
        let whole = Connection::open(source.port)?.get(&source.path)?.whole;
        rates.push(mega(length) / whole.as_secs_f64());
    }
    Ok([median(&firsts), median(&rates)])
}

/// An ISO in the layout of CoreOS, as large as a part of one.
fn make_coreos(target: &Path) {
    let tree = CoreOsTree::new(
        Generation::Described,
        "ignition.firstboot ignition.platform.id=metal",
    );
    let rootfs: Vec<u8> = (0..200_000_000_u32 / 4)
        .flat_map(|number| number.wrapping_mul(2_654_435_761).to_le_bytes())
        .collect();
    tree.file("images/pxeboot/rootfs.img", &rootfs);
    tree.write_iso(target);
}

/// A copy of the live image, made longer with bytes that do not compress.
fn make_large(live: &Path, large: &Path, length: u64) -> Result<()> {
    std::fs::copy(live, large)?;
    let mut file = File::options().write(true).open(large)?;
    let have = file.seek(SeekFrom::End(0))?;
    let mut noise = File::open("/dev/urandom")?.take(length.saturating_sub(have));
    std::io::copy(&mut noise, &mut file)?;
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "far fewer bytes than 2^52")]
fn mega(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}
