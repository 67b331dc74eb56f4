//! `compare --format html`: drives or runs side by side, the graph over space first.

use maud::{Markup, html};

use super::{figure, page, text};
use crate::report::compare::{Comparison, Line, letter};
use crate::report::svg::compare::{space, timelines};

/// The comparison as a page.
#[must_use]
pub fn render(comparison: &Comparison) -> String {
    let letters: Vec<String> = (0..comparison.runs.len()).map(letter).collect();
    let levels: Vec<Line> = comparison.levels().into_iter().chain(comparison.fsef()).collect();
    let notes = comparison.notes();
    let body = html! {
        header.no-baseline {
            h1 { "Side by side" }
            ul.runs {
                @for (letter, what) in comparison.legend() {
                    li {
                        strong { (letter) } ": "
                        (what.iter().filter(|text| !text.is_empty()).map(|what| text(what)).collect::<Vec<_>>().join(" · "))
                    }
                }
            }
        }
        main {
            @if let Some(chart) = space(comparison) {
                section { h2 { "Throughput over space" } div.pictures { (figure(&chart, "space")) } }
            }
            @if !levels.is_empty() {
                section { h2 { "Steady rate over the bytes in use" } (table("Level", &letters, &levels)) }
            }
            @let pictures = timelines(comparison);
            @if !pictures.is_empty() {
                section {
                    h2 { "Timelines" }
                    div.pictures { @for (at, chart) in pictures.iter().enumerate() { (figure(chart, &format!("line{at}"))) } }
                }
            }
            section {
                h2 { "Metrics" }
                p.quiet { "In brackets: the ratio to A." }
                (table("Metric", &letters, &comparison.metrics()))
            }
            @if !notes.is_empty() {
                section { h2 { "To believe the figures, know that …" } ul { @for note in notes.iter().take(60) { li { (text(note)) } } } }
            }
        }
    };
    page("comparison", &body)
}

fn table(first: &str, letters: &[String], lines: &[Line]) -> Markup {
    html! {
        table.wide {
            thead { tr { th scope="col" { (first) } @for letter in letters { th.number scope="col" { (letter) } } } }
            tbody {
                @for (name, cells) in lines {
                    tr {
                        th scope="row" { (text(name)) }
                        @for (letter, cell) in letters.iter().zip(cells) { td.number data-label=(letter) { (text(cell)) } }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::compare::{Compared, LevelPoint};
    use crate::report::samples;

    fn drive(used: &[(f64, f64)]) -> Compared {
        let level = |&(used_gb, rate): &(f64, f64)| LevelPoint {
            level: format!("{used_gb}pct"),
            used_gb,
            free_gb: None,
            steady_mb_s: Some(rate),
            state: "reached",
        };
        Compared { report: samples::finished(), levels: used.iter().map(level).collect() }
    }

    #[test]
    fn two_drives_share_one_graph_and_each_timeline_has_a_picture() {
        let runs = vec![drive(&[(50.0, 400.0), (90.0, 200.0)]), drive(&[(30.0, 100.0), (60.0, 80.0)])];
        let comparison = Comparison { runs };
        let page = render(&comparison);
        assert!(page.contains("A: 400 MB/s at 50.0 GB, 200 MB/s at 90.0 GB; B: 100 MB/s at 30.0 GB"), "{page}");
        assert_eq!(page.matches("<figure>").count(), 3, "space, fill, a level");
        let svg = crate::report::svg::compare::render(&comparison);
        assert!(svg.starts_with("<svg") && svg.matches("role=\"img\"").count() == 4, "{svg}");
    }

    #[test]
    fn hostile_text_makes_no_markup() {
        let runs = vec![Compared { report: samples::all_hostile(), levels: Vec::new() }, drive(&[])];
        let page = render(&Comparison { runs });
        assert_eq!(page.matches("<script").count(), 1);
    }
}
