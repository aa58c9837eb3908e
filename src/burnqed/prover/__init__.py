"""The prover: toolchain, policy, value model, search and judge, assembled from one configuration."""
