//! Quantities as a TOML file writes them: text with a unit, `"4KiB"`, `"10s"`, `"0.6%"`, `"138MB/s"`.
//!
//! Knows nothing of what they are used for.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

use super::{
    Bytes, Nanos, Ppm, bytes_text, nanos_text, parse_bytes, parse_nanos, parse_ppm, parse_speed, ppm_text, speed_text,
};

/// A size such as `"4KiB"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size(pub Bytes);

/// A span such as `"10s"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span(pub Nanos);

/// A share such as `"0.6%"`, at most 1000 % (the write budget of a drive may be a multiple of it).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Share(pub Ppm);

/// A speed such as `"138MB/s"`, in bytes a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Speed(pub Bytes);

/// The largest share that parses.
const MOST: Ppm = Ppm(10_000_000);

macro_rules! text {
    ($type:ident, $parse:expr, $print:expr, $expected:literal) => {
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Text;
                impl serde::de::Visitor<'_> for Text {
                    type Value = $type;
                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str($expected)
                    }
                    fn visit_str<E: Error>(self, text: &str) -> Result<$type, E> {
                        $parse(text).map($type).map_err(E::custom)
                    }
                }
                deserializer.deserialize_str(Text)
            }
        }
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&$print(self.0))
            }
        }
    };
}

text!(Size, parse_bytes, bytes_text, "a size in quotes with its unit, such as \"4KiB\"");
text!(Span, parse_nanos, nanos_text, "a time in quotes with its unit, such as \"10s\"");
text!(Share, |text| parse_ppm(text, MOST), ppm_text, "a percentage in quotes, such as \"5%\"");
text!(Speed, parse_speed, speed_text, "a speed in quotes with its unit, such as \"138MB/s\"");
