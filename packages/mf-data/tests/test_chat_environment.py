"""What a template may not do, and how much it may take."""

import time

import pytest

from mf_config.problems import UserError
from mf_data.chat import budget
from mf_data.chat.template import ChatTemplate

TOO_MUCH = [
    "{{ 'a' * 10**10 }}",
    "{{ 10 ** 100000 }}",
    "{{ 'a'.ljust(10**9) }}",
    "{{ 'a' | center(10**9) }}",
    "{{ '%999999999d' % 1 }}",
    "{{ '%999999999d' | format(1) }}",
    "{{ '{:999999999}'.format(1) }}",
    "{{ strftime_now('%999999999d') }}",
    "{{ ('a' * 1000000) | replace('a', 'b' * 1000000) }}",
    "{{ ('a' * 1000000).replace('a', 'b' * 1000000) }}",
    "{{ (['a'] * 10000) | join('b' * 100000) }}",
    "{{ ('b' * 100000).join(['a'] * 10000) }}",
    "{{ messages | tojson(indent=10**9) }}",
    "{% set n = namespace(x='ab') %}{% for i in range(60) %}{% set n.x = n.x ~ n.x %}{% endfor %}",
    "{% set n = namespace(x='ab') %}{% for i in range(60) %}{% set n.x = n.x + n.x %}{% endfor %}",
    "{% set n = namespace(x=[1]) %}{% for i in range(60) %}{% set n.x = [n.x, n.x] %}{% endfor %}{{ n.x }}",
    "{% set x %}{% for i in range(90000) %}{{ 'a' * 10000 }}{% endfor %}{% endset %}",
    "{% for i in range(10**9) %}{% endfor %}",
    "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
]

FORBIDDEN = [
    "{{ ''.__class__.__mro__ }}",
    "{{ messages.append(1) }}",
    "{{ namespace.__init__.__globals__ }}",
    "{{ cycler.__init__.__globals__ }}",
    "{{ ('a' | attr('__class__')).x }}",
    "{{ '{0.__class__.__mro__}'.format('') }}",
    "{{ raise_exception.__globals__['json'] }}",
    "{% include 'x' %}",
    "{{ lipsum(n=9) }}",
]


def render(source):
    return ChatTemplate(source).render([{"role": "user", "content": "x"}])


@pytest.mark.parametrize("source", TOO_MUCH)
def test_a_template_that_would_fill_the_memory_is_stopped(source):
    # Of this process: the machine may do other work.
    started = time.process_time()
    with pytest.raises(UserError, match="the chat template can't write these messages"):
        render(source)
    assert time.process_time() - started < 8


@pytest.mark.parametrize("source", FORBIDDEN)
def test_python_s_insides_are_out_of_reach(source):
    with pytest.raises(UserError, match="the chat template can't write these messages"):
        render(source)


@pytest.mark.parametrize(
    "body", ["{% for j in range(99999) %}{% for k in range(99999) %}{% endfor %}{% endfor %}", "{{ f() }}{{ f() }}"]
)
def test_a_template_that_never_ends_is_stopped(monkeypatch, body):
    monkeypatch.setattr(budget.Budget.__init__, "__defaults__", (0.2,))
    depth = "{% macro g() %}{% for j in range(99999) %}{{ j }}{% endfor %}{% endmacro %}"
    slow = "{% macro f() %}{% for i in range(9999) %}{{ g()[:0] }}{% endfor %}{% endmacro %}"
    with pytest.raises(UserError, match=r"longer than 0\.2 s|more than 16777216 characters"):
        render(depth + slow + body)


def test_long_conversations_are_no_trouble():
    source = (
        "{% for m in messages %}{{ m.role ~ ': ' ~ m.content | trim | replace('\n', '<br>') | indent(2) }}{% endfor %}"
    )
    messages = [{"role": "user", "content": "line\n" * 200, "time": 1 << 60}] * 1000
    assert len(ChatTemplate(source).render(messages)) == 1000 * (len("user: ") + 199 * len("line<br>") + len("line"))
