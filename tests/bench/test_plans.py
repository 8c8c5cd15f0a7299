from akgnn.bench.plans import SUITES, Sizes, plans_of


def described(plans):
    return [plan.title for plan in plans]


def test_all_suites_with_what_they_have_by_themselves():
    assert described(plans_of(SUITES, Sizes())) == [
        "layer, even, 2,000,000 edges, float32",
        "layer, power-law, 2,000,000 edges, float32",
        "epoch, cora",
        "epoch, citeseer",
        "epoch, pubmed",
        "growth, even, 10,000 edges, float32",
        "growth, even, 100,000 edges, float32",
        "growth, even, 1,000,000 edges, float32",
        "growth, even, 10,000,000 edges, float32",
        "growth, even, 100,000,000 edges, float32",
    ]


def test_growth_has_a_mean_degree_of_20():
    assert {plan.mean_degree for plan in plans_of(["growth"], Sizes())} == {20}


def test_what_is_asked_for_takes_the_place_of_the_defaults():
    sizes = Sizes(
        edges=[1000, 2000],
        mean_degree=4,
        degrees=["even"],
        channels=3,
        dtypes=["float32", "bfloat16"],
    )
    for suite in ("layer", "growth"):
        plans = plans_of([suite], sizes)
        assert described(plans) == [
            f"{suite}, even, 1,000 edges, float32",
            f"{suite}, even, 2,000 edges, float32",
            f"{suite}, even, 1,000 edges, bfloat16",
            f"{suite}, even, 2,000 edges, bfloat16",
        ]
        assert {(plan.mean_degree, plan.channels) for plan in plans} == {(4, 3)}
