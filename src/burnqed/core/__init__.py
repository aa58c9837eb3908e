"""The vocabulary every other room shares: types, ports, errors. Imports none of them."""
