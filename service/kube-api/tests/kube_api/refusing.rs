//! Requests that are refused, with the code and reason of a Kubernetes API server.

on_both! {
    invalid_objects_are_refused,
    requests_that_break_rules_are_refused,
    a_stale_version_is_a_conflict,
    unknown_fields_are_refused_warned_of_or_dropped,
    bodies_of_other_forms_are_refused,
    oversize_is_refused,
    rules_that_cannot_be_kept_are_refused_with_their_definition,
    rules_count_characters_and_name_members_as_a_server_does,
}

mod cases {
    use http::StatusCode;
    use serde_json::{Value, json};

    use crate::http::send;
    use crate::world::{BOOKS, World, a_book};

    const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

    /// A definition of things with a rule about their `spec`.
    fn with_rule(rule: &str) -> Value {
        let items = json!({"type": "object", "properties": {"name": {"type": "string", "maxLength": 9}}});
        let spec = json!({"type": "object", "x-kubernetes-validations": [{"rule": rule, "message": "the rule is broken"}], "properties": {
            "name": {"type": "string", "maxLength": 9}, "my_field": {"type": "integer"}, "foo-bar": {"type": "integer"},
            "port": {"x-kubernetes-int-or-string": true}, "list": {"type": "array", "maxItems": 5, "items": items},
            "long": {"type": "array", "items": {"type": "integer"}}}});
        let schema = json!({"type": "object", "properties": {"spec": spec}});
        json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "things.rules.example.com"},
            "spec": {"group": "rules.example.com", "scope": "Namespaced", "names": {"plural": "things", "kind": "Thing"},
                "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}]}})
    }

