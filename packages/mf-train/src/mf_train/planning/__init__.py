"""What a run takes of given devices, found without them."""
