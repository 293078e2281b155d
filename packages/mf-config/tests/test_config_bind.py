from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import pytest

from mf_config.bind import MISSING, Binding, bind_component, bind_section
from mf_config.components import components
from mf_config.problems import Severity
from mf_config.schema import ComponentOf, key
from mf_config.yaml_reader import read_text


@dataclass(frozen=True, slots=True, kw_only=True)
class Inner:
    size: int = key("Size.", 1, minimum=1)
    rate: float = key("Rate.", 0.5, above=0, maximum=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Paired:
    low: int = key("Low.", 0)
    high: int = key("High.", 1)

    def problems(self) -> Iterator[tuple[str, str, str]]:
        if self.low > self.high:
            yield "low", f"{self.low} is more than high {self.high}", f"up to {self.high}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outer:
    flag: bool = key("Flag.", False)
    count: int = key("Count.", 0, minimum=0)
    share: float = key("Share.", 0.0)
    name: str = key("Name.", "x")
    label: str | None = key("Label.", None)
    mode: Literal[0, "graph", "eager"] = key("Mode.", 0)
    kind: str | None = key("Kind.", None, allowed=("plain", "gated"))
    ends: int | tuple[int, ...] = key("Ends.", 0, minimum=0)
    shares: tuple[float, ...] = key("Shares.", ())
    resume: bool | str = key("Resume.", False)
    inner: Inner = key("Inner.", Inner())
    inners: tuple[Inner, ...] = key("Inners.", ())
    scale: float | Inner = key("Scale.", 1.0, above=0)
    free: Any = key("Free.", None)
    table: dict[str, int] | None = key("Table.", None)
    paired: Paired = key("Paired.", Paired())
    old: int = key("Old.", 0, inert="nobody asks")
    slow: int = key("Slow.", 0, inert_on={"CPU": "it is fast"})
    copy: Any = key("The inner section again.", None, alias_suffix="copy")
    optimizer: Annotated[Any, ComponentOf("optimizer")] | None = key("Optimizer.", None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sized:
    size: str = key("Size.", "")
    width: int = key("Width.", 1)
    depth: int = key("Depth.", 2)

    @classmethod
    def implied(cls, written: dict[str, Any]) -> dict[str, Any]:
        return {"width": 8, "depth": 4} if written.get("size") == "large" else {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Strict:
    path: str = key("Path.")
    inner: Inner = key("Inner.")


def bind(text: str, cls: type = Outer) -> tuple[Any, list[str]]:
    binding = Binding()
    section = bind_section(cls, read_text(text, "run.yaml").root, "", binding)
    return section, [str(problem) for problem in binding.problems]


def mistakes(text: str, cls: type = Outer) -> list[str]:
    _, problems = bind(text, cls)
    assert problems != []
    return problems


def value(text: str) -> Any:
    section, problems = bind(text)
    assert problems == []
    return getattr(section, text.partition(":")[0])


def test_an_empty_section_is_its_defaults() -> None:
    assert bind("") == (Outer(), [])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("flag: on", True),
        ("count: 4_096", 4096),
        ("share: 1e-5", 1e-5),
        ("share: 3", 3.0),
        ("name: 010", "010"),
        ("name: yes", "yes"),
        ("name: 'None'", "None"),
        ("label: a", "a"),
        ("label: None", None),
        ("label: 'None'", None),
        ("label: ''", None),
        ("label:", None),
        ("mode: 0", 0),
        ("mode: '0'", 0),
        ("mode: graph", "graph"),
        ("kind: gated", "gated"),
        ("kind: ~", None),
        ("ends: 2", 2),
        ("ends: [2, 3]", (2, 3)),
        ("shares: []", ()),
        ("shares: [1, 2e-1]", (1.0, 0.2)),
        ("resume: on", True),
        ("resume: step-3", "step-3"),
        ("resume: 1", "1"),
        ("inner: {size: 3}", Inner(size=3)),
        ("inner:", Inner()),
        ("inners: [{size: 3}, {}]", (Inner(size=3), Inner())),
        ("scale: 65536", 65536.0),
        ("scale: {size: 2}", Inner(size=2)),
        ("free: 1e-3", 1e-3),
        ("free: {a: [1, x, ~], b: 'no'}", {"a": (1, "x", None), "b": "no"}),
        ("table: {a: 1, b: 2}", {"a": 1, "b": 2}),
    ],
)
def test_a_value_is_read_by_the_type_of_its_field(text: str, expected: object) -> None:
    found = value(text)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("flag: Flase", "flag: Flase is not a boolean. Allowed: True, False. Did you mean False?"),
        ("flag: 1", "flag: 1 is not a boolean. Allowed: True, False."),
        ("flag:", "flag: has no value. Allowed: True, False."),
        ("count: 1.5", "count: 1.5 is not an integer. Allowed: an integer."),
        ("count: 010", "count: 010 is ambiguous (octal or decimal?). Allowed: an integer. Did you mean 10?"),
        ("count: -1", "count: -1 is out of range. Allowed: from 0."),
        ("count: None", "count: has no value. Allowed: an integer."),
        ("count: [1]", "count: a list is not a value. Allowed: an integer."),
        ("count: {a: 1}", "count: a section is not a value. Allowed: an integer."),
        ("share: .nan", "share: .nan is not a number. Allowed: a number."),
        ("share: fast", "share: fast is not a number. Allowed: a number."),
        ("name:", "name: has no value. Allowed: text."),
        ("name: None", "name: has no value. Allowed: text."),
        ("name: [a]", "name: a list is not a value. Allowed: text."),
        ("mode: grahp", "mode: grahp is not allowed. Allowed: 0, graph, eager. Did you mean graph?"),
        ("mode: 1", "mode: 1 is not allowed. Allowed: 0, graph, eager."),
        ("mode: [0]", "mode: a list is not allowed. Allowed: 0, graph, eager."),
        ("kind: gatd", "kind: gatd is not allowed. Allowed: plain, gated. Did you mean gated?"),
        ("ends: x", "ends: x is not an integer. Allowed: an integer."),
        ("ends: [1, x]", "ends[1]: x is not an integer. Allowed: an integer."),
        ("ends: [1, -2]", "ends[1]: -2 is out of range. Allowed: from 0."),
        ("shares: 3", "shares: 3 is not a list. Allowed: a list."),
        ("inner: 3", "inner: 3 is not a section. Allowed: keys with values."),
        ("inner: ''", "inner: '' is not a section. Allowed: keys with values."),
        ("inner: {size: 0}", "inner.size: 0 is out of range. Allowed: from 1."),
        ("inner: {rate: 0}", "inner.rate: 0 is out of range. Allowed: above 0, up to 1."),
        ("inner: {rate: 1.5}", "inner.rate: 1.5 is out of range. Allowed: above 0, up to 1."),
        ("inner: {sizee: 2}", "inner.sizee: unknown key. Allowed: size, rate. Did you mean size?"),
        ("inners: [{}, {size: x}]", "inners[1].size: x is not an integer. Allowed: an integer."),
        ("scale: 0", "scale: 0 is out of range. Allowed: above 0."),
        ("scale: big", "scale: big is not a number. Allowed: a number."),
        ("scale: {size: x}", "scale.size: x is not an integer. Allowed: an integer."),
        ("table: {a: x}", "table.a: x is not an integer. Allowed: an integer."),
        ("table: [1]", "table: a list is not a section. Allowed: keys with values."),
        ("paired: {low: 3}", "paired.low: 3 is more than high 1. Allowed: up to 1."),
    ],
)
def test_a_wrong_value_is_refused(text: str, message: str) -> None:
    problems = mistakes(text)
    assert problems == [f"run.yaml:1: {message}"]


