//! Text in HTML and in scripts.

use fairground_stdx::outside::is_steering;

/// Text that stands in HTML, between tags or in a quoted attribute. What would turn the direction of text, and control characters, stand as escapes.
pub(crate) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            c if is_steering(c) && c != '\n' && c != '\t' => safe.extend(c.escape_default()),
            c => safe.push(c),
        }
    }
    safe
}

/// JSON that stands in a `<script>`: nothing in it can end the element.
pub(super) fn json_in_script(value: &serde_json::Value) -> String {
    value.to_string().replace('<', "\\u003c").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_becomes_markup() {
        assert_eq!(escaped("<b a=\"1\">&'\u{7}"), "&lt;b a=&quot;1&quot;&gt;&amp;&#39;\\u{7}");
        let text = json_in_script(&serde_json::json!({ "name": "</script><script>" }));
        assert!(!text.contains('<'));
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap()["name"], "</script><script>");
    }
}
