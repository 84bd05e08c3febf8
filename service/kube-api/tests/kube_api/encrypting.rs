//! With a cipher, the database holds no Secret in plain text, and one that cannot be decrypted affects only itself.

on_both! {
    a_secret_is_stored_encrypted_and_one_that_was_moved_costs_itself,
}

mod cases {
    use std::sync::Arc;

    use http::StatusCode;
    use muster_kube_api::{Cipher, CipherError, Key, KubeApi, Revision, SqlStorage};
    use serde_json::{Value, json};

    use crate::world::{World, send};

    /// Reverses documents, and checks that each is opened at its own place.
    #[derive(Debug)]
    struct Reversing;

    fn place(key: &Key, revision: Revision) -> String {
        format!("{}/{}@{revision}:", key.resource, key.name)
    }

    impl Cipher for Reversing {
        fn seal(&self, key: &Key, revision: Revision, document: &str) -> Result<String, CipherError> {
            let reversed: String = document.chars().rev().collect();
            Ok(place(key, revision) + &reversed)
        }

        fn open(&self, key: &Key, revision: Revision, stored: String) -> Result<String, CipherError> {
            if stored.starts_with('{') {
                return Ok(stored);
            }
            let reversed = stored
                .strip_prefix(&place(key, revision))
                .ok_or("of another row")?;
            Ok(reversed.chars().rev().collect())
        }
    }

    const SECRETS: &str = "/api/v1/namespaces/default/secrets";

    async fn ask(api: &KubeApi, method: &str, path: &str, body: Value) -> (StatusCode, Value) {
        send(
            api,
            method,
            path,
            "application/json",
            body.to_string().into_bytes(),
        )
        .await
    }

    pub async fn a_secret_is_stored_encrypted_and_one_that_was_moved_costs_itself(world: World) {
        let (readers, writers) = world.pools();
        let cipher = Arc::new(Reversing);
        let storage = SqlStorage::with_cipher(world.database, readers.clone(), writers.clone(), cipher);
        let api = &KubeApi::open(storage, Vec::new()).await.unwrap();
        for name in ["a", "b", "c", "d"] {
            let secret = json!({"metadata": {"name": name}, "stringData": {"word": "hunter2"}});
            let (status, body) = ask(api, "POST", SECRETS, secret).await;
            assert_eq!(status, StatusCode::CREATED, "{body}");
        }
        let count = |sql: &'static str| {
            let readers = readers.clone();
            async move {
                sqlx::query_scalar::<_, i64>(sql)
                    .fetch_one(&readers)
                    .await
                    .unwrap()
            }
        };
        let plain =
            "SELECT COUNT(*) FROM kube_versions WHERE resource = 'secrets' AND document LIKE '%metadata%'";
        assert_eq!(count(plain).await, 0);
        let (_, read) = ask(api, "GET", &format!("{SECRETS}/a"), Value::Null).await;
        assert_eq!(read["data"]["word"], "aHVudGVyMg==");

        sqlx::query(
            "UPDATE kube_versions SET document = (SELECT v.document FROM kube_versions v WHERE v.resource = 'secrets' AND v.name = 'a') \
             WHERE resource = 'secrets' AND name = 'b'",
        )
        .execute(&writers)
        .await
        .unwrap();
        let (status, refused) = ask(api, "GET", &format!("{SECRETS}/b"), Value::Null).await;
        assert_eq!(status, StatusCode::INTERNAL_SERVER_ERROR, "{refused}");
        // Lists continue after it, also in pages.
        for limit in [0, 1, 2] {
            let (mut names, mut from) = (Vec::new(), String::new());
            loop {
                let path = format!("{SECRETS}?limit={limit}&continue={from}");
                let (status, page) = ask(api, "GET", &path, Value::Null).await;
                assert_eq!(status, StatusCode::OK, "{page}");
                let items = page["items"].as_array().unwrap();
                names.extend(
                    items
                        .iter()
                        .map(|item| item["metadata"]["name"].as_str().unwrap().to_owned()),
                );
                from = page["metadata"]["continue"]
                    .as_str()
                    .unwrap_or_default()
                    .to_owned();
                if from.is_empty() {
                    break;
                }
            }
            assert_eq!(names, ["a", "c", "d"], "{limit}");
        }
    }
}
