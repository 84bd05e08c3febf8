//! Creating and changing objects.

on_both! {
    an_object_is_created_with_defaults_and_read_back,
    a_write_that_changes_nothing_writes_nothing,
    spec_and_status_are_written_apart_and_generation_counts_specs,
    patches_of_each_form_change_what_they_name,
    the_scale_is_a_view_of_two_fields,
    built_in_kinds_are_completed,
    what_go_leaves_out_for_being_empty_is_there,
    a_definition_in_protobuf_is_taken,
    events_of_both_groups_are_the_same_objects,
    a_dry_run_changes_nothing,
    names_are_generated,
    writers_at_the_same_time_lose_nothing,
}

mod cases {
    use http::StatusCode;
    use k8s_openapi::api::core::v1::Secret;
    use kube::Api;
    use kube::api::{ObjectMeta, PostParams};
    use serde_json::{Value, json};

    use crate::world::{BOOKS, NAMESPACE, World, a_book};

    pub async fn an_object_is_created_with_defaults_and_read_back(world: World) {
        let created = world.post(BOOKS, a_book("a", 10)).await;
        assert_eq!(
            created["spec"],
            json!({"title": "About a", "pages": 10, "lent": false})
        );
        assert_eq!(created["metadata"]["generation"], 1);
        assert_eq!(created["metadata"]["namespace"], NAMESPACE);
        assert_eq!(created["metadata"]["managedFields"][0]["manager"], "tests");
        assert!(
            created["metadata"]["uid"]
                .as_str()
                .is_some_and(|uid| uid.len() == 36)
        );
        assert_eq!(world.get(&format!("{BOOKS}/a")).await, created);
        let found = world.books().get("a").await.unwrap();
        assert_eq!(found.data["spec"]["pages"], 10);
    }

    /// A field of a message in protobuf.
    fn field(number: u8, content: &[u8]) -> Vec<u8> {
        let length = u8::try_from(content.len()).unwrap();
        [&[number << 3 | 2, length], content].concat()
    }

    /// A node as Go writes it in protobuf, where each text that is not set is an empty one.
    fn node_in_protobuf(name: &str) -> Vec<u8> {
        let info: Vec<u8> = (1..=10).flat_map(|number| field(number, b"")).collect();
        let status = field(7, &info);
        let raw = [
            field(1, &field(1, name.as_bytes())),
            field(2, b""),
            field(3, &status),
        ]
        .concat();
        let of = [field(1, b"v1"), field(2, b"Node")].concat();
        [b"k8s\0".to_vec(), field(1, &of), field(2, &raw)].concat()
    }

    pub async fn what_go_leaves_out_for_being_empty_is_there(world: World) {
        let nodes = "/api/v1/nodes";
        let protobuf = "application/vnd.kubernetes.protobuf";
        let (status, body) = world.send("POST", nodes, protobuf, node_in_protobuf("a")).await;
        assert_eq!(status, StatusCode::CREATED, "{body}");
        let empty = json!({"machineID": "", "systemUUID": "", "bootID": "", "kernelVersion": "", "osImage": "",
            "containerRuntimeVersion": "", "kubeletVersion": "", "kubeProxyVersion": "", "operatingSystem": "", "architecture": ""});
        let mut written = json!({"metadata": {"name": "b"}, "status": {"nodeInfo": empty}});
        world.post(nodes, written.clone()).await;
        written["metadata"]["name"] = "c".into();
        written["status"]["nodeInfo"] = json!({"osImage": "o"});
        world.post(nodes, written).await;
        for name in ["a", "b", "c"] {
            let path = format!("{nodes}/{name}/status");
            let condition = json!({"type": "Ready", "status": "True"});
            let patch =
                json!({"status": {"conditions": [condition], "daemonEndpoints": {"kubeletEndpoint": {}}}});
            for form in [
                "application/strategic-merge-patch+json",
                "application/merge-patch+json",
            ] {
                let (status, body) = world.send("PATCH", &path, form, patch.to_string()).await;
                assert_eq!(status, StatusCode::OK, "{name}, {form}: {body}");
                assert_eq!(body["status"]["nodeInfo"]["machineID"], "", "{body}");
                assert_eq!(body["status"]["daemonEndpoints"]["kubeletEndpoint"]["Port"], 0);
            }
            let read = world.get(&format!("{nodes}/{name}")).await;
            world.put(&path, &read).await;
        }
        let taints = json!({"metadata": {"name": "d"}, "spec": {"taints": [{"key": "k"}]}});
        let (code, _, message) = world.refused("POST", nodes, taints).await;
        assert_eq!(code, 422);
        assert!(
            message.contains("spec.taints[0].effect: Required value"),
            "{message}"
        );
    }

