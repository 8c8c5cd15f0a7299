import json

from akgnn.cli.main import main
from akgnn.data.catalogue import REGISTERED, load_dataset


def test_bundled_sets_are_described(capsys):
    assert main(["datasets", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    cora = result["bundled"][0]
    assert (cora["name"], cora["nodes"], cora["split"]) == ("cora", 2708, "public:76754223")
    assert "texas" in result["pyg"]
    assert result["generated"] == ["csbm", "large"]
    assert result["filtered"] == ["chameleon-filtered", "squirrel-filtered"]
    assert {"texas", "squirrel-filtered"} <= set(result["directed"])
    assert "photo" not in result["directed"]


def test_people_see_a_table_and_the_warning_about_pickle(capsys):
    assert main(["datasets"]) == 0
    out = capsys.readouterr().out
    assert "public:76754223" in out
    assert "PyG unpickles what it downloads" in out
    assert "chameleon-filtered" in out
    assert "Directed; akgnn train makes them undirected unless --direction kept is given: " in out


def test_data_sets_of_ones_own_are_listed(capsys, monkeypatch):
    assert main(["datasets", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["registered"] == []
    monkeypatch.setitem(REGISTERED, "mine", lambda: load_dataset("csbm"))
    assert main(["datasets", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["registered"] == ["mine"]
    assert main(["datasets"]) == 0
    assert "Registered in Python: mine" in capsys.readouterr().out
