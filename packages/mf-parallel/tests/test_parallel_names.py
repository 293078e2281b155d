"""Many names as one text."""

from mf_parallel.names import collapse


def texts(names: list[str]) -> list[str]:
    return [text for text, _ in collapse(names)]


def test_layers_become_a_range():
    names = [f"model.layers.{layer}.norm.weight" for layer in range(4)]
    assert collapse(names) == [("model.layers.{0..3}.norm.weight", names)]


def test_gaps_stay_visible():
    assert texts(["a.0.b", "a.1.b", "a.2.b", "a.5.b"]) == ["a.{0..2,5}.b"]


def test_two_numbers_become_two_ranges():
    assert texts([f"a.{layer}.e.{expert}.w" for layer in (0, 1) for expert in (0, 1, 2)]) == ["a.{0..1}.e.{0..2}.w"]


def test_names_off_the_grid_stay_by_themselves():
    assert texts(["a.0.e.0", "a.1.e.1"]) == ["a.0.e.0", "a.1.e.1"]


def test_numbers_inside_words_are_no_layer_numbers():
    assert texts(["a.w1", "a.w2", "a.3.w1"]) == ["a.w1", "a.w2", "a.3.w1"]
