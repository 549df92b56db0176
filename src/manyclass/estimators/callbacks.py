"""scikit-learn's callback protocol where it is present (1.9 and later), nothing elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event
from typing import Any, TypeVar

from manyclass.utils.types import Rows, Settings

F = TypeVar("F", bound=Callable[..., object])

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks

    WRAPPERS = 1  # stack frames that with_callbacks puts around a method
except ImportError:  # scikit-learn before 1.9
    WRAPPERS = 0

    class CallbackSupportMixin:  # type: ignore[no-redef]  # where the import failed
        """Stand-in for estimators whose scikit-learn knows no callbacks."""

    def with_callbacks(method: F) -> F:
        """Return the method as it is."""
        return method


__all__ = ["WRAPPERS", "CallbackSupportMixin", "FitTask", "is_set", "with_callbacks"]


def is_set(event: Event | None) -> bool:
    """Whether there is an event, and it is set."""
    return event is not None and event.is_set()


class FitTask:
    """The fit of an estimator as callbacks see it: one task, with one subtask per epoch.

    Parameters
    ----------
    estimator : estimator
        One with ``CallbackSupportMixin``.
    X, y : array-like
        What callbacks may score on.
    metadata : dict
        Such as the sample weights.
    max_epochs : int or None
        None if it is not known.
    """

    def __init__(
        self, estimator: Any, X: Rows, y: object, metadata: Settings, max_epochs: int | None
    ) -> None:
        self._arguments = {"estimator": estimator, "X": X, "y": y, "metadata": metadata}
        self._context = None
        if getattr(estimator, "_skl_callbacks", None):
            self._context = estimator._init_callback_context(max_subtasks=max_epochs)
            self._context.call_on_fit_task_begin(**self._arguments)

    def epoch(self, fitted: Callable[[], Settings]) -> bool:
        """Report one epoch; ``fitted`` gives the attributes to predict with. True: stop."""
        if self._context is None:
            return False
        task = self._context.subcontext(task_name="epoch")
        task.call_on_fit_task_begin(**self._arguments)
        return bool(task.call_on_fit_task_end(**self._arguments, reconstruction_attributes=fitted))

    def end(self) -> None:
        """Report the end of the fit."""
        if self._context is not None:
            self._context.call_on_fit_task_end(**self._arguments, reconstruction_attributes={})
