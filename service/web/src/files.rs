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
    /// Chooses light or dark before anything is shown.
    theme: File,
    /// Keeps pages up to date.
    live: File,
    keys: File,
    palette: File,
    filter: File,
    views: File,
    matrix: File,
    many: File,
    icon: File,
}

pub static FILES: LazyLock<Files> = LazyLock::new(|| {
    let live = File::script("live", include_str!("../static/live.js"));
    // A browser runs a module once for each address: what imports it must use the one of the page.
    let filter = include_str!("../static/filter.js").replace("./live.js", &format!("./{}", live.name));
    Files {
        style: File::new(
            "style",
            "css",
            "text/css; charset=utf-8",
            include_str!("../static/style.css"),
        ),
        theme: File::script("theme", include_str!("../static/theme.js")),
        live,
        keys: File::script("keys", include_str!("../static/keys.js")),
        palette: File::script("palette", include_str!("../static/palette.js")),
        filter: File::script("filter", filter),
        views: File::script("views", include_str!("../static/views.js")),
        matrix: File::script("matrix", include_str!("../static/matrix.js")),
        many: File::script("many", include_str!("../static/many.js")),
        icon: File::new("icon", "svg", "image/svg+xml", include_str!("../static/icon.svg")),
    }
});

impl Files {
    /// The name of the style sheet.
    pub fn style(&self) -> &str {
        &self.style.name
    }

    /// The name of the script that runs before a page is shown.
    pub fn theme(&self) -> &str {
        &self.theme.name
    }

    /// The names of the modules of every page.
    pub fn modules(&self) -> [&str; 3] {
        [&self.live, &self.keys, &self.palette].map(|file| file.name.as_str())
    }

    /// The names of the modules of the list of hosts.
    pub fn modules_of_hosts(&self) -> [&str; 3] {
        [&self.filter, &self.views, &self.many].map(|file| file.name.as_str())
    }

    /// The name of the module that draws which hosts reach each other.
    pub fn matrix(&self) -> &str {
        &self.matrix.name
    }

    /// The name of the icon.
    pub fn icon(&self) -> &str {
        &self.icon.name
    }

    fn all(&self) -> [&File; 10] {
        [
            &self.style,
            &self.theme,
            &self.live,
            &self.keys,
            &self.palette,
            &self.filter,
            &self.views,
            &self.matrix,
            &self.many,
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
    (headers, file.content.clone()).into_response()
}
