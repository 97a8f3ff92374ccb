"""The domain of Towpath: one noun per package. Storage is `edge`'s business, HTTP is `broker.http`'s."""
