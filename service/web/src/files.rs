//! Style, scripts and pictures, under names that change with their content.

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
    content: &'static str,
}

impl File {
    fn new(stem: &str, ending: &str, media_type: &'static str, content: &'static str) -> Self {
        let digest = hex::encode(Sha256::digest(content));
        Self {
            name: format!("{stem}-{}.{ending}", &digest[..12]),
            media_type,
            content,
        }
    }
}

/// The files of all pages.
pub struct Files {
    style: File,
    /// Keeps pages up to date.
    live: File,
    /// Chooses light or dark before anything is shown.
    theme: File,
    keys: File,
    palette: File,
    icon: File,
}

pub static FILES: LazyLock<Files> = LazyLock::new(|| {
    let script = |stem, content| File::new(stem, "js", "text/javascript; charset=utf-8", content);
    Files {
        style: File::new(
            "style",
            "css",
            "text/css; charset=utf-8",
            include_str!("../static/style.css"),
        ),
        live: script("live", include_str!("../static/live.js")),
        theme: script("theme", include_str!("../static/theme.js")),
        keys: script("keys", include_str!("../static/keys.js")),
        palette: script("palette", include_str!("../static/palette.js")),
        icon: File::new("icon", "svg", "image/svg+xml", include_str!("../static/icon.svg")),
    }
});

impl Files {
    /// The name of the style.
    pub fn style(&self) -> &str {
        &self.style.name
    }

    /// The name of the script that runs before a page is shown.
    pub fn theme(&self) -> &str {
        &self.theme.name
    }

    /// The names of the modules.
    pub fn modules(&self) -> [&str; 3] {
        [&self.live, &self.keys, &self.palette].map(|file| file.name.as_str())
    }

    /// The name of the icon.
    pub fn icon(&self) -> &str {
        &self.icon.name
    }

    fn all(&self) -> [&File; 6] {
        [
            &self.style,
            &self.live,
            &self.theme,
            &self.keys,
            &self.palette,
            &self.icon,
        ]
    }
}

pub async fn file(Path(name): Path<String>) -> Response {
    let Some(file) = FILES.all().into_iter().find(|file| file.name == name) else {
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
    (headers, file.content).into_response()
}
