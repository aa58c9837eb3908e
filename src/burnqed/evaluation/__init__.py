"""The claim "proved": searched, judged, recorded."""
