"""Rows as a page of HTML that needs no other file, in light and in dark."""

from collections.abc import Iterable
from html import escape

from mf_data.preview.samples import Sample, Token
from mf_data.preview.terminal import documents_of

_STYLE = """
:root { color-scheme: light dark; --back: #ffffff; --text: #1f2328; --faint: #6e7781; --line: #d0d7de;
  --counted: #116329; --counted-back: #dafbe1; }
@media (prefers-color-scheme: dark) { :root { --back: #0d1117; --text: #e6edf3; --faint: #8b949e; --line: #30363d;
  --counted: #7ee787; --counted-back: #12361f; } }
body { background: var(--back); color: var(--text); font: 15px/1.6 system-ui, sans-serif; margin: 2rem auto;
  max-width: 60rem; padding: 0 1rem; }
h1 { font-size: 1.3rem; } h2 { font-size: 1rem; margin: 2rem 0 .5rem; }
section { border: 1px solid var(--line); border-radius: 6px; }
p { color: var(--faint); margin: .3rem 0; }
pre { font: 13px/1.6 ui-monospace, monospace; margin: 0; overflow-wrap: anywhere; padding: .7rem;
  white-space: pre-wrap; }
pre + pre { border-top: 2px dashed var(--line); }
span { color: var(--faint); } span.c { background: var(--counted-back); color: var(--counted); }
span:hover { outline: 1px solid var(--text); }
"""


def as_page(title: str, samples: Iterable[Sample]) -> str:
    """A whole page.

    Args:
        title: what the rows are.
        samples: the rows.
    Returns:
        HTML; a token's id is told where the pointer rests on it.
    """
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<meta charset="utf-8">\n<title>{escape(title)}</title>\n'
        '<meta name="viewport" content="width=device-width">\n'
        f"<style>{_STYLE}</style>\n<h1>{escape(title)}</h1>\n"
        '<p><span class="c">green</span> counts in the loss; a dashed line is the border of two documents that do not '
        "see each other.</p>\n" + "".join(_row(sample) for sample in samples) + "</html>\n"
    )


def _row(sample: Sample) -> str:
    documents = "".join(f"<pre>{''.join(map(_token, tokens))}</pre>\n" for tokens in documents_of(sample))
    return f"<h2>{escape(sample.summary)}</h2>\n<section>\n{documents}</section>\n"


def _token(token: Token) -> str:
    mark = ' class="c"' if token.counted else ""
    # A line feed right behind <pre> would be dropped; inside of a span it stays.
    return f'<span{mark} title="{token.token_id}">{escape(token.text)}</span>'
