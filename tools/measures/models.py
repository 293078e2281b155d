"""Model code: it says nothing of how it is spread over processes."""

import re

from measures.source import Measure, Repository

MODEL_CODE = re.compile(r"mf_models/(layers/.+|families/[^/]+/model)\.py$")
SPREADING = re.compile(r"mesh|shard|all_?(reduce|gather)|reduce_scatter|world_size|get_rank|parallel", re.IGNORECASE)


def parallel_words(repository: Repository) -> Measure:
    """Criterion 7: lines of layers and of families' `model.py` that speak of meshes, shards, ranks or collectives."""
    found = [
        (f"{source.path}:{number} {line.strip()}", line.lstrip().startswith("#"))
        for source in repository.modules
        if MODEL_CODE.search(source.path.as_posix())
        for number, line in enumerate(source.lines, 1)
        if SPREADING.search(line)
    ]
    offenders = tuple(place for place, _ in found)
    comments_only = all(comment for _, comment in found)
    points = 2 if not found else 1 if comments_only and len(found) <= 3 else 0
    return Measure(7, "model code is local", f"{len(found)} parallel words", points, offenders, offenders)
