//! stub
use super::Report;
/// stub
pub fn render(_: &Report) -> Result<String, String> {
    Ok(String::new())
}