    /// A rule that is accepted and never holds would make every object invalid.
    pub async fn rules_that_cannot_be_kept_are_refused_with_their_definition(world: World) {
        for (rule, words) in [
            (
                "self.list.all(i, e, e.name != '')",
                "cannot evaluate all() with 3 arguments",
            ),
            (
                "self.list.transformList(i, e, e.name).size() > 0",
                "transformList()",
            ),
            (
                "self.?name.optMap(n, n + 'x').hasValue()",
                "hasValue() and take it with value()",
            ),
            ("format.named('uuid').hasValue()", "format.uuid()"),
            ("self.nothing == 1", "undefined field 'nothing'"),
            ("self.my__field == 1", "undefined field 'my__field'"),
            ("self.list.all(e, e.size > 1)", "undefined field 'size'"),
            (
                "self.name == 1",
                "no matching overload for '_==_' applied to '(string, int)'",
            ),
            ("self.name", "must evaluate to a bool"),
            ("math.abs(self.my_field) == 1", "undeclared reference to"),
            ("self.long.all(i, self.long.exists(j, i == j))", "exceeds budget"),
            ("self.list.all(e, e.name.for == 1)", "failed"),
            ("thing{name: 'a'} == self", "objects of named types"),
        ] {
            let (code, reason, message) = world.refused("POST", DEFINITIONS, with_rule(rule)).await;
            assert_eq!((code, reason.as_str()), (422, "Invalid"), "{rule}: {message}");
            let field =
                "spec.versions[0].schema.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].rule";
            assert!(
                message.contains(words) && message.contains(field),
                "{rule}: {message}"
            );
        }
        let mut nested = with_rule("true");
        nested["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["anyOf"] =
            json!([{"x-kubernetes-validations": [{"rule": "true"}]}]);
        let (code, _, message) = world.refused("POST", DEFINITIONS, nested).await;
        assert_eq!(code, 422);
        assert!(message.contains("must be empty to be structural"), "{message}");
    }

    pub async fn rules_count_characters_and_name_members_as_a_server_does(world: World) {
        let rule = "size(self.name) == 3 && self.my_field == 1 && self.foo__dash__bar == 2 && (type(self.port) == int ? self.port > 5 : self.port == 'http') && self.?list.orValue([]).size() == 0";
        world.post(DEFINITIONS, with_rule(rule)).await;
        let things = "/apis/rules.example.com/v1/namespaces/shelf/things";
        world.await_that(things, |status, _| status == 200).await;
        let thing = |name: &str, spec: Value| json!({"apiVersion": "rules.example.com/v1", "kind": "Thing", "metadata": {"name": name}, "spec": spec});
        world
            .post(
                things,
                thing(
                    "a",
                    json!({"name": "äöü", "my_field": 1, "foo-bar": 2, "port": 80}),
                ),
            )
            .await;
        world
            .post(
                things,
                thing(
                    "b",
                    json!({"name": "abc", "my_field": 1, "foo-bar": 2, "port": "http"}),
                ),
            )
            .await;
        for spec in [
            json!({"name": "ä", "my_field": 1, "foo-bar": 2, "port": 80}),
            json!({"name": "abc", "my_field": 1, "foo-bar": 2, "port": 5}),
            json!({"name": "abc", "my_field": 1, "foo-bar": 2, "port": "other"}),
            json!({"name": "abc", "my_field": 1, "foo-bar": 2, "port": 80, "list": [{}]}),
        ] {
            let (code, _, message) = world.refused("POST", things, thing("c", spec.clone())).await;
            assert_eq!(code, 422, "{spec}");
            assert!(message.contains("the rule is broken"), "{spec}: {message}");
        }
    }

    pub async fn invalid_objects_are_refused(world: World) {
        world.post(BOOKS, a_book("a", 1)).await;
        let with = |name: &str, spec: Value| {
            let mut object = a_book(name, 1);
            object["spec"] = spec;
            object
        };
        let mut nameless = a_book("x", 1);
        nameless["metadata"] = json!({});
        let mut versioned = a_book("x", 1);
        versioned["metadata"]["resourceVersion"] = "1".into();
        let mut elsewhere = a_book("x", 1);
        elsewhere["metadata"]["namespace"] = "other".into();
        let cases = [
            (
                a_book("a", 1),
                409,
                "AlreadyExists",
                r#"books.library.example.com "a" already exists"#,
            ),
            (
                with("x", json!({})),
                422,
                "Invalid",
                r#"Book.library.example.com "x" is invalid: [spec.title: Required value, <nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation]"#,
            ),
            (
                with("x", json!({"title": "t", "genre": "poem"})),
                422,
                "Invalid",
                r#"Book.library.example.com "x" is invalid: [spec.genre: Unsupported value: "poem": supported values: "novel", "manual", <nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation]"#,
            ),
            (
                with("x", json!({"title": 5})),
                422,
                "Invalid",
                r#"Book.library.example.com "x" is invalid: [spec.title: Invalid value: "integer": spec.title in body must be of type string: "integer", <nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation]"#,
            ),
            (
                with("x", json!({"title": "t", "pages": 0})),
                422,
                "Invalid",
                r#"Book.library.example.com "x" is invalid: [spec.pages: Invalid value: 0: spec.pages in body should be greater than or equal to 1, <nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation]"#,
            ),
            (
                nameless,
                422,
                "Invalid",
                r#"Book.library.example.com "" is invalid: metadata.name: Required value: name or generateName is required"#,
            ),
            (
                versioned,
                500,
                "",
                "resourceVersion should not be set on objects to be created",
            ),
            (
                elsewhere,
                400,
                "BadRequest",
                "the namespace of the provided object does not match the namespace sent on the request",
            ),
        ];
        for (object, code, reason, message) in cases {
            let refused = world.refused("POST", BOOKS, object).await;
            assert_eq!(refused, (code, reason.to_owned(), message.to_owned()));
        }
    }

    pub async fn requests_that_break_rules_are_refused(world: World) {
        world.post(BOOKS, a_book("a", 1)).await;
        let a = format!("{BOOKS}/a");
        let cases = [
            (
                "POST",
                "/apis/library.example.com/v1/namespaces/none/books",
                a_book("x", 1),
                404,
                "NotFound",
                r#"namespaces "none" not found"#,
            ),
            (
                "PUT",
                &a,
                a_book("a", 2),
                422,
                "Invalid",
                r#"books.library.example.com "a" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update"#,
            ),
            (
                "PUT",
                &a,
                a_book("b", 2),
                400,
                "BadRequest",
                "the name of the object (b) does not match the name on the URL (a)",
            ),
            (
                "GET",
                &format!("{BOOKS}/x"),
                Value::Null,
                404,
                "NotFound",
                r#"books.library.example.com "x" not found"#,
            ),
            (
                "DELETE",
                &format!("{BOOKS}/x"),
                Value::Null,
                404,
                "NotFound",
                r#"books.library.example.com "x" not found"#,
            ),
            (
                "GET",
                &format!("{a}/log"),
                Value::Null,
                404,
                "NotFound",
                "the server could not find the requested resource",
            ),
            (
                "POST",
                &a,
                a_book("a", 1),
                405,
                "MethodNotAllowed",
                "the server does not allow this method on the requested resource",
            ),
        ];
        for (method, path, body, code, reason, message) in cases {
            let body = if body.is_null() { json!({}) } else { body };
            let refused = world.refused(method, path, body).await;
            assert_eq!(
                refused,
                (code, reason.to_owned(), message.to_owned()),
                "{method} {path}"
            );
        }
        let (status, body) = world
            .send(
                "PATCH",
                &a,
                "application/merge-patch+json",
                r#"{"spec": {"title": "other"}}"#,
            )
            .await;
        assert_eq!(
            (status.as_u16(), &body["details"]["causes"][0]["field"]),
            (422, &json!("spec")),
            "{body}"
        );
        assert!(
            body["message"].as_str().unwrap().ends_with("a title stays"),
            "{body}"
        );
        let (status, text) = world
            .send(
                "GET",
                "/apis/library.example.com/v1/namespaces/shelf/shelves",
                "",
                "",
            )
            .await;
        assert_eq!(
            (status, text),
            (StatusCode::NOT_FOUND, json!("404 page not found\n"))
        );
    }

    pub async fn a_stale_version_is_a_conflict(world: World) {
        let mut old = world.post(BOOKS, a_book("a", 1)).await;
        world
            .merge(&format!("{BOOKS}/a"), json!({"spec": {"pages": 2}}))
            .await;
        old["spec"]["pages"] = 3.into();
        let (code, reason, message) = world.refused("PUT", &format!("{BOOKS}/a"), old.clone()).await;
        assert_eq!((code, reason.as_str()), (409, "Conflict"));
        assert_eq!(
            message,
            "Operation cannot be fulfilled on books.library.example.com \"a\": the object has been modified; please apply your changes to \
             the latest version and try again"
        );
        // The same inside a patch.
        let metadata = [
            (
                json!({"resourceVersion": old["metadata"]["resourceVersion"]}),
                StatusCode::CONFLICT,
            ),
            (json!({"uid": "other"}), StatusCode::UNPROCESSABLE_ENTITY),
        ];
        for (metadata, expected) in metadata {
            let patch = json!({"metadata": metadata, "spec": {"pages": 4}}).to_string();
            let path = format!("{BOOKS}/a");
            let (status, _) = world
                .send("PATCH", &path, "application/merge-patch+json", patch)
                .await;
            assert_eq!(status, expected);
        }
    }

    pub async fn unknown_fields_are_refused_warned_of_or_dropped(world: World) {
        let mut object = a_book("a", 1);
        object["spec"]["weight"] = 3.into();
        let (code, reason, message) = world
            .refused("POST", &format!("{BOOKS}?fieldValidation=Strict"), object.clone())
            .await;
        assert_eq!((code, reason.as_str()), (400, "BadRequest"));
        assert_eq!(
            message,
            r#"Book in version "v1" cannot be handled as a Book: strict decoding error: unknown field "spec.weight""#
        );
        let mut strange = a_book("b", 1);
        strange["metadata"]["colour"] = "red".into();
        let (code, _, message) = world
            .refused("POST", &format!("{BOOKS}?fieldValidation=Strict"), strange)
            .await;
        assert!(
            code == 400 && message.ends_with(r#"unknown field "metadata.colour""#),
            "{message}"
        );
        let headers = [("content-type", "application/json")];
        let answer = send(&world.client, "POST", BOOKS, &headers, object.to_string()).await;
        assert_eq!(
            answer.headers["warning"],
            r#"299 - "unknown field \"spec.weight\"""#
        );
        assert_eq!(world.get(&format!("{BOOKS}/a")).await["spec"].get("weight"), None);
        let patch = r#"{"spec": {"weight": 1}}"#;
        let path = format!("{BOOKS}/a?fieldValidation=Strict");
        let (status, body) = world
            .send("PATCH", &path, "application/merge-patch+json", patch)
            .await;
        assert_eq!(
            (status.as_u16(), &body["reason"]),
            (422, &json!("Invalid")),
            "{body}"
        );
        let (status, body) = world
            .send(
                "PATCH",
                &format!("{BOOKS}/a?fieldManager=x"),
                "application/apply-patch+yaml",
                object.to_string(),
            )
            .await;
        assert_eq!(status.as_u16(), 500, "{body}");
        assert!(
            body["message"]
                .as_str()
                .unwrap()
                .ends_with(".spec.weight: field not declared in schema"),
            "{body}"
        );
    }

    pub async fn bodies_of_other_forms_are_refused(world: World) {
        world.post(BOOKS, a_book("a", 1)).await;
        let a = format!("{BOOKS}/a");
        let cases = [
            (
                "PATCH",
                a.as_str(),
                "application/strategic-merge-patch+json",
                "{}",
                415,
            ),
            ("PATCH", &a, "application/json", "{}", 415),
            ("PATCH", &a, "application/merge-patch+json", "[]", 400),
            ("PATCH", &a, "application/json-patch+json", "{", 400),
            (
                "PATCH",
                &a,
                "application/json-patch+json",
                r#"[{"op": "remove", "path": "/spec/none"}]"#,
                422,
            ),
            ("PATCH", &a, "application/apply-patch+yaml", "{}", 422),
            ("POST", BOOKS, "text/plain", "x", 415),
            ("POST", BOOKS, "application/json", "{", 400),
            ("POST", BOOKS, "application/yaml", "a: [", 400),
            ("POST", BOOKS, "application/vnd.kubernetes.protobuf", "{}", 400),
        ];
        for (method, path, media_type, body, code) in cases {
            let (status, answer) = world.send(method, path, media_type, body).await;
            assert_eq!(
                (status.as_u16(), &answer["kind"]),
                (code, &json!("Status")),
                "{method} {media_type} {body}: {answer}"
            );
        }
        let yaml =
            "apiVersion: library.example.com/v1\nkind: Book\nmetadata:\n  name: y\nspec:\n  title: in YAML\n";
        let (status, created) = world.send("POST", BOOKS, "application/yaml", yaml).await;
        assert_eq!(
            (status, &created["spec"]["title"]),
            (StatusCode::CREATED, &json!("in YAML"))
        );
    }

    pub async fn oversize_is_refused(world: World) {
        let of_size = |bytes: usize| {
            let mut object = a_book("large", 1);
            object["spec"]["keywords"] = json!({"k": "x".repeat(bytes)});
            object
        };
        assert_eq!(world.refused("POST", BOOKS, of_size(4 << 20)).await.0, 413);
        let (code, _, message) = world.refused("POST", BOOKS, of_size(2 << 20)).await;
        assert_eq!(
            (code, message.as_str()),
            (500, "etcdserver: request is too large")
        );
        world.post(BOOKS, of_size(1 << 20)).await;
        let mut object = a_book("b", 1);
        object["metadata"]["annotations"] = json!({"a": "x".repeat(300 << 10)});
        assert_eq!(world.refused("POST", BOOKS, object).await.0, 422);
    }
}