def test_guesses_are_warned_of() -> None:
    section, problems = bind("flag: 'False'\ncount: 8.0\nshare: '2e-5'\nresume: 'yes'\n")
    assert section == Outer(flag=False, count=8, share=2e-5, resume=True)
    assert problems == [
        "run.yaml:1: flag: warning: the text 'False' is taken as a boolean.",
        "run.yaml:2: count: warning: 8.0 is taken as the integer 8.",
        "run.yaml:3: share: warning: the text '2e-5' is taken as a number.",
        "run.yaml:4: resume: warning: the text 'yes' is taken as a boolean.",
    ]


def test_missing_keys_are_named_at_their_section() -> None:
    assert mistakes("# comment\npth: x\n", Strict) == [
        "run.yaml:2: pth: unknown key. Allowed: path, inner. Did you mean path?",
        "run.yaml:2: inner: is missing. Allowed: a section.",
    ]


def test_a_misspelt_key_is_not_also_missing() -> None:
    assert mistakes("pathh: x\ninner: {}\n", Strict) == [
        "run.yaml:1: pathh: unknown key. Allowed: path, inner. Did you mean path?"
    ]


def test_a_misspelt_section_is_checked_as_the_one_that_was_meant() -> None:
    section, problems = bind("iner: {size: 0, rate: 0.25}\ninners: []\n")
    assert section == Outer(inner=Inner(rate=0.25))
    assert [problem.partition(". ")[0] for problem in problems] == [
        "run.yaml:1: iner: unknown key",
        "run.yaml:1: iner.size: 0 is out of range",
    ]


