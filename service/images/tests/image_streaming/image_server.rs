//! A small server with handlers as the service has them.

use std::fs;
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use axum::Router;
use axum::body::Body;
use axum::extract::{Path as PathSegment, State};
use axum::response::Response;
use axum::routing::get;
use futures_util::StreamExt;
use http::request::Parts;
use muster_api::ids::InfraEnvId;
use muster_api::infra_env::CpuArchitecture;
use muster_api::live::{CONFIG_VERSION, LiveConfig};
use muster_image::iso9660::Extent;
use muster_image::testing::{LiveTree, pattern};
use muster_image::{Customisation, Plan};
use muster_images::{Download, DownloadListener, Downloads, Limits, Meta, Peer};
use muster_operations::images::base_file::BaseFile;
use muster_operations::images::discovery::DiscoveryImage;
use muster_operations::images::live::{LiveImageUnavailable, LiveImages, OpenLiveImage};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

pub const INITRD_LENGTH: usize = 700_001;
/// More than the sockets of a connection hold, so that a client that does not read stops the download.
pub const BIG_LENGTH: u64 = 30_000_000;

/// The way of bytes to the socket.
#[derive(Debug, Clone, Copy)]
pub enum Way {
    FromFile,
    Buffered,
}

pub struct Server {
    pub client: reqwest::Client,
    pub iso: PathBuf,
    pub live: Arc<LiveImages>,
    pub downloads: Downloads,
    edited: Arc<AtomicBool>,
    big: PathBuf,
    address: SocketAddr,
    _folder: tempfile::TempDir,
}

#[derive(Clone)]
struct App {
    live: Arc<LiveImages>,
    downloads: Downloads,
    edited: Arc<AtomicBool>,
    big: Download,
}

impl Server {
    pub async fn start(way: Way, most_downloads: usize) -> Self {
        Self::start_with_stall_timeout(way, most_downloads, muster_images::transport::STALL_TIMEOUT).await
    }

    pub async fn start_with_stall_timeout(way: Way, most_downloads: usize, stall_timeout: Duration) -> Self {
        Self::start_with_limits(
            way,
            Limits::new(most_downloads, Some(most_downloads)),
            stall_timeout,
        )
        .await
    }

