//! `report.html`: the report for somebody who did not write the gate, in one file that needs nothing else.
//!
//! What matters comes first: verdict, metric, size of the loss, what changed; then the pictures, then all figures with
//! the evidence behind each. It reads without a script, which only adds values under the pointer, and by its own policy
//! it loads nothing and runs no other script. Whatever is foreign goes through `text` and is escaped by the
//! templates. Must never know how a number is written (`table`) or a picture drawn (`svg`).

pub mod compare;
mod evidence;
mod head;
mod raw;
mod suites;
mod tables;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest, Sha256};

use super::Report;
use super::svg::{Chart, palette};

/// Looks of a page: paper, phone, light and dark.
const STYLE: &str = include_str!("style.css");
/// Values under the pointer.
const SCRIPT: &str = include_str!("hover.js");

/// Most characters of a foreign text.
const MOST: usize = 2_000;

/// The report as a page.
#[must_use]
pub fn render(report: &Report) -> String {
    let title = format!("{}: {}", report.verdict, text(&report.target.drive));
    let body = html! {
        (head::first_screen(report))
        main {
            (suites::sections(report))
            (tables::metrics(report))
            (tables::environment(report))
            (tables::measured(report))
            (raw::downloads(report))
        }
    };
    page(&title, &body)
}

/// A whole document.
fn page(title: &str, body: &Markup) -> String {
    let hash = STANDARD.encode(Sha256::digest(SCRIPT));
    let policy = format!(
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{hash}'; base-uri 'none'; \
         form-action 'none'"
    );
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                // A browser asks for an icon unless it is told that there is none.
                link rel="icon" href="data:,";
                title { (title) " – storage-check" }
                style { (PreEscaped(STYLE)) (PreEscaped(palette::style())) }
            }
            body {
                (body)
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    page.into_string() + "\n"
}

/// A picture with room for the value under the pointer.
fn figure(chart: &Chart, id: &str) -> Markup {
    // The section's heading says the rest.
    let caption = chart.title.split_once(": ").map_or(chart.title.as_str(), |(_, caption)| caption);
    html! {
        figure {
            figcaption { (text(caption)) " " output {} }
            (PreEscaped(chart.element(id)))
        }
    }
}

/// Foreign text without what controls a terminal or turns the direction of writing, and not without end.
fn text(text: &str) -> String {
    let mut chars = text.chars().filter_map(super::text::shown);
    let mut out: String = chars.by_ref().take(MOST).collect();
    let rest = chars.count();
    if rest > 0 {
        out += &format!("… ({rest} more characters)");
    }
    out.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{FailureKind, samples};

    #[test]
    fn the_first_words_are_the_verdict_and_the_metric_that_made_it() {
        let page = render(&samples::finished());
        let at = |text: &str| page.find(text).unwrap_or_else(|| panic!("no {text} in\n{page}"));
        let order =
            ["<h1", "Regressed", "Fill: floor", "400 MB/s", "What now", "<svg", "id=\"metrics\"", "report.json"];
        assert!(order.windows(2).all(|pair| at(pair[0]) < at(pair[1])), "{page}");
    }

    #[test]
    fn a_page_needs_nothing_else_and_is_the_same_each_time() {
        let page = render(&samples::finished());
        for outside in ["src=", "@import", "url(", "href=\"http", "<link rel=\"stylesheet"] {
            assert!(!page.contains(outside), "{outside}");
        }
        assert_eq!(page, render(&samples::finished()));
    }

    #[test]
    fn every_picture_has_words() {
        let page = render(&samples::finished());
        let pictures = page.matches("<svg").count();
        assert!(pictures >= 4 && page.matches("role=\"img\" aria-labelledby=").count() == pictures, "{page}");
        assert_eq!((page.matches("</title><desc").count(), page.matches("</desc>").count()), (pictures, pictures));
    }

    #[test]
    fn hostile_text_makes_no_markup() {
        let page = render(&samples::all_hostile());
        let tame = render(&samples::finished());
        let count = |page: &str, tag: &str| page.matches(tag).count();
        for tag in ["<script", "<!--", "<img", "onerror=", "<style"] {
            assert_eq!(count(&page, tag), count(&tame, tag), "{tag}");
        }
        assert!(!page.chars().any(|char| char.is_control() && char != '\n' || char == '\u{202e}'));
    }

    #[test]
    fn what_came_to_nothing_says_why_and_shows_no_empty_picture() {
        for kind in [FailureKind::Refused, FailureKind::Failed, FailureKind::Interrupted] {
            let page = render(&samples::ended(kind, "/dev/x is mounted"));
            assert!(page.contains("No verdict") && page.contains("/dev/x is mounted"), "{page}");
            assert!(!page.contains("<svg") && !page.contains("id=\"metrics\""), "{page}");
        }
    }
}
