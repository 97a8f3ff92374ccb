"""Documents: whole files, kept to the byte, converted on the way out, and delivered to other tenants' queues."""
