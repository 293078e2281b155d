"""What happens beside the steps (callbacks), one module each."""
