"""The stored format of state: immutable runs and a manifest. This package does not depend on windows."""

from panewise.state.manifest import Manifest, Run
from panewise.state.run_mirror import Mirror
from panewise.state.run_store import MemoryRunStore, RunStore

__all__ = ["Manifest", "MemoryRunStore", "Mirror", "Run", "RunStore"]
