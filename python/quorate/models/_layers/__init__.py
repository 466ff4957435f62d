"""Parts that networks of all file formats share: clear layers, reports, pictures, checks of who has what."""
