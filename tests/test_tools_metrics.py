"""Each measure flags what it is there to flag, in small trees made for it, and lets the neighbouring good case pass."""

import json

import pytest

from measures import conduct, configuration, documentation, imports, models, sizes
from measures.source import read_repository
from metrics import main

CONTRACTS = """
[importlinter:contract:host-packages]
source_modules =
    mf_a
[importlinter:contract:host-modules]
source_modules =
    mf_b.families.*.config
"""


@pytest.fixture
def tree(tmp_path):
    """Writes and parses files: `a/one.py` is module mf_a.one of package mf-a, `a:test_one.py` is one of its tests."""

    def write(files):
        for name, text in files.items():
            owner, _, test = name.partition(":")
            package = tmp_path / "packages" / f"mf-{(owner or name).partition('/')[0]}"
            inside = owner.partition("/")[2]
            path = package / "tests" / test if test else package / "src" / f"mf_{owner.partition('/')[0]}" / inside
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        (tmp_path / ".importlinter").write_text(CONTRACTS)
        return read_repository(tmp_path)

    return write


def body(lines, indent="    "):
    """Distinct statements, so that they count as no repetition."""
    return "".join(f"{indent}x{number} = {number}\n" for number in range(lines))


class TestImports:
    def test_a_ring_over_three_modules_is_one_cycle(self, tree):
        files = {
            "a/one.py": "from mf_a.two import x\n",
            "a/two.py": "import mf_a.three\n",
            "a/three.py": "from mf_a import one\n",
            "a/four.py": "from mf_a import one\n",
        }
        measure = imports.cycles(tree(files))

        assert measure.violations == ("import cycle: mf_a.one mf_a.three mf_a.two",)
        assert measure.points == 0

    def test_a_relative_import_counts(self, tree):
        files = {"a/sub/one.py": "from . import two\n", "a/sub/two.py": "from ..sub.one import x\n"}

        assert imports.cycles(tree(files)).violations == ("import cycle: mf_a.sub.one mf_a.sub.two",)

    def test_two_rings_are_told_apart(self):
        graph = {"a": {"b"}, "b": {"a", "c"}, "c": {"d"}, "d": {"c"}, "e": {"a"}}

        assert sorted(map(sorted, imports.find_rings(graph))) == [["a", "b"], ["c", "d"]]

    def test_imports_for_type_checkers_make_no_cycle(self, tree):
        hidden = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from mf_a.two import x\n"

        assert imports.cycles(tree({"a/one.py": hidden, "a/two.py": "import mf_a.one\n"})).points == 2

    def test_more_than_three_imports_in_functions_cost_a_point(self, tree):
        files = {f"a/m{n}.py": "def f() -> None:\n    import json\n" for n in range(4)}
        measure = imports.cycles(tree(files))

        assert (measure.points, len(measure.offenders), measure.violations) == (1, 4, ())

    def test_mindspore_is_found_along_a_chain(self, tree):
        files = {
            "a/one.py": "from mf_b.two import x\n",
            "b/__init__.py": "",
            "b/two.py": "try:\n    import mindspore.ops as ops\nexcept ImportError:\n    raise\n",
        }
        measure = imports.host_only(tree(files))

        assert measure.violations == (
            "packages/mf-a/src/mf_a/one.py reaches mindspore: mf_a.one -> mf_b.two -> mindspore",
        )

    def test_mindspore_in_a_parent_package_is_reached_too(self, tree):
        files = {"b/families/__init__.py": "import mindspore\n", "b/families/llama/config.py": ""}

        assert "mf_b.families -> mindspore" in imports.host_only(tree(files)).violations[0]

    def test_an_import_at_call_time_and_an_unlisted_module_are_free(self, tree):
        files = {
            "a/one.py": "def f() -> None:\n    import mindspore\n",
            "b/families/llama/model.py": "import mindspore\n",
            "b/families/llama/config.py": "",
        }
        measure = imports.host_only(tree(files))

        assert measure.value == "0 of 2 modules reach mindspore"

    @pytest.mark.parametrize(
        "line", ["from mf_a._hidden import x", "from mf_a.one import _x", "from ._hidden import x"]
    )
    def test_private_names_are_flagged(self, tree, line):
        assert len(imports.private_imports(tree({"b/two.py": f"{line}\n"})).violations) == 1

    @pytest.mark.parametrize("line", ["from mf_a import __version__", "from other import _x", "from mf_a.one import x"])
    def test_public_and_foreign_names_are_free(self, tree, line):
        assert imports.private_imports(tree({"b/two.py": f"{line}\n"})).points == 2


