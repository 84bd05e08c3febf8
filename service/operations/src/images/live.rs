//! Finds and opens the live images, one an architecture, and opens each again when its file is replaced.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock, RwLock};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use muster_api::infra_env::CpuArchitecture;
use muster_image::{LiveImage, LiveImageError};
use sha2::{Digest as _, Sha256};
use tokio::sync::Mutex;

use crate::chain;
use crate::images::base_file::{BaseFile, FileStamp};

/// No live image can be served now. The texts are for the operator.
#[derive(Debug, thiserror::Error)]
pub enum LiveImageUnavailable {
    /// No file exists at any of the paths.
    #[error(
        "there is no live image: put one at {} or give {option}; `make image` or `muster-image live build` makes one",
        list(searched)
    )]
    Missing {
        searched: Vec<PathBuf>,
        option: &'static str,
    },
    /// The file is for machines of another architecture.
    #[error("the live image {} is for {found} and was given for {wanted}", path.display())]
    Architecture {
        path: PathBuf,
        found: String,
        wanted: &'static str,
    },
    /// The file cannot be opened.
    #[error("cannot open the live image {}", path.display())]
    Open { path: PathBuf, source: io::Error },
    /// The file is being written.
    #[error("the live image {} is being written; rename a new file over it instead", path.display())]
    BeingWritten { path: PathBuf },
    /// The file's disk does not respond.
    #[error("the disk of the live image has not answered for {} s", DEADLINE.as_secs())]
    Hangs,
    /// The file is not a live image that this program can use.
    #[error("cannot use the live image {}", path.display())]
    Unusable { path: PathBuf, source: LiveImageError },
}

fn list(paths: &[PathBuf]) -> String {
    let texts: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    texts.join(" or ")
}

/// The live images of the architectures that they are made for.
#[derive(Debug)]
pub struct LiveImages {
    x86_64: LiveImageFile,
    aarch64: LiveImageFile,
}

/// The places where the live image of one architecture may be, and the one in use.
#[derive(Debug)]
pub struct LiveImageFile(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// As `uname -m` prints it.
    machine: &'static str,
    /// The option that sets it.
    option: &'static str,
    searched: Vec<PathBuf>,
    /// Folder for copies of the served files.
    copies: Option<PathBuf>,
    current: RwLock<Option<Arc<OpenLiveImage>>>,
    /// Held during access to the disk, so that a file is opened and hashed once, and a disk that hangs blocks one
    /// thread.
    asking: Arc<Mutex<()>>,
}

/// Time limit for the disk of a live image.
const DEADLINE: Duration = Duration::from_secs(10);

/// The same for requests about the state only.
const SHORT_DEADLINE: Duration = Duration::from_secs(2);

/// An opened live image.
#[derive(Debug)]
pub struct OpenLiveImage {
    pub path: PathBuf,
    pub image: LiveImage,
    /// As `uname -m` prints it.
    pub machine: &'static str,
    /// Time of the last write.
    pub modified: SystemTime,
    /// The state of the file at `path` when it was opened.
    stamp: FileStamp,
    /// The file, or a copy that no other program writes to.
    base: Arc<BaseFile>,
    /// Read at a host's first request.
    packed_agent: OnceLock<Arc<[u8]>>,
    /// Unpacked at the first request of a host with another live system.
    agent_program: OnceLock<Bytes>,
}

/// Largest packed agent, in bytes.
const LARGEST_AGENT: u64 = 64 << 20;
/// Largest unpacked agent; those with symbols have some 70 MB.
const LARGEST_PROGRAM: u64 = 256 << 20;

impl LiveImages {
    /// Sets the paths to search for the image of each architecture; the first that exists is used. Opens nothing yet.
    /// In `copies`, a folder, an unnamed copy of the served image is kept, so that a file that is overwritten in place
    /// does not change what machines boot.
    pub fn new(
        x86_64: impl IntoIterator<Item = PathBuf>,
        aarch64: impl IntoIterator<Item = PathBuf>,
        copies: Option<&Path>,
    ) -> Self {
        Self {
            x86_64: LiveImageFile::new("x86_64", "--live-image", x86_64, copies),
            aarch64: LiveImageFile::new("aarch64", "--live-image-aarch64", aarch64, copies),
        }
    }

    /// The image of that architecture, if it is available. That of x86_64 always is: without a file the error of
    /// [`LiveImageFile::current`] holds the remedy.
    pub fn of(&self, architecture: CpuArchitecture) -> Option<&LiveImageFile> {
        match architecture.normalized() {
            CpuArchitecture::X86_64 => Some(&self.x86_64),
            CpuArchitecture::Arm64 => Some(&self.aarch64).filter(|file| file.exists()),
            _ => None,
        }
    }

