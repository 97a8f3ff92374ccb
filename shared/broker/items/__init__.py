"""key_value: a store of the latest message per key, read whole, by key, or as what has changed."""
