//! Limits of time and memory that content of users may cost.

on_both! {
    patches_copy_no_more_than_an_object_may_have,
    rules_that_cost_too_much_are_refused,
    objects_that_make_a_rule_cost_too_much_are_refused,
    defaults_do_not_fill_the_memory,
}

mod cases {
    use muster_tests::kube::list_kind;
    use serde_json::{Value, json};

    use crate::world::{BOOKS, World, a_book};

    const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    const THINGS: &str = "/apis/bounds.example.com/v1/namespaces/shelf/things";

    pub async fn patches_copy_no_more_than_an_object_may_have(world: World) {
        world.post(BOOKS, a_book("a", 1)).await;
        let patch = |operations: Vec<Value>| {
            let body = Value::from(operations).to_string();
            let world = &world;
            async move {
                let path = format!("{BOOKS}/a");
                world
                    .send("PATCH", &path, "application/json-patch+json", body)
                    .await
            }
        };
        let copy = |n: usize| json!({"op": "copy", "from": "/metadata/annotations", "path": format!("/metadata/annotations/c{n}")});
        let annotation =
            json!({"op": "add", "path": "/metadata/annotations", "value": {"a": "x".repeat(1000)}});
        let doubling = std::iter::once(annotation).chain((0..40).map(copy)).collect();
        let (status, answer) = patch(doubling).await;
        assert_eq!(status, 422);
        let message = answer["message"].as_str().unwrap();
        assert!(message.contains("accumulated size"), "{message}");

        let tests = vec![json!({"op": "test", "path": "/metadata/name", "value": "a"}); 10_001];
        let (status, answer) = patch(tests[..10_000].to_vec()).await;
        assert_eq!(status, 200, "{answer}");
        assert_eq!(patch(tests).await.0, 413);
        let spec = json!({"op": "copy", "from": "/spec/title", "path": "/metadata/annotations/author"});
        let annotations = json!({"op": "add", "path": "/metadata/annotations", "value": {}});
        let (status, copied) = patch(vec![annotations, spec]).await;
        assert_eq!(status, 200, "{copied}");
        assert_eq!(
            copied["metadata"]["annotations"]["author"],
            copied["spec"]["title"]
        );
    }

    fn definition(list: &Value, rule: Option<&str>) -> Value {
        list_kind::definition("bounds.example.com", list, rule)
    }

    fn thing(list: Value) -> Value {
        list_kind::thing("bounds.example.com", "a", &list)
    }

    const NESTED: &str =
        "!has(self.l) || self.l.all(a, self.l.all(b, self.l.all(c, self.l.all(d, a + b + c + d >= 0))))";

    pub async fn rules_that_cost_too_much_are_refused(world: World) {
        let mut list = json!({"type": "array", "items": {"type": "integer"}});
        let (code, _, message) = world
            .refused("POST", DEFINITIONS, definition(&list, Some(NESTED)))
            .await;
        assert_eq!(code, 422);
        assert!(message.contains("maxItems"), "{message}");
        list["maxItems"] = 5.into();
        world.post(DEFINITIONS, definition(&list, Some(NESTED))).await;
        world.await_that(THINGS, |status, _| status == 200).await;
        world.post(THINGS, thing(json!([1, 2, 3, 4, 5]))).await;
    }

    pub async fn objects_that_make_a_rule_cost_too_much_are_refused(world: World) {
        let list = json!({"type": "array", "maxItems": 1000, "items": {"type": "integer"}});
        let rule = "!has(self.l) || self.l.all(a, self.l.exists(b, a == b))";
        world.post(DEFINITIONS, definition(&list, Some(rule))).await;
        world.await_that(THINGS, |status, _| status == 200).await;
        let numbers = |most: u64| Value::from((0..most).collect::<Vec<u64>>());
        let (code, _, message) = world.refused("POST", THINGS, thing(numbers(900))).await;
        assert_eq!(code, 422);
        assert!(message.contains("cost budget"), "{message}");
        world.post(THINGS, thing(numbers(100))).await;
    }

    pub async fn defaults_do_not_fill_the_memory(world: World) {
        let text = json!({"type": "string", "default": "x".repeat(100_000)});
        let list = json!({"type": "array", "items": {"type": "object", "properties": {"d": text}}});
        world.post(DEFINITIONS, definition(&list, None)).await;
        world.await_that(THINGS, |status, _| status == 200).await;
        let (code, _, message) = world
            .refused("POST", THINGS, thing(json!(vec![json!({}); 20_000])))
            .await;
        assert_eq!(
            (code, message.as_str()),
            (500, "etcdserver: request is too large")
        );
        world.post(THINGS, thing(json!([{}]))).await;
    }
}