    /// The image for machines of which `uname -m` prints `machine`, if it is available.
    pub fn of_machine(&self, machine: &str) -> Option<&LiveImageFile> {
        self.of(machine.parse().ok()?)
    }

    /// The architectures with an image, except x86_64.
    pub fn other_architectures(&self) -> Vec<CpuArchitecture> {
        let all = [CpuArchitecture::Arm64];
        all.into_iter().filter(|one| self.of(*one).is_some()).collect()
    }

    /// All existing images, which are opened if they were not yet.
    pub async fn all(&self) -> Vec<Arc<OpenLiveImage>> {
        let mut open = Vec::new();
        for file in [&self.x86_64, &self.aarch64] {
            open.extend(file.current().await.ok());
        }
        open
    }

    /// The images that are open.
    pub(crate) fn opened(&self) -> impl Iterator<Item = Arc<OpenLiveImage>> {
        [&self.x86_64, &self.aarch64]
            .into_iter()
            .filter_map(LiveImageFile::opened)
    }

    /// The images in use, or the reason why there is none, for the operator.
    pub async fn describe(&self) -> String {
        let mut text = self.x86_64.describe().await;
        if self.aarch64.exists() {
            text += &format!("; for aarch64: {}", self.aarch64.describe().await);
        }
        text
    }
}

impl LiveImageFile {
    fn new(
        machine: &'static str,
        option: &'static str,
        searched: impl IntoIterator<Item = PathBuf>,
        copies: Option<&Path>,
    ) -> Self {
        Self(Arc::new(Inner {
            machine,
            option,
            searched: searched.into_iter().collect(),
            copies: copies.map(Path::to_owned),
            current: RwLock::default(),
            asking: Arc::default(),
        }))
    }

    fn exists(&self) -> bool {
        self.0.opened().is_some() || self.0.find().is_ok()
    }

    /// The image as it is on disk now. Costs one `stat` while the file stays the same.
    pub async fn current(&self) -> Result<Arc<OpenLiveImage>, LiveImageUnavailable> {
        self.current_within(DEADLINE).await
    }

    async fn current_within(&self, deadline: Duration) -> Result<Arc<OpenLiveImage>, LiveImageUnavailable> {
        let inner = self.0.clone();
        let asking = async {
            let turn = inner.asking.clone().lock_owned().await;
            let ask = move || {
                let _turn = turn;
                inner.open_as_it_is()
            };
            let outcome = tokio::task::spawn_blocking(ask).await;
            outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()))
        };
        let outcome = tokio::time::timeout(deadline, asking).await;
        outcome.unwrap_or(Err(LiveImageUnavailable::Hangs))
    }

    async fn describe(&self) -> String {
        match self.current_within(SHORT_DEADLINE).await {
            Ok(open) => format!("{} (agent {})", open.path.display(), open.image.agent_version),
            Err(error) => chain(&error),
        }
    }

    /// The image that was opened last, if one was.
    fn opened(&self) -> Option<Arc<OpenLiveImage>> {
        self.0.opened()
    }
}

impl Inner {
    fn open_as_it_is(&self) -> Result<Arc<OpenLiveImage>, LiveImageUnavailable> {
        let (path, stamp) = self.find()?;
        if let Some(open) = self.unchanged(path, stamp) {
            return Ok(open);
        }
        let open = Arc::new(OpenLiveImage::open(
            path.to_owned(),
            self.machine,
            self.copies.as_deref(),
        )?);
        tracing::info!(path = %open.path.display(), agent = open.image.agent_version, "live image opened");
        *self
            .current
            .write()
            .expect("no code panics while holding the lock") = Some(open.clone());
        Ok(open)
    }

    fn opened(&self) -> Option<Arc<OpenLiveImage>> {
        let current = self
            .current
            .read()
            .expect("no code panics while holding the lock");
        current.clone()
    }

    fn find(&self) -> Result<(&Path, FileStamp), LiveImageUnavailable> {
        for path in &self.searched {
            match std::fs::metadata(path) {
                Ok(metadata) => return Ok((path, FileStamp::from(&metadata))),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(source) => {
                    return Err(LiveImageUnavailable::Open {
                        path: path.clone(),
                        source,
                    });
                }
            }
        }
        Err(LiveImageUnavailable::Missing {
            searched: self.searched.clone(),
            option: self.option,
        })
    }

    fn unchanged(&self, path: &Path, stamp: FileStamp) -> Option<Arc<OpenLiveImage>> {
        let current = self
            .current
            .read()
            .expect("no code panics while holding the lock");
        current
            .as_ref()
            .filter(|open| open.path == path && open.stamp == stamp)
            .cloned()
    }
}

