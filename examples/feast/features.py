"""The users of examples/shop as a feature view of Feast, which reads users.parquet, made of their table here."""

from datetime import timedelta
from pathlib import Path

import pandas
from feast import Entity, FeatureView, Field, FileSource, ValueType
from feast.types import Float64, String, UnixTimestamp

here = Path(__file__).parent
table = here / "users.parquet"
if not table.exists():
    rows = pandas.read_csv(here / "../shop/users.csv").drop(columns="favourite")
    rows["joined"] = pandas.to_datetime(rows["joined"], utc=True)
    rows["event_timestamp"] = pandas.Timestamp.now("UTC")
    rows.to_parquet(table)

user = Entity(name="user", join_keys=["user_id"], value_type=ValueType.STRING)
users = FeatureView(
    name="users",
    entities=[user],
    ttl=timedelta(0),
    source=FileSource(path=str(table), timestamp_field="event_timestamp"),
    schema=[
        Field(name="joined", dtype=UnixTimestamp),
        Field(name="country", dtype=String),
        Field(name="age", dtype=Float64),
        Field(name="device", dtype=String),
        Field(name="about", dtype=String),
    ],
)