class TestSizes:
    @pytest.mark.parametrize(("lines", "points", "violations"), [(100, 2, 0), (401, 1, 1), (501, 0, 1), (20, 1, 0)])
    def test_file_size(self, tree, lines, points, violations):
        measure = sizes.file_sizes(tree({"a/one.py": body(lines, ""), "a/__init__.py": ""}))

        assert (measure.points, len(measure.violations)) == (points, violations)

    def test_a_function_of_sixty_lines_passes_and_one_more_does_not(self, tree):
        files = {"a/one.py": "def fits() -> None:\n" + body(59) + "def long() -> None:\n" + body(60)}

        assert sizes.function_sizes(tree(files)).violations == ("packages/mf-a/src/mf_a/one.py:61 long has 61 lines",)

    def test_mean_length_costs_points(self, tree):
        measure = sizes.function_sizes(tree({"a/one.py": "def f() -> None:\n" + body(15)}))

        assert (measure.points, measure.violations) == (1, ())

    def test_eight_parameters_are_too_many_but_self_is_none(self, tree):
        seven = "a, b, c, d, *, e, f, g"
        text = f"class C:\n    def fits(self, {seven}): ...\n    def long(self, {seven}, h): ...\n"
        measure = sizes.parameter_counts(tree({"a/one.py": text}))

        assert measure.offenders == ("packages/mf-a/src/mf_a/one.py:3 long takes 8 parameters",)

    def test_ten_equal_lines_are_a_repetition_and_nine_are_not(self, tree):
        ten, nine = body(10, ""), body(9, "")

        assert sizes.duplication(tree({"a/one.py": ten, "b/two.py": ten + "y = 0\n"})).value == "95.2% of lines"
        assert sizes.duplication(tree({"a/one.py": nine, "b/two.py": nine + "y = 0\n"})).points == 2

    def test_imports_comments_and_blank_lines_do_not_repeat(self, tree):
        text = "from x import (\n" + "".join(f"    y{n},\n" for n in range(9)) + ")\n" + "# why\n\n" * 10

        assert sizes.duplication(tree({"a/one.py": text, "b/two.py": text})).value == "0.0% of lines"

    def test_a_family_named_outside_its_folder_costs_points(self, tree):
        files = {"b/families/llama/config.py": "", "b/families/llama/model.py": "x = 1\n"}
        named = {f"b/m{n}.py": "import mf_b.families.llama.model\n" for n in range(2)}

        assert sizes.family_cost(tree(files)).points == 2
        assert sizes.family_cost(tree(files | named)).points == 1

    def test_a_long_model_file_costs_points(self, tree):
        files = {"b/families/llama/config.py": "", "b/families/llama/model.py": body(121, "")}

        assert sizes.family_cost(tree(files)).offenders == ("mf_b.families.llama.model has 121 lines",)


class TestDocumentation:
    def test_public_names_need_docstrings_and_private_ones_do_not(self, tree):
        text = '"""M."""\n\ndef f():\n    def inner(): ...\n\nclass C:\n    def m(self): ...\n    def _p(self): ...\n'
        measure = documentation.docstrings(tree({"a/one.py": text}))

        assert [offender.split(" ", 1)[1] for offender in measure.offenders] == [
            "f has no docstring",
            "C has no docstring",
            "m has no docstring",
        ]

    @pytest.mark.parametrize(
        ("signature", "doc", "named"),
        [
            ("construct(self, x)", "Apply it.", False),
            ("f(x_BTD)", "Apply it.", False),
            ("f(x: Tensor)", "Apply it.", False),
            ("f(x: ms.Tensor | None)", "Apply it.", False),
            ("construct(self, x)", "Apply to [batch, tokens].", True),
            ("f(x: Tensor)", "Same shape as x.", True),
            ("f(y_BTD)", "Negates y_BTD.", True),
            ("f(x: int)", "Apply it.", True),
        ],
    )
    def test_tensor_functions_name_a_shape(self, tree, signature, doc, named):
        text = f'"""M."""\n\ndef {signature}:\n    """{doc}"""\n'

        assert (documentation.docstrings(tree({"a/one.py": text})).points == 2) is named


