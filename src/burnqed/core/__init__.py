"""The vocabulary of all rooms: types, ports, errors. It imports no other room."""
