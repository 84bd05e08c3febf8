//! Parameters of all writes, which name this service in `managedFields`.

use kube::api::{DeleteParams, PatchParams, PostParams, Preconditions};
use kube::{Resource, ResourceExt};

/// The writer of all changes, in `managedFields`.
pub const FIELD_MANAGER: &str = "muster";

pub fn patch_params() -> PatchParams {
    PatchParams {
        field_manager: Some(FIELD_MANAGER.to_owned()),
        ..PatchParams::default()
    }
}

/// Parameters of an apply: fields that this service set before and no longer sets are removed, fields of others stay.
pub fn applied() -> PatchParams {
    PatchParams::apply(FIELD_MANAGER).force()
}

pub fn post_params() -> PostParams {
    PostParams {
        field_manager: Some(FIELD_MANAGER.to_owned()),
        ..PostParams::default()
    }
}

/// Deletes `object` and no other of its name that was made since it was read, which would be a conflict.
pub fn delete_params(object: &impl Resource) -> DeleteParams {
    DeleteParams::default().preconditions(Preconditions {
        uid: object.uid(),
        ..Preconditions::default()
    })
}
