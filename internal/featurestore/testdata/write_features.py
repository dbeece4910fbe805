"""Has Feast write features into a Redis, and prints all that is there: feast.json, which the tests read.

pip install 'feast[redis]'; redis-server --port 7777 --save '' &
python write_features.py localhost:7777 >feast.json
"""

import json
import sys
import tempfile
from datetime import datetime, timedelta, timezone

import feast
import pandas as pd
import redis
from feast import Entity, FeatureStore, FeatureView, Field, FileSource, RepoConfig, ValueType
from feast.types import Array, Bool, Float32, Float64, Int32, Int64, String, UnixTimestamp

EVENT = datetime(2026, 1, 2, 12, tzinfo=timezone.utc)


def view(name, entity, fields, directory):
    """Return a view of features; what its source is does not matter, as rows are written online."""
    source = FileSource(path=f"{directory}/{name}.parquet", timestamp_field="at")
    return FeatureView(name=name, entities=[entity], schema=fields, source=source, ttl=timedelta(days=1))


def main(address):
    """Write two views with join keys of two types, and print the Redis."""
    with tempfile.TemporaryDirectory() as directory:
        store = FeatureStore(
            config=RepoConfig(
                project="shop",
                provider="local",
                registry=f"{directory}/registry.db",
                online_store={"type": "redis", "connection_string": address},
                entity_key_serialization_version=3,
            )
        )
        user = Entity(name="user", join_keys=["user_id"], value_type=ValueType.STRING)
        item = Entity(name="item", join_keys=["item_id"], value_type=ValueType.INT64)
        fields = [
            Field(name="age", dtype=Int64),
            Field(name="children", dtype=Int32),
            Field(name="income", dtype=Float64),
            Field(name="score", dtype=Float32),
            Field(name="country", dtype=String),
            Field(name="premium", dtype=Bool),
            Field(name="joined", dtype=UnixTimestamp),
            Field(name="embedding", dtype=Array(Float32)),
            Field(name="visits", dtype=Array(Int64)),
            Field(name="tags", dtype=Array(String)),
        ]
        vector = [Field(name="vector", dtype=Array(Float32))]
        store.apply([user, item, view("users", user, fields, directory), view("items", item, vector, directory)])
        users = pd.DataFrame(
            {
                "user_id": ["u1", "Grüße"],
                "age": [31, -5],
                "children": [2, 0],
                "income": [2500.5, None],
                "score": [0.25, -1.5],
                "country": ["Köln", ""],
                "premium": [True, False],
                "joined": [datetime(2020, 5, 17, 8, 30, tzinfo=timezone.utc)] * 2,
                "embedding": [[0.5, -1.25, 3.0], [1.0]],
                "visits": [[1, -2, 300], [7]],
                "tags": [["a", "b"], ["c"]],
                "at": [EVENT] * 2,
            }
        )
        store.write_to_online_store("users", users)
        items = pd.DataFrame({"item_id": [17, -3], "vector": [[1.0, 0.0, 2.5], [0.0, -4.0, 0.125]], "at": [EVENT] * 2})
        store.write_to_online_store("items", items)
    host, port = address.split(":")
    client = redis.Redis(host, int(port))
    hashes = {
        key.hex(): {field.hex(): value.hex() for field, value in sorted(client.hgetall(key).items())}
        for key in sorted(client.scan_iter())
    }
    json.dump({"feast": feast.__version__, "hashes": hashes}, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main(sys.argv[1])
