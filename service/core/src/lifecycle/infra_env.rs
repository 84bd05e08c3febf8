//! Creates, updates and shows InfraEnvs.

mod create;
pub mod events;
mod served;
mod unapplied;
mod update;
mod view;

pub use create::create;
pub use events::unapplied_by_live_image;
pub use served::{check_image, refused_network};
pub use unapplied::Unapplied;
pub use update::{Update, replace, update};
pub use view::view;
