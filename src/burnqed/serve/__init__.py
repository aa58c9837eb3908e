"""A prover that other programs ask: one warm pool of Leans, behind HTTP."""
