"""Chat templates: conversations as text, written by the Jinja templates that come with models."""

from mf_data.chat.template import ChatTemplate

__all__ = ["ChatTemplate"]
