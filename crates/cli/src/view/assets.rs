//! The files of the pages, embedded in the program.

/// A file of a page.
pub(crate) struct Asset {
    pub(crate) path: &'static str,
    pub(crate) media_type: &'static str,
    pub(crate) bytes: &'static [u8],
}

macro_rules! assets {
    ($($path:literal: $media:ident),* $(,)?) => {
        &[$(Asset {
            path: $path,
            media_type: $media,
            bytes: include_bytes!(concat!("../../../../ui/", $path)),
        }),*]
    };
}

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const JS: &str = "text/javascript; charset=utf-8";
const SVG: &str = "image/svg+xml";

/// All files.
pub(crate) const ASSETS: &[Asset] = assets![
    "index.html": HTML,
    "universe.html": HTML,
    "icon.svg": SVG,
    "style.css": CSS,
    "main.js": JS,
    "base/api.js": JS,
    "base/colour.js": JS,
    "base/dom.js": JS,
    "base/time.js": JS,
    "pages/compare.js": JS,
    "pages/detail.js": JS,
    "pages/found.js": JS,
    "pages/misses.js": JS,
    "pages/plots.js": JS,
    "pages/range.js": JS,
    "pages/threads.js": JS,
    "pages/verdict.js": JS,
    "timeline/arrows.js": JS,
    "timeline/input.js": JS,
    "timeline/overview.js": JS,
    "timeline/paint.js": JS,
    "timeline/pane.js": JS,
    "timeline/picture.js": JS,
    "timeline/tiles.js": JS,
    "universe/histograms.js": JS,
    "universe/main.js": JS,
    "universe/plan.js": JS,
    "universe/scatter.js": JS,
    "universe/style.css": CSS,
    "universe/tables.js": JS,
    "universe/tree.js": JS,
];

/// The file at this path.
pub(crate) fn find(path: &str) -> Option<&'static Asset> {
    ASSETS.iter().find(|asset| asset.path == path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn every_file_of_the_pages_is_embedded() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ui");
        for folder in ["", "base", "pages", "timeline", "universe"] {
            for entry in std::fs::read_dir(root.join(folder)).unwrap() {
                let entry = entry.unwrap();
                let name = entry.file_name().into_string().unwrap();
                let path = if folder.is_empty() { name } else { format!("{folder}/{name}") };
                let served = [".js", ".css", ".html", ".svg"].iter().any(|end| path.ends_with(end));
                assert_eq!(find(&path).is_some(), served, "{path}");
            }
        }
    }
}
