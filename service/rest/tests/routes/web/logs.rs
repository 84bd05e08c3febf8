//! The logs of a host, read in the browser: files, windows with numbers, search, and what is no archive.

use flate2::Compression;
use flate2::write::GzEncoder;
use muster_api::MUSTER_PATH;
use muster_api::ids::InfraEnvId;
use muster_operations::records::LogOwner;
use serde_json::json;

use super::Browser;
use crate::tokens::scopes::operator;
use crate::world::{World, host_id};

/// Stores logs of the host number 1.
async fn store(world: &World, infra_env_id: InfraEnvId, bytes: &[u8]) {
    let owner = LogOwner::Host {
        infra_env_id,
        host_id: host_id(1).parse().unwrap(),
    };
    let mut upload = world.operations.logs.begin(None, owner).await.unwrap();
    upload.append(bytes).await.unwrap();
    upload.finish().await.unwrap();
}

/// A gzipped tar archive of one file.
fn archive(name: &str, content: &str) -> Vec<u8> {
    let mut tar = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    let mut header = tar::Header::new_ustar();
    header.set_size(content.len() as u64);
    header.set_mode(0o644);
    tar.append_data(&mut header, name, content.as_bytes()).unwrap();
    tar.into_inner().unwrap().finish().unwrap()
}

#[tokio::test]
async fn a_log_is_read_in_windows_and_searched() {
    let world = World::open().await;
    let pool = world.infra_env(json!({})).await;
    world.host(pool, 1).await;
    let visitor = Browser::operator(&world).await;
    let page = format!("/ui/logs/{pool}/{}", host_id(1));
    let none = visitor.open(&world, &page).await.expect(200).text();
    assert!(
        none.contains("none have come") && none.contains("role=\"alert\""),
        "{none}"
    );
    let text: String = (1..=1200).map(|number| format!("line <{number}>\n")).collect();
    store(&world, pool, &archive("var/agent.log", &text)).await;
    let files = visitor.open(&world, &page).await.expect(200).text();
    let file = format!("{page}?file=var%2Fagent.log");
    assert!(
        files.contains(&format!("href=\"{file}\"")) && files.contains("<bdi>var/agent.log</bdi>"),
        "{files}"
    );
    let first = visitor.open(&world, &file).await.expect(200).text();
    assert!(
        first.contains("<code>line &#60;500&#62;</code>") && !first.contains("&#60;501&#62;"),
        "{first}"
    );
    assert!(first.contains("from=501") && !first.contains("Lines before"));
    let end = visitor
        .open(&world, &format!("{file}&from=end"))
        .await
        .expect(200)
        .text();
    assert!(
        end.contains("&#60;1200&#62;") && end.contains("&#60;701&#62;") && !end.contains("&#60;700&#62;"),
        "{end}"
    );
    assert!(end.contains("Lines before") && !end.contains("Further lines"));
    let found = visitor
        .open(&world, &format!("{file}&text=%3C77"))
        .await
        .expect(200)
        .text();
    // 77 and 770 to 779.
    assert_eq!(found.matches("<code>line &#60;77").count(), 11, "{found}");
    assert!(found.contains("from=770\">770</a>"), "{found}");
    let nothing = visitor
        .open(&world, &format!("{file}&text=nowhere"))
        .await
        .expect(200)
        .text();
    assert!(nothing.contains("No line has this text."), "{nothing}");
    let absent = visitor
        .open(&world, &format!("{page}?file=none"))
        .await
        .expect(200)
        .text();
    assert!(absent.contains("role=\"alert\""), "{absent}");
}

#[tokio::test]
async fn what_is_no_archive_is_downloaded_alone_and_scopes_hold() {
    let world = World::open().await;
    let (pool, other) = (world.infra_env(json!({})).await, world.infra_env(json!({})).await);
    world.host(pool, 1).await;
    store(&world, pool, b"no archive").await;
    let visitor = Browser::operator(&world).await;
    let page = format!("/ui/logs/{pool}/{}", host_id(1));
    let shown = visitor.open(&world, &page).await.expect(200).text();
    assert!(shown.contains("no gzipped tar archive"), "{shown}");

    let logs = format!("{MUSTER_PATH}/infra-envs/{pool}/hosts/{}/logs", host_id(1));
    world
        .get(&world.operator, &format!("{logs}/files"))
        .await
        .expect(409);
    store(&world, pool, &archive("a", "one\ntwo\n")).await;
    let (_, reader) = operator(&world, true, Some(pool)).await;
    let files = world
        .get(&reader, &format!("{logs}/files"))
        .await
        .expect(200)
        .json();
    assert_eq!(files["files"], json!([{"name": "a", "size": 8}]));
    let lines = format!("{logs}/lines?file=a");
    let read = world
        .get(&reader, &format!("{lines}&last=true&limit=1"))
        .await
        .expect(200)
        .json();
    assert_eq!(read["lines"], json!([{"number": 2, "text": "two"}]));
    assert_eq!(read["more"], true);
    let (_, foreign) = operator(&world, false, Some(other)).await;
    for path in [format!("{logs}/files"), lines.clone()] {
        world.get(&foreign, &path).await.expect(403);
        world.get(&world.agent(pool).await, &path).await.expect(401);
    }
    for wrong in ["limit=0", "limit=2001", "from=0"] {
        world.get(&reader, &format!("{lines}&{wrong}")).await.expect(400);
    }
    world
        .get(&reader, &format!("{logs}/lines?file=none"))
        .await
        .expect(404);
}
