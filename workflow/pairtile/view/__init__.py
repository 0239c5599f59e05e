"""What a reader looks into: the index of all pages, the evidence of an item or a pair, and networks
too large for one page."""
