"""Tasks in threads."""

import threading

import pytest

from manyclass.model_selection.folds import in_order


@pytest.mark.parametrize("n_threads", [1, 3])
def test_results_are_in_the_order_of_the_tasks(n_threads):
    """Where there are threads, the first task ends after the second."""
    second = threading.Event()

    def task(number, stop):
        if number == 1:
            second.set()
        return number if number or n_threads == 1 else second.wait(600) and number

    tasks = [lambda stop, n=n: task(n, stop) for n in range(10)]
    assert list(in_order(tasks, n_threads)) == list(range(10))


@pytest.mark.parametrize("n_threads", [1, 2])
def test_closing_leaves_out_the_rest(n_threads):
    begun, ended = [], threading.Event()

    def wait(stop):
        begun.append(0)
        stop.wait(10)
        ended.set()

    results = in_order([lambda stop: 1, wait, *[begun.append] * 50], n_threads)
    assert next(results) == 1
    results.close()
    assert len(begun) <= 3
    assert 0 not in begun or ended.is_set()


@pytest.mark.parametrize("n_threads", [1, 2])
def test_an_error_ends_the_others(n_threads):
    def fail(stop):
        raise ValueError("wrong")

    begun = []
    with pytest.raises(ValueError, match="wrong"):
        list(in_order([fail, *[begun.append] * 50], n_threads))
    assert len(begun) < 50