def test_an_unknown_key_does_not_hide_the_rest_of_its_section() -> None:
    section, problems = bind("count: 3\nbogus: 1\n")
    assert section == Outer(count=3)
    assert [problem.partition(". ")[0] for problem in problems] == ["run.yaml:2: bogus: unknown key"]


def test_every_mistake_of_a_section_is_found() -> None:
    problems = mistakes("flag: x\ncount: y\ninner: {size: z, color: red}\nends: [a, b]\nbogus: 1\n")
    assert [problem.split(": ")[1] for problem in problems] == [
        "flag",
        "count",
        "inner.size",
        "inner.color",
        "ends[0]",
        "ends[1]",
        "bogus",
    ]


def test_what_can_be_read_is_kept_beside_mistakes() -> None:
    assert bind("count: y\nname: z\ninner: {size: x, rate: 0.25}\n")[0] == Outer(name="z", inner=Inner(rate=0.25))
    assert bind("path: [a]\ninner: {}\n", Strict)[0] is MISSING


def test_a_repeated_section_is_not_read() -> None:
    binding = Binding()
    section = bind_section(Outer, read_text("inner: &i {size: 2}\ncopy: {anything: [goes]}\n", "f").root, "", binding)
    assert section == Outer(inner=Inner(size=2))
    assert binding.repeats == {"copy": ""}


def test_places_of_all_keys_are_kept() -> None:
    binding = Binding()
    bind_section(Outer, read_text("count: 1\ninner:\n  size: 2\nscale:\n  size: 3\n", "f").root, "", binding)
    assert {path: place.line for path, place in binding.places.items()} == {
        "count": 1,
        "inner": 3,
        "inner.size": 3,
        "scale": 5,
        "scale.size": 5,
    }


