"""The life cycle of S1's window operators: drain, checkpoint, reset, close (semantics 33.1 to 33.8)."""

from typing import Self

from panewise.calls import one_at_a_time
from panewise.standalone.life_cycle import LifeCycleSteps
from panewise.standalone.retained.access import WindowAccess
from panewise.standalone.retained.progress import Progress


class WindowCheckpoints(WindowAccess):
    """Copies of the state of an operator, the return to one of them, and its end."""

    @one_at_a_time
    def close(self) -> None:
        """Calls the callback `teardown`, and releases the files. It makes nothing durable."""
        self._close()

    def _close(self) -> None:
        if not self._closed:
            self._closed = True
            self._outbox.changed()
            try:
                with self._calls.released():
                    self._callbacks.teardown()
            finally:
                self._files.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _life_cycle(self) -> LifeCycleSteps:
        return LifeCycleSteps(
            calls=self._calls,
            check_open=self._check_open,
            drain=self._delivered,
            save=self._save,
            restore=self._restored,
        )

    def _delivered(self) -> bool:
        self._settle()
        return not self._outbox.disabled

    def _save(self, name: str) -> None:
        """Saves the state under a name, with the changes that have not been flushed."""
        self._outbox.check_enabled()
        windows = list(self._windows)
        self._fold(windows)
        if self._messages is None:
            self._files.save(name, windows, self._progress.to_json(), ())
            return
        with self._messages.dump(self._is_applied) as messages:
            self._files.save(name, windows, self._progress.to_json(), messages)

    def _restored(self, name: str | None) -> bool:
        """Returns to a saved state, or to the initial one. Returns False if there is none of this name."""
        stored = {} if name is None else self._files.saved(name)
        if stored is None:
            return False
        saved = Progress.of_json(stored)
        try:
            self._files.reset(name, saved.following(self._progress).to_json())
            self._begin()
        except BaseException:
            self._close()  # otherwise it would continue with a state that the files no longer have
            raise
        self._outbox.discard(saved.sequence)
        self._flush_due = False
        self._update()
        self._settle()
        return True
