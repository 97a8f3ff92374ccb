"""The domain of Towpath: one noun per package. Storage is `edge`'s business, HTTP is `broker.http`'s."""

import gc
import os

# A cold start makes many objects and drops none: collecting garbage meanwhile takes a tenth of it. The entry points
# turn it on again (`broker.http.startup`).
if "AWS_LAMBDA_FUNCTION_NAME" in os.environ:
    gc.disable()
