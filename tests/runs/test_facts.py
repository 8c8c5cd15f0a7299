import json

import pyarrow as pa

from akgnn.data.catalogue import load_dataset
from akgnn.data.tables.load import load_tables
from akgnn.runs.facts import DataFacts

DATA = load_dataset("csbm:num_nodes=80,num_features=6")


def test_facts_survive_their_record():
    people = pa.table({"id": ["a", "b", "c"], "age": [20, 31, 45], "label": ["x", "y", "x"]})
    friends = pa.table({"source": ["a", "b"], "target": ["b", "c"]})
    for data in (DATA, load_tables(people, friends)):
        facts = DataFacts.of(data)
        assert DataFacts.from_dict(json.loads(json.dumps(facts.to_dict()))) == facts
