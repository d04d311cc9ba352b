//! Converts Markdown to safe HTML.

use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, html};

/// Converts `text` to HTML. HTML in the text is escaped, and links can only lead to the web or to mail addresses.
pub(super) fn to_html(text: &str) -> String {
    let parser = Parser::new_ext(text, Options::ENABLE_TABLES | Options::ENABLE_SMART_PUNCTUATION);
    let mut page = String::new();
    html::push_html(&mut page, parser.map(tamed));
    page
}

fn tamed(event: Event<'_>) -> Event<'_> {
    match event {
        Event::Html(text) | Event::InlineHtml(text) => Event::Text(text),
        Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
            Event::Start(Tag::Link { link_type, dest_url: checked(dest_url), title, id })
        }
        Event::Start(Tag::Image { link_type, title, id, .. }) => {
            Event::Start(Tag::Link { link_type, dest_url: "#".into(), title, id })
        }
        Event::End(pulldown_cmark::TagEnd::Image) => Event::End(pulldown_cmark::TagEnd::Link),
        other => other,
    }
}

fn checked(url: CowStr<'_>) -> CowStr<'_> {
    if ["http://", "https://", "mailto:", "#"].iter().any(|start| url.starts_with(start)) { url } else { "#".into() }
}

#[cfg(test)]
mod tests {
    use super::to_html;

    #[test]
    fn html_is_shown_not_run() {
        let page = to_html("a <script>alert(1)</script> **b**\n\n<img src=x onerror=alert(1)>");
        assert!(page.contains("&lt;script&gt;") && page.contains("<strong>b</strong>"), "{page}");
        assert!(!page.contains("<script") && !page.contains("<img"), "{page}");
    }

    #[test]
    fn links_lead_to_the_web_and_images_are_not_loaded() {
        let page = to_html("[a](javascript:alert(1)) [b](https://example.org) ![c](https://example.org/c.png)");
        assert!(!page.contains("javascript") && !page.contains("<img"), "{page}");
        assert!(page.contains("href=\"https://example.org\""), "{page}");
    }
}
