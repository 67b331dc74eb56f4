//! Parse errors for the user: line, key, and the nearest known key where one is unknown.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Burst, ByKind, Fill, Judge, Limit, Number, Profile, RandomWrite, Stop};
use crate::units::{Share, Size, Span};

/// A parse error for the user: line, key, and the nearest known key where one is unknown.
pub(super) fn explain(text: &str, error: &toml::de::Error) -> String {
    let place = error.span().and_then(|span| {
        let before = text.get(..span.start)?;
        let line = before.bytes().filter(|&b| b == b'\n').count() + 1;
        Some((line, text.get(span)?.to_owned()))
    });
    let message = error.message().trim_end();
    let Some((line, snippet)) = place else { return message.to_owned() };
    if !message.starts_with("unknown field") {
        let snippet = snippet.lines().next().unwrap_or_default().chars().take(60).collect::<String>();
        return format!(
            "line {line}: {message}{}",
            if snippet.is_empty() { String::new() } else { format!(" (at `{snippet}`)") }
        );
    }
    let key = snippet.trim().trim_matches(['"', '\'']);
    let nearest = known_keys()
        .into_iter()
        .max_by(|a, b| strsim::jaro_winkler(a, key).total_cmp(&strsim::jaro_winkler(b, key)).then_with(|| b.cmp(a)));
    let hint = match nearest {
        Some(near) if near == key => "; that key belongs to another table".to_owned(),
        Some(near) if strsim::jaro_winkler(&near, key) > 0.7 => format!("; did you mean `{near}`?"),
        _ => format!("; {}", message.split_once(", ").map_or("", |(_, rest)| rest)),
    };
    format!("line {line}: unknown key `{key}`{hint}")
}

/// Every key that a profile can have, whatever its table.
fn known_keys() -> Vec<String> {
    let share = Some(Share::default());
    let every_kind = ByKind { throughput: share, capacity: share, tail_latency: share };
    let every = serde_json::json!({
        "profile": json(&Profile {
            name: String::new(),
            version: 0,
            description: String::new(),
            reset: Some(String::new()),
            write_budget: Some(Size::default()),
            fill: Some(Fill { size: Some(Size::default()), segments: Some(1), segment: Some(Size::default()),
                burst: vec![Burst { idle: Span::default(), size: Size::default() }], ..Fill::default() }),
            random_write: Some(RandomWrite { least_bytes: Some(Size::default()), most_capacity: Some(Share::default()),
                slice_from: Some(Span::default()), stop: Stop::Steady, ..RandomWrite::default() }),
            judge: Judge {
                gates: Some(Vec::new()),
                tolerance: every_kind.clone(),
                prior_noise: every_kind.clone(),
                unit_spread: every_kind,
            },
            limits: BTreeMap::from([("fill.floor_mb_s".to_owned(), Limit { least: Some(Number(0)), most: Some(Number(0)) })]),
        })
    });
    let mut keys = Vec::new();
    collect_keys(&every["profile"], &mut keys);
    keys.retain(|key| !key.contains('.'));
    keys.sort();
    keys.dedup();
    keys
}

fn collect_keys(value: &serde_json::Value, keys: &mut Vec<String>) {
    match value {
        serde_json::Value::Object(map) => {
            for (key, inner) in map {
                keys.push(key.clone());
                collect_keys(inner, keys);
            }
        }
        serde_json::Value::Array(items) => items.iter().for_each(|item| collect_keys(item, keys)),
        _ => {}
    }
}

fn json<T: Serialize>(value: &T) -> serde_json::Value {
    serde_json::to_value(value).expect("profile tables are plain data")
}