impl OpenLiveImage {
    /// Opens and reads the whole file once; blocks. `machine`: the expected architecture; `copies`: as in
    /// [`LiveImages::new`].
    pub fn open(
        path: PathBuf,
        machine: &'static str,
        copies: Option<&Path>,
    ) -> Result<Self, LiveImageUnavailable> {
        let opened = File::open(&path).and_then(|file| {
            let metadata = file.metadata()?;
            // An image that was moved here is new here, whenever it was made.
            let arrived = SystemTime::UNIX_EPOCH + Duration::from_secs(metadata.ctime().unsigned_abs());
            let modified = metadata.modified()?.max(arrived);
            let stamp = FileStamp::from(&metadata);
            let base = copies.map_or_else(|| Ok(None), |folder| copy(&file, stamp, folder))?;
            Ok((BaseFile::new(base.unwrap_or(file))?, stamp, modified))
        });
        let (base, stamp, modified) = match opened {
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
                return Err(LiveImageUnavailable::BeingWritten { path });
            }
            Ok(opened) => opened,
            Err(source) => return Err(LiveImageUnavailable::Open { path, source }),
        };
        let image = match LiveImage::open(base.file()) {
            Ok(image) => image,
            Err(source) => return Err(LiveImageUnavailable::Unusable { path, source }),
        };
        if image.architecture != machine {
            return Err(LiveImageUnavailable::Architecture {
                path,
                found: image.architecture,
                wanted: machine,
            });
        }
        Ok(Self {
            path,
            image,
            machine,
            modified,
            stamp,
            base: Arc::new(base),
            packed_agent: OnceLock::new(),
            agent_program: OnceLock::new(),
        })
    }

    /// The packed agent in it, as [`muster_image::live::PackedAgent`] describes it; `None` if the image declares none.
    /// Blocks the first time.
    ///
    /// # Errors
    /// If the file cannot be read, or was written to.
    pub fn packed_agent(&self) -> io::Result<Option<Arc<[u8]>>> {
        if let Some(read) = self.packed_agent.get() {
            return Ok(Some(read.clone()));
        }
        let Some(agent) = self
            .image
            .agent
            .as_ref()
            .filter(|agent| agent.packed.length <= LARGEST_AGENT)
        else {
            return Ok(None);
        };
        let length = usize::try_from(agent.packed.length).map_err(io::Error::other)?;
        let mut packed = vec![0; length];
        self.base.file().read_exact_at(&mut packed, agent.packed.offset)?;
        self.base.check_unchanged()?;
        Ok(Some(self.packed_agent.get_or_init(|| packed.into()).clone()))
    }

    /// The agent in it, unpacked: its bytes and their SHA-256. Blocks the first time.
    ///
    /// # Errors
    /// If the file cannot be read, or its contents contradict its header.
    pub fn agent_program(&self) -> io::Result<Option<(Bytes, String)>> {
        let (Some(packed), Some(agent)) = (self.packed_agent()?, &self.image.agent) else {
            return Ok(None);
        };
        if let Some(unpacked) = self.agent_program.get() {
            return Ok(Some((unpacked.clone(), agent.sha256.clone())));
        }
        let unpacked = unpack(&packed, agent.size)?;
        if hex::encode(Sha256::digest(&unpacked)) != agent.sha256 {
            return Err(io::Error::other("the agent in the live image has not its digest"));
        }
        let unpacked = self.agent_program.get_or_init(|| unpacked.into()).clone();
        Ok(Some((unpacked, agent.sha256.clone())))
    }

    /// The file, for reading.
    pub fn base(&self) -> &Arc<BaseFile> {
        &self.base
    }
}

/// A copy without a name, if there is space for one. `ResourceBusy` if the file was written to meanwhile.
fn copy(file: &File, stamp: FileStamp, folder: &Path) -> io::Result<Option<File>> {
    let copied = tempfile::tempfile_in(folder).and_then(|mut copy| {
        io::copy(&mut &*file, &mut copy)?;
        Ok(copy)
    });
    if FileStamp::from(&file.metadata()?) != stamp {
        return Err(io::ErrorKind::ResourceBusy.into());
    }
    match copied {
        Ok(copy) => Ok(Some(copy)),
        Err(error) => {
            tracing::warn!(%error, folder = %folder.display(), "no copy of the live image is kept: replace it only by renaming a new file over it");
            Ok(None)
        }
    }
}

/// Extracts the program from its archive, in which it is the first file.
fn unpack(packed: &[u8], size: u64) -> io::Result<Vec<u8>> {
    let limit = size.min(LARGEST_PROGRAM);
    let unpacked = zstd::Decoder::with_buffer(packed)?.single_frame();
    let mut entry = cpio::newc::Reader::new(unpacked)?;
    while entry.entry().name() != "init" {
        if entry.entry().is_trailer() {
            return Err(io::Error::other("the archive of the agent holds no program"));
        }
        entry = cpio::newc::Reader::new(entry.finish()?)?;
    }
    let mut program = Vec::new();
    entry.take(limit).read_to_end(&mut program)?;
    Ok(program)
}
