use muster_api::MUSTER_PATH;

/// The path of a job.
pub fn path(id: &str) -> String {
    format!("{MUSTER_PATH}/jobs/{id}")
}
