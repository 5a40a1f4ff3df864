//! Table 6.3: definitions as text, tokens and compressed text.

use hemiola_report::text::percent;
use hemiola_world_lang::wire::{compress, expand, lengths, tokens, untokenise};

use super::page::Page;
use super::timing::{Scale, each, shown};
use super::worlds::{example, sources};

/// The largest share of a text that is sent: the goal of the design, which rests on a dictionary that both ends know.
const SENT_MAX: f64 = 0.38;

pub(crate) fn table_3(scale: Scale, page: &mut Page) {
    for name in ["ts.uml", "base.uml"] {
        let text = example(name);
        let sources = sources(&text);
        let source = &sources.files()[0];
        let found = lengths(source);
        let of_text = |len: usize| format!("{len} B ({})", percent(len as f64 / found.text as f64));
        page.row(format!("{name}, text"), format!("{} B", found.text));
        page.row(format!("{name}, compressed"), of_text(found.packed));
        page.row(format!("{name}, tokens"), of_text(found.tokens));
        page.row(format!("{name}, tokens compressed"), of_text(found.packed_tokens));
        page.row(format!("{name}, compressed with a dictionary"), of_text(found.sent));
        let times = [
            ("compress", each(scale, 5, || drop(compress(&text)))),
            ("make tokens", each(scale, 5, || drop(tokens(source)))),
        ];
        for (what, nanos) in times {
            page.row(format!("{name}, time to {what}"), shown(nanos));
        }
        let is_same = expand(&compress(&text)).as_deref() == Ok(text.as_str());
        page.law(format!("{name}: the compressed text expands to the same text"), is_same);
        let again = untokenise(&tokens(source)).expect("they are tokens");
        let same_tokens = tokens(&super::worlds::sources(&again).files()[0]) == tokens(source);
        page.law(format!("{name}: the text of the tokens has the same tokens"), same_tokens);
        page.law(
            format!("{name}: tokens compressed < compressed < text, and tokens < text"),
            found.packed_tokens < found.packed
                && found.packed < found.text
                && found.tokens < found.text,
        );
        page.law(
            format!("{name}: a text with a dictionary takes at most {} of it", percent(SENT_MAX)),
            found.sent as f64 <= SENT_MAX * found.text as f64,
        );
    }
}