def test_a_component_is_chosen_by_type(toys: None) -> None:
    section, problems = bind("optimizer: {type: toy_adam, betas: [0.9, 0.95]}\n")
    assert problems == []
    assert type(section.optimizer).__name__ == "ToyAdam"
    assert section.optimizer.betas == (0.9, 0.95)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{type: ToyAdm}", "optimizer.type: no optimizer is named ToyAdm. Allowed: {all}. Did you mean ToyAdam?"),
        ("{type: [a]}", "optimizer.type: no optimizer is named a list. Allowed: {all}."),
        ("{learning_rate: 1}", "optimizer.type: is missing. Allowed: {all}."),
        ("ToyAdam", "optimizer: ToyAdam is not a section. Allowed: keys with values."),
        ("[ToyAdam]", "optimizer: a list is not a section. Allowed: keys with values."),
        (
            "{type: ToyAdam, learning_rat: 1}",
            "optimizer.learning_rat: unknown key. Allowed: type, learning_rate, betas. Did you mean learning_rate?",
        ),
    ],
)
def test_a_wrong_component_is_refused(toys: None, text: str, message: str) -> None:
    expected = message.replace("{all}", "ToyAdam, ToySgd, toy_adam")
    assert mistakes(f"optimizer: {text}\n") == [f"run.yaml:1: {expected}"]


def test_a_component_may_be_chosen_by_another_key(toys: None) -> None:
    asked = ComponentOf("optimizer", "name")
    node = read_text("{name: ToySgd, momentum: 0.5}", "run.yaml").root
    assert bind_component(asked, node, "o", Binding()).momentum == 0.5
    binding = Binding()
    bind_component(asked, read_text("{type: ToySgd}", "run.yaml").root, "o", binding)
    assert [str(problem) for problem in binding.problems] == [
        "run.yaml:1: o.name: is missing. Allowed: ToyAdam, ToySgd, toy_adam."
    ]


def test_a_section_of_one_component_alone_is_not_for_another(toys: None) -> None:
    sgd = components("optimizer")["ToySgd"]
    binding = Binding()
    bind_section(sgd, read_text("{type: ToyAdam}", "run.yaml").root, "o", binding)
    assert [str(problem) for problem in binding.problems] == [
        "run.yaml:1: o.type: ToyAdam is not allowed. Allowed: ToySgd."
    ]
    assert bind_section(sgd, read_text("{type: ToySgd, momentum: 1}", "f").root, "o", Binding()).momentum == 1


def test_a_section_that_names_no_component_may_have_one_anyway(toys: None) -> None:
    asked = ComponentOf("optimizer", otherwise="ToySgd")
    node = read_text("{momentum: 0.5}", "run.yaml").root
    assert type(bind_component(asked, node, "o", Binding())).__name__ == "ToySgd"


def test_what_is_written_knows_its_default_and_its_component(toys: None) -> None:
    binding = Binding()
    bind_section(Outer, read_text("count: 1\noptimizer: {type: toy_adam}\n", "f").root, "", binding)
    written = binding.written
    assert (written["count"].value, written["count"].default, written["count"].text) == (1, Outer().count, "1")
    component = written["optimizer"].component
    assert component is not None and component.names == ("ToyAdam", "toy_adam")


def test_a_component_of_no_installed_package_is_left_unchecked(install: Any) -> None:
    install()
    section, problems = bind("optimizer: {type: AdamW, eps: x}\n")
    assert section == Outer()
    expected = "run.yaml:1: optimizer: warning: is not checked: no installed package declares any optimizer."
    assert problems == [expected]


def test_the_binder_asks_where_a_key_belongs() -> None:
    asked: list[tuple[str, str]] = []

    def elsewhere(name: str, path: str) -> str:
        asked.append((name, path))
        return "outer.colour"

    binding = Binding(elsewhere=elsewhere)
    bind_section(Outer, read_text("inner: {colour: red, sizze: 1}\n", "run.yaml").root, "", binding)
    assert asked == [("colour", "inner")]
    assert [problem.suggestion for problem in binding.problems] == ["outer.colour", "size"]
    assert {problem.severity for problem in binding.problems} == {Severity.ERROR}


def test_what_is_not_written_may_follow_from_what_is():
    assert bind("size: large\nwidth: 5\n", Sized) == (Sized(size="large", width=5, depth=4), [])
    assert bind("size: small\nwidth: 5\n", Sized) == (Sized(size="small", width=5), [])
