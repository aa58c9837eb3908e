"""Language models in this process: found, checked and loaded, with or without a hub."""
