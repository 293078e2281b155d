"""What an evaluation computes (metric.type), one module each."""
