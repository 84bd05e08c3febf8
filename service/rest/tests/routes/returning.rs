//! Installed nodes that return to their InfraEnv.

use std::fs::File;
use std::os::unix::fs::FileExt as _;

use muster_core::record::HostState;
use muster_image::testing::LiveTree;
use muster_image::{ImageBytes, Piece};
use muster_operations::images::cache::ImageForm;
use ring::digest::{SHA256, digest};
use serde_json::{Value, json};

use crate::world::World;

/// The bytes that a download has.
fn read(file: &File, image: &ImageBytes) -> Vec<u8> {
    let mut all = Vec::new();
    for piece in image.plan.pieces() {
        match piece {
            Piece::Base(extent) => {
                let mut bytes = vec![0; extent.length as usize];
                file.read_exact_at(&mut bytes, extent.offset).unwrap();
                all.extend(bytes);
            }
            Piece::Bytes(bytes) => all.extend_from_slice(bytes),
            Piece::Zeros(length) => all.extend(vec![0; *length as usize]),
        }
    }
    all
}

fn sha256(bytes: &[u8]) -> String {
    let digest = digest(&SHA256, bytes);
    digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[tokio::test]
async fn the_step_that_prepares_a_return_says_what_is_to_be_fetched() {
    let world = World::open().await;
    let pool = world.infra_env(json!({})).await;
    let host = world.host(pool, 1).await;
    LiveTree::new(9_000).write_iso(&world.live_image());
    world.put(pool, 1, HostState::Reclaiming).await;
    let steps = world
        .get(&world.agent(pool).await, &format!("{host}/instructions"))
        .await
        .expect(200)
        .json();
    let steps = steps["instructions"].as_array().unwrap();
    let step = steps
        .iter()
        .find(|step| step["step_type"] == "download-boot-artifacts")
        .unwrap();
    let request: Value = serde_json::from_str(step["args"][0].as_str().unwrap()).unwrap();

    let infra_env = world.record(pool).await;
    let image = world.operations.discovery.of(&infra_env).await.unwrap();
    let initrd = world.operations.made_image(&infra_env, &image, ImageForm::Initrd);
    let file = File::open(world.live_image()).unwrap();
    assert_eq!(request["kernel_sha256"], sha256(&read(&file, &image.kernel())));
    assert_eq!(request["initrd_sha256"], sha256(&read(&file, &initrd.unwrap())));
}
