"""Parts that networks of all file formats share: clear layers, reports, pictures, and checks of given arguments."""
