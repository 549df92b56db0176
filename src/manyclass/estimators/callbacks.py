"""scikit-learn's callback protocol where it is present (1.9 and later), nothing elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from manyclass.problem.solution import Progress, Start, Weights
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


__all__ = ["WRAPPERS", "CallbackSupportMixin", "EpochCallbacks", "FitTask", "with_callbacks"]


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


class EpochCallbacks:
    """Hook that reports each epoch to the callbacks of a fit.

    Parameters
    ----------
    task : FitTask
    attributes : callable
        Turns W into the attributes to predict with.
    """

    def __init__(self, task: FitTask, attributes: Callable[[Weights], Settings]) -> None:
        self.task, self.attributes = task, attributes

    def epoch(self, progress: Progress) -> bool:
        """Report an epoch; True stops."""
        return self.task.epoch(lambda: self.attributes(progress.weights()))

    def end(self, _start: Start) -> None:
        """Do nothing: the fitted attributes are not set yet."""
