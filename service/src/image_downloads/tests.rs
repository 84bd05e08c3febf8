use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::symlink;

use muster_core::rules::os_image;
use serde_json::json;
use tempfile::TempDir;

use super::*;

const MIB: u64 = 1 << 20;
const ROOMY: Bounds = Bounds {
    largest: 16 * MIB,
    kept_free: 0,
};

/// A server that gives every client this head and this body, and ends the connection; its URL.
fn server(head: &str, body: usize) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/live.iso", listener.local_addr().unwrap());
    let head = format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n");
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            while lines
                .next()
                .is_some_and(|line| line.is_ok_and(|line| !line.is_empty()))
            {}
            // A client that has read enough closes the connection.
            let _ = stream
                .write_all(head.as_bytes())
                .and_then(|()| stream.write_all(&vec![7; body]));
        }
    });
    url
}

struct World {
    images: CoreOsImages,
    wanted: WantedImage,
    client: Client,
    _folder: TempDir,
}

impl World {
    fn new(url: &str) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let folder = tempfile::tempdir().unwrap();
        let list =
            json!([{"openshift_version": "4.20", "cpu_architecture": "x86_64", "version": "1", "url": url}]);
        let list = os_image::parse(&list.to_string()).unwrap();
        let images = CoreOsImages::new(&list, folder.path().to_owned());
        let wanted = images.wanted().next().unwrap().clone();
        Self {
            images,
            wanted,
            client: client().unwrap(),
            _folder: folder,
        }
    }

    async fn fails(&self, bounds: Bounds) -> Failure {
        attempt(&self.images, &self.client, &self.wanted, bounds)
            .await
            .unwrap_err()
    }

    fn is_empty(&self) -> bool {
        self.images.folder.read_dir().unwrap().next().is_none()
    }
}

fn whole(mib: u64) -> String {
    server(
        &format!("ETag: \"a\"\r\nContent-Length: {}", mib * MIB),
        (mib * MIB) as usize,
    )
}

fn endless() -> String {
    server("Connection: close", 64 * MIB as usize)
}

#[tokio::test]
async fn what_is_too_large_is_not_downloaded_and_what_turns_out_to_be_is_removed() {
    let small = Bounds {
        largest: 2 * MIB,
        ..ROOMY
    };
    let world = World::new(&whole(3));
    let failure = world.fails(small).await;
    assert!(matches!(failure, Failure::Refused(_)), "{failure:?}");
    assert!(failure.why().contains("--max-os-image-size"), "{failure:?}");
    assert!(world.is_empty());
    let world = World::new(&endless());
    let failure = world.fails(small).await;
    assert!(matches!(failure, Failure::Unusable(_)), "{failure:?}");
    assert!(failure.why().contains("more than 2 MiB"), "{failure:?}");
    assert!(world.is_empty());
}

#[tokio::test]
async fn room_is_left_on_the_disk_and_a_part_of_before_gives_its_own_back() {
    let world = World::new(&whole(1));
    std::fs::write(part_of(&world.wanted), "of an earlier attempt").unwrap();
    let scarce = Bounds {
        kept_free: u64::MAX / 2,
        ..ROOMY
    };
    let failure = world.fails(scarce).await;
    assert!(matches!(failure, Failure::Refused(_)), "{failure:?}");
    assert!(failure.why().contains("--os-images-dir"), "{failure:?}");
    assert!(world.is_empty());
}

#[tokio::test]
async fn a_full_disk_keeps_no_part() {
    let world = World::new(&endless());
    symlink("/dev/full", part_of(&world.wanted)).unwrap();
    let largest = 1 << 30;
    let failure = world.fails(Bounds { largest, ..ROOMY }).await;
    assert!(matches!(failure, Failure::Unusable(_)), "{failure:?}");
    assert!(failure.why().contains("No space left"), "{failure:?}");
    assert!(world.is_empty());
}

#[tokio::test]
async fn what_was_cut_stays_and_its_state_says_why_and_when_it_goes_on() {
    let world = World::new(&server(
        &format!("ETag: \"a\"\r\nContent-Length: {}", 4 * MIB),
        MIB as usize,
    ));
    let failure = world.fails(ROOMY).await;
    assert!(matches!(failure, Failure::Cut { done: MIB, .. }), "{failure:?}");
    assert_eq!(part_of(&world.wanted).metadata().unwrap().len(), MIB);
    world
        .images
        .report(&world.wanted.path, &failure.state(FIRST_PAUSE));
    let states = world.images.states();
    let state = states.values().next().unwrap();
    assert!(
        state.contains("25 % of 4 MB, then") && state.contains("it goes on at 2"),
        "{state}"
    );
}

#[tokio::test]
async fn what_is_no_image_is_removed_and_downloaded_again_less_and_less_often() {
    let world = World::new(&whole(1));
    let failure = world.fails(ROOMY).await;
    assert!(world.is_empty());
    let mut pause = FIRST_PAUSE;
    for _ in 0..20 {
        pause = failure.pause_after(pause);
    }
    assert_eq!(pause, LONGEST_COSTLY_PAUSE);
    assert_eq!(Failure::Refused(String::new()).pause_after(pause), LONGEST_PAUSE);
    world.images.report(&world.wanted.path, &failure.state(pause));
    let states = world.images.states();
    let state = states.values().next().unwrap();
    assert!(
        state.contains("not an ISO 9660 image") && state.contains("it is tried again at 2"),
        "{state}"
    );
}
