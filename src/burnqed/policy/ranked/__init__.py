"""Rules, and lemmas of the library, in an order that is learnt from proofs."""
