"""Messages joined, as they are published, with the items of a key_value queue; before the items are there, too."""
