"""The PDF reader."""
