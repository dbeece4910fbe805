"""Rivulet from Python: arrivals and predictions on the stream, and artifacts with prediction in NumPy.

    artifact = open_artifact("out/artifact")
    Predictor(artifact).predict([Arrival("p17", Sparse([3, 41]), edges=["p4", "p9"])]).to_frame()

The core needs NumPy alone. Modules with needs of their own: `frames` (pandas), `kafka` (confluent-kafka),
`export` and `train` (PyTorch Geometric), `teach` (PyTorch). python/README.md is the manual.
"""

from .arrivals import Arrival, ArrivalError, Dense, Edge, Features, Named, Sparse
from .artifact import Artifact, ArtifactError, Candidates, open_artifact
from .predict import Labels, Links, Numbers, Predictions, Predictor
from .schema import Schema, SchemaError

__all__ = [
    "Arrival",
    "ArrivalError",
    "Artifact",
    "ArtifactError",
    "Candidates",
    "Dense",
    "Edge",
    "Features",
    "Labels",
    "Links",
    "Named",
    "Numbers",
    "Predictions",
    "Predictor",
    "Schema",
    "SchemaError",
    "Sparse",
    "open_artifact",
]
