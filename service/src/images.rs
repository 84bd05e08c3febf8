//! temporary
use std::sync::Arc;
pub struct OpenImage { pub live: muster_image::LiveImage, pub modified: muster_api::time::Timestamp }
pub struct Meta { pub etag: String, pub last_modified: muster_api::time::Timestamp, pub content_type: &'static str, pub file_name: String }
pub struct LiveImages;
impl LiveImages {
    pub fn new(_: Vec<std::path::PathBuf>, _: usize) -> Self { Self }
    pub fn get(&self) -> Result<Arc<OpenImage>, crate::http::problem::Problem> { Err(crate::http::problem::Problem::unavailable("x")) }
    pub fn state(&self) -> String { String::new() }
    pub async fn respond(&self, _: &OpenImage, _: muster_image::Plan, _: Meta, _: &http::Method, _: &http::HeaderMap) -> axum::response::Response { todo!() }
}