    pub async fn start_with_limits(way: Way, limits: Limits, stall_timeout: Duration) -> Self {
        // Not in /tmp, which may be a tmpfs: that does not report which parts of a file are in the page cache, so nothing is sent from the
        // file.
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let iso = folder.path().join("live.iso");
        LiveTree::new(INITRD_LENGTH).write_iso(&iso);
        let big = folder.path().join("big");
        fs::write(&big, pattern(BIG_LENGTH as usize, 3)).unwrap();

        let live = Arc::new(LiveImages::new([iso.clone()], [], None));
        let downloads = Downloads::new(limits);
        let edited = Arc::new(AtomicBool::new(false));
        let app = App {
            live: live.clone(),
            downloads: downloads.clone(),
            edited: edited.clone(),
            big: big_download(&big),
        };
        let router = router(app);
        let tcp = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = tcp.local_addr().unwrap();
        match way {
            Way::FromFile => {
                let listener = DownloadListener::with_stall_timeout(tcp, stall_timeout);
                let service = router.into_make_service_with_connect_info::<Peer>();
                tokio::spawn(async move { axum::serve(listener, service).await });
            }
            Way::Buffered => {
                let service = router.into_make_service_with_connect_info::<SocketAddr>();
                tokio::spawn(async move { axum::serve(tcp, service).await });
            }
        }
        let client = client().build().expect("a client can be made");
        Self {
            client,
            iso,
            live,
            downloads,
            edited,
            big,
            address,
            _folder: folder,
        }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub fn get(&self, path: &str) -> reqwest::RequestBuilder {
        self.client.get(self.url(path))
    }

    pub async fn bytes(&self, path: &str) -> Vec<u8> {
        let answer = self.get(path).send().await.unwrap().error_for_status().unwrap();
        answer.bytes().await.unwrap().to_vec()
    }

    pub async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// Requests the big file from that address of the loopback network and reads nothing.
    pub async fn request_from(&self, client: Ipv4Addr) -> TcpStream {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind((client, 0).into()).unwrap();
        let mut socket = socket.connect(self.address).await.unwrap();
        socket
            .write_all(b"GET /big HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            .await
            .unwrap();
        socket
    }

    /// Requests `path` and reads nothing.
    pub async fn request(&self, path: &str) -> TcpStream {
        let mut socket = self.connect().await;
        socket
            .write_all(format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").as_bytes())
            .await
            .unwrap();
        socket
    }

    /// Starts a download of the big file and stops reading after its first byte.
    pub async fn start_big(&self) -> TcpStream {
        let mut socket = self.request("/big").await;
        assert_eq!(socket.read_u8().await.unwrap(), b'H');
        socket
    }

    /// Changes the InfraEnvs, as a user would.
    pub fn edit(&self) {
        self.edited.store(true, Ordering::Relaxed);
    }

    /// Puts another live image in the place of the present one.
    pub fn replace_live_image(&self) {
        let next = self.iso.with_extension("next");
        LiveTree::new(INITRD_LENGTH + 50_000).write_iso(&next);
        fs::rename(&next, &self.iso).unwrap();
    }

    /// Writes into the big file while it is being sent.
    pub fn overwrite_big(&self) {
        let mut file = fs::OpenOptions::new().write(true).open(&self.big).unwrap();
        file.write_all(b"other bytes").unwrap();
        file.set_modified(SystemTime::now() + Duration::from_secs(1))
            .unwrap();
    }
}

fn router(app: App) -> Router {
    Router::new()
        .route("/{pool}/discovery.iso", get(iso))
        .route("/{pool}/initrd.img", get(initrd))
        .route("/{pool}/vmlinuz", get(kernel))
        .route("/big", get(big))
        .route("/rewritten/big", get(rewritten_big))
        .route("/rewritten/vmlinuz", get(rewritten_kernel))
        .route("/health", get(async || "ok"))
        .with_state(app)
}

/// The live image that every test here has.
pub async fn x86_64(live: &LiveImages) -> Result<Arc<OpenLiveImage>, LiveImageUnavailable> {
    live.of(CpuArchitecture::X86_64).unwrap().current().await
}

async fn iso(State(app): State<App>, PathSegment(pool): PathSegment<String>, request: Parts) -> Response {
    let live = x86_64(&app.live).await.unwrap();
    let bytes = live.image.iso(&app.customisation(&pool)).unwrap();
    let name = format!("{pool}-discovery.iso");
    let download = Download::iso(&DiscoveryImage::Muster(live), bytes, app.updated_at(), name);
    muster_images::serve(&request, download, &app.downloads).await
}

async fn initrd(State(app): State<App>, PathSegment(pool): PathSegment<String>, request: Parts) -> Response {
    let live = x86_64(&app.live).await.unwrap();
    let bytes = live.image.initrd(&app.customisation(&pool).config).unwrap();
    let name = format!("{pool}-initrd.img");
    let download = Download::artifact(&DiscoveryImage::Muster(live), bytes, app.updated_at(), name);
    muster_images::serve(&request, download, &app.downloads).await
}

async fn kernel(State(app): State<App>, request: Parts) -> Response {
    let image = DiscoveryImage::Muster(x86_64(&app.live).await.unwrap());
    let download = Download::artifact(&image, image.kernel(), image.modified(), "vmlinuz");
    muster_images::serve(&request, download, &app.downloads).await
}

async fn big(State(app): State<App>, request: Parts) -> Response {
    muster_images::serve(&request, app.big, &app.downloads).await
}

async fn rewritten_big(app: State<App>, request: Parts) -> Response {
    rewritten(big(app, request).await)
}

async fn rewritten_kernel(app: State<App>, request: Parts) -> Response {
    rewritten(kernel(app, request).await)
}

/// Changes a body, as compression does.
fn rewritten(response: Response) -> Response {
    let (mut head, body) = response.into_parts();
    head.headers.remove("content-length");
    let doubled = body
        .into_data_stream()
        .map(|chunk| chunk.map(|bytes| [&bytes[..], &bytes[..]].concat()));
    Response::from_parts(head, Body::from_stream(doubled))
}

impl App {
    fn customisation(&self, pool: &str) -> Customisation {
        let host = if self.edited.load(Ordering::Relaxed) {
            "edited"
        } else {
            "muster"
        };
        let config = LiveConfig {
            version: CONFIG_VERSION,
            service_url: format!("http://{host}.example:8090"),
            infra_env_id: InfraEnvId(uuid::Uuid::nil()),
            infra_env_name: pool.into(),
            token: None,
            ca_certificates: String::new(),
            proxy: Default::default(),
            ntp_sources: vec![],
            networks: vec![],
            ssh_authorized_keys: vec![],
            created_at: None,
        };
        Customisation {
            config,
            kernel_arguments: vec![format!("pool={pool}")],
        }
    }

    fn updated_at(&self) -> SystemTime {
        let edits = u64::from(self.edited.load(Ordering::Relaxed));
        // After the live image was made, so that it is the InfraEnv's time that counts.
        SystemTime::UNIX_EPOCH + Duration::from_secs(4_000_000_000 + edits * 60)
    }
}

fn big_download(path: &Path) -> Download {
    let base = Arc::new(BaseFile::new(fs::File::open(path).unwrap()).unwrap());
    let meta = Meta {
        etag: "\"big\"".into(),
        last_modified: SystemTime::UNIX_EPOCH,
        content_type: "application/octet-stream",
        file_name: "big".into(),
    };
    Download {
        plan: Plan::of_base(Extent {
            offset: 0,
            length: BIG_LENGTH,
        }),
        base,
        meta,
    }
}

/// Waits until `condition` holds; fails with `what` after 20 s.
pub async fn eventually(what: &str, condition: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !condition() {
        assert!(Instant::now() < deadline, "not so after 20 s: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// A client; cargo builds reqwest without a TLS provider, and reqwest requires one for plain HTTP, too.
pub fn client() -> reqwest::ClientBuilder {
    // Fails when another test of this process has installed it.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder()
}
