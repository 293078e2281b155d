"""The commands and their options; the module that does the work of one is imported when it runs."""

from argparse import ArgumentParser

from mf_config.command_line import Command, run_of

_PATH = (
    "a checkpoint folder of mf, Hugging Face or MindSpore form, a .safetensors, .ckpt or .gguf file, "
    "or a run's output_dir (its newest checkpoint)"
)


def _add_inspect_options(parser: ArgumentParser) -> None:
    parser.add_argument("path", metavar="PATH", help=_PATH)
    parser.add_argument(
        "--match", metavar="GLOB", default="*", help="list only tensors of such names: '*.q_proj.weight'"
    )
    _add_strategy_option(parser)
    _add_json_option(parser)


def _add_verify_options(parser: ArgumentParser) -> None:
    parser.add_argument("path", metavar="PATH", help=_PATH)
    _add_strategy_option(parser)
    _add_json_option(parser)


def _add_diff_options(parser: ArgumentParser) -> None:
    parser.add_argument("first", metavar="A", help=_PATH)
    parser.add_argument("second", metavar="B", help="another one; how they are cut or stored makes no difference")
    _add_json_option(parser)


def _add_convert_options(parser: ArgumentParser) -> None:
    parser.add_argument("source", metavar="SRC", help=_PATH)
    parser.add_argument("destination", metavar="DST", help="the new folder; a .ckpt file for --to mindspore")
    parser.add_argument("--to", required=True, choices=("hf", "mf", "mindspore"), help="form of the new checkpoint")
    parser.add_argument(
        "--dtype", type=str.upper, choices=("F32", "F16", "BF16"), help="type of all float weights; unchanged without"
    )
    parser.add_argument(
        "--config", metavar="FILE", help="config.json of the model in Hugging Face form, where SRC has none"
    )
    _add_strategy_option(parser)
    _add_json_option(parser)


def _add_reshard_options(parser: ArgumentParser) -> None:
    parser.add_argument("source", metavar="SRC", help=_PATH)
    parser.add_argument("destination", metavar="DST", help="the new checkpoint's folder")
    parser.add_argument(
        "--mesh", required=True, help="ranks along each axis, such as tp=4,pp=2; tp=1 for whole tensors"
    )
    parser.add_argument(
        "--rules",
        metavar="FILE",
        help="TOML file with a table [[rule]] for each kind of tensor; without, the model family's rules or those of "
        "SRC's layout.json are taken",
    )
    parser.add_argument("--shard-optimizer", action="store_true", help="divide optimizer state over dp too (ZeRO)")
    parser.add_argument(
        "--allow-uneven", action="store_true", help="first ranks get more where a weight can't be divided equally"
    )
    _add_json_option(parser)


def _add_merge_lora_options(parser: ArgumentParser) -> None:
    parser.add_argument("base", metavar="BASE", help=_PATH)
    parser.add_argument("adapter", metavar="ADAPTER", help="folder of a Hugging Face PEFT adapter")
    parser.add_argument("destination", metavar="DST", help="the new checkpoint's folder")
    _add_json_option(parser)


def _add_json_option(parser: ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON")


def _add_strategy_option(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--strategy",
        metavar="PATH",
        help="strategy file, or folder of them, of rank_N folders; without it, the folder strategy beside them",
    )


COMMANDS = (
    Command("inspect", "List tensors, types, shapes and sizes.", _add_inspect_options, run_of("mf_ckpt.cli.inspect")),
    Command(
        "verify",
        "Check every file of a checkpoint; exit status 1 where a fault is found.",
        _add_verify_options,
        run_of("mf_ckpt.cli.verify"),
    ),
    Command(
        "diff",
        "Compare two checkpoints, tensor by tensor; exit status 1 where they differ.",
        _add_diff_options,
        run_of("mf_ckpt.cli.diff"),
    ),
    Command(
        "convert",
        "Write a checkpoint in the form of mf, Hugging Face or MindSpore.",
        _add_convert_options,
        run_of("mf_ckpt.cli.convert"),
    ),
    Command(
        "reshard",
        "Cut a checkpoint for another mesh, or put it together.",
        _add_reshard_options,
        run_of("mf_ckpt.cli.reshard"),
    ),
    Command(
        "merge-lora", "Merge a LoRA adapter into its base.", _add_merge_lora_options, run_of("mf_ckpt.cli.merge_lora")
    ),
)
