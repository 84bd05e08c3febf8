//! Few logs are written at once: the database has one writer at a time.

use std::time::Duration;

use tokio::time::timeout;

use crate::world::{Answer, World};

/// Longer than an upload waits.
const LIMIT: Duration = Duration::from_secs(60);

/// Long enough for an upload that need not wait.
const BRIEFLY: Duration = Duration::from_secs(2);

async fn upload(world: &World, path: &str) -> Answer {
    let form = "--x\r\nContent-Disposition: form-data; name=\"upfile\"; filename=\"logs.tar.gz\"\r\n\r\nlogs\r\n--x--\r\n";
    let body = ("multipart/form-data; boundary=x", form.to_owned());
    world.post_text(&world.operator, path, body).await
}

#[tokio::test]
async fn an_upload_waits_for_others_and_is_told_to_come_back_when_they_do_not_end() {
    let world = World::open().await;
    let path = format!("/clusters/{}/logs?logs_type=controller", world.cluster().await);
    upload(&world, &path).await.expect(204);

    let uploads = &world.operations.log_uploads;
    let all = u32::try_from(uploads.available_permits()).unwrap();
    let held = uploads.acquire_many(all).await.unwrap();
    {
        let mut waiting = std::pin::pin!(upload(&world, &path));
        assert!(
            timeout(BRIEFLY, &mut waiting).await.is_err(),
            "it waits for its turn"
        );
        drop(held);
        let answer = timeout(LIMIT, waiting).await.expect("it gets its turn");
        answer.expect(204);
    }
    let _held = uploads.acquire_many(all).await.unwrap();
    let refused = timeout(LIMIT, upload(&world, &path))
        .await
        .expect("it does not wait for ever");
    assert!(refused.expect(503).text.contains("try again"));
}
