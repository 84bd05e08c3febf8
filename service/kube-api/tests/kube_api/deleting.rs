//! Deletion, finalizers and garbage collection.

on_both! {
    finalizers_hold_an_object_until_they_are_gone,
    what_is_owned_goes_with_its_last_owner,
    a_foreground_deletion_waits_for_what_is_owned,
    an_orphaned_object_stays,
    a_namespace_takes_its_content_along,
    a_collection_is_deleted_by_selector,
    preconditions_are_kept,
    a_crd_takes_its_objects_along,
    namespaces_of_the_server_stay,
    a_large_collection_is_deleted,
    an_owner_is_released_by_a_dependent_that_lets_go_of_it,
    an_object_of_the_cluster_is_not_owned_by_one_of_a_namespace,
}

mod cases {
    use http::StatusCode;
    use serde_json::{Value, json};

    use crate::world::{BOOKS, NAMESPACE, World, a_book};

    fn is_gone(status: StatusCode, _: &Value) -> bool {
        status == StatusCode::NOT_FOUND
    }

    fn owned_by(mut object: Value, owners: &[&Value], blocks: bool) -> Value {
        let owners = owners.iter().map(|owner| {
            json!({"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"],
                "blockOwnerDeletion": blocks})
        });
        object["metadata"]["ownerReferences"] = owners.collect();
        object
    }

    pub async fn namespaces_of_the_server_stay(world: World) {
        for name in ["default", "kube-system"] {
            let path = format!("/api/v1/namespaces/{name}");
            let refused = world.refused("DELETE", &path, json!({})).await;
            let message = format!("namespaces {name:?} is forbidden: this namespace may not be deleted");
            assert_eq!(refused, (403, "Forbidden".into(), message));
            assert_eq!(world.get(&path).await["status"]["phase"], "Active");
        }
    }

    pub async fn a_large_collection_is_deleted(world: World) {
        let maps = format!("/api/v1/namespaces/{NAMESPACE}/configmaps");
        // More than an answer lists.
        let objects = (0..601).map(|index| json!({"metadata": {"name": format!("c{index}")}}));
        world.post_all(&maps, objects).await;
        let (status, body) = world.send("DELETE", &maps, "application/json", "").await;
        assert_eq!(
            (status.as_u16(), &body["status"]),
            (200, &json!("Success")),
            "{body}"
        );
        assert_eq!(world.get(&maps).await["items"], json!([]));
    }

    pub async fn an_owner_is_released_by_a_dependent_that_lets_go_of_it(world: World) {
        let owner = world.post(BOOKS, a_book("owner", 1)).await;
        let mut dependent = owned_by(a_book("dependent", 1), &[&owner], true);
        dependent["metadata"]["finalizers"] = json!(["x.y/z"]);
        world.post(BOOKS, dependent).await;
        let path = format!("{BOOKS}/owner");
        world
            .send(
                "DELETE",
                &format!("{path}?propagationPolicy=Foreground"),
                "application/json",
                "",
            )
            .await;
        let dependent = format!("{BOOKS}/dependent");
        world
            .await_that(&dependent, |_, body| {
                body["metadata"]["deletionTimestamp"].is_string()
            })
            .await;
        assert_eq!(world.send("GET", &path, "application/json", "").await.0, 200);
        world
            .merge(&dependent, json!({"metadata": {"ownerReferences": []}}))
            .await;
        world.await_that(&path, is_gone).await;
    }

    pub async fn an_object_of_the_cluster_is_not_owned_by_one_of_a_namespace(world: World) {
        let book = world.post(BOOKS, a_book("owner", 1)).await;
        let space = owned_by(json!({"metadata": {"name": "owned"}}), &[&book], false);
        world.post("/api/v1/namespaces", space).await;
        // The sentinel comes later in the queue: once it is gone, the namespace has been checked.
        let other = owned_by(a_book("sentinel", 1), &[&book], false);
        world.post(BOOKS, other).await;
        world
            .send("DELETE", &format!("{BOOKS}/owner"), "application/json", "")
            .await;
        world.await_that(&format!("{BOOKS}/sentinel"), is_gone).await;
        let space = world.get("/api/v1/namespaces/owned").await;
        assert_eq!(space["status"]["phase"], "Active", "{space}");
    }

    pub async fn finalizers_hold_an_object_until_they_are_gone(world: World) {
        let mut object = a_book("a", 1);
        object["metadata"]["finalizers"] = json!(["x.y/z"]);
        world.post(BOOKS, object).await;
        let path = format!("{BOOKS}/a");
        let (status, marked) = world.send("DELETE", &path, "application/json", "").await;
        assert_eq!((status, &marked["kind"]), (StatusCode::OK, &json!("Book")));
        assert!(marked["metadata"]["deletionTimestamp"].is_string());
        assert_eq!(
            (
                &marked["metadata"]["generation"],
                &marked["metadata"]["deletionGracePeriodSeconds"]
            ),
            (&json!(2), &json!(0))
        );
        // Again: it is marked already.
        assert_eq!(
            world.send("DELETE", &path, "application/json", "").await.1,
            marked
        );
        let (code, reason, message) = world
            .refused("PUT", &path, {
                let mut more = marked.clone();
                more["metadata"]["finalizers"] = json!(["x.y/z", "x.y/w"]);
                more
            })
            .await;
        assert_eq!((code, reason.as_str()), (422, "Invalid"), "{message}");
        world
            .merge(&path, json!({"metadata": {"finalizers": null}}))
            .await;
        assert_eq!(world.send("GET", &path, "", "").await.0, StatusCode::NOT_FOUND);
        // Without finalizers it is deleted immediately.
        world.post(BOOKS, a_book("a", 1)).await;
        let (status, body) = world.send("DELETE", &path, "application/json", "").await;
        assert_eq!(
            (status, &body["status"], &body["details"]["kind"]),
            (StatusCode::OK, &json!("Success"), &json!("books"))
        );
    }

    pub async fn what_is_owned_goes_with_its_last_owner(world: World) {
        let one = world.post(BOOKS, a_book("one", 1)).await;
        let two = world.post(BOOKS, a_book("two", 1)).await;
        world
            .post(BOOKS, owned_by(a_book("both", 1), &[&one, &two], false))
            .await;
        let child = world
            .post(BOOKS, owned_by(a_book("child", 1), &[&one], false))
            .await;
        world
            .post(BOOKS, owned_by(a_book("grandchild", 1), &[&child], false))
            .await;
        // An owner that never was.
        let mut stranger = two.clone();
        stranger["metadata"]["uid"] = "00000000-0000-0000-0000-000000000000".into();
        world
            .post(BOOKS, owned_by(a_book("stray", 1), &[&stranger], false))
            .await;
        world.await_that(&format!("{BOOKS}/stray"), is_gone).await;
        world
            .send("DELETE", &format!("{BOOKS}/one"), "application/json", "")
            .await;
        for name in ["child", "grandchild"] {
            world.await_that(&format!("{BOOKS}/{name}"), is_gone).await;
        }
        let both = world
            .await_that(&format!("{BOOKS}/both"), |_, body| {
                body["metadata"]["ownerReferences"]
                    .as_array()
                    .is_some_and(|owners| owners.len() == 1)
            })
            .await;
        assert_eq!(both["metadata"]["ownerReferences"][0]["name"], "two");
        world
            .send("DELETE", &format!("{BOOKS}/two"), "application/json", "")
            .await;
        world.await_that(&format!("{BOOKS}/both"), is_gone).await;
    }

    pub async fn a_foreground_deletion_waits_for_what_is_owned(world: World) {
        let owner = world.post(BOOKS, a_book("owner", 1)).await;
        let mut child = owned_by(a_book("child", 1), &[&owner], true);
        child["metadata"]["finalizers"] = json!(["x.y/z"]);
        world.post(BOOKS, child).await;
        let (_, body) = world
            .send(
                "DELETE",
                &format!("{BOOKS}/owner?propagationPolicy=Foreground"),
                "application/json",
                "",
            )
            .await;
        assert_eq!(body["metadata"]["finalizers"], json!(["foregroundDeletion"]));
        world
            .await_that(&format!("{BOOKS}/child"), |_, body| {
                body["metadata"]["deletionTimestamp"].is_string()
            })
            .await;
        assert_eq!(
            world.send("GET", &format!("{BOOKS}/owner"), "", "").await.0,
            StatusCode::OK
        );
        world
            .merge(
                &format!("{BOOKS}/child"),
                json!({"metadata": {"finalizers": null}}),
            )
            .await;
        world.await_that(&format!("{BOOKS}/owner"), is_gone).await;
    }

    pub async fn an_orphaned_object_stays(world: World) {
        let owner = world.post(BOOKS, a_book("owner", 1)).await;
        world
            .post(BOOKS, owned_by(a_book("child", 1), &[&owner], false))
            .await;
        let options = json!({"propagationPolicy": "Orphan"});
        world
            .send(
                "DELETE",
                &format!("{BOOKS}/owner"),
                "application/json",
                options.to_string(),
            )
            .await;
        world.await_that(&format!("{BOOKS}/owner"), is_gone).await;
        assert_eq!(
            world.get(&format!("{BOOKS}/child")).await["metadata"].get("ownerReferences"),
            None
        );
    }

    pub async fn a_namespace_takes_its_content_along(world: World) {
        world.post(BOOKS, a_book("a", 1)).await;
        let mut held = a_book("held", 1);
        held["metadata"]["finalizers"] = json!(["x.y/z"]);
        world.post(BOOKS, held).await;
        let path = format!("/api/v1/namespaces/{NAMESPACE}");
        let (_, body) = world.send("DELETE", &path, "application/json", "").await;
        assert_eq!(body["status"]["phase"], "Terminating");
        world.await_that(&format!("{BOOKS}/a"), is_gone).await;
        let (code, reason, message) = world.refused("POST", BOOKS, a_book("late", 1)).await;
        assert_eq!((code, reason.as_str()), (403, "Forbidden"), "{message}");
        world
            .await_that(&format!("{BOOKS}/held"), |_, body| {
                body["metadata"]["deletionTimestamp"].is_string()
            })
            .await;
        world
            .merge(
                &format!("{BOOKS}/held"),
                json!({"metadata": {"finalizers": null}}),
            )
            .await;
        world.await_that(&path, is_gone).await;
        let (code, _, message) = world.refused("POST", BOOKS, a_book("late", 1)).await;
        assert_eq!((code, message.as_str()), (404, "namespaces \"shelf\" not found"));
    }

    pub async fn a_collection_is_deleted_by_selector(world: World) {
        for (name, pages) in [("a", 1), ("b", 200), ("c", 300)] {
            world.post(BOOKS, a_book(name, pages)).await;
        }
        let (status, body) = world
            .send(
                "DELETE",
                &format!("{BOOKS}?labelSelector=size%3Dlarge"),
                "application/json",
                "",
            )
            .await;
        assert_eq!(
            (status, body["items"].as_array().map(Vec::len)),
            (StatusCode::OK, Some(2))
        );
        let left = world.get(BOOKS).await;
        assert_eq!(left["items"].as_array().map(Vec::len), Some(1));
    }

    pub async fn preconditions_are_kept(world: World) {
        let object = world.post(BOOKS, a_book("a", 1)).await;
        let path = format!("{BOOKS}/a");
        let (code, reason, _) = world
            .refused("DELETE", &path, json!({"preconditions": {"uid": "other"}}))
            .await;
        assert_eq!((code, reason.as_str()), (409, "Conflict"));
        let (code, _, _) = world
            .refused(
                "DELETE",
                &path,
                json!({"preconditions": {"resourceVersion": "1"}}),
            )
            .await;
        assert_eq!(code, 409);
        let good = json!({"preconditions": {"uid": object["metadata"]["uid"], "resourceVersion": object["metadata"]["resourceVersion"]}});
        assert_eq!(
            world
                .send("DELETE", &path, "application/json", good.to_string())
                .await
                .0,
            StatusCode::OK
        );
    }

    pub async fn a_crd_takes_its_objects_along(world: World) {
        world.post(BOOKS, a_book("a", 1)).await;
        let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/books.library.example.com";
        world.send("DELETE", path, "application/json", "").await;
        world.await_that(path, is_gone).await;
        world.await_that(BOOKS, is_gone).await;
        let (status, body) = world
            .send(
                "POST",
                path.rsplit_once('/').unwrap().0,
                "application/json",
                crate::world::crd().to_string(),
            )
            .await;
        assert_eq!(status, StatusCode::CREATED, "{body}");
        assert_eq!(world.get(BOOKS).await["items"], json!([]));
    }
}
