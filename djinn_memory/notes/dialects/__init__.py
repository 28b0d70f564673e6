"""The dialects of Markdown: Obsidian, Foam, Dendron, Logseq and plain."""
