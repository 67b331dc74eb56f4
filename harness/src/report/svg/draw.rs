//! Draws a chart with `plotters`: the only file that knows how the library draws.
//!
//! Its output holds shapes and words alone, in the colours of the roles; the element around them is `mod.rs`'s.

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::{Chart, HEIGHT, Layer, Role, Scale, Shape, WIDTH};

/// Size of words.
const FONT: u32 = 28;
/// Room for a character of the legend on a phone, where the style sheet enlarges words.
const CHARACTER: i32 = 21;
const LEFT: i32 = 146;
const RIGHT: i32 = 34;
const BOTTOM: i32 = 104;
/// Height of a row of the legend.
const ROW: i32 = 52;
/// Width of a sample in the legend.
const SAMPLE: i32 = 62;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Plane<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<Scale, Scale>>;
type Drawn = Result<(), Box<dyn std::error::Error>>;

/// The shapes and words of a chart.
pub(super) fn draw(chart: &Chart) -> Result<String, String> {
    let mut text = String::new();
    {
        let area = SVGBackend::with_string(&mut text, (WIDTH, HEIGHT)).into_drawing_area();
        all(chart, &area).and_then(|()| Ok(area.present()?)).map_err(|why| why.to_string())?;
    }
    // The library's own element gives way to one that says what the picture is.
    let inside = text.split_once('>').map_or("", |(_, rest)| rest);
    Ok(inside.trim_end().trim_end_matches("</svg>").to_owned())
}

/// Left, top, right and bottom of the plane between the axes.
pub(super) fn inner(chart: &Chart) -> String {
    format!("{LEFT} {} {} {}", top(chart), WIDTH.cast_signed() - RIGHT, HEIGHT.cast_signed() - BOTTOM)
}

fn top(chart: &Chart) -> i32 {
    let rows = legend(chart).last().map_or(0, |(_, _, row)| row + 1);
    66 + rows * ROW
}

/// The legend: each named layer with its place and row.
fn legend(chart: &Chart) -> Vec<(&Layer, i32, i32)> {
    let end = WIDTH.cast_signed() - RIGHT;
    let (mut at, mut row) = (LEFT, 0);
    let mut named: Vec<&Layer> = Vec::new();
    for layer in chart.layers.iter().filter(|layer| !layer.name.is_empty()) {
        if !named.iter().any(|other| other.name == layer.name) {
            named.push(layer);
        }
    }
    let mut places = Vec::new();
    for layer in named {
        let width = SAMPLE + 14 + i32::try_from(layer.name.chars().count().min(60)).unwrap_or(0) * CHARACTER + 30;
        if at + width > end + 30 && at > LEFT {
            (at, row) = (LEFT, row + 1);
        }
        places.push((layer, at, row));
        at += width;
    }
    places
}

fn all(chart: &Chart, area: &Area<'_>) -> Drawn {
    let top = top(chart);
    let mut plane = ChartBuilder::on(area)
        .margin_top(top)
        .margin_right(RIGHT)
        .set_label_area_size(LabelAreaPosition::Left, LEFT)
        .set_label_area_size(LabelAreaPosition::Bottom, BOTTOM)
        .build_cartesian_2d(chart.x.scale.clone(), chart.y.scale.clone())?;
    plane
        .configure_mesh()
        .max_light_lines(0)
        .bold_line_style(Role::Grid.colour())
        .axis_style(Role::Axis.colour())
        .label_style(words(Role::Text))
        .x_labels(7)
        .y_labels(5)
        .draw()?;
    for layer in &chart.layers {
        shape(&mut plane, chart, layer)?;
    }
    for (layer, at, row) in legend(chart) {
        sample(area, layer, at, 8 + row * ROW)?;
    }
    let place =
        |text: &str, at: (i32, i32), to| Text::new(label(text), at, words(Role::Text).pos(Pos::new(to, VPos::Top)));
    area.draw(&place(&chart.y.label, (16, top - 64), HPos::Left))?;
    area.draw(&place(&chart.x.label, (WIDTH.cast_signed() - RIGHT, HEIGHT.cast_signed() - 48), HPos::Right))?;
    Ok(())
}

fn words(role: Role) -> TextStyle<'static> {
    TextStyle { color: role.colour().to_backend_color(), ..TextStyle::from(("sans-serif", FONT)) }
}

/// A few words: the library escapes what it draws, and what XML forbids is left out here.
fn label(text: &str) -> String {
    text.chars().filter_map(crate::report::text::shown).take(60).collect()
}

