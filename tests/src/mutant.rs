//! Texts with something wrong in them: bytes flipped, lines dropped, doubled, cut, merged or moved, numbers replaced.
//!
//! Everything from dice: the same seed makes the same mutant. Knows no format.

use crate::dice::Dice;

/// Numbers at the edge of what a field holds.
const EDGES: [&str; 12] = [
    "0",
    "1",
    "-1",
    "0.5",
    "4294967296",
    "9007199254740993",
    "9223372036854775807",
    "18446744073709551615",
    "18446744073709551616",
    "99999999999999999999999999",
    "1e308",
    "nan",
];

/// `text` after one to `most` changes.
#[must_use]
pub fn mutant(text: &[u8], most: u64, dice: &mut Dice) -> Vec<u8> {
    let mut text = text.to_vec();
    for _ in 0..=dice.below(most) {
        change(&mut text, dice);
    }
    text
}

fn change(text: &mut Vec<u8>, dice: &mut Dice) {
    if text.is_empty() {
        text.push(dice.roll() as u8);
        return;
    }
    let at = dice.below(text.len() as u64) as usize;
    match dice.below(12) {
        0 => text[at] ^= 1 << dice.below(8),
        1 => text[at] = dice.roll() as u8,
        2 => text[at] = b"0123456789.,- \n[]{}:s"[dice.below(21) as usize],
        3 => text.truncate(at),
        4 => {
            text.remove(at);
        }
        5 => {
            let line = line(text, at);
            text.drain(line);
        }
        6 => {
            let line = line(text, at);
            let doubled = text[line.clone()].to_vec();
            text.splice(line.end..line.end, doubled);
        }
        7 => {
            // The line goes elsewhere.
            let line = line(text, at);
            let moved: Vec<u8> = text.drain(line).collect();
            let to = if text.is_empty() { 0 } else { self::line(text, dice.below(text.len() as u64) as usize).start };
            text.splice(to..to, moved);
        }
        8 => {
            // The line and the next are one.
            let end = line(text, at).end;
            if text[end - 1] == b'\n' {
                text.remove(end - 1);
            }
        }
        9 => {
            // All from here on once more, as of a second job in the file.
            let again = text[line(text, at).start..].to_vec();
            text.extend(again);
        }
        _ => {
            let with = EDGES[dice.below(EDGES.len() as u64) as usize];
            let number = number(text, at);
            text.splice(number, with.bytes());
        }
    }
}

/// The line that holds this byte, its end included.
fn line(text: &[u8], at: usize) -> std::ops::Range<usize> {
    let start = text[..at].iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
    let end = text[at..].iter().position(|&byte| byte == b'\n').map_or(text.len(), |end| at + end + 1);
    start..end
}

/// The first number at or after this byte; empty where there is none.
fn number(text: &[u8], at: usize) -> std::ops::Range<usize> {
    let start = text[at..].iter().position(u8::is_ascii_digit).map_or(text.len(), |start| at + start);
    let length = text[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    start..start + length
}
