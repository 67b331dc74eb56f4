//! Pictures as SVG: what a chart is made of, and charts as documents and as parts of a page.
//!
//! The plotting library is `plotters`, and stands in `draw` and `scale` alone. A picture adapts to light and dark paper,
//! needs nothing from outside, and tells in its title and description what it shows. Must never know a report.

pub mod charts;
pub mod compare;
mod draw;
pub mod palette;
pub mod scale;
mod thin;

use std::fmt::Write as _;

pub use palette::Role;
pub use scale::Scale;

/// Width of a chart in units of its own; a page scales it.
pub(crate) const WIDTH: u32 = 1280;
/// Height of a chart.
pub(crate) const HEIGHT: u32 = 720;

/// A chart: two axes, and what is drawn between them, the first at the back.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// What it is of, in a few words.
    pub title: String,
    /// What it shows, for who cannot see it.
    pub description: String,
    /// Along the bottom.
    pub x: Axis,
    /// Along the left side.
    pub y: Axis,
    /// What is drawn.
    pub layers: Vec<Layer>,
}

/// An axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// What it counts, with the unit.
    pub label: String,
    /// The unit alone, for a value that is read off.
    pub unit: &'static str,
    /// Where values lie.
    pub scale: Scale,
}

/// Something drawn. A name appears in the legend; what has none stands without.
#[derive(Clone, Debug, PartialEq)]
pub struct Layer {
    /// What it stands for.
    pub role: Role,
    /// Its name in the legend.
    pub name: String,
    /// Its shape.
    pub shape: Shape,
}

/// A shape in the units of the axes.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// Points joined by a line.
    Line(Vec<(f64, f64)>),
    /// Points with a mark each.
    Dots(Vec<(f64, f64)>),
    /// From a lower to an upper value at each place.
    Band(Vec<(f64, f64, f64)>),
    /// All heights from one place to another.
    Window(f64, f64),
    /// A line from bottom to top, with a few words beside it.
    Upright(f64, String),
}

impl Layer {
    pub(crate) fn new(role: Role, name: &str, shape: Shape) -> Layer {
        Layer { role, name: name.to_owned(), shape }
    }
}

impl Chart {
    /// The chart as an element of a page; `id` is unique in the page. The page holds [`palette::style`].
    #[must_use]
    pub fn element(&self, id: &str) -> String {
        let mut out = self.open(id, "");
        self.body(&mut out);
        out
    }

    fn open(&self, id: &str, more: &str) -> String {
        let axis = |axis: &Axis| {
            let (low, high) = axis.scale.ends();
            format!("{low:?} {high:?} {} {}", u8::from(axis.scale.is_log()), axis.unit)
        };
        let mut out = format!(
            "<svg class=\"chart\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-labelledby=\"{id}-t {id}-d\" \
             xmlns=\"http://www.w3.org/2000/svg\" data-x=\"{}\" data-y=\"{}\" data-box=\"{}\"{more}>",
            escaped(&axis(&self.x)),
            escaped(&axis(&self.y)),
            draw::inner(self),
        );
        let (title, description) = (escaped(&self.title), escaped(&self.description));
        let _ = write!(out, "<title id=\"{id}-t\">{title}</title><desc id=\"{id}-d\">{description}</desc>");
        out
    }

    fn body(&self, out: &mut String) {
        match draw::draw(self) {
            Ok(shapes) => out.push_str(&shapes),
            Err(why) => {
                let _ = write!(out, "<text x=\"40\" y=\"80\">not drawn: {}</text>", escaped(&why));
            }
        }
        out.push_str("</svg>");
    }
}

