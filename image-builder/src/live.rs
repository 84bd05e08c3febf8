//! Reads Muster live ISOs; their layout is that of `docs/live-image.md`.

mod description;
mod error;
mod open;
#[cfg(test)]
mod tests;

pub use description::{AgentArea, ConfigArea, DESCRIPTION_PATH, Description, FORMAT, VERSION};
pub use error::LiveImageError;
pub use open::{LiveImage, PackedAgent, read_description};
