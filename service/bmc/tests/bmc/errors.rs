//! Errors of the BMC in all their forms, and secrets that they must not reveal.

use muster_bmc::BmcError;
use muster_bmc_emulator::Quirks;
use muster_bmc_emulator::quirks::{ErrorShape, ImageRules};

use crate::lab::{IMAGE, Lab, failure};

async fn refused(error_shape: ErrorShape) -> BmcError {
    let lab = Lab::new(Quirks {
        unlicensed: true,
        error_shape,
        ..Quirks::default()
    });
    failure(lab.connect().await.unwrap().insert(IMAGE).await)
}

#[tokio::test]
async fn the_bmcs_words_are_told_whatever_their_form() {
    for shape in [
        ErrorShape::List,
        ErrorShape::Single,
        ErrorShape::TopLevel,
        ErrorShape::NoCode,
    ] {
        let told = refused(shape).await.to_string();
        assert!(
            told.contains("HTTP 403; LicenseKeyRequired: A license is required"),
            "{shape:?}: {told}"
        );
    }
    let plain = refused(ErrorShape::PlainText).await.to_string();
    assert!(plain.contains("A license is required"), "{plain}");
    let html = refused(ErrorShape::Html).await.to_string();
    assert!(html.contains("HTTP 403") && !html.contains('<'), "{html}");
}

#[tokio::test]
async fn members_are_added_on_request_in_each_form_that_names_them() {
    for error_shape in [
        ErrorShape::List,
        ErrorShape::Single,
        ErrorShape::TopLevel,
        ErrorShape::NoCode,
        ErrorShape::PlainText,
    ] {
        let lab = Lab::new(Quirks {
            needs_protocol: true,
            error_shape,
            ..Quirks::default()
        });
        let inserted = lab.connect().await.unwrap().insert(IMAGE).await;
        inserted.unwrap_or_else(|error| panic!("{error_shape:?}: {error}"));
    }
}

#[tokio::test]
async fn an_error_does_not_tell_the_images_url() {
    let lab = Lab::new(Quirks {
        reads_image: true,
        image_rules: ImageRules {
            max_length: Some(10),
            ..ImageRules::default()
        },
        ..Quirks::default()
    });
    let error = failure(lab.connect().await.unwrap().insert(IMAGE).await);
    assert!(!format!("{error} {error:?}").contains("t0ken"), "{error:?}");
    let nowhere = "http://127.0.0.1:1/boot/t0ken.iso";
    lab.bmc.change(|quirks| quirks.image_rules.max_length = None);
    let error = failure(lab.connect().await.unwrap().insert(nowhere).await);
    assert!(!format!("{error} {error:?}").contains("t0ken"), "{error:?}");
}
