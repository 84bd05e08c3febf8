//! Image streaming: an answer is a byte plan over a base file, sent without a copy of the image on disk or in memory.
//!
//! Reading order: [`live_image`] opens the base, [`download`] says what is sent and under which name,
//! [`selection`] decides from the request's headers what of it is sent, [`serve`] makes the answer,
//! [`body`] produces its bytes and [`transport`] puts them on a socket.
//!
//! A handler:
//!
//! ```ignore
//! async fn iso(State(app): State<App>, Path(id): Path<BootId>, parts: Parts) -> Result<Response, Problem> {
//!     let pool = app.infra_env_of(id).await?;
//!     let live = app.live_images.current().await?;
//!     let download = live.iso(&pool.customisation(), pool.updated_at, format!("{}-discovery.iso", pool.id))?;
//!     Ok(images::serve(&parts, download, &app.downloads).await)
//! }
//! ```

pub mod body;
pub mod buffers;
pub mod download;
pub mod downloads;
pub mod live_image;
pub mod selection;
mod serve;
pub mod transport;

pub use download::{Download, Meta};
pub use downloads::Downloads;
pub use live_image::{LiveImageUnavailable, LiveImages, OpenLiveImage};
pub use serve::serve;
pub use transport::{DownloadListener, FileChannel, FileStream, Peer};
