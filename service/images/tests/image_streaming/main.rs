//! Image answers over real TCP, on both ways that bytes take: sent from the file, and through a buffer.

#![allow(clippy::unwrap_used, reason = "test code")]

mod image_server;

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use image_server::{Server, Way, eventually, x86_64};
use muster_images::Limits;
use muster_images::transport::STALL_TIMEOUT;
use reqwest::StatusCode;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const BOTH: [Way; 2] = [Way::FromFile, Way::Buffered];

#[tokio::test]
async fn ranges_in_random_order_reassemble_to_the_whole() {
    for way in BOTH {
        let server = Server::start(way, 8).await;
        let whole = server.bytes("/one/discovery.iso").await;
        let mut starts: Vec<usize> = (0..whole.len()).step_by(70_001).collect();
        // An order without a pattern, the same every time.
        starts.sort_by_key(|start| start.wrapping_mul(2_654_435_761) % 1_000_003);
        let mut assembled = vec![0; whole.len()];
        for start in starts {
            let end = (start + 70_001).min(whole.len());
            let range = format!("bytes={start}-{}", end - 1);
            let answer = server
                .get("/one/discovery.iso")
                .header("range", range)
                .send()
                .await
                .unwrap();
            assert_eq!(answer.status(), StatusCode::PARTIAL_CONTENT);
            let content_range = format!("bytes {start}-{}/{}", end - 1, whole.len());
            assert_eq!(answer.headers()["content-range"], content_range.as_str());
            assembled[start..end].copy_from_slice(&answer.bytes().await.unwrap());
        }
        assert!(assembled == whole, "{way:?}: the parts differ from the whole");
    }
}

#[tokio::test]
async fn isos_of_two_infra_envs_differ_in_the_reserved_areas_only() {
    for way in BOTH {
        let server = Server::start(way, 8).await;
        let base = std::fs::read(&server.iso).unwrap();
        let (one, two) = (
            server.bytes("/one/discovery.iso").await,
            server.bytes("/two/discovery.iso").await,
        );
        let live = x86_64(&server.live).await.unwrap();
        let image = &live.image;
        let in_area = |at: usize| {
            let at = at as u64;
            let kargs = || {
                image
                    .kargs
                    .extents()
                    .any(|area| (area.offset..area.end()).contains(&at))
            };
            kargs() || (image.config.offset..image.config.end()).contains(&at)
        };
        assert_eq!((one.len(), two.len()), (base.len(), base.len()));
        let differing: Vec<usize> = (0..base.len())
            .filter(|&at| one[at] != two[at] || one[at] != base[at])
            .collect();
        assert!(
            !differing.is_empty() && differing.iter().all(|&at| in_area(at)),
            "{way:?}"
        );
        assert!(one != two);
    }
}

#[tokio::test]
async fn boot_artifacts_are_the_kernel_and_the_initramfs_with_the_configuration() {
    for way in BOTH {
        let server = Server::start(way, 8).await;
        assert!(server.bytes("/one/vmlinuz").await == muster_image::testing::pattern(10_000, 1));
        let initrd = server.bytes("/one/initrd.img").await;
        let base = muster_image::testing::pattern(image_server::INITRD_LENGTH, 2);
        assert!(initrd.starts_with(&base) && initrd.len() % 512 == 0);
        assert!(String::from_utf8_lossy(&initrd[base.len()..]).contains("\"infra_env_name\":\"one\""));
    }
}

#[tokio::test]
async fn head_says_what_get_would_send() {
    let server = Server::start(Way::FromFile, 8).await;
    let head = server
        .client
        .head(server.url("/one/discovery.iso"))
        .send()
        .await
        .unwrap();
    let get = server.get("/one/discovery.iso").send().await.unwrap();
    assert_eq!(head.status(), StatusCode::OK);
    for name in [
        "content-length",
        "content-type",
        "content-disposition",
        "etag",
        "last-modified",
        "accept-ranges",
    ] {
        assert_eq!(head.headers()[name], get.headers()[name], "{name}");
    }
    assert_eq!(
        head.headers()["content-disposition"],
        "attachment; filename=one-discovery.iso"
    );
    assert_eq!(
        get.content_length(),
        Some(get.bytes().await.unwrap().len() as u64)
    );
}