class TestConfiguration:
    def section(self, declaration, method="problems"):
        return f"class Section:\n    {declaration}\n    def {method}(self) -> bool:\n        return self.seed > 0\n"

    def test_a_key_read_only_by_the_checks_of_its_own_class_is_unread(self, tree):
        files = {"a/one.py": self.section('seed: int = key("random seed", 1)'), "a/two.py": "def f(s): s.seed = 1\n"}

        assert configuration.unread_keys(tree(files)).violations == (
            "packages/mf-a/src/mf_a/one.py:2 nothing reads Section.seed",
        )

    def test_a_reader_anywhere_else_is_enough(self, tree):
        files = {"a/one.py": self.section('seed: int = schema.key("seed", 1)'), "b/two.py": "def f(s): return s.seed\n"}

        assert configuration.unread_keys(tree(files)).value == "0 of 1 unread"

    def test_a_component_reads_its_own_keys_where_it_acts(self, tree):
        files = {"a/one.py": self.section('seed: int = key("seed", 1)', method="update")}

        assert configuration.unread_keys(tree(files)).points == 2

    @pytest.mark.parametrize(
        "declared",
        ['inert="kept for old files"', 'pending="not built"', 'alias_suffix="_task"', "allowed=(None,)"],
    )
    def test_a_key_that_says_why_it_is_not_read_is_free(self, tree, declared):
        assert (
            configuration.unread_keys(tree({"a/one.py": self.section(f'seed: int = key("s", 1, {declared})')})).points
            == 2
        )

    @pytest.mark.parametrize(
        ("decorator", "used", "value"),
        [
            ('@component("optimizer", "Section", pending="not built")', "", "0 of 0 unread"),
            ('@component("optimizer", "Section")', "", "1 of 1 unread"),
            ("", 'part: Section = key("part", Section(), inert="kept for old files")', "0 of 0 unread"),
            ("", 'part: Section = key("part", Section())', "2 of 2 unread"),
        ],
    )
    def test_a_section_may_say_why_for_all_its_keys(self, tree, decorator, used, value):
        section = decorator + "\n" + self.section('seed: int = key("s", 1)')
        whole = f"class Whole:\n    {used or 'pass'}\n"

        assert configuration.unread_keys(tree({"a/one.py": section, "a/two.py": whole})).value == value

    def test_keys_inherited_by_such_sections_alone_are_free(self, tree):
        heir = '@component("optimizer", "Later", pending="not built")\nclass Later(Section):\n    pass\n'
        files = {"a/one.py": self.section('seed: int = key("s", 1)'), "a/two.py": heir}

        assert configuration.unread_keys(tree(files)).value == "0 of 0 unread"

    @pytest.mark.parametrize(("reason", "value"), [('inert="kept"', "0 of 0 unread"), ("minimum=0", "2 of 2 unread")])
    def test_a_key_under_a_switch_without_effect_is_free(self, tree, reason, value):
        fields = f'log: int = key("l", 0, {reason})\n    every: int = key("e", 1, needs="log")'

        assert configuration.unread_keys(tree({"a/one.py": f"class Section:\n    {fields}\n"})).value == value

    def test_a_key_may_be_read_by_its_name(self, tree):
        files = {
            "a/one.py": self.section('seed: int = key("s", 1)'),
            "a/two.py": 'def f(s): return getattr(s, "seed", 0)\n',
        }

        assert configuration.unread_keys(tree(files)).value == "0 of 1 unread"

    def test_inert_on_one_device_still_needs_a_reader(self, tree):
        declaration = 'seed: int = key("s", 1, inert_on={"CPU": "why"})'

        assert configuration.unread_keys(tree({"a/one.py": self.section(declaration)})).points == 1

    def test_yaml_belongs_to_mf_config(self, tree):
        files = {"config/read.py": "import yaml\n", "a/one.py": "from yaml import safe_load\n"}

        assert configuration.config_systems(tree(files)).offenders == (
            "packages/mf-a/src/mf_a/one.py:1 reads YAML itself",
        )

    def test_a_configuration_passed_as_a_dict_costs_a_point(self, tree):
        files = {"a/one.py": "def build(config: dict[str, int]) -> None: ...\n"}

        assert configuration.config_systems(tree(files)).points == 1


