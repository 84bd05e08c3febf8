//! Converts the times of Kubernetes objects.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use muster_api::time::Timestamp;

/// A time of an object; `None` when it is out of range.
pub fn timestamp(time: &Time) -> Option<Timestamp> {
    Timestamp::from_timestamp(time.0.as_second(), 0)
}
