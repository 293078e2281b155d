from mf_infer.engine.engine import EngineLoad
from mf_infer.server.metrics import Histogram, Metrics

LOAD = EngineLoad(running=2, waiting=1, used_blocks=3, free_blocks=4, reused_tokens=5, preemptions=6)


def test_a_histogram_counts_values_up_to_each_border():
    histogram = Histogram("h", "Values.", (0.1, 1.0))
    for value in (0.05, 0.1, 0.5, 2.0):
        histogram.observe(value)
    assert list(histogram.samples()) == [
        ('_bucket{le="0.1"}', 2),
        ('_bucket{le="1.0"}', 3),
        ('_bucket{le="+Inf"}', 4),
        ("_sum", 2.65),
        ("_count", 4),
    ]


def test_the_text_has_a_head_and_samples_for_each_metric():
    metrics = Metrics(lambda: LOAD)
    metrics.responses.add(1, "/v1/models", "200")
    metrics.generated_tokens.add(12_345_678)
    text = metrics.text()
    lines = text.splitlines()
    assert text.endswith("\n")
    assert "# TYPE mf_infer_requests_running gauge" in lines
    assert "# HELP mf_infer_preemptions_total Requests that lost their blocks." in lines
    assert 'mf_infer_http_responses_total{path="/v1/models",status="200"} 1' in lines
    # Not rounded, as %g would.
    assert "mf_infer_generated_tokens_total 12345678" in lines
    assert "mf_infer_cache_blocks_free 4" in lines
    names = {line.split()[2] for line in lines if line.startswith("# TYPE")}
    assert all(any(line.startswith(name) for name in names) for line in lines if not line.startswith("#"))
