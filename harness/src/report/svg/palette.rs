//! What each colour of a picture stands for, and how it looks on light and on dark paper.
//!
//! A picture is drawn in the colours for light paper; no two roles share one, and a style sheet finds each role by its
//! colour, gives it its colour on dark paper and its pattern of dashes. So no shape depends on colour alone. Knows
//! no shape.

use std::fmt::Write as _;

use plotters::style::RGBColor;

/// What is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The run's curve.
    Run,
    /// Slowest to fastest interval around it.
    Spread,
    /// What the baseline's runs did.
    Ghost,
    /// Least to greatest of them.
    GhostBand,
    /// Where the rate falls.
    Cliff,
    /// Where it may fall.
    CliffBand,
    /// The steady rate, or a fitted line.
    Steady,
    /// The time in which it was steady.
    SteadyWindow,
    /// One of several runs; counted from 0.
    Series(u8),
    /// Lines behind the curves.
    Grid,
    /// Axes.
    Axis,
    /// Words.
    Text,
}

/// Colours for light and dark paper, and dashes in the picture's units.
struct Look {
    role: Role,
    light: (u8, u8, u8),
    dark: &'static str,
    dashes: &'static str,
}

const fn look(role: Role, light: (u8, u8, u8), dark: &'static str, dashes: &'static str) -> Look {
    Look { role, light, dark, dashes }
}

/// Runs that can be told apart; a further one looks like the first again.
pub const MOST_SERIES: u8 = 6;

/// After Okabe and Ito's palette, which people who confuse colours can tell apart.
const LOOKS: [Look; 17] = [
    look(Role::Run, (0x0a, 0x5f, 0xb4), "#74b9ff", ""),
    look(Role::Spread, (0x8f, 0xbc, 0xe6), "#3f6f9f", ""),
    look(Role::Ghost, (0x6e, 0x6e, 0x6e), "#b5b5b5", "14 9"),
    look(Role::GhostBand, (0xb8, 0xb8, 0xb7), "#5c5c5c", ""),
    look(Role::Cliff, (0xc0, 0x3a, 0x0b), "#ff9d66", "4 7"),
    look(Role::CliffBand, (0xf2, 0xa9, 0x83), "#8a4a26", ""),
    look(Role::Steady, (0x11, 0x73, 0x4b), "#62d59f", "26 8 5 8"),
    look(Role::SteadyWindow, (0xa6, 0xdd, 0xc2), "#1f5a42", ""),
    look(Role::Series(0), (0x0a, 0x5f, 0xb5), "#74b9fe", ""),
    look(Role::Series(1), (0xc2, 0x54, 0x02), "#ffa552", "18 8"),
    look(Role::Series(2), (0x0d, 0x7f, 0x5c), "#5fd8ac", "5 6"),
    look(Role::Series(3), (0x97, 0x46, 0x87), "#e79ad7", "18 6 4 6"),
    look(Role::Series(4), (0x80, 0x66, 0x00), "#e3c94b", "30 10"),
    look(Role::Series(5), (0x3f, 0x3f, 0x3f), "#d7d7d7", "10 5 10 5 3 5"),
    look(Role::Grid, (0xe2, 0xe2, 0xe1), "#343434", ""),
    look(Role::Axis, (0x8c, 0x8c, 0x8b), "#8a8a8a", ""),
    look(Role::Text, (0x2b, 0x2b, 0x2a), "#dcdcdc", ""),
];

impl Role {
    fn look(self) -> &'static Look {
        let wanted = match self {
            Role::Series(at) => Role::Series(at % MOST_SERIES),
            other => other,
        };
        LOOKS.iter().find(|look| look.role == wanted).unwrap_or(&LOOKS[0])
    }

    /// Its colour on light paper.
    pub(super) fn colour(self) -> RGBColor {
        let (red, green, blue) = self.look().light;
        RGBColor(red, green, blue)
    }
}

/// The style sheet of every picture, in a page or by itself.
#[must_use]
pub fn style() -> String {
    let hex = |(red, green, blue): (u8, u8, u8)| format!("#{red:02X}{green:02X}{blue:02X}");
    let mut sheet =
        ".chart text{font-family:system-ui,sans-serif;font-size:27px}.chart .title{font-size:40px}\n".to_owned();
    for Look { light, dashes, .. } in LOOKS.iter().filter(|look| !look.dashes.is_empty()) {
        let _ = writeln!(sheet, ".chart [stroke=\"{}\"]{{stroke-dasharray:{dashes}}}", hex(*light));
    }
    // On paper all is light.
    sheet.push_str("@media screen and (prefers-color-scheme:dark){\n");
    for Look { light, dark, .. } in &LOOKS {
        let light = hex(*light);
        let _ = writeln!(sheet, ".chart [stroke=\"{light}\"]{{stroke:{dark}}}.chart [fill=\"{light}\"]{{fill:{dark}}}");
    }
    sheet.push_str("}\n@media (max-width:640px){.chart text{font-size:40px}}\n");
    sheet
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_role_has_a_colour_of_its_own_on_both_papers() {
        for (at, look) in LOOKS.iter().enumerate() {
            for other in &LOOKS[at + 1..] {
                assert!(look.light != other.light && look.role != other.role, "{:?} {:?}", look.role, other.role);
            }
            assert!(style().contains(look.dark), "{:?}", look.role);
            assert_eq!(look.role.look().role, look.role);
        }
        assert_eq!(Role::Series(7).colour(), Role::Series(1).colour());
    }

    #[test]
    fn what_is_a_line_and_no_curve_of_the_run_is_dashed() {
        let dashed = |role: Role| !role.look().dashes.is_empty();
        assert!([Role::Ghost, Role::Cliff, Role::Steady, Role::Series(1)].into_iter().all(dashed));
        assert!(!dashed(Role::Run));
    }
}
