"""The graph of links on the whole: neighbours, paths, communities, counts, and exports."""
