from akgnn.data.tables.settings import TableSettings, renamed_table_settings


def test_settings_of_an_earlier_version_get_the_names_of_today():
    kept = {"nodes": "n.csv", "features": "w_*", "missing": "refuse"}
    settings = TableSettings.from_mapping(renamed_table_settings(kept))
    assert settings == TableSettings(nodes="n.csv", columns="w_*", missing="refuse")
    assert renamed_table_settings(settings.to_dict()) == settings.to_dict()
