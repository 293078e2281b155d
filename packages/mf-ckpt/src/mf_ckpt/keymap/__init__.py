"""Key maps: tables that translate tensor names and forms between two programs, in both directions."""
