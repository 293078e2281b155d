"""The option `--handler` of commands that read records."""

from collections.abc import Callable

from mf_config.components import components
from mf_config.problems import UserError, name_values
from mf_config.suggest import nearest
from mf_data.texts.conversations import Conversation
from mf_data.texts.records import Record


def handler_named(name: str) -> Callable[[Record], Conversation]:
    """What turns a record into a conversation.

    Args:
        name: the type of a data handler, which is used with its default keys.
    Raises:
        UserError: there is no such handler, or it makes no conversations.
    """
    known = components("data_handler")
    if name not in known:
        near = nearest(name, known)
        hint = f" Did you mean {near}?" if near else ""
        raise UserError(f"--handler: no data handler is named {name}. Allowed: {name_values(known)}.{hint}")
    section = known[name]()
    if not hasattr(section, "conversation"):
        raise UserError(f"--handler: {name} makes no conversations. Allowed: another data handler.")
    convert: Callable[[Record], Conversation] = section.conversation
    return convert
