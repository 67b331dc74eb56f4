//! Parse errors of a drive's file for the user: line, key, and the nearest known key where one is unknown.

/// A parse error in words.
pub(super) fn explain(text: &str, error: &toml::de::Error) -> String {
    let message = error.message().trim_end();
    let line = error.span().and_then(|span| text.get(..span.start)).map(|before| before.matches('\n').count() + 1);
    let place = line.map_or(String::new(), |line| format!("line {line}: "));
    // serde says: unknown field `a`, expected one of `b`, `c`.
    let mut quoted = message.split('`').skip(1).step_by(2);
    let unknown = quoted.next().filter(|_| message.starts_with("unknown"));
    let near = unknown.and_then(|key| nearest(key, quoted));
    let hint = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
    format!("{place}{message}{hint}")
}

/// The known word that `word` was probably meant to be.
pub(super) fn nearest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let scored = known.map(|near| (strsim::jaro_winkler(near, word), near));
    scored.filter(|(score, _)| *score > 0.75).max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, near)| near)
}
