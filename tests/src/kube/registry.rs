//! A container registry that nodes pull from: images of folders (OCI layouts) or of one program that a test adds, over
//! plain HTTP. Paths are those of the OCI distribution specification, "Pulling manifests" and "Pulling blobs".

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tempfile::TempDir;

use crate::qemu::USER_NETWORK_HOST;

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
/// Time limit for a request to be complete.
const REQUEST_LIMIT: Duration = Duration::from_secs(30);
const LONGEST_HEAD: u64 = 64 << 10;

/// The name of the registry in the names of images.
pub const NAME: &str = "registry.lab.example";

/// A registry whose port exists as long as the test program, and its images as long as the value; machines on user
/// networks reach it.
pub struct Registry {
    port: u16,
    content: Arc<Mutex<Content>>,
    /// Folder of images that were made here.
    folder: TempDir,
}

#[derive(Default)]
struct Content {
    /// Digest of the manifest by `name:tag`.
    tags: HashMap<String, String>,
    /// Files by digest.
    blobs: HashMap<String, PathBuf>,
}

impl Registry {
    /// Starts one on a free port of the loopback address, without images.
    ///
    /// # Panics
    /// If there is no port.
    pub fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let port = listener.local_addr().expect("a listener has an address").port();
        let content = Arc::<Mutex<Content>>::default();
        let shared = Arc::clone(&content);
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let content = Arc::clone(&shared);
                // A client that aborts gets no response, and retries.
                std::thread::spawn(move || drop(answer(client, &content)));
            }
        });
        let folder = tempfile::Builder::new().prefix("muster-registry-").tempdir();
        let folder = folder.unwrap_or_else(|error| panic!("no temporary folder: {error}"));
        Self {
            port,
            content,
            folder,
        }
    }

    /// containerd's configuration with which nodes find it.
    pub fn containerd_settings(&self) -> String {
        format!(
            "\n[plugins.\"io.containerd.grpc.v1.cri\".registry.mirrors.\"{NAME}\"]\n  endpoint = [\"http://{USER_NETWORK_HOST}:{}\"]\n",
            self.port
        )
    }

    /// Serves the image of an OCI layout; returns its name.
    ///
    /// # Panics
    /// If the folder holds no image.
    pub fn add_layout(&self, image: &str, layout: &Path) -> String {
        let index = std::fs::read(layout.join("index.json")).expect("an OCI layout has an index");
        let index: Value = serde_json::from_slice(&index).expect("an index is JSON");
        let digest = index["manifests"][0]["digest"].as_str();
        let digest = digest.expect("an index names a manifest").to_owned();
        let mut content = lock(&self.content);
        let blobs = std::fs::read_dir(layout.join("blobs/sha256")).expect("an OCI layout has blobs");
        for blob in blobs.flatten() {
            let digest = format!("sha256:{}", blob.file_name().to_string_lossy());
            content.blobs.insert(digest, blob.path());
        }
        content.tags.insert(image.to_owned(), digest);
        format!("{NAME}/{image}")
    }

    /// Serves an image from scratch that has only this static program; returns its name.
    ///
    /// # Panics
    /// If there is no such program.
    pub fn add_program(&self, image: &str, program: &Path, arguments: &[&str]) -> String {
        let file_name = program.file_name().and_then(|name| name.to_str());
        let file_name = file_name.expect("a program has a name");
        let layer = self.folder.path().join("layer.tar");
        let packed = File::create(&layer).and_then(|file| {
            let mut archive = tar::Builder::new(file);
            archive.append_path_with_name(program, file_name)?;
            archive.finish()
        });
        packed.unwrap_or_else(|error| panic!("{}: {error}", program.display()));
        let layer = std::fs::read(layer).expect("the layer was written");
        let entrypoint: Vec<String> = [format!("/{file_name}")]
            .into_iter()
            .chain(arguments.iter().map(|argument| (*argument).to_owned()))
            .collect();
        let config = json!({
            "architecture": "amd64", "os": "linux", "config": {"Entrypoint": entrypoint},
            "rootfs": {"type": "layers", "diff_ids": [digest_of(&layer)]},
        });
        let config = self.add_blob(config.to_string().as_bytes(), "config.v1+json");
        let layer = self.add_blob(&layer, "layer.v1.tar");
        let manifest =
            json!({"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": [layer]});
        let manifest = self.add_blob(manifest.to_string().as_bytes(), "manifest.v1+json");
        let digest = manifest["digest"].as_str().unwrap_or_default().to_owned();
        lock(&self.content).tags.insert(image.to_owned(), digest);
        format!("{NAME}/{image}")
    }

    /// Stores bytes; returns their descriptor.
    fn add_blob(&self, bytes: &[u8], kind: &str) -> Value {
        let digest = digest_of(bytes);
        let file = self.folder.path().join(digest.replace(':', "-"));
        std::fs::write(&file, bytes).expect("a file can be written");
        lock(&self.content).blobs.insert(digest.clone(), file);
        json!({"mediaType": format!("application/vnd.oci.image.{kind}"), "digest": digest, "size": bytes.len()})
    }
}