fn shape(plane: &mut Plane<'_, '_>, chart: &Chart, layer: &Layer) -> Drawn {
    let colour = layer.role.colour();
    let (x, y) = (&chart.x.scale, &chart.y.scale);
    let place = |(at, value): (f64, f64)| (x.within(at), y.within(value));
    let finite = |points: &[(f64, f64)]| -> Vec<(f64, f64)> {
        points.iter().copied().filter(|(at, value)| at.is_finite() && value.is_finite()).map(place).collect()
    };
    match &layer.shape {
        Shape::Line(points) => {
            plane.plotting_area().draw(&PathElement::new(finite(points), colour.stroke_width(4)))?;
        }
        Shape::Dots(points) => {
            for point in finite(points) {
                mark(plane, layer.role, point)?;
            }
        }
        Shape::Band(points) => {
            let whole = |(at, low, high): &&(f64, f64, f64)| at.is_finite() && low.is_finite() && high.is_finite();
            let upper = points.iter().filter(whole).map(|(at, _, high)| place((*at, *high)));
            let lower = points.iter().rev().filter(whole).map(|(at, low, _)| place((*at, *low)));
            plane.plotting_area().draw(&Polygon::new(upper.chain(lower).collect::<Vec<_>>(), colour.mix(0.55)))?;
        }
        Shape::Window(from, to) if from.is_finite() && to.is_finite() => {
            let (low, high) = y.ends();
            let corners = [(x.within(*from), high), (x.within(*to), low)];
            plane.plotting_area().draw(&Rectangle::new(corners, colour.mix(0.5).filled()))?;
        }
        Shape::Upright(at, text) if at.is_finite() => {
            let (low, high) = y.ends();
            let at = x.within(*at);
            plane.plotting_area().draw(&PathElement::new(vec![(at, low), (at, high)], colour.stroke_width(4)))?;
            let (left, right) = x.ends();
            let half = if x.is_log() { libm::sqrt(left * right) } else { (left + right) / 2.0 };
            let (to, pad) = if at > half { (HPos::Right, -12) } else { (HPos::Left, 12) };
            let style = words(layer.role).pos(Pos::new(to, VPos::Top));
            plane.plotting_area().draw(&(EmptyElement::at((at, high)) + Text::new(label(text), (pad, 8), style)))?;
        }
        Shape::Window(..) | Shape::Upright(..) => {}
    }
    Ok(())
}

/// A mark whose shape is the role's own.
fn mark(plane: &mut Plane<'_, '_>, role: Role, point: (f64, f64)) -> Drawn {
    let (colour, area) = (role.colour(), plane.plotting_area());
    match role {
        Role::Series(1) | Role::Ghost => area.draw(&TriangleMarker::new(point, 13, colour.filled()))?,
        Role::Series(2) => {
            let corners = [(-10, -10), (10, 10)];
            area.draw(&(EmptyElement::at(point) + Rectangle::new(corners, colour.filled())))?;
        }
        Role::Series(3) => area.draw(&Cross::new(point, 10, colour.stroke_width(5)))?,
        Role::Series(4) => area.draw(&Circle::new(point, 11, colour.stroke_width(4)))?,
        Role::Series(5) => {
            let corners = vec![(0, -14), (14, 0), (0, 14), (-14, 0)];
            area.draw(&(EmptyElement::at(point) + Polygon::new(corners, colour.filled())))?;
        }
        _ => area.draw(&Circle::new(point, 10, colour.filled()))?,
    }
    Ok(())
}

/// A line of the legend.
fn sample(area: &Area<'_>, layer: &Layer, at: i32, top: i32) -> Drawn {
    let colour = layer.role.colour();
    let (end, middle) = (at + SAMPLE, top + 16);
    match &layer.shape {
        Shape::Band(_) | Shape::Window(..) => {
            area.draw(&Rectangle::new([(at, top + 2), (end, top + 30)], colour.mix(0.55).filled()))?;
        }
        Shape::Line(_) | Shape::Upright(..) => {
            area.draw(&PathElement::new(vec![(at, middle), (end, middle)], colour.stroke_width(4)))?;
        }
        Shape::Dots(_) => area.draw(&Circle::new((at + SAMPLE / 2, middle), 10, colour.filled()))?,
    }
    let style = words(Role::Text).pos(Pos::new(HPos::Left, VPos::Center));
    area.draw(&Text::new(label(&layer.name), (end + 14, middle), style))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::tests::chart;
    use super::*;

    #[test]
    fn the_legend_goes_on_below_where_a_row_is_full_and_names_a_thing_once() {
        let layer = |name: &str| Layer::new(Role::Run, name, Shape::Window(0.0, 1.0));
        let one = chart(vec![layer("run"), layer("run"), layer("")]);
        assert_eq!(legend(&one).len(), 1);
        let long = "a name of some thirty characters";
        let two = chart(vec![layer(&format!("{long}1")), layer(&format!("{long}2")), layer("3")]);
        let rows: Vec<i32> = legend(&two).iter().map(|(_, _, row)| *row).collect();
        assert_eq!(rows, [0, 1, 1]);
        assert!(inner(&two).starts_with(&format!("{LEFT} {}", 66 + 2 * ROW)));
    }
}
