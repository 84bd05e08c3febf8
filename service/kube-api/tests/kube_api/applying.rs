//! Server-side apply.

on_both! {
    an_apply_creates_changes_and_takes_back,
    another_managers_field_is_a_conflict_until_it_is_forced,
    a_status_is_applied_through_its_subresource,
    an_update_moves_fields_from_one_manager_to_another,
    kubectl_goes_from_client_side_to_server_side_apply,
}

mod cases {
    use kube::api::{Patch, PatchParams};
    use serde_json::{Value, json};

    use crate::world::{BOOKS, World, a_book};

    fn managers(object: &Value) -> Vec<(String, String)> {
        let text = |entry: &Value, member: &str| entry[member].as_str().unwrap_or_default().to_owned();
        let entries = object["metadata"]["managedFields"].as_array().unwrap().iter();
        entries
            .map(|entry| (text(entry, "manager"), text(entry, "operation")))
            .collect()
    }

    pub async fn an_apply_creates_changes_and_takes_back(world: World) {
        let books = world.books();
        let params = PatchParams::apply("gitops");
        let mut wanted = a_book("a", 10);
        wanted["spec"]["chapters"] = json!([{"name": "one", "pages": 5}, {"name": "two"}]);
        books.patch("a", &params, &Patch::Apply(&wanted)).await.unwrap();
        let created = world.get(&format!("{BOOKS}/a")).await;
        assert_eq!(managers(&created), [("gitops".into(), "Apply".into())]);
        assert_eq!(created["spec"]["lent"], false);
        // Again: nothing is written.
        books.patch("a", &params, &Patch::Apply(&wanted)).await.unwrap();
        assert_eq!(world.get(&format!("{BOOKS}/a")).await, created);
        // Another manager adds a chapter; the applier drops one of its own, and its label.
        let chapters =
            json!({"spec": {"chapters": [{"name": "one", "pages": 5}, {"name": "two"}, {"name": "three"}]}});
        world
            .merge(&format!("{BOOKS}/a?fieldManager=editor"), chapters)
            .await;
        wanted["spec"]["chapters"] = json!([{"name": "one", "pages": 6}]);
        wanted["metadata"] = json!({"name": "a"});
        books.patch("a", &params, &Patch::Apply(&wanted)).await.unwrap();
        let object = world.get(&format!("{BOOKS}/a")).await;
        assert_eq!(
            object["spec"]["chapters"],
            json!([{"name": "one", "pages": 6}, {"name": "three"}])
        );
        assert_eq!(object["metadata"].get("labels"), None);
        assert_eq!(object["metadata"]["generation"], 3);
    }

    pub async fn an_update_moves_fields_from_one_manager_to_another(world: World) {
        let path = format!("{BOOKS}/a");
        let created = world
            .post(&format!("{BOOKS}?fieldManager=creator"), a_book("a", 10))
            .await;
        let mut entries = created["metadata"]["managedFields"].clone();
        entries[0]["manager"] = json!("heir");
        entries[0]["operation"] = json!("Apply");
        let merge = json!({"metadata": {"managedFields": entries}});
        let moved = world.merge(&format!("{path}?fieldManager=mover"), merge).await;
        assert_eq!(managers(&moved), [("heir".into(), "Apply".into())]);
        assert_eq!(world.get(&path).await, moved);
        // Entries that are empty or cannot be read change nothing.
        for unusable in [
            json!([]),
            json!([{"manager": "x", "operation": "Guess"}]),
            json!(null),
        ] {
            let merge = json!({"metadata": {"managedFields": unusable}});
            let same = world.merge(&format!("{path}?fieldManager=mover"), merge).await;
            assert_eq!(managers(&same), managers(&moved));
        }
        // Fields that the heir leaves out now are removed: the heir owns them.
        let mut wanted = a_book("a", 10);
        wanted["metadata"] = json!({"name": "a"});
        let params = PatchParams::apply("heir");
        world
            .books()
            .patch("a", &params, &Patch::Apply(&wanted))
            .await
            .unwrap();
        assert_eq!(world.get(&path).await["metadata"].get("labels"), None);
    }