#[tokio::test]
async fn a_resume_after_an_edit_starts_anew() {
    let server = Server::start(Way::FromFile, 8).await;
    let first = server.get("/one/discovery.iso").send().await.unwrap();
    let tag = first.headers()["etag"].clone();
    let date = first.headers()["last-modified"].clone();
    for validator in [&tag, &date] {
        let request = server
            .get("/one/discovery.iso")
            .header("range", "bytes=100-")
            .header("if-range", validator);
        assert_eq!(
            request.send().await.unwrap().status(),
            StatusCode::PARTIAL_CONTENT
        );
    }
    server.edit();
    for validator in [&tag, &date] {
        let request = server
            .get("/one/discovery.iso")
            .header("range", "bytes=100-")
            .header("if-range", validator);
        let answer = request.send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::OK);
        assert_ne!(answer.headers()["etag"], tag);
        assert!(String::from_utf8_lossy(&answer.bytes().await.unwrap()).contains("edited.example"));
    }
}

#[tokio::test]
async fn several_ranges_come_as_parts() {
    for way in BOTH {
        let server = Server::start(way, 8).await;
        let whole = server.bytes("/one/discovery.iso").await;
        let asked = [
            (0usize, 99usize),
            (40_000, 190_000),
            (whole.len() - 7, whole.len() - 1),
        ];
        let range = asked.map(|(first, last)| format!("{first}-{last}")).join(", ");
        let answer = server
            .get("/one/discovery.iso")
            .header("range", format!("bytes={range}"))
            .send()
            .await
            .unwrap();
        assert_eq!(answer.status(), StatusCode::PARTIAL_CONTENT);
        let content_type = answer.headers()["content-type"].to_str().unwrap().to_owned();
        let boundary = content_type
            .strip_prefix("multipart/byteranges; boundary=")
            .unwrap()
            .to_owned();
        let length = answer.content_length();
        let body = answer.bytes().await.unwrap().to_vec();
        assert_eq!(length, Some(body.len() as u64));
        let mut expected = Vec::new();
        for (number, (first, last)) in asked.into_iter().enumerate() {
            let line_break = if number == 0 { "" } else { "\r\n" };
            expected.extend(
                format!(
                    "{line_break}--{boundary}\r\nContent-Type: application/vnd.efi-iso\r\n\
                     Content-Range: bytes {first}-{last}/{}\r\n\r\n",
                    whole.len()
                )
                .into_bytes(),
            );
            expected.extend(&whole[first..=last]);
        }
        expected.extend(format!("\r\n--{boundary}--\r\n").into_bytes());
        assert!(
            body == expected,
            "{way:?}: the multipart body is not as it should be"
        );
    }
}

#[tokio::test]
async fn an_unsatisfiable_range_names_the_length() {
    let server = Server::start(Way::FromFile, 8).await;
    let length = server.bytes("/one/discovery.iso").await.len();
    let answer = server
        .get("/one/discovery.iso")
        .header("range", "bytes=99999999-")
        .send()
        .await
        .unwrap();
    assert_eq!(answer.status(), StatusCode::RANGE_NOT_SATISFIABLE);
    assert_eq!(
        answer.headers()["content-range"],
        format!("bytes */{length}").as_str()
    );
}

#[tokio::test]
async fn a_client_that_has_the_image_is_told_so() {
    let server = Server::start(Way::FromFile, 8).await;
    let tag = server.get("/one/discovery.iso").send().await.unwrap().headers()["etag"].clone();
    let answer = server
        .get("/one/discovery.iso")
        .header("if-none-match", &tag)
        .send()
        .await
        .unwrap();
    assert_eq!(answer.status(), StatusCode::NOT_MODIFIED);
    assert_eq!(answer.headers()["etag"], tag);
    assert!(answer.bytes().await.unwrap().is_empty());
}

