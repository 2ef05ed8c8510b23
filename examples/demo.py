"""A file with a hole in line 14: `make demo` fills it."""

import json


def load_prices(path):
    with open(path) as handle:
        return json.load(handle)


def total(prices):
    result = 0
    for price in prices:
        
    return result


print(total(load_prices("prices.json")))
