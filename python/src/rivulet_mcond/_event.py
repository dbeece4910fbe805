"""Reasons of dead letters and fields of predictions, written from the tables of event/ by `make reference`."""

from __future__ import annotations

from typing import Literal

# ruff: noqa: E501

Reason = Literal[
    "unparsable",
    "content_type",
    "feature_length",
    "not_finite",
    "feature_unknown",
    "feature_type",
    "feature_missing",
    "features_absent",
    "features_stored",
    "schema",
    "too_many_edges",
    "edge_unmatched",
    "too_large",
    "prediction_refused",
]

SENTENCES: dict[Reason, str] = {
    "unparsable": "The record is not of its content-type, a required field is missing, or a field has the wrong type.",
    "content_type": "The content-type header names a form that Rivulet does not read.",
    "feature_length": "The number of features, or an index, does not fit the model; or values and indices differ in number.",
    "not_finite": "A feature is NaN, infinite, null or beyond float32; or the model's output is not finite, because features or a weight are too far from those of training.",
    "feature_unknown": "The artifact's schema has no feature of a name (unless input.unknown_features is ignore).",
    "feature_type": "A named value is of a type that its feature is not made of, such as a string for a number.",
    "feature_missing": "A named value is missing, and the schema says to refuse that; or a connector sent its placeholder for an unchanged value.",
    "features_absent": "The record brings no features, and none are stored under its id (features.from is redis).",
    "features_stored": "The features that are stored under the record's id cannot be read: they are not in the form of features.format, or too long.",
    "schema": "Features are by name and the artifact has no schema; or they are by position, and the header rivulet-schema has the hash of another schema.",
    "too_many_edges": "The record has more edges than limits.edges.",
    "edge_unmatched": "No arrival waited in its partition for this edge, which is a record of its own.",
    "too_large": "The record is larger than limits.record_bytes, an id longer than limits.id_bytes, or its key and id together longer than 128 KiB.",
    "prediction_refused": "The brokers refuse the prediction: it is larger than max.message.bytes of its topic, or they name another reason, which the detail repeats.",
}
"""What each reason means."""

Kind = Literal["flag", "count", "time", "value"]

PREDICTION: dict[str, Kind] = {
    "id": "value",
    "class": "value",
    "class_name": "value",
    "probability": "value",
    "abstained": "flag",
    "degraded": "flag",
    "top": "value",
    "probabilities": "value",
    "logits": "value",
    "representation": "value",
    "explanation": "value",
    "numbers": "value",
    "labels": "value",
    "links": "value",
    "artifact": "value",
    "batch": "value",
    "known_neighbours": "count",
    "arrival_neighbours": "count",
    "batch_neighbours": "count",
    "unknown_neighbours": "count",
    "source": "value",
    "arrival_time": "time",
    "ingest_time": "time",
    "predicted_time": "time",
}
"""The kind of each field of a prediction in JSON."""