#[tokio::test]
async fn one_connection_serves_many_answers() {
    for way in BOTH {
        let server = Server::start(way, 8).await;
        let mut socket = server.connect().await;
        for _ in 0..3 {
            for path in ["/one/vmlinuz", "/health", "/two/discovery.iso"] {
                let expected = if path == "/health" {
                    b"ok".to_vec()
                } else {
                    server.bytes(path).await
                };
                socket
                    .write_all(format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes())
                    .await
                    .unwrap();
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    head.push(socket.read_u8().await.unwrap());
                }
                let mut body = vec![0; expected.len()];
                socket.read_exact(&mut body).await.unwrap();
                assert!(body == expected, "{way:?} {path}");
            }
        }
    }
}

#[tokio::test]
async fn http_2_gets_real_bytes_too() {
    let server = Server::start(Way::FromFile, 8).await;
    let client = image_server::client().http2_prior_knowledge().build().unwrap();
    let answer = client.get(server.url("/one/discovery.iso")).send().await.unwrap();
    assert_eq!(answer.version(), reqwest::Version::HTTP_2);
    assert!(answer.bytes().await.unwrap() == server.bytes("/one/discovery.iso").await);
}

#[tokio::test]
async fn a_further_client_waits_for_a_slot_and_others_do_not() {
    for way in BOTH {
        let server = Server::start(way, 2).await;
        let whole = server.bytes("/big").await;
        let (first, second) = (server.start_big().await, server.start_big().await);
        eventually("two downloads run", || server.downloads.running() == 2).await;
        let waiting = {
            let (client, url) = (server.client.clone(), server.url("/big"));
            tokio::spawn(async move { client.get(url).send().await.unwrap().bytes().await.unwrap() })
        };
        eventually("a client waits", || server.downloads.waiting() == 1).await;

        let head = server.client.head(server.url("/big")).send().await.unwrap();
        assert_eq!(head.status(), StatusCode::OK);
        let unsatisfiable = server
            .get("/big")
            .header("range", "bytes=999999999-")
            .send()
            .await
            .unwrap();
        assert_eq!(unsatisfiable.status(), StatusCode::RANGE_NOT_SATISFIABLE);
        let not_modified = server
            .get("/big")
            .header("if-none-match", "*")
            .send()
            .await
            .unwrap();
        assert_eq!(not_modified.status(), StatusCode::NOT_MODIFIED);
        assert_eq!(server.bytes("/health").await, b"ok");
        assert!(!waiting.is_finished());

        // A client that leaves frees its slot for the one that waits.
        drop(first);
        let received = tokio::time::timeout(Duration::from_secs(20), waiting)
            .await
            .expect("it gets its turn")
            .unwrap();
        assert!(received == whole, "{way:?}");
        drop(second);
        eventually("all slots are free", || server.downloads.running() == 0).await;
    }
}

#[tokio::test]
async fn a_client_that_leaves_while_waiting_gives_its_place_up() {
    let server = Server::start(Way::FromFile, 1).await;
    let running = server.start_big().await;
    eventually("one download runs", || server.downloads.running() == 1).await;
    let leaving = server.request("/big").await;
    eventually("a client waits", || server.downloads.waiting() == 1).await;
    drop(leaving);
    eventually("nobody waits", || server.downloads.waiting() == 0).await;
    drop(running);
    assert!(!server.bytes("/big").await.is_empty());
}

