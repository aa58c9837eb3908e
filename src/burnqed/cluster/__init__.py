"""Where it runs: theorems searched on the nodes of a cluster."""
