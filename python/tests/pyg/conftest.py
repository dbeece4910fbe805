"""These tests need the extra pyg: without PyTorch Geometric they are not collected."""

import importlib.util

collect_ignore_glob = [] if importlib.util.find_spec("torch_geometric") else ["test_*.py"]
