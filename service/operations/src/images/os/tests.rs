use std::io::Write;
use std::path::Path;

use muster_core::rules::os_image::parse;
use sha2::{Digest, Sha256};

use super::*;

const CONTENT: &[u8] = b"an operating system";

fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

fn images(path: &Path, digests: &str) -> OsImages {
    let list = format!(
        r#"[{{"openshift_version":"4.19","cpu_architecture":"x86_64","version":"1","metal_url":"{}",{digests}}}]"#,
        path.display()
    );
    OsImages::new(parse(&list).unwrap())
}

/// Checks every file once.
async fn look(images: &OsImages) -> MetalImage {
    let stop = CancellationToken::new();
    let image = images.given[0].clone();
    let metal = image.metal.clone().unwrap();
    images
        .look_at(&image, &metal, &metal.source.to_string(), &stop)
        .await;
    images.list()[0].metal.clone().unwrap()
}

#[tokio::test]
async fn a_file_is_offered_once_it_is_what_its_digest_says_and_no_longer() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.raw");
    let images = images(&path, &format!(r#""metal_sha256":"{}""#, hex(CONTENT)));
    assert!(matches!(images.open(&images.given[0]), Err(NoOsImage::Later(_))));
    let Availability::Unusable(why) = look(&images).await.availability else {
        panic!("there is no file")
    };
    assert!(why.contains("put the file there"), "{why}");

    std::fs::write(&path, b"half of it").unwrap();
    let Availability::Unusable(why) = look(&images).await.availability else {
        panic!("it is another file")
    };
    assert!(why.contains("download it again"), "{why}");
    assert!(images.open(&images.given[0]).is_err());

    std::fs::write(&path, CONTENT).unwrap();
    let size = Some(CONTENT.len() as u64);
    assert_eq!(look(&images).await.availability, Availability::Ready { size });
    let open = images.open(&images.given[0]).unwrap();
    assert_eq!(
        (open.sha256.as_str(), open.file_name.as_str()),
        (hex(CONTENT).as_str(), "a.raw")
    );

    // Overwritten in place: the checked contents are gone.
    let mut file = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
    file.write_all(b"!").unwrap();
    assert!(images.open(&images.given[0]).is_err());
    assert!(matches!(
        look(&images).await.availability,
        Availability::Unusable(_)
    ));
}

#[tokio::test]
async fn a_digest_of_the_content_is_checked_by_decompressing() {
    let folder = tempfile::tempdir().unwrap();
    for (name, compressed) in [
        ("a.gz", gzip()),
        ("a.xz", xz()),
        ("a.zst", zstd::encode_all(CONTENT, 3).unwrap()),
        ("a.img", CONTENT.to_vec()),
    ] {
        let path = folder.path().join(name);
        std::fs::write(&path, &compressed).unwrap();
        let good = images(
            &path,
            &format!(r#""metal_uncompressed_sha256":"{}""#, hex(CONTENT)),
        );
        let metal = look(&good).await;
        assert!(
            matches!(metal.availability, Availability::Ready { .. }),
            "{name} {metal:?}"
        );
        assert_eq!(metal.sha256.unwrap().as_str(), hex(&compressed), "{name}");
        let bad = images(
            &path,
            &format!(r#""metal_uncompressed_sha256":"{}""#, hex(b"another")),
        );
        assert!(
            matches!(look(&bad).await.availability, Availability::Unusable(_)),
            "{name}"
        );
    }
    // As cloud images in qcow2 are called, with the right digest.
    let qcow2 = [&b"QFI\xfb"[..], CONTENT].concat();
    let path = folder.path().join("cloud.img");
    std::fs::write(&path, &qcow2).unwrap();
    let images_in_qcow2 = images(&path, &format!(r#""metal_sha256":"{}""#, hex(&qcow2)));
    let Availability::Unusable(why) = look(&images_in_qcow2).await.availability else {
        panic!("it cannot be written");
    };
    assert!(why.contains("qcow2") && why.contains("qemu-img convert"), "{why}");
    let junk = folder.path().join("junk.zst");
    std::fs::write(&junk, b"no zstd").unwrap();
    let junk = images(
        &junk,
        &format!(r#""metal_uncompressed_sha256":"{}""#, hex(CONTENT)),
    );
    assert!(matches!(
        look(&junk).await.availability,
        Availability::Unusable(_)
    ));
}

fn gzip() -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(CONTENT).unwrap();
    encoder.finish().unwrap()
}

fn xz() -> Vec<u8> {
    let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), 1);
    encoder.write_all(CONTENT).unwrap();
    encoder.finish().unwrap()
}
