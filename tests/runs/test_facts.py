import json

import pyarrow as pa

from akgnn.data.catalogue import load_dataset
from akgnn.data.tables.load import load_tables
from akgnn.data.tables.recipe import FeatureRecipe
from akgnn.runs.facts import DataFacts

DATA = load_dataset("csbm:num_nodes=80,num_features=6")


def test_facts_survive_their_record():
    people = pa.table({"id": ["a", "b", "c"], "age": [20, 31, 45], "label": ["x", "y", "x"]})
    friends = pa.table({"source": ["a", "b"], "target": ["b", "c"]})
    for data in (DATA, load_tables(people, friends)):
        facts = DataFacts.of(data)
        assert DataFacts.from_dict(json.loads(json.dumps(facts.to_dict()))) == facts


def test_a_recipe_of_an_earlier_version_divides_rows_where_the_source_says_so():
    content = {**DataFacts.of(DATA).to_dict(), "recipe": FeatureRecipe(()).to_dict()}
    del content["recipe"]["normalise_rows"]
    assert not DataFacts.from_dict(content).recipe.normalise_rows
    content["source"]["rows"] = "sum to 1"
    assert DataFacts.from_dict(content).recipe.normalise_rows