/// Charts beside and below each other as a document of its own, `columns` in a row, with lines of words on top.
#[must_use]
pub fn document(lines: &[String], charts: &[Chart], columns: usize) -> String {
    /// Height of a line of words.
    const LINE: usize = 60;
    let columns = columns.clamp(1, charts.len().max(1));
    let (width, height) = (WIDTH as usize, HEIGHT as usize + LINE);
    let rows = charts.len().div_ceil(columns);
    let top = LINE * (lines.len() + 1);
    let (all_wide, all_high) = (width * columns, top + height * rows);
    let words = |x: usize, y: usize, text: &str| {
        let text: String = escaped(&text.chars().take(120).collect::<String>());
        format!("<text class=\"title\" x=\"{x}\" y=\"{y}\" font-size=\"40\" fill=\"#2B2B2A\">{text}</text>\n")
    };
    let mut out = format!(
        "<svg class=\"chart\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {all_wide} {all_high}\" \
         role=\"img\" aria-labelledby=\"all-t\"><title id=\"all-t\">{}</title>\n<style>{}\
         svg.chart{{background:#fff}}@media screen and (prefers-color-scheme:dark){{svg.chart{{background:#161616}}}}\
         </style>\n",
        escaped(&lines.join("; ")),
        palette::style(),
    );
    for (at, line) in lines.iter().enumerate() {
        out.push_str(&words(40, LINE * (at + 1), line));
    }
    for (at, chart) in charts.iter().enumerate() {
        let (x, y) = (at % columns * width, top + at / columns * height);
        out.push_str(&words(x + 40, y + LINE - 16, &chart.title));
        let place = format!(" x=\"{x}\" y=\"{}\" width=\"{width}\" height=\"{HEIGHT}\"", y + LINE);
        out.push_str(&chart.open(&format!("c{at}"), &place));
        chart.body(&mut out);
        out.push('\n');
    }
    out.push_str("</svg>\n");
    out
}

/// Text as it may stand in XML, in an element or an attribute; what XML forbids is left out.
#[must_use]
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for char in text.chars().filter_map(super::text::shown) {
        match char {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            char => out.push(char),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples;

    pub(super) fn chart(layers: Vec<Layer>) -> Chart {
        let axis = |label: &str, unit, end| Axis { label: label.to_owned(), unit, scale: Scale::up_to(end) };
        Chart {
            title: "Fill".to_owned(),
            description: "A curve".to_owned(),
            x: axis("GB written", "GB", 100.0),
            y: axis("MB/s", "MB/s", 50.0),
            layers,
        }
    }

    #[test]
    fn a_chart_says_what_it_is_and_names_its_axes() {
        let line = Layer::new(Role::Run, "this run", Shape::Line(vec![(0.0, 10.0), (50.0, 20.0), (100.0, 5.0)]));
        let text = chart(vec![line.clone()]).element("fill");
        for part in ["role=\"img\"", "<title id=\"fill-t\">Fill</title>", "\nGB written\n", "\nthis run\n", "<polyline"]
        {
            assert!(text.contains(part), "no {part} in {text}");
        }
        assert_eq!(text, chart(vec![line]).element("fill"), "the same chart is the same text");
    }

    #[test]
    fn no_number_breaks_a_picture() {
        let bad = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0, 0.0, 1e300];
        let pairs: Vec<(f64, f64)> = bad.iter().flat_map(|x| bad.iter().map(move |y| (*x, *y))).collect();
        let triples = pairs.iter().map(|(x, y)| (*x, *y, y + 1.0)).collect();
        let shapes = [
            Shape::Line(pairs.clone()),
            Shape::Dots(pairs),
            Shape::Band(triples),
            Shape::Window(f64::NAN, 4.0),
            Shape::Upright(f64::NAN, "x".to_owned()),
        ];
        for shape in shapes {
            let text = chart(vec![Layer::new(Role::Run, "n", shape)]).element("c");
            assert!(!text.contains("NaN") && !text.contains("inf") && !text.contains("not drawn"), "{text}");
        }
    }

    #[test]
    fn hostile_words_stay_words() {
        let mut chart =
            chart(vec![Layer::new(Role::Cliff, &samples::hostile(), Shape::Upright(3.0, samples::hostile()))]);
        chart.title = samples::hostile();
        chart.description = samples::hostile();
        let text = document(&[samples::hostile()], &[chart], 2);
        assert!(!text.contains("<script") && !text.chars().any(|c| c.is_control() && c != '\n'), "{text}");
    }
}
