//! Pictures: which hosts reach each other, switches with their hosts, and parts of the pages of a host and of a pool. What is pure layout, numbers to
//! rectangles, is apart from templates; each picture has a table with the same content.

pub mod disks;
pub mod funnel;
pub mod links;
pub mod machine;
pub mod matrix;
mod pair;
mod scale;
pub mod stages;
pub mod timeline;

use muster_api::ids::InfraEnvId;

/// The path of the page of switches.
pub const LINKS: &str = "/ui/links";

/// The address of the page that shows which hosts of an InfraEnv reach each other.
pub fn matrix_of(id: InfraEnvId) -> String {
    format!("/ui/matrix/{id}")
}
