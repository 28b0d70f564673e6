"""The pages of the server: templates stand beside the code that fills them."""