    /// With kubectl's own requests: its annotation holds what it applied, and fields that it set itself are no conflict.
    pub async fn kubectl_goes_from_client_side_to_server_side_apply(world: World) {
        let note = "kubectl.kubernetes.io/last-applied-configuration";
        let path = format!("{BOOKS}/a");
        let mut object = a_book("a", 10);
        object["metadata"]["annotations"] = json!({note: a_book("a", 10).to_string()});
        world
            .post(&format!("{BOOKS}?fieldManager=kubectl-client-side-apply"), object)
            .await;
        let apply = async |manager: &str, pages: u32| {
            let query = format!("{path}?fieldManager={manager}");
            let body = a_book("a", pages).to_string();
            world
                .send("PATCH", &query, "application/apply-patch+yaml", body)
                .await
        };
        assert_eq!(apply("other", 11).await.0, 409);
        let (status, object) = apply("kubectl", 11).await;
        assert_eq!(
            (status.as_u16(), &object["spec"]["pages"]),
            (200, &json!(11)),
            "{object}"
        );
        let noted: Value =
            serde_json::from_str(object["metadata"]["annotations"][note].as_str().unwrap()).unwrap();
        assert_eq!(noted["spec"]["pages"], 11, "{noted}");
        // A change by another manager is a conflict for kubectl, too.
        world
            .merge(
                &format!("{path}?fieldManager=editor"),
                json!({"spec": {"pages": 12}}),
            )
            .await;
        let (status, body) = apply("kubectl", 13).await;
        assert_eq!(status, 409, "{body}");
    }

    pub async fn another_managers_field_is_a_conflict_until_it_is_forced(world: World) {
        world
            .post(&format!("{BOOKS}?fieldManager=creator"), a_book("a", 10))
            .await;
        let wanted = json!({"apiVersion": "library.example.com/v1", "kind": "Book", "metadata": {"name": "a"}, "spec": {"title": "About a", "pages": 11}});
        let path = format!("{BOOKS}/a?fieldManager=gitops");
        let (status, body) = world
            .send("PATCH", &path, "application/apply-patch+yaml", wanted.to_string())
            .await;
        assert_eq!(
            (status.as_u16(), &body["reason"]),
            (409, &json!("Conflict")),
            "{body}"
        );
        assert_eq!(
            body["message"],
            "Apply failed with 1 conflict: conflict with \"creator\" using library.example.com/v1: .spec.pages"
        );
        assert_eq!(body["details"]["causes"][0]["reason"], "FieldManagerConflict");
        let (status, body) = world
            .send(
                "PATCH",
                &format!("{path}&force=true"),
                "application/apply-patch+yaml",
                wanted.to_string(),
            )
            .await;
        assert_eq!(
            (status.as_u16(), &body["spec"]["pages"]),
            (200, &json!(11)),
            "{body}"
        );
        assert_eq!(
            managers(&body),
            [
                ("gitops".into(), "Apply".into()),
                ("creator".into(), "Update".into())
            ]
        );
    }

    pub async fn a_status_is_applied_through_its_subresource(world: World) {
        world.post(BOOKS, a_book("a", 10)).await;
        let books = world.books();
        let status = json!({"apiVersion": "library.example.com/v1", "kind": "Book", "metadata": {"name": "a"}, "status": {"readers": 2}});
        let parameters = PatchParams::apply("controller").force();
        let apply = async || {
            books
                .patch_status("a", &parameters, &Patch::Apply(&status))
                .await
                .unwrap()
        };
        apply().await;
        let object = world.get(&format!("{BOOKS}/a")).await;
        assert_eq!(
            (&object["status"], &object["spec"]["pages"]),
            (&json!({"readers": 2}), &json!(10))
        );
        let entry = &object["metadata"]["managedFields"][0];
        assert_eq!(
            (&entry["subresource"], &entry["fieldsV1"]),
            (&json!("status"), &json!({"f:status": {"f:readers": {}}}))
        );
        apply().await;
        assert_eq!(world.get(&format!("{BOOKS}/a")).await, object);
    }
}
