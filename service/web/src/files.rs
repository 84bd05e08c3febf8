//! Style, scripts and pictures, under names that change with their content.

use std::borrow::Cow;
use std::sync::LazyLock;

use axum::extract::Path;
use axum::response::{IntoResponse, Response};
use http::{StatusCode, header};
use sha2::{Digest, Sha256};

/// A file of the program.
struct File {
    /// Its path below `/ui/static/`.
    name: String,
    media_type: &'static str,
    content: Cow<'static, str>,
}

impl File {
    fn new(
        stem: &str,
        ending: &str,
        media_type: &'static str,
        content: impl Into<Cow<'static, str>>,
    ) -> Self {
        let content = content.into();
        let digest = hex::encode(Sha256::digest(content.as_bytes()));
        Self {
            name: format!("{stem}-{}.{ending}", &digest[..12]),
            media_type,
            content,
        }
    }

    fn script(stem: &str, content: impl Into<Cow<'static, str>>) -> Self {
        Self::new(stem, "js", "text/javascript; charset=utf-8", content)
    }
}

/// The files of all pages.
pub struct Files {
    style: File,
    script: File,
    filter: File,
    views: File,
    icon: File,
}

pub static FILES: LazyLock<Files> = LazyLock::new(|| {
    let script = File::script("live", include_str!("../static/live.js"));
    // A browser runs a module once for each address: what imports it must use the one of the page.
    let filter = include_str!("../static/filter.js").replace("./live.js", &format!("./{}", script.name));
    Files {
        style: File::new(
            "style",
            "css",
            "text/css; charset=utf-8",
            include_str!("../static/style.css"),
        ),
        script,
        filter: File::script("filter", filter),
        views: File::script("views", include_str!("../static/views.js")),
        icon: File::new("icon", "svg", "image/svg+xml", include_str!("../static/icon.svg")),
    }
});

impl Files {
    /// The name of the style.
    pub fn style(&self) -> &str {
        &self.style.name
    }

    /// The name of the script.
    pub fn script(&self) -> &str {
        &self.script.name
    }

    /// The name of the script of the filter.
    pub fn filter(&self) -> &str {
        &self.filter.name
    }

    /// The name of the script that keeps views.
    pub fn views(&self) -> &str {
        &self.views.name
    }

    /// The name of the icon.
    pub fn icon(&self) -> &str {
        &self.icon.name
    }
}

pub async fn file(Path(name): Path<String>) -> Response {
    let all = [
        &FILES.style,
        &FILES.script,
        &FILES.filter,
        &FILES.views,
        &FILES.icon,
    ];
    let Some(file) = all.into_iter().find(|file| file.name == name) else {
        return (
            StatusCode::NOT_FOUND,
            "this file is of another release: load the page again",
        )
            .into_response();
    };
    let headers = [
        (header::CONTENT_TYPE, file.media_type),
        (header::CACHE_CONTROL, "public, max-age=31536000, immutable"),
    ];
    (headers, file.content.clone()).into_response()
}
