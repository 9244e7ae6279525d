"""State as immutable runs and a manifest; the stored format. It knows nothing of windows."""

from panewise.state.manifest import Manifest, Run
from panewise.state.mirror import Mirror
from panewise.state.store import MemoryRunStore, RunStore

__all__ = ["Manifest", "MemoryRunStore", "Mirror", "Run", "RunStore"]