fn digest_of(bytes: &[u8]) -> String {
    format!("sha256:{}", hex::encode(Sha256::digest(bytes)))
}

fn lock(content: &Mutex<Content>) -> std::sync::MutexGuard<'_, Content> {
    content.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Responds to one request of a client, and ends the connection.
fn answer(mut client: TcpStream, content: &Mutex<Content>) -> std::io::Result<()> {
    client.set_read_timeout(Some(REQUEST_LIMIT))?;
    let mut lines = BufReader::new(client.try_clone()?.take(LONGEST_HEAD)).lines();
    let line = lines.next().transpose()?.unwrap_or_default();
    let mut range_start = 0;
    for header in lines {
        let header = header?.to_ascii_lowercase();
        if header.is_empty() {
            break;
        }
        // containerd resumes where it was cut off.
        let start = header
            .strip_prefix("range: bytes=")
            .and_then(|range| range.split('-').next());
        range_start = start.and_then(|start| start.parse().ok()).unwrap_or(range_start);
    }
    let mut words = line.split(' ');
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let path = path.split('?').next().unwrap_or_default();
    let Some((digest, kind, file)) = found(content, path) else {
        let status = if path == "/v2/" { "200 OK" } else { "404 Not Found" };
        return write!(
            client,
            "HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        );
    };
    let mut file = File::open(file)?;
    let size = file.metadata()?.len();
    let (status, more) = match range_start {
        0 => ("200 OK", String::new()),
        start => (
            "206 Partial Content",
            format!(
                "Content-Range: bytes {start}-{}/{size}\r\n",
                size.saturating_sub(1)
            ),
        ),
    };
    write!(
        client,
        "HTTP/1.1 {status}\r\nContent-Length: {}\r\nContent-Type: {kind}\r\nDocker-Content-Digest: {digest}\r\n{more}Connection: close\r\n\r\n",
        size.saturating_sub(range_start)
    )?;
    if method == "GET" {
        file.seek(SeekFrom::Start(range_start))?;
        std::io::copy(&mut file, &mut client)?;
    }
    Ok(())
}

/// The object of a path: its digest, its type and the file with its bytes.
fn found(content: &Mutex<Content>, path: &str) -> Option<(String, &'static str, PathBuf)> {
    let path = path.strip_prefix("/v2/")?;
    let content = lock(content);
    let (digest, kind) = match path.rsplit_once("/manifests/") {
        Some((_, digest)) if digest.starts_with("sha256:") => (digest.to_owned(), MANIFEST),
        Some((name, tag)) => (content.tags.get(&format!("{name}:{tag}"))?.clone(), MANIFEST),
        None => (
            path.rsplit_once("/blobs/")?.1.to_owned(),
            "application/octet-stream",
        ),
    };
    let file = content.blobs.get(&digest)?.clone();
    Some((digest, kind, file))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::HttpClient;

    #[test]
    fn an_image_of_a_program_is_pulled_from_tag_to_layer() {
        let registry = Registry::start();
        let name = registry.add_program("pause:1", Path::new("/bin/true"), &[]);
        assert_eq!(name, "registry.lab.example/pause:1");
        let client = HttpClient::new(&format!("http://127.0.0.1:{}", registry.port));
        client.request("GET", "/v2/", None).expect(200);
        client.request("GET", "/v2/pause/manifests/2", None).expect(404);
        let manifest = client
            .request("GET", "/v2/pause/manifests/1?ns=x", None)
            .expect(200);
        assert_eq!(manifest.header("Content-Type"), MANIFEST);
        let manifest = manifest.json();
        for blob in [&manifest["config"], &manifest["layers"][0]] {
            let digest = blob["digest"].as_str().expect("a digest");
            let path = format!("/v2/pause/blobs/{digest}");
            let whole = client.request("GET", &path, None).expect(200);
            assert_eq!(digest_of(&whole.body), digest);
            assert_eq!(blob["size"], whole.body.len());
            let rest = client
                .with("Range", "bytes=10-")
                .request("GET", &path, None)
                .expect(206);
            assert_eq!(rest.body, whole.body[10..]);
        }
    }
}
