"""The prover, assembled: toolchain, policy, value, search and judge out of one configuration."""