#[tokio::test]
async fn one_address_with_many_slow_readers_leaves_slots_for_others() {
    for way in BOTH {
        let limits = Limits {
            most: 8,
            to_one_address: 4,
            patience: Duration::from_secs(60),
        };
        let server = Server::start_with_limits(way, limits, STALL_TIMEOUT).await;
        let (greedy, healthy) = (Ipv4Addr::new(127, 0, 0, 2), Ipv4Addr::new(127, 0, 0, 3));
        let mut held = Vec::new();
        for _ in 0..8 {
            held.push(server.request_from(greedy).await);
        }
        eventually("its share runs and as many wait", || {
            (server.downloads.running(), server.downloads.waiting()) == (4, 4)
        })
        .await;
        for _ in 0..20 {
            let mut refused = String::new();
            let mut socket = server.request_from(greedy).await;
            socket.read_to_string(&mut refused).await.unwrap();
            assert!(refused.starts_with("HTTP/1.1 503 "), "{way:?}: {refused}");
            assert!(refused.contains("retry-after: "), "{way:?}: {refused}");
        }
        let mut received = Vec::new();
        let mut socket = server.request_from(healthy).await;
        socket.read_to_end(&mut received).await.unwrap();
        assert!(
            received.len() as u64 > image_server::BIG_LENGTH,
            "{way:?}: another address gets it whole"
        );
        drop(held);
        eventually("all slots are free", || server.downloads.running() == 0).await;
    }
}

#[tokio::test]
async fn a_client_that_takes_nothing_is_dropped() {
    let server = Server::start_with_stall_timeout(Way::FromFile, 1, Duration::from_millis(300)).await;
    let _stalled = server.start_big().await;
    eventually("one download runs", || server.downloads.running() == 1).await;
    eventually("the slot is free again", || server.downloads.running() == 0).await;
    assert!(!server.bytes("/one/vmlinuz").await.is_empty());
}

#[tokio::test]
async fn a_layer_that_reads_the_body_breaks_the_download_instead_of_its_content() {
    let server = Server::start(Way::FromFile, 8).await;
    for (path, plain) in [("/rewritten/big", "/big"), ("/rewritten/vmlinuz", "/one/vmlinuz")] {
        // What is not in the page cache is sent through buffers, which any layer may read: then the download succeeds.
        // So it is read into the page cache, and again if the kernel has evicted it meanwhile.
        let mut broken = false;
        for _ in 0..5 {
            server.bytes(plain).await;
            // The connection may break before or after the head of the answer.
            let outcome = match server.get(path).send().await {
                Ok(answer) => answer.bytes().await,
                Err(error) => Err(error),
            };
            broken = outcome.is_err();
            if broken {
                break;
            }
        }
        assert!(broken, "{path} came through, with placeholders for content");
    }
}

#[tokio::test]
async fn a_replaced_live_image_is_noticed_and_running_downloads_keep_theirs() {
    let server = Server::start(Way::FromFile, 8).await;
    let before = server.bytes("/one/discovery.iso").await;
    let tag = server.get("/one/discovery.iso").send().await.unwrap().headers()["etag"].clone();
    let held = x86_64(&server.live).await.unwrap();
    server.replace_live_image();
    let after = server.get("/one/discovery.iso").send().await.unwrap();
    assert_ne!(after.headers()["etag"], tag);
    assert_ne!(after.bytes().await.unwrap().len(), before.len());
    assert!(!Arc::ptr_eq(&held, &x86_64(&server.live).await.unwrap()));
}

#[tokio::test]
async fn an_overwritten_base_breaks_the_download() {
    for way in BOTH {
        let server = Server::start(way, 8).await;
        let mut socket = server.start_big().await;
        server.overwrite_big();
        let mut received = Vec::new();
        let outcome = socket.read_to_end(&mut received).await;
        let short = (received.len() as u64) < image_server::BIG_LENGTH;
        assert!(
            outcome.is_err() || short,
            "{way:?}: old and new bytes were sent as one image"
        );
    }
}

#[tokio::test]
async fn without_a_live_image_the_answer_says_what_to_do() {
    let server = Server::start(Way::FromFile, 8).await;
    std::fs::remove_file(&server.iso).unwrap();
    let error = x86_64(&server.live).await.unwrap_err().to_string();
    assert!(
        error.contains("live.iso") && error.contains("muster-image live build"),
        "{error}"
    );
    std::fs::write(&server.iso, "not an image").unwrap();
    let error = x86_64(&server.live).await.unwrap_err();
    assert!(error.to_string().contains("live.iso"));
    assert_eq!(
        std::error::Error::source(&error).unwrap().to_string(),
        "it is not an ISO 9660 image"
    );
}
