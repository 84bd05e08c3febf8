//! Finds out whether this program may make a request, without making it: a program with the rights of others should not be seen to fail.

use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec,
};
use kube::{Api, Client, Resource};

use crate::writes::post_params;

/// True if this program may list and watch the objects of a kind in a namespace.
///
/// # Errors
/// Fails if the API server does. Every client that is authenticated has the right to this request (ClusterRole system:basic-user).
pub async fn may_watch<K: Resource<DynamicType = ()>>(
    client: &Client,
    namespace: &str,
) -> kube::Result<bool> {
    for verb in ["list", "watch"] {
        let review = SelfSubjectAccessReview {
            spec: SelfSubjectAccessReviewSpec {
                resource_attributes: Some(ResourceAttributes {
                    group: Some(K::group(&()).into_owned()),
                    resource: Some(K::plural(&()).into_owned()),
                    namespace: Some(namespace.to_owned()),
                    verb: Some(verb.to_owned()),
                    ..ResourceAttributes::default()
                }),
                ..SelfSubjectAccessReviewSpec::default()
            },
            ..SelfSubjectAccessReview::default()
        };
        let api = Api::<SelfSubjectAccessReview>::all(client.clone());
        let answered = api.create(&post_params(), &review).await?;
        if !answered.status.is_some_and(|status| status.allowed) {
            return Ok(false);
        }
    }
    Ok(true)
}
