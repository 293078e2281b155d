"""The process that `mf_parallel.simulation.simulate` starts: reads a request, calls the function, writes the answer."""

import json
import os
import sys
import traceback
from importlib import import_module
from pathlib import Path
from typing import Any

import mindspore as ms
from mindspore.communication import init


def main() -> None:
    """Serve the one request on standard input; never returns."""
    request = json.load(sys.stdin)
    answer = _answer(request)
    unfinished = Path(request["answer"] + ".part")
    unfinished.write_text(json.dumps(answer), encoding="utf-8")
    unfinished.rename(request["answer"])
    sys.stdout.flush()
    sys.stderr.flush()
    # The plugin's handlers at exit call into CANN and abort.
    os._exit(0)


def _answer(request: dict[str, Any]) -> dict[str, Any]:
    try:
        ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend")
        if int(os.environ["RANK_SIZE"]) > 1:
            init()
        module, _, name = request["function"].partition(":")
        return {"result": getattr(import_module(module), name)(**request["arguments"])}
    except Exception as error:  # whatever it is belongs to the process that asked
        traceback.print_exc()
        # MindSpore adds the call stack of its C++ code as further paragraphs.
        said = str(error).strip().partition("\n\n")[0]
        return {"error": f"{type(error).__name__}: {said}"}


if __name__ == "__main__":
    main()
