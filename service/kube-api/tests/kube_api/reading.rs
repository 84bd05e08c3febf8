//! Lists, selectors, tables, discovery.

on_both! {
    lists_are_selected_by_labels_and_fields,
    a_list_of_many_is_whole_in_every_form,
    a_paged_list_is_of_one_revision,
    a_continued_list_expires_with_its_revision,
    tables_have_the_columns_of_the_crd,
    discovery_names_every_resource,
    schemas_are_offered_to_clients,
    a_crd_is_served_as_soon_as_it_is_created,
}

mod cases {
    use http::StatusCode;
    use serde_json::{Value, json};

    use crate::http::send;
    use crate::world::{BOOKS, World, a_book};

    fn names(list: &Value) -> Vec<&str> {
        list["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|item| item["metadata"]["name"].as_str().unwrap())
            .collect()
    }

    async fn accepting(world: &World, path: &str, accept: &str) -> (StatusCode, Value) {
        let answer = send(&world.client, "GET", path, &[("accept", accept)], "").await;
        (answer.status, answer.body)
    }

    pub async fn lists_are_selected_by_labels_and_fields(world: World) {
        for (name, pages) in [("a", 1), ("b", 200), ("c", 300)] {
            world.post(BOOKS, a_book(name, pages)).await;
        }
        let all = world.get(BOOKS).await;
        assert_eq!(
            (&all["kind"], names(&all)),
            (&json!("BookList"), vec!["a", "b", "c"])
        );
        assert_eq!(
            names(&world.get(&format!("{BOOKS}?labelSelector=size%3Dlarge")).await),
            ["b", "c"]
        );
        assert_eq!(
            names(
                &world
                    .get(&format!("{BOOKS}?labelSelector=size+notin+(large)"))
                    .await
            ),
            ["a"]
        );
        assert_eq!(
            names(
                &world
                    .get(&format!("{BOOKS}?fieldSelector=metadata.name%3Db"))
                    .await
            ),
            ["b"]
        );
        assert_eq!(
            names(
                &world
                    .get(&format!("{BOOKS}?fieldSelector=spec.title%3DAbout+c"))
                    .await
            ),
            ["c"]
        );
        let everywhere = "/apis/library.example.com/v1/books";
        assert_eq!(names(&world.get(everywhere).await), ["a", "b", "c"]);
        assert_eq!(
            names(
                &world
                    .get(&format!("{everywhere}?fieldSelector=metadata.namespace%3Dother"))
                    .await
            ),
            [""; 0]
        );
        let (code, reason, message) = world
            .refused(
                "GET",
                &format!("{BOOKS}?fieldSelector=spec.pages%3D1"),
                Value::Null,
            )
            .await;
        assert_eq!(
            (code, reason.as_str(), message.as_str()),
            (400, "BadRequest", "field label not supported: spec.pages")
        );
    }

    pub async fn a_list_of_many_is_whole_in_every_form(world: World) {
        let wanted: Vec<String> = (0..80).map(|number| format!("book-{number:02}")).collect();
        for name in &wanted {
            world.post(BOOKS, a_book(name, 200)).await;
        }
        let all = world.get(BOOKS).await;
        assert_eq!(names(&all), wanted);
        let metadata = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";
        let (_, metadata) = accepting(&world, BOOKS, metadata).await;
        assert_eq!(metadata["kind"], "PartialObjectMetadataList");
        assert_eq!(names(&metadata), wanted);
        let of_table = "application/json;as=Table;v=v1;g=meta.k8s.io";
        for include in ["None", "Metadata", "Object"] {
            let path = format!("{BOOKS}?includeObject={include}");
            let (_, table) = accepting(&world, &path, of_table).await;
            let (_, part) = accepting(&world, &format!("{path}&limit=70"), of_table).await;
            for same in ["kind", "apiVersion", "columnDefinitions"] {
                assert_eq!(table[same], part[same]);
            }
            let rows = table["rows"].as_array().unwrap();
            for (row, same) in rows.iter().zip(part["rows"].as_array().unwrap()) {
                assert_eq!(row["object"], same["object"]);
            }
            let cells: Vec<&str> = rows.iter().map(|row| row["cells"][0].as_str().unwrap()).collect();
            assert_eq!(cells, wanted);
        }
    }

    pub async fn a_paged_list_is_of_one_revision(world: World) {
        for index in 0..7 {
            world
                .post(
                    BOOKS,
                    a_book(&format!("b{index}"), if index % 2 == 0 { 200 } else { 1 }),
                )
                .await;
        }
        for selector in ["", "&labelSelector=size%3Dlarge"] {
            let first = world.get(&format!("{BOOKS}?limit=3{selector}")).await;
            let expected: Vec<&str> = if selector.is_empty() {
                vec!["b0", "b1", "b2"]
            } else {
                vec!["b0", "b2", "b4"]
            };
            assert_eq!(names(&first), expected);
            // Changes in between are not seen.
            world
                .merge(&format!("{BOOKS}/b6"), json!({"spec": {"pages": 7}}))
                .await;
            world
                .send("DELETE", &format!("{BOOKS}/b5"), "application/json", "")
                .await;
            world.post(BOOKS, a_book("b9", 200)).await;
            let token = first["metadata"]["continue"].as_str().unwrap();
            let rest = world
                .get(&format!("{BOOKS}?limit=30&continue={token}{selector}"))
                .await;
            let expected: Vec<&str> = if selector.is_empty() {
                vec!["b3", "b4", "b5", "b6"]
            } else {
                vec!["b6"]
            };
            assert_eq!(names(&rest), expected);
            assert_eq!(rest["metadata"].get("continue"), None);
            assert_eq!(
                rest["metadata"]["resourceVersion"],
                first["metadata"]["resourceVersion"]
            );
            let last = rest["items"].as_array().unwrap().last().unwrap();
            assert_eq!(last["spec"]["pages"], 200);
            // Back to how it was.
            world
                .send("DELETE", &format!("{BOOKS}/b9"), "application/json", "")
                .await;
            world
                .merge(&format!("{BOOKS}/b6"), json!({"spec": {"pages": 200}}))
                .await;
            world.post(BOOKS, a_book("b5", 1)).await;
        }
    }

    pub async fn a_continued_list_expires_with_its_revision(world: World) {
        for name in ["a", "b", "c"] {
            world.post(BOOKS, a_book(name, 1)).await;
        }
        let first = world.get(&format!("{BOOKS}?limit=1")).await;
        let token = first["metadata"]["continue"].as_str().unwrap();
        world
            .merge(&format!("{BOOKS}/c"), json!({"spec": {"pages": 7}}))
            .await;
        world.api.compact().await.unwrap();
        let (code, reason, _) = world
            .refused("GET", &format!("{BOOKS}?limit=1&continue={token}"), Value::Null)
            .await;
        assert_eq!((code, reason.as_str()), (410, "Expired"));
        let (code, reason, message) = world
            .refused(
                "GET",
                &format!("{BOOKS}?resourceVersion=1000000&resourceVersionMatch=Exact"),
                Value::Null,
            )
            .await;
        assert_eq!((code, reason.as_str()), (504, "Timeout"), "{message}");
        // Objects that were not replaced still exist.
        assert_eq!(names(&world.get(BOOKS).await), ["a", "b", "c"]);
    }

    pub async fn tables_have_the_columns_of_the_crd(world: World) {
        world.post(BOOKS, a_book("a", 1)).await;
        world
            .merge(
                &format!("{BOOKS}/a/status"),
                json!({"status": {"conditions": [{"type": "Ready", "status": "True"}]}}),
            )
            .await;
        let accept = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
        let (status, table) = accepting(&world, BOOKS, accept).await;
        assert_eq!((status, &table["kind"]), (StatusCode::OK, &json!("Table")));
        let headings: Vec<&Value> = table["columnDefinitions"]
            .as_array()
            .unwrap()
            .iter()
            .map(|column| &column["name"])
            .collect();
        assert_eq!(headings, ["Name", "Title", "Lent", "Ready"]);
        assert_eq!(table["rows"][0]["cells"], json!(["a", "About a", false, "True"]));
        assert_eq!(table["rows"][0]["object"]["kind"], "PartialObjectMetadata");
        let (_, table) = accepting(&world, "/api/v1/namespaces/shelf", accept).await;
        assert_eq!(table["rows"][0]["cells"][1], "Active");
        let (_, list) = accepting(
            &world,
            BOOKS,
            "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
        )
        .await;
        assert_eq!(
            (&list["kind"], list["items"][0].get("spec")),
            (&json!("PartialObjectMetadataList"), None)
        );
        assert_eq!(
            accepting(&world, BOOKS, "application/vnd.kubernetes.protobuf")
                .await
                .0,
            StatusCode::NOT_ACCEPTABLE
        );
    }

    pub async fn discovery_names_every_resource(world: World) {
        let found = kube::discovery::Discovery::new(world.client.clone())
            .run()
            .await
            .unwrap();
        let group = found.get("library.example.com").unwrap();
        let (resource, capabilities) = group.recommended_kind("Book").unwrap();
        assert_eq!(
            (resource.plural.as_str(), resource.api_version.as_str()),
            ("books", "library.example.com/v1")
        );
        let subresources: Vec<&str> = capabilities
            .subresources
            .iter()
            .map(|(resource, _)| resource.plural.as_str())
            .collect();
        assert_eq!(subresources, ["status", "scale"]);
        for group in [
            "",
            "events.k8s.io",
            "coordination.k8s.io",
            "certificates.k8s.io",
            "apiextensions.k8s.io",
        ] {
            assert!(found.has_group(group), "{group}");
        }
        let accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
        let (_, aggregated) = accepting(&world, "/apis", accept).await;
        assert_eq!(
            (&aggregated["kind"], &aggregated["apiVersion"]),
            (&json!("APIGroupDiscoveryList"), &json!("apidiscovery.k8s.io/v2"))
        );
        let version = world.client.apiserver_version().await.unwrap();
        assert_eq!((version.major.as_str(), version.minor.as_str()), ("1", "34"));
    }

    pub async fn schemas_are_offered_to_clients(world: World) {
        let index = world.get("/openapi/v3").await;
        let url = index["paths"]["apis/library.example.com/v1"]["serverRelativeURL"]
            .as_str()
            .unwrap();
        let document = world.get(url).await;
        let book = &document["components"]["schemas"]["com.example.library.v1.Book"];
        assert_eq!(
            book["properties"]["spec"]["properties"]["title"]["description"],
            "What is on the cover."
        );
        assert_eq!(book["x-kubernetes-group-version-kind"][0]["kind"], "Book");
        let patch =
            &document["paths"]["/apis/library.example.com/v1/namespaces/{namespace}/books/{name}"]["patch"];
        assert!(
            patch["parameters"]
                .as_array()
                .unwrap()
                .iter()
                .any(|parameter| parameter["name"] == "fieldValidation")
        );
        let core = world
            .get(index["paths"]["api/v1"]["serverRelativeURL"].as_str().unwrap())
            .await;
        assert!(core["components"]["schemas"]["io.k8s.api.core.v1.Secret"].is_object());
        let swagger = world.get("/openapi/v2").await;
        assert!(swagger["definitions"]["com.example.library.v1.Book"].is_object());
    }

    pub async fn a_crd_is_served_as_soon_as_it_is_created(world: World) {
        let mut definition = crate::world::crd();
        definition["metadata"]["name"] = "pens.library.example.com".into();
        definition["spec"]["names"] = json!({"kind": "Pen", "plural": "pens"});
        let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        world.post(definitions, definition.clone()).await;
        let pens = "/apis/library.example.com/v1/namespaces/shelf/pens";
        world
            .post(pens, json!({"apiVersion": "library.example.com/v1", "kind": "Pen", "metadata": {"name": "p"}, "spec": {"title": "x"}}))
            .await;
        assert_eq!(names(&world.get(pens).await), ["p"]);
        definition["spec"]["versions"][0]["schema"] = json!({"openAPIV3Schema": {"type": "object", "properties": {"a": {"type": "string", "pattern": "("}}}});
        definition["metadata"]["name"] = "nibs.library.example.com".into();
        definition["spec"]["names"] = json!({"kind": "Nib", "plural": "nibs"});
        let (code, reason, message) = world.refused("POST", definitions, definition).await;
        assert_eq!((code, reason.as_str()), (422, "Invalid"), "{message}");
    }
}