    /// Typed clients of Go send definitions so by default. The file is what they send (`facts/protobuf/main.go`).
    pub async fn a_definition_in_protobuf_is_taken(world: World) {
        let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        let body = include_bytes!("../../facts/protobuf/definition.bin");
        let protobuf = "application/vnd.kubernetes.protobuf";
        let (status, made) = world.send("POST", definitions, protobuf, body.to_vec()).await;
        assert_eq!(status, StatusCode::CREATED, "{made}");
        let schema = &made["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
        assert_eq!(schema["properties"]["pages"]["maximum"], 10_000);
        assert_eq!(schema["properties"]["title"]["minLength"], 0);
        assert_eq!(
            schema["properties"]["authors"]["items"]["properties"]["born"]["nullable"],
            true
        );
        assert!(
            schema["properties"]["title"].get("nullable").is_none(),
            "{schema}"
        );
        let papers = "/apis/library.example.com/v1/namespaces/shelf/papers";
        world.await_that(papers, |status, _| status == 200).await;
        let paper = |title: &str| {
            json!({"apiVersion": "library.example.com/v1", "kind": "Paper", "metadata": {"name": "a"},
                "spec": {"title": title, "port": 1, "any": {"x": [1]}, "words": {"a": "b"}, "authors": [{"name": "n", "born": null}]}})
        };
        let (code, _, message) = world.refused("POST", papers, paper("")).await;
        assert_eq!(code, 422);
        assert!(
            message.contains("spec.title: Required value: a title is needed"),
            "{message}"
        );
        let made = world.post(papers, paper("t")).await;
        assert_eq!(
            (&made["spec"]["pages"], &made["spec"]["any"]),
            (&json!(1), &json!({"x": [1]}))
        );
    }

    pub async fn a_write_that_changes_nothing_writes_nothing(world: World) {
        let created = world.post(BOOKS, a_book("a", 10)).await;
        let path = format!("{BOOKS}/a");
        assert_eq!(world.put(&path, &created).await, created);
        assert_eq!(world.merge(&path, json!({"spec": {"pages": 10}})).await, created);
        assert_eq!(
            world
                .merge(
                    &format!("{path}/status"),
                    json!({"metadata": {"labels": {"x": "y"}}})
                )
                .await,
            created
        );
        let secret = json!({"metadata": {"name": "s"}, "stringData": {"k": "v"}});
        let secrets = format!("/api/v1/namespaces/{NAMESPACE}/secrets");
        let stored = world.post(&secrets, secret.clone()).await;
        // Without a version, any stored version is replaced, here by the same content.
        assert_eq!(world.put(&format!("{secrets}/s"), &secret).await, stored);
    }

    pub async fn spec_and_status_are_written_apart_and_generation_counts_specs(world: World) {
        let mut object = world.post(BOOKS, a_book("a", 10)).await;
        let path = format!("{BOOKS}/a");
        object["status"] = json!({"readers": 3});
        object["metadata"]["annotations"] = json!({"note": "x"});
        let object = world.put(&path, &object).await;
        assert_eq!(
            (&object["status"], &object["metadata"]["generation"]),
            (&Value::Null, &json!(1))
        );
        assert_eq!(object["metadata"]["annotations"]["note"], "x");
        let mut wanted = object.clone();
        wanted["status"] =
            json!({"readers": 3, "conditions": [{"type": "Ready", "status": "True", "heartbeat": null}]});
        wanted["spec"]["pages"] = 99.into();
        let object = world.put(&format!("{path}/status"), &wanted).await;
        assert_eq!(
            (&object["status"], &object["spec"]["pages"]),
            (&wanted["status"], &json!(10))
        );
        assert_eq!(object["metadata"]["generation"], 1);
        let object = world
            .merge(&path, json!({"spec": {"pages": 11}, "status": null}))
            .await;
        assert_eq!(
            (&object["metadata"]["generation"], &object["status"]["readers"]),
            (&json!(2), &json!(3))
        );
        let managers = object["metadata"]["managedFields"].as_array().unwrap();
        assert!(
            managers.iter().any(|entry| entry["subresource"] == "status"),
            "{managers:?}"
        );
    }

    pub async fn patches_of_each_form_change_what_they_name(world: World) {
        world.post(BOOKS, a_book("a", 10)).await;
        let path = format!("{BOOKS}/a");
        let merged = world
            .merge(
                &path,
                json!({"spec": {"keywords": {"x": "1"}}, "metadata": {"labels": {"size": null}}}),
            )
            .await;
        assert_eq!(
            (&merged["spec"]["keywords"], &merged["metadata"].get("labels")),
            (&json!({"x": "1"}), &None)
        );
        let json_patch = json!([
            {"op": "test", "path": "/spec/pages", "value": 10},
            {"op": "add", "path": "/spec/keywords/y", "value": "2"},
            {"op": "remove", "path": "/spec/pages"},
        ]);
        let (status, patched) = world
            .send(
                "PATCH",
                &path,
                "application/json-patch+json",
                json_patch.to_string(),
            )
            .await;
        assert_eq!(status, StatusCode::OK, "{patched}");
        assert_eq!(
            patched["spec"],
            json!({"title": "About a", "lent": false, "keywords": {"x": "1", "y": "2"}})
        );
        let secrets = format!("/api/v1/namespaces/{NAMESPACE}/secrets");
        world
            .post(
                &secrets,
                json!({"metadata": {"name": "s", "finalizers": ["x.y/z"]}, "stringData": {"k": "v"}}),
            )
            .await;
        let strategic = json!({"metadata": {"finalizers": ["x.y/w"]}, "data": {"k": null, "l": "bQ=="}});
        let media_type = "application/strategic-merge-patch+json";
        let (status, patched) = world
            .send(
                "PATCH",
                &format!("{secrets}/s"),
                media_type,
                strategic.to_string(),
            )
            .await;
        assert_eq!(status, StatusCode::OK, "{patched}");
        assert_eq!(patched["data"], json!({"l": "bQ=="}));
        assert_eq!(patched["metadata"]["finalizers"], json!(["x.y/z", "x.y/w"]));
    }

    pub async fn the_scale_is_a_view_of_two_fields(world: World) {
        world.post(BOOKS, a_book("a", 10)).await;
        let path = format!("{BOOKS}/a/scale");
        assert_eq!(world.get(&path).await["spec"], json!({"replicas": 0}));
        let scaled = world.merge(&path, json!({"spec": {"replicas": 4}})).await;
        assert_eq!(
            (&scaled["kind"], &scaled["spec"]),
            (&json!("Scale"), &json!({"replicas": 4}))
        );
        let object = world.get(&format!("{BOOKS}/a")).await;
        assert_eq!(
            (&object["spec"]["copies"], &object["metadata"]["generation"]),
            (&json!(4), &json!(2))
        );
        world
            .merge(&format!("{BOOKS}/a/status"), json!({"status": {"copies": 3}}))
            .await;
        assert_eq!(world.get(&path).await["status"], json!({"replicas": 3}));
    }

    pub async fn built_in_kinds_are_completed(world: World) {
        let secrets: Api<Secret> = Api::namespaced(world.client.clone(), NAMESPACE);
        let secret = Secret {
            metadata: ObjectMeta {
                name: Some("s".into()),
                ..ObjectMeta::default()
            },
            string_data: Some([("k".to_owned(), "value".to_owned())].into()),
            ..Secret::default()
        };
        let stored = secrets.create(&PostParams::default(), &secret).await.unwrap();
        assert_eq!(stored.type_.as_deref(), Some("Opaque"));
        assert_eq!(stored.data.unwrap()["k"].0, b"value");
        let namespace = world.get(&format!("/api/v1/namespaces/{NAMESPACE}")).await;
        assert_eq!(namespace["status"]["phase"], "Active");
        assert_eq!(
            namespace["metadata"]["labels"]["kubernetes.io/metadata.name"],
            NAMESPACE
        );
        let request = json!({"metadata": {"name": "c"}, "spec": {"request": "LS0t", "signerName": "x.y/z", "usages": ["client auth"], "username": "me"}});
        let request = world
            .post("/apis/certificates.k8s.io/v1/certificatesigningrequests", request)
            .await;
        assert_eq!(request["spec"]["username"], "system:admin");
        let approval = json!({"status": {"conditions": [{"type": "Approved", "status": "True", "reason": "R", "message": "m"}]}});
        let approved = world
            .merge(
                "/apis/certificates.k8s.io/v1/certificatesigningrequests/c/approval",
                approval,
            )
            .await;
        assert_eq!(approved["status"]["conditions"][0]["type"], "Approved");
        let definition = world
            .get("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/books.library.example.com")
            .await;
        assert_eq!(definition["status"]["conditions"][1]["type"], "Established");
        assert_eq!(definition["spec"]["names"]["listKind"], "BookList");
    }

    pub async fn events_of_both_groups_are_the_same_objects(world: World) {
        let event = json!({
            "metadata": {"name": "e"}, "regarding": {"kind": "Book", "name": "a", "namespace": NAMESPACE},
            "eventTime": "2026-11-21T10:00:00.000000Z", "reportingController": "tests", "reportingInstance": "t-1",
            "action": "Look", "reason": "Looked", "note": "it was looked at", "type": "Normal",
        });
        world
            .post(
                &format!("/apis/events.k8s.io/v1/namespaces/{NAMESPACE}/events"),
                event,
            )
            .await;
        let selector =
            format!("involvedObject.name=a,involvedObject.namespace={NAMESPACE},involvedObject.kind=Book");
        let core = world
            .get(&format!(
                "/api/v1/namespaces/{NAMESPACE}/events?fieldSelector={selector}"
            ))
            .await;
        let core = &core["items"][0];
        assert_eq!(
            (&core["message"], &core["apiVersion"]),
            (&json!("it was looked at"), &json!("v1"))
        );
        let grouped = world
            .get(&format!("/apis/events.k8s.io/v1/namespaces/{NAMESPACE}/events/e"))
            .await;
        assert_eq!(
            (&grouped["note"], &grouped["metadata"]["uid"]),
            (&core["message"], &core["metadata"]["uid"])
        );
    }

    pub async fn a_dry_run_changes_nothing(world: World) {
        let (status, shown) = world
            .send(
                "POST",
                &format!("{BOOKS}?dryRun=All"),
                "application/json",
                a_book("a", 1).to_string(),
            )
            .await;
        assert_eq!(
            (status, &shown["spec"]["lent"]),
            (StatusCode::CREATED, &json!(false))
        );
        assert_eq!(
            world.send("GET", &format!("{BOOKS}/a"), "", "").await.0,
            StatusCode::NOT_FOUND
        );
        let created = world.post(BOOKS, a_book("a", 1)).await;
        let path = format!("{BOOKS}/a?dryRun=All");
        assert_eq!(
            world.merge(&path, json!({"spec": {"pages": 5}})).await["spec"]["pages"],
            5
        );
        assert_eq!(
            world.send("DELETE", &path, "application/json", "").await.0,
            StatusCode::OK
        );
        assert_eq!(world.get(&format!("{BOOKS}/a")).await, created);
    }

    pub async fn names_are_generated(world: World) {
        let mut object = a_book("a", 1);
        object["metadata"] = json!({"generateName": "novel-"});
        let one = world.post(BOOKS, object.clone()).await;
        let other = world.post(BOOKS, object).await;
        assert!(one["metadata"]["name"].as_str().unwrap().starts_with("novel-"));
        assert_ne!(one["metadata"]["name"], other["metadata"]["name"]);
    }

    pub async fn writers_at_the_same_time_lose_nothing(world: World) {
        world.post(BOOKS, a_book("a", 1)).await;
        let patches = (0..12).map(|index| {
            let patch = json!({"spec": {"keywords": {format!("k{index}"): "v"}}});
            let (api, path) = (world.api.clone(), format!("{BOOKS}/a"));
            tokio::spawn(async move {
                crate::world::send(
                    &api,
                    "PATCH",
                    &path,
                    "application/merge-patch+json",
                    patch.to_string().into_bytes(),
                )
                .await
            })
        });
        for patch in patches.collect::<Vec<_>>() {
            let (status, body) = patch.await.unwrap();
            assert_eq!(status, StatusCode::OK, "{body}");
        }
        let object = world.get(&format!("{BOOKS}/a")).await;
        assert_eq!(object["spec"]["keywords"].as_object().unwrap().len(), 12);
        assert_eq!(object["metadata"]["generation"], 13);
    }
}
