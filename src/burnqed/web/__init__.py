"""A page in the browser that shows runs, their theorems and their search trees. It changes no file."""
