"""Commands that put load on a real server and print what they saw; `make load` and `make soak` run them."""
