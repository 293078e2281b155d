"""The merge key of YAML: `<<: *defaults` gives a section the keys that it lacks."""

from mf_config.nodes import Mapping, Node, Sequence, describe_node, describe_place, join_path, same_value
from mf_config.problems import Location, Problem

MERGE_KEY = "<<"


def apply_merge_key(own: Mapping, value: Node, place: Location, path: str) -> list[Problem]:
    """Add to a section the keys that it lacks; what is written beside the merge key wins.

    Args:
        own: the section; its entries grow.
        value: of the merge key: a section or a list of them.
        place: of the merge key.
        path: dotted path of the section.
    Returns:
        A problem for each value that is no section, and for each key about which several sections disagree: which of
        them should win is nobody's guess.
    """
    problems = []
    written = frozenset(own.entries)
    for section in value.items if isinstance(value, Sequence) else (value,):
        if not isinstance(section, Mapping):
            # An alias stands below its anchor, so a value further up came by an alias.
            origin = f" from {describe_place(section.location)}," if section.location < place else ""
            what = f"{describe_node(section)}{origin} can't be merged"
            allowed = "an alias of a section, or a list of them"
            problems.append(Problem(place, join_path(path, MERGE_KEY), what, allowed))
            continue
        for name, again in section.entries.items():
            first = own.entries.setdefault(name, again)
            where = own.key_locations.setdefault(name, section.key_locations[name])
            if name not in written and not same_value(first, again):
                there, here = describe_place(where), describe_place(section.key_locations[name])
                what = f"merged sections disagree: {describe_node(first)} at {there}, {describe_node(again)} at {here}"
                problems.append(Problem(place, join_path(path, name), what, "one value, or the key beside <<"))
    return problems
