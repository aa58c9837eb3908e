"""What enters: theorem sets and benchmarks."""
