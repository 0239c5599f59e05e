"""What a reader looks into beyond the page's first answer: the evidence of an item or a pair, and
networks too large for one page."""
