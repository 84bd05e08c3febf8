//! Compares image streaming with nginx's sendfile: the same bytes, the same client, the same run. `README.md` here explains the output;
//! run `cargo bench -p muster --bench image_streaming`. Needs the `nginx` program.
//!
//! The server is this program again, in a process of its own, so that its CPU time and memory can be read from `/proc`.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result, bail, ensure};
use axum::Router;
use axum::extract::State;
use axum::routing::get;
use http::request::Parts;
use muster_image::iso9660::Extent;
use muster_image::{Piece, Plan};
use muster_images::{Download, DownloadListener, Downloads, Limits, Meta, Peer};
use muster_operations::images::base_file::BaseFile;

const MEGABYTE: u64 = 1_000_000;
/// Kernel's unit of CPU time in `/proc/<pid>/stat` (`getconf CLK_TCK`; 100 on every Linux).
const TICKS_PER_SECOND: f64 = 100.0;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    if let Some(at) = arguments.iter().position(|argument| argument == "--serve") {
        return serve(Path::new(arguments.get(at + 1).context("--serve needs a file")?));
    }
    let folder = tempfile::tempdir()?;
    println!("{:<30} {:>9} {:>10} {:>14}", "", "GB/s", "CPU s/GB", "of nginx");
    for (megabytes, rounds) in [(1000, 4), (40, 60)] {
        let path = folder.path().join("www").join(format!("{megabytes}.img"));
        fs::create_dir_all(folder.path().join("www"))?;
        let mut random = File::open("/dev/urandom")?.take(megabytes * MEGABYTE);
        std::io::copy(&mut random, &mut File::create(&path)?)?;
        compare(folder.path(), &path, rounds)?;
    }
    Ok(())
}

/// Measures all servers of one file by turns, so that a busy machine disturbs all alike.
fn compare(folder: &Path, file: &Path, rounds: u32) -> Result<()> {
    let nginx = nginx(folder)?;
    let muster = muster(file)?;
    let name = file
        .file_name()
        .context("a file name")?
        .to_string_lossy()
        .into_owned();
    let mut sources = [
        Source::new(
            "nginx sendfile",
            nginx.process.id(),
            nginx.ports[0],
            &format!("/{name}"),
        ),
        Source::new("muster", muster.process.id(), muster.ports[0], "/image"),
        Source::new(
            "muster, buffered (as under TLS)",
            muster.process.id(),
            muster.ports[1],
            "/image",
        ),
    ];
    for source in &mut sources {
        source.round()?;
        source.reset();
    }
    for _ in 0..rounds {
        for source in &mut sources {
            source.round()?;
        }
    }
    println!("{} MB", fs::metadata(file)?.len() / MEGABYTE);
    let reference = (sources[0].rate(), sources[0].cpu_per_gigabyte());
    for source in &sources {
        let (rate, cpu) = (source.rate(), source.cpu_per_gigabyte());
        let (rates, cpus) = (rate / reference.0, cpu / reference.1);
        println!(
            "  {:<28} {rate:>9.2} {cpu:>10.3}   rate {rates:.2}, CPU {cpus:.2}",
            source.name
        );
    }
    for source in &sources {
        println!(
            "  {:<28} first byte, median {:.3} ms",
            source.name,
            source.first_byte(500)?.as_secs_f64() * 1e3
        );
    }
    for source in &sources[1..] {
        let (before, during, after) = crowd(source, 100)?;
        println!(
            "  {:<28} resident: {before} kB idle, {during} kB with 100 downloads, {after} kB after",
            source.name
        );
    }
    Ok(())
}

/// One server's bytes, and what they have cost so far.
struct Source {
    name: &'static str,
    process: u32,
    port: u16,
    path: String,
    bytes: u64,
    wall: Duration,
    cpu: f64,
}

impl Source {
    fn new(name: &'static str, process: u32, port: u16, path: &str) -> Self {
        Self {
            name,
            process,
            port,
            path: path.into(),
            bytes: 0,
            wall: Duration::ZERO,
            cpu: 0.0,
        }
    }

    fn reset(&mut self) {
        (self.bytes, self.wall, self.cpu) = (0, Duration::ZERO, 0.0);
    }

    fn rate(&self) -> f64 {
        self.bytes as f64 / 1e9 / self.wall.as_secs_f64()
    }

    fn cpu_per_gigabyte(&self) -> f64 {
        self.cpu / (self.bytes as f64 / 1e9)
    }

    fn request(&self) -> Result<TcpStream> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        write!(
            stream,
            "GET {} HTTP/1.1\r\nHost: bench\r\nConnection: close\r\n\r\n",
            self.path
        )?;
        Ok(stream)
    }

    /// Downloads the file once.
    fn round(&mut self) -> Result<()> {
        let (cpu, start) = (cpu_seconds(self.process)?, Instant::now());
        let mut stream = self.request()?;
        let mut buffer = vec![0; 256 * 1024];
        loop {
            match stream.read(&mut buffer)? {
                0 => break,
                length => self.bytes += length as u64,
            }
        }
        self.wall += start.elapsed();
        self.cpu += cpu_seconds(self.process)? - cpu;
        Ok(())
    }

    /// Median time from the request to the first byte of the answer, on fresh connections.
    fn first_byte(&self, rounds: usize) -> Result<Duration> {
        let mut times = Vec::new();
        for _ in 0..rounds {
            let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
            let start = Instant::now();
            write!(
                stream,
                "GET {} HTTP/1.1\r\nHost: bench\r\nRange: bytes=0-99\r\n\r\n",
                self.path
            )?;
            ensure!(stream.read(&mut [0; 1])? == 1, "no answer");
            times.push(start.elapsed());
        }
        times.sort();
        Ok(times[rounds / 2])
    }
}

