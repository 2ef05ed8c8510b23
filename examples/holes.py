"""Three holes that depend on each other: `midfill fill examples/holes.py --holes` fills them together."""


def read_prices(path):
    prices = []
    with open(path) as file:
        for line in file:
            ...
    return prices


def mean(prices):
    ...


def report(path):
    prices = read_prices(path)
    print("mean:", ...)