class TestConduct:
    @pytest.mark.parametrize(
        ("text", "looked"),
        [
            ("with pytest.raises(ValueError): f()", False),
            ("with pytest.raises(ValueError) as caught: f()", False),
            ("with pytest.raises(ValueError, match='no'): f()", True),
            ("with pytest.raises(ValueError) as caught: f()\nassert str(caught.value) == 'no'", True),
        ],
    )
    def test_raises_must_look_at_the_message(self, tree, text, looked):
        assert (conduct.error_checks(tree({"a:test_one.py": f"{text}\n"})).points == 2) is looked

    @pytest.mark.parametrize(
        "text",
        [
            "def f(x) -> None: ...",
            "def f(x: int): ...",
            "def f(*args) -> None: ...",
            "x = 1  # type: ignore",
            "x = 1  # noqa: E501",
            "try:\n    x = 1\nexcept (OSError, Exception):\n    raise",
            "try:\n    x = 1\nexcept:\n    raise",
            "def f() -> None:\n    global x",
            "print(1)",
        ],
    )
    def test_carelessness_is_flagged(self, tree, text):
        measure = conduct.typing_and_suppressions(tree({"a/one.py": f"{text}\n"}))

        assert len(measure.offenders) == 1
        assert measure.points < 2

    @pytest.mark.parametrize("path", ["a/cli.py", "a/cli/run.py", "a/commands/run.py", "a/command_line.py"])
    def test_command_lines_print(self, tree, path):
        assert conduct.typing_and_suppressions(tree({path: "print(1)\n"})).points == 2

    def test_typed_code_passes(self, tree):
        text = "class C:\n    def __init__(self, x: int): ...\n    def m(self, *a: int, **k: int) -> None: ...\n"

        assert conduct.typing_and_suppressions(tree({"a/one.py": text})).points == 2

    @pytest.mark.parametrize(("lines", "points"), [(3, 0), (4, 1), (6, 2), (13, 2), (14, 1)])
    def test_ratio(self, tree, lines, points):
        assert (
            conduct.tests_per_source(tree({"a/one.py": body(10, ""), "a:test_one.py": body(lines, "")})).points
            == points
        )


class TestModels:
    @pytest.mark.parametrize("path", ["models/layers/mlp.py", "models/families/llama/model.py"])
    def test_model_code_that_speaks_of_ranks_is_flagged(self, tree, path):
        assert len(models.parallel_words(tree({path: "rank = get_rank()\n# AllReduce\nx = 1\n"})).violations) == 2

    def test_tables_beside_the_model_may(self, tree):
        assert models.parallel_words(tree({"models/families/llama/sharding.py": "mesh = 1\n"})).points == 2


class TestCommandLine:
    def test_check_fails_on_a_violation_only(self, tree, tmp_path, capsys):
        tree({"a/one.py": "def f(x): ...\n"})
        assert main([str(tmp_path), "--check"]) == 0

        tree({"a/two.py": "from mf_b import _x\n"})
        assert main([str(tmp_path), "--check"]) == 1
        assert "two.py:1 takes a private name from mf_b" in capsys.readouterr().out

    def test_without_check_violations_are_only_shown(self, tree, tmp_path, capsys):
        tree({"a/two.py": "from mf_b import _x\n"})

        assert main([str(tmp_path)]) == 0
        assert "0 private imports" not in capsys.readouterr().out

    def test_json_holds_the_fifteen_criteria_in_order(self, tree, tmp_path, capsys):
        tree({"a/one.py": ""})
        main([str(tmp_path), "--json"])

        assert [measure["number"] for measure in json.loads(capsys.readouterr().out)] == list(range(1, 16))