/// Resident memory of the server in kB: before, while so many clients read slowly, and after.
fn crowd(source: &Source, clients: usize) -> Result<(u64, u64, u64)> {
    let before = resident(source.process)?;
    let mut streams = (0..clients)
        .map(|_| source.request())
        .collect::<Result<Vec<_>>>()?;
    let mut during = 0;
    let mut buffer = vec![0; 64 * 1024];
    for _ in 0..20 {
        for stream in &mut streams {
            ensure!(stream.read(&mut buffer)? > 0, "a download ended early");
        }
        during = during.max(resident(source.process)?);
    }
    drop(streams);
    Ok((before, during, resident(source.process)?))
}

/// User and system time of the process and its children.
fn cpu_seconds(process: u32) -> Result<f64> {
    let children = fs::read_to_string(format!("/proc/{process}/task/{process}/children")).unwrap_or_default();
    let children = children
        .split_whitespace()
        .map(str::parse)
        .collect::<Result<Vec<u32>, _>>()?;
    let mut ticks = 0.0;
    for process in children.into_iter().chain([process]) {
        let stat = fs::read_to_string(format!("/proc/{process}/stat"))?;
        let (_, fields) = stat.rsplit_once(')').context("no name in stat")?;
        for field in fields.split_whitespace().skip(11).take(2) {
            ticks += field.parse::<f64>()?;
        }
    }
    Ok(ticks / TICKS_PER_SECOND)
}

fn resident(process: u32) -> Result<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .context("no VmRSS")?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}

/// A server process, ended when dropped.
struct Server {
    process: Child,
    ports: Vec<u16>,
}

impl Drop for Server {
    fn drop(&mut self) {
        // SIGTERM lets nginx end its worker too.
        let _ = Command::new("kill").arg(self.process.id().to_string()).status();
        let _ = self.process.wait();
    }
}

fn nginx(folder: &Path) -> Result<Server> {
    let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let at = folder.display();
    let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|name| format!("{name}_temp_path {at}/{name};\n"))
        .concat();
    let configuration = folder.join("nginx.conf");
    fs::write(
        &configuration,
        format!(
            "daemon off; worker_processes 1; pid {at}/pid; error_log {at}/error;\nevents {{ worker_connections 512; }}\n\
             http {{ access_log off; sendfile on; tcp_nopush on; {temporary} server {{ listen 127.0.0.1:{port}; root {at}/www; }} }}\n"
        ),
    )?;
    let process = Command::new("nginx")
        .args(["-p".into(), folder.to_path_buf(), "-c".into(), configuration])
        .stderr(Stdio::null())
        .spawn()
        .context("the nginx program is needed (apt-get install nginx-light)")?;
    let server = Server {
        process,
        ports: vec![port],
    };
    let deadline = Instant::now() + Duration::from_secs(10);
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        if Instant::now() > deadline {
            bail!(
                "nginx does not answer: {}",
                fs::read_to_string(folder.join("error")).unwrap_or_default()
            );
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(server)
}

fn muster(file: &Path) -> Result<Server> {
    let mut process = Command::new(std::env::current_exe()?)
        .arg("--serve")
        .arg(file)
        .stdout(Stdio::piped())
        .spawn()?;
    let mut line = String::new();
    let output = process.stdout.take().context("a pipe")?;
    std::io::BufRead::read_line(&mut std::io::BufReader::new(output), &mut line)?;
    let ports = line
        .split_whitespace()
        .map(str::parse)
        .collect::<Result<_, _>>()?;
    Ok(Server { process, ports })
}

#[derive(Clone)]
struct Served {
    download: Download,
    downloads: Downloads,
}

/// Serves the file with a small overlay on two listeners: one that sends files, one that does not.
#[tokio::main]
async fn serve(path: &Path) -> Result<()> {
    let length = fs::metadata(path)?.len();
    let overlay = Piece::Bytes(vec![1; 4096].into());
    let plan = Plan::of_base(Extent { offset: 0, length }).overlaid(length / 2, overlay)?;
    let meta = Meta {
        etag: "\"bench\"".into(),
        last_modified: SystemTime::now(),
        content_type: "application/octet-stream",
        file_name: "discovery.iso".into(),
    };
    let base = Arc::new(BaseFile::new(File::open(PathBuf::from(path))?)?);
    let served = Served {
        download: Download { plan, base, meta },
        downloads: Downloads::new(Limits::new(400, Some(400))),
    };
    let router = Router::new().route("/image", get(image)).with_state(served);

    let files = DownloadListener::new(tokio::net::TcpListener::bind("127.0.0.1:0").await?);
    let buffered = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    println!(
        "{} {}",
        axum::serve::Listener::local_addr(&files)?.port(),
        buffered.local_addr()?.port()
    );
    let plain = router.clone().into_make_service_with_connect_info::<SocketAddr>();
    tokio::spawn(async move { axum::serve(buffered, plain).await });
    axum::serve(files, router.into_make_service_with_connect_info::<Peer>()).await?;
    Ok(())
}

async fn image(State(served): State<Served>, request: Parts) -> axum::response::Response {
    muster_images::serve(&request, served.download.clone(), &served.downloads).await
}
