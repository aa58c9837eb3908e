"""The claim "proved": searches, judges, records."""
